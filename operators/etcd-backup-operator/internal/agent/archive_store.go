package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/archive"
)

const (
	// metaAuth is the metadata of a segment that holds etcd's revision of users and roles.
	metaAuth = "auth-revision"
	// archiveName stands for a segment's name in the path of a place, whose folder counts.
	archiveName = "segment"
	// pruneEvery is how often segments are deleted that no snapshot needs.
	pruneEvery = time.Hour
)

// openArchive opens the place of the segments: what is written there has its own notes and
// temporary files.
func (a *archiver) openArchive(ctx context.Context) (destination, error) {
	own := *a.job
	switch {
	case own.task.PVC != nil:
		pvc := *own.task.PVC
		pvc.Path = archive.Folder(path.Clean(pvc.Path)) + archiveName
		own.task.PVC = &pvc
	default:
		store := *own.task.Store
		store.Key = archive.Folder(store.Key) + archiveName
		own.task.Store = &store
	}
	return own.destination(ctx)
}

// segments are those that are stored.
func segments(ctx context.Context, to destination) (all []archive.Segment, err error) {
	names, err := to.list(ctx, path.Dir(to.path())+"/")
	if err != nil {
		return nil, fmt.Errorf("list the archive: %w", err)
	}
	for _, name := range names {
		if s, ok := archive.ParseName(path.Base(name)); ok && name == nameOf(to, s) {
			all = append(all, s)
		}
	}
	return all, nil
}

// nameOf is where a segment lies.
func nameOf(to destination, s archive.Segment) string {
	return path.Join(path.Dir(to.path()), s.Name())
}

// find is where the recording of a member's cluster goes on: behind the newest segment, or, if
// there is none that is whole, at the revision that the member has.
func (a *archiver) find(ctx context.Context, to destination, from member) (place, error) {
	all, err := segments(ctx, to)
	if err != nil {
		return place{}, err
	}
	next, err := nextTimeline(all, from.cluster)
	if err != nil {
		return place{}, err
	}
	begin := beginAt(next, from.revision)
	newest, ok := archive.Newest(all, from.cluster)
	if a.cluster == from.cluster && a.at.timeline > newest.Timeline {
		return a.at, nil
	}
	if !ok {
		return begin, nil
	}
	told, err := readSegment(ctx, to, newest)
	if errors.Is(err, archive.ErrDamaged) {
		a.log.Warn("the newest segment is damaged, and a new timeline begins", "segment", newest.Name(), "error", err)
		a.progress.gap(&task.Gap{From: newest.First, To: from.revision, Message: fmt.Sprintf("segment %s: %s", newest.Name(), err), Time: time.Now().UTC()})
		return begin, nil
	}
	if err != nil {
		return place{}, err
	}
	there, err := to.look(ctx, nameOf(to, newest))
	if err != nil {
		return place{}, err
	}
	if was, err := strconv.ParseUint(there.metadata[metaAuth], 10, 64); err == nil {
		a.auth = was
	}
	return place{timeline: newest.Timeline, position: told.End, times: told.Times, begin: beginOf(all, newest)}, nil
}

// beginOf is the revision behind which the stored part of a segment's timeline begins.
func beginOf(all []archive.Segment, of archive.Segment) int64 {
	begin := of.First - 1
	for _, s := range all {
		if s.ClusterID == of.ClusterID && s.Timeline == of.Timeline {
			begin = min(begin, s.First-1)
		}
	}
	return begin
}

// readSegment reads all of a segment.
func readSegment(ctx context.Context, to destination, s archive.Segment) (*archive.Told, error) {
	stored, err := to.read(ctx, nameOf(to, s))
	if err != nil {
		return nil, err
	}
	defer func() { _ = stored.Close() }() // it was only read
	told, err := archive.ReadSegment(stored, s)
	return told, asDamaged(err)
}

// asDamaged takes a segment that is not what its name says for a damaged one.
func asDamaged(err error) error {
	var foreign *archive.ForeignError
	if errors.As(err, &foreign) {
		return fmt.Errorf("%w: %w", archive.ErrDamaged, err)
	}
	return err
}

// store stores a segment. One of the same name has the same changes.
func (a *archiver) store(ctx context.Context, to destination, s archive.Segment, content *os.File) error {
	name := nameOf(to, s)
	metadata := map[string]string{
		metaCluster:  hex(s.ClusterID),
		metaRevision: strconv.FormatInt(s.Last, 10),
		metaBackup:   a.task.Backup,
		metaUID:      a.task.UID,
		metaAuth:     strconv.FormatUint(a.auth, 10),
	}
	if err := to.put(ctx, name, content, metadata, true); err != nil {
		return err
	}
	a.copies.add(s)
	if time.Since(a.pruned) >= a.limits.prune {
		a.pruned = time.Now()
		if err := a.pruneSegments(ctx, to, s.ClusterID); err != nil {
			a.log.Warn("cannot delete segments that no snapshot needs", "error", err)
		}
	}
	return nil
}

// pruneSegments deletes the segments that no snapshot needs: of each cluster, those that end
// before the oldest snapshot that is kept. Of a cluster without a snapshot all are kept while
// it is recorded, since the first one might be on its way.
func (a *archiver) pruneSegments(ctx context.Context, to destination, cluster uint64) error {
	from, err := a.destination(ctx)
	if err != nil {
		return err
	}
	defer from.close()
	oldest, known, err := oldestKept(ctx, from)
	if err != nil {
		return err
	}
	all, err := segments(ctx, to)
	if err != nil {
		return err
	}
	var expired []string
	for _, s := range all {
		needed, kept := oldest[hex(s.ClusterID)]
		switch {
		case !kept && (s.ClusterID == cluster || !known):
		case !kept || s.Last < needed:
			expired = append(expired, nameOf(to, s))
		}
	}
	if expired, err = a.ownOf(ctx, to, expired); err != nil || len(expired) == 0 {
		return err
	}
	deleted, err := to.remove(ctx, expired)
	a.log.Info("deleted segments that no snapshot needs", "count", deleted, "first", expired[0])
	return err
}

// ownOf are those segments that can be deleted: at a second place, those that this EtcdBackup has
// copied there.
func (a *archiver) ownOf(ctx context.Context, to destination, names []string) (own []string, err error) {
	if !a.isCopy {
		return names, nil
	}
	for _, name := range names {
		there, err := to.look(ctx, name)
		if err != nil {
			return nil, err
		}
		if there.metadata[metaBackup] == a.task.Backup {
			own = append(own, name)
		}
	}
	return own, nil
}

// oldestKept is the lowest revision of the snapshots that are stored, of each cluster; known is
// false if one does not tell of which cluster it is.
func oldestKept(ctx context.Context, from destination) (oldest map[string]int64, known bool, err error) {
	named, err := snapshots(ctx, from)
	if err != nil {
		return nil, false, fmt.Errorf("list the snapshots: %w", err)
	}
	if len(named) > maxLooks {
		return nil, false, fmt.Errorf("there are %d snapshots, and %d are the most that are looked at", len(named), maxLooks)
	}
	all, err := lookAll(ctx, from, named, "")
	if err != nil {
		return nil, false, fmt.Errorf("read the snapshots: %w", err)
	}
	oldest, known = make(map[string]int64), true
	for _, k := range all {
		of := k.Identity.Cluster
		if of == "" {
			known = false
			continue
		}
		if at, ok := oldest[of]; !ok || k.Snapshot.Revision < at {
			oldest[of] = k.Snapshot.Revision
		}
	}
	if !known { // it might be of any cluster
		for _, k := range all {
			for of := range oldest {
				oldest[of] = min(oldest[of], k.Snapshot.Revision)
			}
		}
	}
	return oldest, known, nil
}
