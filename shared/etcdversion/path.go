package etcdversion

import (
	"cmp"
	"fmt"
)

// OldestByDowngrade is the earliest minor that etcd's downgrade API leads to: etcd 3.5
// does not lower its cluster version.
const OldestByDowngrade = 5

// earlierMinor is Next for a wanted version of an earlier minor.
func earlierMinor(a, b Version, runs, wanted string) (next, refusal string) {
	newest := OfMinor(b.Minor)
	switch {
	case b.Minor < OldestByDowngrade:
		return runs, fmt.Sprintf("cannot roll back further than %s, the oldest that etcd's downgrade API leads to: the cluster runs %s; set spec.version to %s",
			OfMinor(OldestByDowngrade), runs, cmp.Or(OfMinor(a.Minor-1), runs))
	case newest == "" || OfMinor(a.Minor) == "":
		return runs, fmt.Sprintf("cannot roll back from etcd %s to %s: no path is known; set spec.version to %s", runs, wanted, runs)
	case a.Minor-b.Minor > 1:
		return runs, fmt.Sprintf("cannot roll back more than one minor at a time: the cluster runs %s; set spec.version to %s first, then to %s", runs, OfMinor(a.Minor-1), wanted)
	case !b.AtLeast(Parse(newest)):
		return runs, fmt.Sprintf("cannot roll back from etcd %s to %s: %s is the oldest patch that members can go back to; set spec.version to %s", runs, wanted, newest, newest)
	case !a.AtLeast(Parse(OfMinor(a.Minor))):
		return OfMinor(a.Minor), ""
	}
	return wanted, ""
}

// OldestSupported names the oldest versions with learners and the endpoints /livez and
// /readyz, which the members' probes use.
const OldestSupported = "3.4.29, 3.5.11"

// lastPatches are the oldest patches, by minor, from which a cluster can upgrade to the next
// minor. Of 3.5 it is the newest: before 3.5.26 an upgrade to 3.6 can bring removed members
// back. Of 3.6 it is the one that etcd's guide "Upgrade etcd from v3.6 to v3.7" names.
var lastPatches = map[int]Version{5: Parse(OfMinor(5)), 6: Parse("3.6.11")}

// Supported reports whether the operator runs this version.
func Supported(s string) bool {
	v := Parse(s)
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

// Next is the next version on the way from the one that a cluster runs to the one that is
// wanted (S10 of docs/design/invariants.md). Where there is no way it is the one that runs,
// and refusal says why, and what to write instead.
func Next(runs, wanted string) (next, refusal string) {
	a, b := Parse(runs), Parse(wanted)
	minors := b.Minor - a.Minor
	switch {
	case wanted == runs:
		return runs, ""
	case !Supported(runs):
		return runs, fmt.Sprintf("no upgrade path from etcd %s, which the cluster runs; set spec.version to %s", runs, runs)
	case !Supported(wanted):
		return runs, fmt.Sprintf("etcd %s is not supported; set spec.version to %s or later, such as %s", wanted, OldestSupported, Newest())
	case minors < 0:
		return earlierMinor(a, b, runs, wanted)
	case minors > 1:
		first := cmp.Or(OfMinor(a.Minor+1), fmt.Sprintf("%d.%d.x", a.Major, a.Minor+1))
		return runs, fmt.Sprintf("cannot upgrade more than one minor at a time: the cluster runs %s; set spec.version to %s first, then to %s", runs, first, wanted)
	case minors == 1 && !a.AtLeast(lastPatches[a.Minor]):
		return OfMinor(a.Minor), ""
	}
	return wanted, ""
}
