package etcdversion

import (
	"slices"
	"testing"

	"github.com/coreos/go-semver/semver"
)

func TestVersions(t *testing.T) {
	all := All()
	for i := range all[1:] {
		if a, b := semver.New(all[i]), semver.New(all[i+1]); a.Major != b.Major || a.Minor+1 != b.Minor {
			t.Errorf("%s follows %s: want one patch of each minor in turn", b, a)
		}
	}
	if !slices.Contains(all, Default) {
		t.Errorf("new clusters run %s, which no test runs", Default)
	}
	if got, want := Minors()[0]+" "+OfMinor(6)+" "+OfMinor(99), "3.5 "+all[1]+" "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	all[0] = "changed"
	if All()[0] == "changed" {
		t.Error("the list of versions can be changed from outside")
	}
}
