package plan

import (
	"cmp"
	"strconv"
	"strings"
)

const (
	// oldestSupported names the oldest versions with learners and the endpoints
	// /livez and /readyz, which the members' probes use.
	oldestSupported = "3.4.29, 3.5.11"
	// newestTested is the newest version that the tests run.
	newestTested = "3.7.3"
)

// version is a release of etcd.
type version struct{ major, minor, patch int }

// parseVersion reads "3.6.16"; a suffix such as "-rc.0" is passed over. What is no
// version is the zero version.
func parseVersion(s string) version {
	s, _, _ = strings.Cut(s, "-")
	s, _, _ = strings.Cut(s, "+")
	parts := strings.Split(s, ".")
	if len(parts) != 3 {
		return version{}
	}
	var n [3]int
	for i, p := range parts {
		x, err := strconv.Atoi(p)
		if err != nil {
			return version{}
		}
		n[i] = x
	}
	return version{n[0], n[1], n[2]}
}

func (a version) compare(b version) int {
	return cmp.Or(cmp.Compare(a.major, b.major), cmp.Compare(a.minor, b.minor), cmp.Compare(a.patch, b.patch))
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
