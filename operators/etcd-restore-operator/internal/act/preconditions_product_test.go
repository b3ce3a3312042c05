//go:build !simulation

package act

import (
	"go/build"
	"os"
	"regexp"
	"testing"
)

// In the product no precondition can be left out: what could do that is not compiled into
// it, and what it has in its place is the check itself.
func TestPreconditionsCannotBeLeftOut(t *testing.T) {
	if match, err := build.Default.MatchFile(".", "preconditions_simulation.go"); err != nil || match {
		t.Errorf("preconditions_simulation.go is part of the product (%v)", err)
	}
	source, err := os.ReadFile("preconditions.go")
	if err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile(`(?m)^\t\w+ +Precondition = "(.+)"$`).FindAllSubmatch(source, -1)
	if len(all) == 0 {
		t.Fatal("no preconditions are declared")
	}
	for _, m := range all {
		if p := Precondition(m[1]); !refuses(p, true) || refuses(p, false) || !demands(p) {
			t.Errorf("%q is not what it was checked to be", p)
		}
	}
}
