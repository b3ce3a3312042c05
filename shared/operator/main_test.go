package operator

import (
	"context"
	"flag"
	"strings"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Flags of its own are taken beside those that all have, and what is wrong is said before
// anything is asked of an API server.
func TestProgram(t *testing.T) {
	t.Setenv("MY_POD_NAMESPACE", "ns")
	t.Setenv("MY_POD_NAME", "")
	t.Setenv("OPERATOR_IMAGE", "")
	var own string
	asked := false
	p := &Program{
		Name: "x-operator", Kind: "X",
		Flags: func(fs *flag.FlagSet) { fs.StringVar(&own, "own", "", "") },
		Learn: func(context.Context, client.Client) error { asked = true; return nil },
		SetUp: func(context.Context, ctrl.Manager, *Options) error { asked = true; return nil },
	}
	if err := p.run(t.Context(), []string{"--version", "--own=a", "--zap-log-level=debug", "--leader-elect=false"}); err != nil || own != "a" {
		t.Errorf("its version: %v, and the flag is %q", err, own)
	}
	if err := p.run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "MY_POD_NAME") {
		t.Errorf("without an image: error %v, want what to do", err)
	}
	if asked {
		t.Error("it was begun")
	}
}
