package retention

import (
	"cmp"
	"slices"
	"time"

	"github.com/etcd-operators/etcd-operators/shared/snapshotname"
)

// Policy limits which snapshots are kept. Zero values of MaxBackups and MaxAge keep all.
type Policy struct {
	// MaxBackups is how many are kept, the one just written among them.
	MaxBackups int
	// MaxAge is how old one may become, by the time in its name.
	MaxAge time.Duration
	// MinBackups is how many of each cluster are kept in any case; 0: one.
	MinBackups int
	// Always is the user's consent to delete what is of another cluster, of a higher
	// revision, or unknown.
	Always bool
}

// KeepsAll is true for a policy by which nothing expires.
func (p Policy) KeepsAll() bool { return p.MaxBackups <= 0 && p.MaxAge <= 0 }

func (p Policy) isTooOld(s snapshotname.Snapshot, reference time.Time) bool {
	return p.MaxAge > 0 && reference.Sub(s.Time) > p.MaxAge
}

// Identity is what is stored with a snapshot of what it is of.
type Identity struct {
	// Cluster is etcd's cluster id, empty if it is not known.
	Cluster string
	// Revision is that of the source just before the snapshot.
	Revision int64
	// Marked is true for the snapshot of a source that was not healthy or had no quorum.
	Marked bool
}

// Known is a snapshot of which is known what it is of.
type Known struct {
	snapshotname.Snapshot
	Identity
}

// Suspects returns the snapshots of path that must be looked at before any may be deleted,
// newest first, after a backup was stored under the name written: none if by their names
// alone none expires. That one itself, those that are newer, and names that are not of
// path's snapshots are passed over.
func Suspects(path, written string, names []string, policy Policy, reference time.Time) []snapshotname.Snapshot {
	own, ok := snapshotname.Parse(path, written)
	if !ok || policy.KeepsAll() {
		return nil
	}
	others := slices.DeleteFunc(snapshots(path, names), func(s snapshotname.Snapshot) bool {
		return s.Name == written || s.Time.After(own.Time)
	})
	tooOld := func(s snapshotname.Snapshot) bool { return policy.isTooOld(s, reference) }
	if tooMany := policy.MaxBackups > 0 && len(others) >= policy.MaxBackups; !tooMany && !slices.ContainsFunc(others, tooOld) {
		return nil
	}
	if policy.MaxBackups <= 0 && policy.MinBackups <= 1 && !policy.Always {
		return slices.DeleteFunc(others, func(s snapshotname.Snapshot) bool { return !tooOld(s) })
	}
	return others // the newer ones are counted
}

// Expired returns the names of those of the suspects (newest first) that the policy does
// not keep, oldest first, after a backup of that identity was stored. Spared is how many
// it keeps only because nobody consented to delete them.
func Expired(written Identity, suspects []Known, policy Policy, reference time.Time) (expired []string, spared int) {
	counted := 1 // the one just written
	kept := map[string]int{written.Cluster: 1}
	for i, k := range suspects {
		isOwn := !k.Marked && k.Cluster != "" && k.Cluster == written.Cluster && k.Identity.Revision <= written.Revision
		isDeletable := isOwn || policy.Always && !k.Marked
		isTooOld := policy.isTooOld(k.Snapshot, reference)
		switch {
		case !isDeletable:
			if isTooOld || policy.MaxBackups > 0 && i+1 >= policy.MaxBackups {
				spared++
			}
		case kept[k.Cluster] >= max(policy.MinBackups, 1) && (isTooOld || policy.MaxBackups > 0 && counted >= policy.MaxBackups):
			expired = append(expired, k.Name)
		default:
			counted++
			kept[k.Cluster]++
		}
	}
	slices.Reverse(expired)
	return expired, spared
}

// snapshots are those of path, newest first. Where two have the same time, as two tries at
// one backup may, the name decides, so that the order is always the same.
func snapshots(path string, names []string) []snapshotname.Snapshot {
	var found []snapshotname.Snapshot
	for _, name := range names {
		if s, ok := snapshotname.Parse(path, name); ok {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b snapshotname.Snapshot) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.Name, a.Name))
	})
	return slices.CompactFunc(found, func(a, b snapshotname.Snapshot) bool { return a.Name == b.Name })
}
