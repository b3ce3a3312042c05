package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/archive"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
	"github.com/etcd-operators/etcd-operators/shared/rebuild"
	"github.com/etcd-operators/etcd-operators/shared/snapshot"
	"github.com/etcd-operators/etcd-operators/shared/snapshotname"
)

// maxHole is how far the last mark may lie before the task's time, if what was written after it is
// not known: a recorder asks for one every second.
const maxHole = time.Minute

// recorded is the archive beside a snapshot, in a store or on a volume.
type recorded struct {
	// location is its folder, as people write it.
	location string
	segments []archive.Segment
	open     func(archive.Segment) (io.ReadCloser, error)
	close    func() error
}

// openArchive lists the archive beside the snapshot of a name. Without one there are no segments.
// The caller closes it.
func (j *job) openArchive(ctx context.Context, name string) (*recorded, error) {
	of, _, ok := snapshotname.ParseAny(name)
	switch {
	case !ok:
		return &recorded{close: func() error { return nil }}, nil
	case j.task.PVC != nil:
		return j.archiveOnVolume(archive.Folder(of))
	}
	store, err := runner.OpenStore(ctx, j.task.Store, j.settings.stall, j.settings.storeBackoff)
	if err != nil {
		return nil, err
	}
	return archiveIn(ctx, store, archive.Folder(of))
}

func archiveIn(ctx context.Context, store objectstore.Store, folder string) (*recorded, error) {
	a := &recorded{location: store.URL(folder), close: func() error { return nil }}
	a.open = func(s archive.Segment) (io.ReadCloser, error) { return store.Get(ctx, folder+s.Name(), "") }
	for o, err := range store.List(ctx, folder) {
		if err != nil {
			return nil, err
		}
		a.add(strings.TrimPrefix(o.Key, folder))
	}
	return a, nil
}

func (j *job) archiveOnVolume(folder string) (*recorded, error) {
	root, _, err := runner.OpenVolume(j.task.PVC)
	if err != nil {
		return nil, err
	}
	a := &recorded{location: j.task.PVC.Location(folder), close: root.Close}
	a.open = func(s archive.Segment) (io.ReadCloser, error) {
		// To open a pipe would wait for somebody at its other end.
		return root.OpenFile(path.Join(folder, s.Name()), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	}
	dir, err := root.Open(path.Clean(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	names, err := dir.Readdirnames(-1)
	if err = errors.Join(err, dir.Close()); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	for _, name := range names {
		a.add(name)
	}
	return a, nil
}

// add notes a segment, if it is one.
func (a *recorded) add(name string) {
	if s, ok := archive.ParseName(name); ok {
		a.segments = append(a.segments, s)
	}
}

// cluster is the cluster of a snapshot, or, if that does not tell, the only one of the archive.
func (a *recorded) cluster(found *task.Snapshot) (uint64, error) {
	if id, err := strconv.ParseUint(found.ClusterID, 16, 64); err == nil {
		return id, nil
	}
	id := uint64(0)
	for i, s := range a.segments {
		if i > 0 && s.ClusterID != id {
			return 0, runner.Refuse(task.ReasonClusterAmbiguous, "the snapshot %s does not tell its cluster, and the archive %s has segments of several: restore a snapshot that an EtcdBackup has stored", found.Location, a.location)
		}
		id = s.ClusterID
	}
	return id, nil
}

// target is what a database is brought to.
type target struct {
	revision int64
	// at is the recovery point, of a task with a time: whatever was acknowledged before is in it.
	at time.Time
	// chain leads from the snapshot to the revision; empty: the snapshot holds it.
	chain  []archive.Segment
	begin  archive.Lineage
	source *recorded
}

func (t *target) close() {
	if t != nil && t.source != nil {
		_ = t.source.close() // it was only read
	}
}

// aim finds the revision that the task asks for, and what of the archive leads to it; nil if the
// task asks for all that the snapshot holds. The caller closes the target.
func (j *job) aim(ctx context.Context, f *fetched, found *task.Snapshot) (*target, error) {
	switch {
	case j.task.Revision == 0 && j.task.Time.IsZero() && len(j.task.Prefixes) == 0:
		return nil, nil
	case j.task.Time.IsZero() && j.task.Revision <= found.Revision:
		return &target{revision: cmp.Or(j.task.Revision, found.Revision)}, nil
	}
	a, err := j.openArchive(ctx, f.name)
	if err != nil {
		return nil, err
	}
	t, err := j.aimBy(ctx, f, found, a)
	if err != nil {
		return nil, errors.Join(err, a.close())
	}
	return t, nil
}

func (j *job) aimBy(ctx context.Context, f *fetched, found *task.Snapshot, a *recorded) (*target, error) {
	cluster, err := a.cluster(found)
	if err != nil {
		return nil, err
	}
	t, timelines := &target{revision: j.task.Revision, source: a}, archive.Timelines(a.segments, cluster)
	if !j.task.Time.IsZero() {
		timeline, err := j.findTime(t, cluster, timelines)
		switch {
		case err != nil:
			return nil, err
		case t.revision < found.OldestRevision:
			return nil, runner.Refuse(task.ReasonTimeNotHeld, "at %s the cluster was at revision %d, and the snapshot %s holds revisions %d to %d: restore a snapshot from before that time", clock(j.task.Time), t.revision, found.Location, found.OldestRevision, found.Revision)
		case t.revision <= found.Revision:
			return t, nil
		}
		timelines = []uint32{timeline}
	}
	var begin archive.Begin
	if err := rebuild.NewestChanges(ctx, f.file, begin.Add); err != nil {
		return nil, err
	}
	t.begin = begin.Lineage()
	var failed error
	for _, timeline := range timelines {
		t.chain, err = archive.Chain(a.segments, cluster, timeline, found.Revision, t.revision)
		if err == nil {
			err = j.tryChain(t, found)
		}
		if err == nil {
			return t, nil
		}
		if !isOfArchive(err) {
			return nil, j.unread(a, err)
		}
		failed = further(failed, err)
	}
	if failed == nil {
		return nil, revisionBeyond(found, t.revision)
	}
	return nil, j.unusable(found, a, failed)
}

// tryChain reads the first change of a chain: a snapshot of another history shows there.
func (j *job) tryChain(t *target, found *task.Snapshot) error {
	changes := t.changes(found)
	_, _, err := changes.Next()
	return errors.Join(err, changes.Close())
}

func (t *target) changes(found *task.Snapshot) *archive.Changes {
	return archive.NewChanges(t.chain, found.Revision, t.revision, t.begin, t.source.open)
}

// findTime finds the revision at the task's time, and the timeline that tells it.
func (j *job) findTime(t *target, cluster uint64, timelines []uint32) (timeline uint32, err error) {
	at := j.task.Time
	var m, next, first *archive.Mark // at the time, behind it, and of all behind it
	var told archive.ClockError
	for _, each := range timelines {
		before, after, err := archive.At(t.source.segments, cluster, each, at, t.source.open)
		var twice *archive.ClockError
		switch {
		case errors.As(err, &twice):
			return 0, j.twice(t, twice)
		case err != nil:
			return 0, j.unread(t.source, err)
		case tells(before, after):
			told.Marks = slices.Insert(told.Marks, 0, *before) // the newest timeline comes first
		}
		if before != nil && (m == nil || before.Answered.After(m.Answered)) {
			timeline, m, next = each, before, after
		}
		if after != nil && (first == nil || after.Asked.Before(first.Asked)) {
			first = after
		}
	}
	if len(slices.CompactFunc(slices.Clone(told.Marks), func(a, b archive.Mark) bool { return a.Revision == b.Revision })) > 1 {
		return 0, j.twice(t, &told)
	}
	where := cmp.Or(t.source.location, "beside it")
	switch {
	case m == nil && first == nil:
		return 0, runner.Refuse(task.ReasonTimeNotHeld, "no archive of the snapshot's cluster (%s) tells what was written until %s: set spec.revision instead of spec.time, or restore another snapshot", where, clock(at))
	case m == nil:
		return 0, runner.Refuse(task.ReasonTimeNotHeld, "the archive %s begins at %s, and does not tell what was written until %s: set a later spec.time, or set spec.revision instead", where, clock(first.Answered), clock(at))
	case next != nil && next.Revision == m.Revision: // nothing was written in between
		t.at = at
	case at.Sub(m.Answered) <= maxHole:
		t.at = m.Asked
	case next == nil:
		return 0, runner.Refuse(task.ReasonTimeNotHeld, "the archive %s ends at %s with revision %d, and does not tell what was written until %s: set spec.time to that or an earlier time, or set spec.revision instead", where, clock(m.Answered), m.Revision, clock(at))
	default:
		return 0, runner.Refuse(task.ReasonTimeNotHeld, "the archive %s does not tell when revisions %d to %d were written, between %s and %s: set spec.revision to one of them, or spec.time to one of these", where, m.Revision+1, next.Revision, clock(m.Answered), clock(next.Asked))
	}
	t.revision = m.Revision
	j.log.Info("found the revision of the time", "time", clock(at), "revision", t.revision, "recoveryTime", t.at)
	return timeline, nil
}

// tells reports whether the cluster was recorded all the time between two marks.
func tells(before, after *archive.Mark) bool {
	return before != nil && after != nil && (before.Revision == after.Revision || after.Answered.Sub(before.Answered) <= maxHole)
}

// twice refuses a time that came more than once.
func (j *job) twice(t *target, err *archive.ClockError) error {
	return runner.Refuse(task.ReasonTimeNotHeld, "the archive %s does not tell where the cluster was at %s: %w: set spec.revision to the one that you want instead of spec.time", t.source.location, clock(j.task.Time), err)
}

// clock is how a time is told: as spec.time is written, but never later than it was.
func clock(t time.Time) string { return t.UTC().Truncate(time.Second).Format(time.RFC3339) }

// isOfArchive tells whether an error says that a chain leads nowhere, and another may.
func isOfArchive(err error) bool {
	var gap *archive.GapError
	var diverged *archive.DivergedError
	var fork *archive.ForkError
	return errors.As(err, &gap) || errors.As(err, &diverged) || errors.As(err, &fork)
}

// further is the error of the chain that leads further: what says more than a gap comes first.
func further(one, other error) error {
	var a, b *archive.GapError
	if one == nil || errors.As(one, &a) && (!errors.As(other, &b) || b.From > a.From) {
		return other
	}
	return one
}

// revisionBeyond refuses a revision that neither the snapshot nor an archive holds.
func revisionBeyond(found *task.Snapshot, revision int64) error {
	return runner.Refuse(task.ReasonRevisionNotHeld, "the snapshot %s holds revisions %d to %d, and not revision %d: set spec.revision to one of them, or restore another snapshot", found.Location, found.OldestRevision, found.Revision, revision)
}

// unread is why a segment could not be read, to a person: of the store, or of the segment.
func (j *job) unread(a *recorded, err error) error {
	var store *objectstore.Error
	switch {
	case errors.Is(err, objectstore.NotFound), errors.Is(err, fs.ErrNotExist):
		return runner.Passing(task.ReasonChanged, "a segment of the archive %s was deleted since it was listed: another attempt lists it again", a.location)
	case errors.As(err, &store), errors.As(err, new(*fs.PathError)):
		return err
	case errors.Is(err, archive.ErrDamaged), errors.As(err, new(*archive.ForeignError)):
		return runner.Refuse(task.ReasonArchiveUnusable, "the archive %s cannot be read: %w: set spec.revision to one that a snapshot holds, or restore a snapshot that was taken later", a.location, err)
	}
	return err
}

// unusable is why the archive does not lead from the snapshot to the revision.
func (j *job) unusable(found *task.Snapshot, a *recorded, err error) error {
	var gap *archive.GapError
	if errors.As(err, &gap) {
		return runner.Refuse(task.ReasonRevisionNotHeld, "the snapshot %s holds revisions %d to %d; in %s, %w: set spec.revision to %d or lower, or restore a snapshot that was taken later", found.Location, found.OldestRevision, found.Revision, a.location, gap, gap.From-1)
	}
	var diverged *archive.DivergedError
	switch {
	case !isOfArchive(err):
		return j.unread(a, err)
	case !errors.As(err, &diverged):
		return runner.Refuse(task.ReasonArchiveUnusable, "the archive %s cannot be used: %w; set spec.revision to %d or lower, or restore a snapshot that was taken later", a.location, err, found.Revision)
	}
	return runner.Refuse(task.ReasonArchiveUnusable, "the archive %s does not belong to the snapshot %s: %w; set spec.revision to %d or lower, or restore another snapshot", a.location, found.Location, err, found.Revision)
}

// follow appends what the archive has up to the target, and compares the newest hash that it has
// of that with the data.
func (j *job) follow(ctx context.Context, f *fetched, found *task.Snapshot, t *target) (*task.Cut, error) {
	j.log.Info("appending the archive", "location", t.source.location, "segments", len(t.chain), "from", found.Revision, "to", t.revision)
	changes := t.changes(found)
	defer func() { _ = changes.Close() }() // it was only read
	needed := found.DatabaseSize
	size, err := rebuild.Append(ctx, f.file, t.revision, func() (record, value []byte, err error) {
		record, value, err = changes.Next()
		if err == nil {
			needed += int64(len(record) + len(value))
			err = j.checkScratch(needed)
		}
		return record, value, err
	})
	if err != nil {
		return nil, j.unusable(found, t.source, err)
	}
	cut := &task.Cut{Revision: t.revision, Appended: t.revision - found.Revision, DatabaseSize: size}
	if err := j.compareAppended(ctx, f, found, changes.Hash(), t); err != nil {
		return nil, err
	}
	if j.task.Member != nil && j.task.Want == nil { // else members might be stopped for it
		if err := rebuild.CheckSpaceBeside(path.Dir(f.file.Name()), j.spare(size)); err != nil {
			return nil, err
		}
	}
	j.log.Info("appended the archive", "revision", t.revision, "revisions", cut.Appended, "size", size)
	return cut, nil
}

// compareAppended compares the data with the newest hash of the archive, if it has one.
func (j *job) compareAppended(ctx context.Context, f *fetched, found *task.Snapshot, h *archive.Hash, t *target) error {
	if h == nil || j.task.SkipHashCheck {
		return nil
	}
	got, err := rebuild.CompareHash(ctx, f.file, found.OldestRevision, t.revision, snapshot.Hash{Value: h.Hash, Revision: h.Revision, CompactedRevision: max(h.Compacted, 0)})
	if err != nil || got != rebuild.HashDiffers {
		j.log.Info("compared the hash of the data with that of the archive", "revision", h.Revision, "equal", err == nil && got == rebuild.HashEqual)
		return err
	}
	if j.task.Want != nil { // as in compareHash: members might be stopped for what was right then
		return runner.Passing(task.ReasonHashMismatch, "the copy of %s with the archive %s differs from what was verified: at revision %d, it does not have the hash that the cluster had (HashKV %d): both are fetched again; if that does not help, replace the volume or its node, or delete this EtcdRestore and restore another snapshot", found.Location, t.source.location, h.Revision, h.Hash)
	}
	return runner.Refuse(task.ReasonHashMismatch, "data differs from what was recorded: at revision %d, the snapshot %s with the archive %s does not have the hash that the cluster had (HashKV %d); set spec.revision to %d or lower, or set spec.skipHashCheck in another EtcdRestore to restore it as it is", h.Revision, found.Location, t.source.location, h.Hash, found.Revision)
}

// reaching is the newest snapshot before the task's revision whose archive leads to it; nil if
// there is none. why is what is missing.
func (j *job) reaching(ctx context.Context, store objectstore.Store, candidates []lying) (chosen *lying, why error, err error) {
	before := slices.DeleteFunc(slices.Clone(candidates), func(l lying) bool { return l.Revision >= j.task.Revision })
	slices.SortStableFunc(before, func(a, b lying) int { return cmp.Compare(b.Revision, a.Revision) })
	opened := map[string]*recorded{}
	for _, c := range before[:min(len(before), maxBases)] {
		o, err := store.Stat(ctx, c.Key)
		if errors.Is(err, objectstore.NotFound) {
			continue // retention has deleted it since it was listed
		}
		if err != nil {
			return nil, nil, err
		}
		if j.task.ClusterID != "" && o.Metadata[clusterIDKey] != j.task.ClusterID {
			continue
		}
		if opened[c.path] == nil {
			if opened[c.path], err = archiveIn(ctx, store, archive.Folder(c.path)); err != nil {
				return nil, nil, err
			}
		}
		a := opened[c.path]
		cluster, err := a.cluster(&task.Snapshot{ClusterID: o.Metadata[clusterIDKey], Location: store.URL(c.Key)})
		if err != nil {
			continue
		}
		for _, timeline := range archive.Timelines(a.segments, cluster) {
			_, err := archive.Chain(a.segments, cluster, timeline, c.Revision, j.task.Revision)
			if err == nil {
				return &c, nil, nil
			}
			why = further(why, fmt.Errorf("%w (%s)", err, a.location))
		}
	}
	return nil, why, nil
}

// maxBases is how many snapshots are tried as the one that the archive follows on, the newest
// first: a gap is not wider than a few of them, or is there for all.
const maxBases = 20

// before is the newest snapshot that was due by the task's time; else the oldest of all, which may
// hold that time.
func (j *job) before(ctx context.Context, store objectstore.Store, candidates []lying) (*lying, error) {
	var own []lying
	for _, c := range candidates { // the newest first
		if j.task.ClusterID != "" {
			o, err := store.Stat(ctx, c.Key)
			if errors.Is(err, objectstore.NotFound) {
				continue // retention has deleted it since it was listed
			}
			if err != nil {
				return nil, err
			}
			if o.Metadata[clusterIDKey] != j.task.ClusterID {
				continue
			}
		}
		if own = append(own, c); !c.Time.After(j.task.Time) {
			break
		}
	}
	if len(own) == 0 {
		return nil, runner.Refuse(task.ReasonWrongCluster, "none of the newest %d snapshots under %s records that it is of cluster %s: correct spec.clusterID or %[4]s.prefix, or name a snapshot in %[4]s.path", len(candidates), store.URL(j.task.Store.Prefix), j.task.ClusterID, j.task.Store.Field())
	}
	return &own[len(own)-1], nil
}
