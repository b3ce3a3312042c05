package creator

import "testing"

// A manifest cannot install what Kubernetes does not know.
func TestAdvice(t *testing.T) {
	for want, c := range map[string]Check{
		"run kubectl apply -k deploy/x/crd, or start the operator with --trust-creators":   {Missing: "it does not exist"},
		"upgrade Kubernetes to 1.30 or later, or start the operator with --trust-creators": {Missing: "there is no such kind", Unsupported: true},
	} {
		if got := c.Advice("x"); got != want {
			t.Errorf("%+v: %q, want %q", c, got, want)
		}
	}
}
