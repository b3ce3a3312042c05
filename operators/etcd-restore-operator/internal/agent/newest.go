package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
	"github.com/etcd-operators/etcd-operators/shared/snapshotname"
)

const (
	// maxCandidates is of how many snapshots the agent keeps track, the newest ones: some
	// 300 KiB. It is also how many it asks for their cluster.
	maxCandidates = 1000
	// maxPaths is how many paths a message names.
	maxPaths = 3
	// maxLocation is the longest location that a status holds whole, in bytes.
	maxLocation = 1000
	// maxCatalogue is how many bytes of a termination message a catalogue may take: the
	// rest is for the snapshot, or the failure.
	maxCatalogue = 2400
)

// lying is a snapshot under the prefix.
type lying struct {
	objectstore.Object
	snapshotname.Snapshot
	path string
}

// listing is what lies under the prefix.
type listing struct {
	// newest are the newest snapshots, the newest first.
	newest        []lying
	total, others int64
	// paths are some of those that the snapshots have which may be chosen, in order.
	paths []string
}

// choose finds the newest snapshot under the prefix, or the one for the task's revision, once: from then on it is that one,
// whatever is stored meanwhile.
func (j *job) choose(ctx context.Context, store objectstore.Store) error {
	if j.chosen != nil {
		return nil
	}
	where := store.URL(j.task.Store.Prefix)
	all, err := list(ctx, store, j.task.Store.Prefix)
	if err != nil {
		return err
	}
	if j.task.Catalogue {
		j.result.Catalogue = catalogue(ctx, store, all)
	}
	candidates := slices.DeleteFunc(slices.Clone(all.newest), func(l lying) bool { return snapshotname.Marked(l.path) })
	switch {
	case len(candidates) == 0:
		return runner.Refuse(task.ReasonSnapshotNotFound, "no snapshot under %s has a name that ends in _v<revision>_<time> and was confirmed by a quorum (%d with such names were not confirmed, and %d objects have other names): correct %[4]s.prefix, or name a snapshot in %[4]s.path", where, all.total, all.others, j.task.Store.Field())
	case j.task.ClusterID == "" && !j.task.Catalogue && len(all.paths) > 1:
		return runner.Refuse(task.ReasonAmbiguousPrefix, "ambiguous prefix: %s has snapshots of several backups (%s): set a longer %[3]s.prefix, or spec.clusterID", where, strings.Join(all.paths[:min(len(all.paths), maxPaths)], ", "), j.task.Store.Field())
	}
	chosen := &candidates[0]
	switch {
	case !j.task.Time.IsZero():
		chosen, err = j.before(ctx, store, candidates)
	case j.task.Revision > 0:
		chosen, err = j.holding(ctx, store, all, candidates)
	case j.task.ClusterID != "":
		chosen, err = j.ofCluster(ctx, store, candidates)
	}
	if err != nil {
		return err
	}
	j.log.Info("chose a snapshot", "location", store.URL(chosen.Key), "etag", chosen.ETag, "of", all.total)
	j.chosen = &chosen.Object
	return nil
}

// list reads what lies under a prefix, however much that is.
func list(ctx context.Context, store objectstore.Store, prefix string) (*listing, error) {
	all := &listing{}
	for o, err := range store.List(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		path, s, ok := snapshotname.ParseAny(o.Key)
		if !ok || len(store.URL(o.Key)) > maxLocation || !utf8.ValidString(o.Key) || strings.ContainsFunc(o.Key, unicode.IsControl) {
			all.others++
			continue
		}
		all.add(lying{o, s, path})
	}
	all.trim()
	return all, nil
}

// add adds a snapshot.
func (l *listing) add(s lying) {
	l.total++
	l.newest = append(l.newest, s)
	if len(l.newest) >= 2*maxCandidates {
		l.trim()
	}
	if !snapshotname.Marked(s.path) && len(l.paths) <= maxPaths && !slices.Contains(l.paths, s.path) {
		l.paths = append(l.paths, s.path)
	}
}

// trim keeps the newest, by the time in their names.
func (l *listing) trim() {
	slices.SortFunc(l.newest, func(a, b lying) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.Name, a.Name))
	})
	l.newest = l.newest[:min(len(l.newest), maxCandidates)]
}

// ofCluster is the newest that is of the task's cluster, as the objects tell.
func (j *job) ofCluster(ctx context.Context, store objectstore.Store, candidates []lying) (*lying, error) {
	for i := range candidates {
		o, err := store.Stat(ctx, candidates[i].Key)
		if err != nil {
			return nil, err
		}
		if o.Metadata[clusterIDKey] == j.task.ClusterID {
			return &candidates[i], nil
		}
	}
	return nil, runner.Refuse(task.ReasonWrongCluster, "none of the newest %d snapshots under %s records that it is of cluster %s: correct spec.clusterID or %[4]s.prefix, or name a snapshot in %[4]s.path (those of the archived operator record no cluster)", len(candidates), store.URL(j.task.Store.Prefix), j.task.ClusterID, j.task.Store.Field())
}

// holding is the oldest that holds the task's revision, since it has the least to leave out, or
// else the newest before it whose archive leads there.
// Objects of an earlier release do not tell how far they go back: one of them is taken where no
// other is known to hold it.
func (j *job) holding(ctx context.Context, store objectstore.Store, all *listing, candidates []lying) (*lying, error) {
	var sure, perhaps []lying
	var clusters []string
	before, after := int64(0), int64(math.MaxInt64)
	for _, c := range candidates {
		if c.Revision < j.task.Revision {
			if j.task.ClusterID == "" {
				before = max(before, c.Revision)
			}
			continue
		}
		o, err := store.Stat(ctx, c.Key)
		if errors.Is(err, objectstore.NotFound) {
			continue // retention has deleted it since it was listed
		}
		if err != nil {
			return nil, err
		}
		of := o.Metadata[clusterIDKey]
		if j.task.ClusterID != "" && of != j.task.ClusterID {
			continue
		}
		switch oldest := oldestOf(o); {
		case oldest == 0:
			perhaps, clusters = append(perhaps, c), append(clusters, of)
		case oldest <= j.task.Revision:
			sure, clusters = append(sure, c), append(clusters, of)
		default:
			after = min(after, oldest)
		}
	}
	if len(sure) == 0 {
		sure = perhaps
	}
	clusters = slices.Compact(slices.Sorted(slices.Values(slices.DeleteFunc(clusters, func(id string) bool { return id == "" }))))
	switch {
	case len(sure) == 0:
		base, why, err := j.reaching(ctx, store, candidates)
		if base != nil || err != nil {
			return base, err
		}
		return nil, revisionNotHeld(why, j.task.Store.Field(), store.URL(j.task.Store.Prefix), j.task.Revision, all, before, after)
	case len(clusters) > 1:
		return nil, runner.Refuse(task.ReasonClusterAmbiguous, "snapshots of several clusters under %s hold revision %d: set spec.clusterID to one of %s", store.URL(j.task.Store.Prefix), j.task.Revision, strings.Join(clusters, ", "))
	}
	chosen := slices.MinFunc(sure, func(a, b lying) int { return cmp.Compare(a.Revision, b.Revision) })
	return &chosen, nil
}

// oldestOf is the oldest revision that an object says that it holds; 0 if it does not say.
func oldestOf(o objectstore.Object) int64 {
	n, err := strconv.ParseInt(o.Metadata[oldestRevisionKey], 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// revisionNotHeld refuses a revision. field is that of the place. before and after are the nearest that snapshots hold;
// before is 0, and after the highest number, if none does. why says why the archive does not lead
// to it; nil if there is none.
func revisionNotHeld(why error, field, where string, revision int64, all *listing, before, after int64) error {
	var near []string
	if before > 0 {
		near = append(near, fmt.Sprintf("the snapshots before it end at revision %d", before))
	}
	if after < math.MaxInt64 {
		near = append(near, fmt.Sprintf("those after it begin at revision %d", after))
	}
	if why != nil {
		near = append(near, why.Error())
	}
	none, other := "no snapshot", "back the cluster up again before etcd compacts that revision"
	if all.total > maxCandidates {
		none, other = fmt.Sprintf("none of the newest %d snapshots", maxCandidates), fmt.Sprintf("set a longer %s.prefix to search older ones", field)
	}
	if len(near) == 0 {
		return runner.Refuse(task.ReasonRevisionNotHeld, "%s under %s holds revision %d: correct %s.prefix, spec.clusterID or spec.revision", none, where, revision, field)
	}
	return runner.Refuse(task.ReasonRevisionNotHeld, "%s under %s holds revision %d: %s; set spec.revision to one that a snapshot holds, or %s", none, where, revision, strings.Join(near, ", and "), other)
}

// catalogue is what is reported of a listing.
func catalogue(ctx context.Context, store objectstore.Store, all *listing) *task.Catalogue {
	c := &task.Catalogue{Total: all.total, Others: all.others}
	for _, l := range all.newest[:min(len(all.newest), task.MaxEntries)] {
		e := task.Entry{Name: store.URL(l.Key), Size: l.Size}
		if o, err := store.Stat(ctx, l.Key); err == nil { // else it is told without
			e.ClusterID, e.OldestRevision = o.Metadata[clusterIDKey], oldestOf(o)
		}
		c.Entries = append(c.Entries, e)
	}
	c.Base = common(c.Entries)
	for i := range c.Entries {
		c.Entries[i].Name = c.Entries[i].Name[len(c.Base):]
	}
	return c
}

// common is what the names of all entries begin with.
func common(entries []task.Entry) string {
	if len(entries) == 0 {
		return ""
	}
	base := entries[0].Name
	for _, e := range entries[1:] {
		n := 0
		for n < min(len(base), len(e.Name)) && base[n] == e.Name[n] {
			n++
		}
		base = base[:n]
	}
	for !utf8.ValidString(base) { // cut inside of a letter
		base = base[:len(base)-1]
	}
	return base
}

// fitted is a catalogue that leaves room for the rest of a termination message: without
// its oldest entries, if there are too many.
func fitted(c *task.Catalogue) *task.Catalogue {
	short := *c
	for len(short.Entries) > 0 {
		if text, err := json.Marshal(short); err == nil && len(text) <= maxCatalogue {
			break
		}
		short.Entries = short.Entries[:len(short.Entries)-1]
	}
	return &short
}
