package plan

import (
	"cmp"
	"fmt"

	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// oldestSupported names the oldest versions with learners and the endpoints /livez and
// /readyz, which the members' probes use.
const oldestSupported = "3.4.29, 3.5.11"

// lastPatches are the oldest patches, by minor, from which a cluster can upgrade to the next
// minor. Of 3.5 it is the newest: before 3.5.26 an upgrade to 3.6 can bring removed members
// back. Of 3.6 it is the one that etcd's guide "Upgrade etcd from v3.6 to v3.7" names.
var lastPatches = map[int]etcdversion.Version{5: etcdversion.Parse(etcdversion.OfMinor(5)), 6: etcdversion.Parse("3.6.11")}

// supported reports whether the operator runs this version.
func supported(s string) bool {
	v := etcdversion.Parse(s)
	if v.Major != 3 {
		return false
	}
	switch v.Minor {
	case 4:
		return v.Patch >= 29
	case 5:
		return v.Patch >= 11
	}
	return v.Minor > 5
}

// nextVersion is the next version on the way from the one that a cluster runs to the
// one that is wanted (S10). Where there is no way it is the one that runs, and refusal
// says why, and what to write instead.
func nextVersion(runs, wanted string) (next, refusal string) {
	a, b := etcdversion.Parse(runs), etcdversion.Parse(wanted)
	minors := b.Minor - a.Minor
	switch {
	case wanted == runs:
		return runs, ""
	case !supported(runs):
		return runs, fmt.Sprintf("no upgrade path from etcd %s, which the cluster runs; set spec.version to %s", runs, runs)
	case !supported(wanted):
		return runs, fmt.Sprintf("etcd %s is not supported; set spec.version to %s or later, such as %s", wanted, oldestSupported, etcdversion.Newest())
	case minors < 0:
		return earlierMinor(a, b, runs, wanted)
	case minors > 1:
		first := cmp.Or(etcdversion.OfMinor(a.Minor+1), fmt.Sprintf("%d.%d.x", a.Major, a.Minor+1))
		return runs, fmt.Sprintf("cannot upgrade more than one minor at a time: the cluster runs %s; set spec.version to %s first, then to %s", runs, first, wanted)
	case minors == 1 && !a.AtLeast(lastPatches[a.Minor]):
		return etcdversion.OfMinor(a.Minor), ""
	}
	return wanted, ""
}
