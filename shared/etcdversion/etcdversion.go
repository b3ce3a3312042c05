// Package etcdversion is the one list of the etcd versions that the operators support: the
// tests run them, a snapshot is restored if it is of one of their minors, and advice names
// them.
package etcdversion

import (
	"fmt"
	"slices"

	"github.com/coreos/go-semver/semver"
)

// newest are the newest patches that the tests run, one of each supported minor, oldest
// first. The modules in e2e/localkube/build build the same ones.
var newest = []string{"3.5.35", "3.6.16", "3.7.3"}

// Default is the version of a new cluster that names none: the newest patch of the minor
// that has been out for a year. An operator that comes with another one never moves a
// cluster that exists.
const Default = "3.6.16"

// All are the newest patches of the supported minors, oldest first.
func All() []string { return slices.Clone(newest) }

// Newest is the newest of All.
func Newest() string { return newest[len(newest)-1] }

// Minors are the supported minors, such as "3.6", oldest first.
func Minors() []string {
	var minors []string
	for _, v := range newest {
		parsed := semver.New(v)
		minors = append(minors, fmt.Sprintf("%d.%d", parsed.Major, parsed.Minor))
	}
	return minors
}

// OfMinor is the newest patch of etcd 3.n; empty if that is not supported.
func OfMinor(n int) string {
	for _, v := range newest {
		if semver.New(v).Minor == int64(n) {
			return v
		}
	}
	return ""
}
