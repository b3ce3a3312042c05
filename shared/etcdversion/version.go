package etcdversion

import (
	"cmp"
	"fmt"

	"github.com/coreos/go-semver/semver"
)

// Version is a release of etcd, without a suffix such as "-rc.0".
type Version struct{ Major, Minor, Patch int }

// Parse reads "3.6.16"; a suffix such as "-rc.0" is passed over. What is no version is the
// zero Version.
func Parse(s string) Version {
	v, err := semver.NewVersion(s)
	if err != nil {
		return Version{}
	}
	return Version{int(v.Major), int(v.Minor), int(v.Patch)}
}

// String is the minor, as etcd tells its cluster version.
func (a Version) String() string {
	if a == (Version{}) {
		return "not known"
	}
	return fmt.Sprintf("%d.%d", a.Major, a.Minor)
}

// Compare is negative if a is before b, 0 if they are the same, and positive if a is after b.
func (a Version) Compare(b Version) int {
	return cmp.Or(a.CompareMinor(b), cmp.Compare(a.Patch, b.Patch))
}

// CompareMinor is Compare up to the patches.
func (a Version) CompareMinor(b Version) int {
	return cmp.Or(cmp.Compare(a.Major, b.Major), cmp.Compare(a.Minor, b.Minor))
}

// AtLeast reports whether a is b or newer.
func (a Version) AtLeast(b Version) bool { return a.Compare(b) >= 0 }
