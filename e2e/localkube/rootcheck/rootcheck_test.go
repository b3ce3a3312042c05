package rootcheck

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		reason     string
		kubeconfig string
		user       int
		fails      bool
	}{
		"root":                  {reason: "localkube runs as root", user: 0},
		"a cluster of the user": {reason: "localkube is not needed", kubeconfig: "/home/me/.kube/config", user: 1000},
		"root with a cluster":   {reason: "localkube is not needed", kubeconfig: "/root/.kube/config", user: 0},
		"neither":               {reason: "localkube would fail after minutes of compiling", user: 1000, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			err := check(c.kubeconfig, c.user)
			if (err != nil) != c.fails {
				t.Fatalf("%v, want an error: %t: %s", err, c.fails, c.reason)
			}
			if err != nil && (!strings.Contains(err.Error(), "run this as root") || !strings.Contains(err.Error(), "set KUBECONFIG")) {
				t.Errorf("%v does not say what to do", err)
			}
		})
	}
}
