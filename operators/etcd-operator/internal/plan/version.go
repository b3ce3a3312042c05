package plan

import (
	"cmp"
	"fmt"

	"github.com/coreos/go-semver/semver"

	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// oldestSupported names the oldest versions with learners and the endpoints /livez and
// /readyz, which the members' probes use.
const oldestSupported = "3.4.29, 3.5.11"

// lastPatches are the oldest patches, by minor, from which a cluster can upgrade to the next
// minor. Of 3.5 it is the newest: before 3.5.26 an upgrade to 3.6 can bring removed members
// back. Of 3.6 it is the one that etcd's guide "Upgrade etcd from v3.6 to v3.7" names.
var lastPatches = map[int]version{5: parseVersion(etcdversion.OfMinor(5)), 6: {3, 6, 11}}

// version is a release of etcd.
type version struct{ major, minor, patch int }

// parseVersion reads "3.6.16"; a suffix such as "-rc.0" is passed over. What is no
// version is the zero version.
func parseVersion(s string) version {
	v, err := semver.NewVersion(s)
	if err != nil {
		return version{}
	}
	return version{int(v.Major), int(v.Minor), int(v.Patch)}
}

// String is the minor, as etcd tells its cluster version.
func (a version) String() string {
	if a == (version{}) {
		return "not known"
	}
	return fmt.Sprintf("%d.%d", a.major, a.minor)
}

func (a version) compare(b version) int {
	return cmp.Or(a.compareMinor(b), cmp.Compare(a.patch, b.patch))
}

// compareMinor compares versions up to their patches.
func (a version) compareMinor(b version) int {
	return cmp.Or(cmp.Compare(a.major, b.major), cmp.Compare(a.minor, b.minor))
}

// atLeast reports whether a version is the other or newer.
func (a version) atLeast(b version) bool { return a.compare(b) >= 0 }

// supported reports whether the operator runs this version.
func supported(s string) bool {
	v := parseVersion(s)
	if v.major != 3 {
		return false
	}
	switch v.minor {
	case 4:
		return v.patch >= 29
	case 5:
		return v.patch >= 11
	}
	return v.minor > 5
}

// nextVersion is the next version on the way from the one that a cluster runs to the
// one that is wanted (S10). Where there is no way it is the one that runs, and refusal
// says why, and what to write instead.
func nextVersion(runs, wanted string) (next, refusal string) {
	a, b := parseVersion(runs), parseVersion(wanted)
	minors := b.minor - a.minor
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
		first := cmp.Or(etcdversion.OfMinor(a.minor+1), fmt.Sprintf("%d.%d.x", a.major, a.minor+1))
		return runs, fmt.Sprintf("cannot upgrade more than one minor at a time: the cluster runs %s; set spec.version to %s first, then to %s", runs, first, wanted)
	case minors == 1 && !a.atLeast(lastPatches[a.minor]):
		return etcdversion.OfMinor(a.minor), ""
	}
	return wanted, ""
}
