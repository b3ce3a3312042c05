package retention

import (
	"cmp"
	"slices"
	"time"
)

// Policy says which snapshots are kept. Zero values keep all.
type Policy struct {
	// MaxBackups is how many are kept, the one just written among them.
	MaxBackups int
	// MaxAge is how old one may become, by the time in its name.
	MaxAge time.Duration
}

// Expired returns those of the names that the policy doesn't keep, oldest first,
// after a backup to path was stored under the name written. That one is always kept,
// whatever the clocks of those who wrote the others said. Names that are not of
// path's snapshots are passed over.
func Expired(path, written string, names []string, policy Policy, now time.Time) []string {
	others := snapshots(path, written, names)
	keep := len(others)
	if policy.MaxBackups > 0 {
		keep = min(keep, policy.MaxBackups-1)
	}
	var expired []string
	for i, s := range others { // newest first
		if i >= keep || policy.MaxAge > 0 && now.Sub(s.Time) > policy.MaxAge {
			expired = append(expired, s.Name)
		}
	}
	slices.Reverse(expired)
	return expired
}

// snapshots are those of path but for the one just written, newest first. Where two
// have the same time, as two tries at one backup may, the name decides, so that the
// order is always the same.
func snapshots(path, written string, names []string) []Snapshot {
	var found []Snapshot
	for _, name := range names {
		if s, ok := Parse(path, name); ok && name != written {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b Snapshot) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.Name, a.Name))
	})
	return slices.CompactFunc(found, func(a, b Snapshot) bool { return a.Name == b.Name })
}
