package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
	"github.com/etcd-operators/etcd-operators/shared/snapshot"
	"github.com/etcd-operators/etcd-operators/shared/snapshotname"
)

// copyStored copies a snapshot that is stored to the second place, and then what else is missing
// there. It needs nothing of etcd, holds nothing but the buffers of an upload, and stores what it
// reads back only if that is what the first place was given.
func (j *job) copyStored(ctx context.Context) error {
	of := j.task.Copy.Of
	from, err := j.destination(ctx)
	if err != nil {
		return err
	}
	defer from.close()
	rest, ok := strings.CutPrefix(of.Location, from.location(from.path()))
	if !ok {
		return runner.Refuse(agent.ReasonInvalidTask, "cannot copy %s: it is not of this place, whose backups are %s", of.Location, from.location(from.path()))
	}
	return j.copyWithRetries(ctx, from, from.path()+rest)
}

// second is the same job for the second place.
func (j *job) second() *job {
	own := *j
	own.task.Store, own.task.PVC, own.task.Copy = j.task.Copy.Store, j.task.Copy.PVC, nil
	own.log, own.isCopy, own.of = j.log.With("copy", true), true, j.task.Copy.Of
	return &own
}

// copyWithRetries tries a few times. Kubernetes starts another Pod then, and after a few of those
// the next backup copies what is missing.
func (j *job) copyWithRetries(ctx context.Context, from destination, written string) (err error) {
	second, pause := j.second(), j.limits.backoff
	for attempt := 1; ; attempt++ {
		err = second.copyMissing(ctx, from, written)
		if err == nil && j.task.Copy.Segments {
			err = j.copyArchive(ctx)
		}
		if err == nil || ctx.Err() != nil || attempt == attempts || explain(ctx, err).Permanent {
			return err
		}
		second.log.Warn("copy attempt failed", "attempt", attempt, "error", err, "pause", pause.String())
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		pause = min(2*pause, j.limits.maxBackoff)
	}
}

// copyMissing copies the backup that was just stored, and then earlier ones that are missing,
// the newest first.
func (j *job) copyMissing(ctx context.Context, from destination, written string) error {
	if err := j.checkCopy(); err != nil {
		return err
	}
	to, err := j.destination(ctx)
	if err != nil {
		return err
	}
	defer to.close()
	if err := to.prepare(ctx); err != nil {
		return err
	}
	if j.result.Location == "" {
		target, err := j.copy(ctx, from, to, written, j.of.SHA256)
		if err != nil {
			return err
		}
		r := j.result
		r.Location, r.ClusterID, r.Revision, r.Size, r.SHA256 = to.location(target), j.of.ClusterID, j.of.Revision, j.of.Size, j.of.SHA256
		to.describe(ctx, target, map[string]string{"sha256": j.result.SHA256, "size": strconv.FormatInt(j.result.Size, 10)})
	}
	missing, err := j.missing(ctx, from, to, written)
	if err != nil {
		return err
	}
	for _, name := range missing {
		if _, err := j.copy(ctx, from, to, name, ""); err != nil {
			return errEarlier(from.location(name), err)
		}
	}
	if err := j.prune(ctx, to, targetOf(from, to, written)); err != nil {
		return errOlder(err)
	}
	return nil
}

func errEarlier(location string, err error) error {
	return fmt.Errorf("copy the earlier backup %s: %w", location, err)
}

func errOlder(err error) error { return fmt.Errorf("delete older copies: %w", err) }

// checkCopy refuses a second place that an EtcdCluster which restricts its stores does not know.
func (j *job) checkCopy() error {
	id, err := strconv.ParseUint(j.of.ClusterID, 16, 64)
	if err != nil {
		return fmt.Errorf("read the cluster's id: %w", err)
	}
	return j.checkStore(id)
}

// targetOf is the name of a copy.
func targetOf(from, to destination, name string) string {
	return to.path() + strings.TrimPrefix(name, from.path())
}

// missing are the repeated backups before the one written that the second place lacks, the newest
// first. What is older than all copies was stored before there were any, and stays where it is.
func (j *job) missing(ctx context.Context, from, to destination, written string) (names []string, err error) {
	own, plain := snapshotname.Parse(from.path(), written)
	if !j.task.Repeated || !plain {
		return nil, nil
	}
	stored, err := snapshots(ctx, from)
	if err != nil {
		return nil, fmt.Errorf("list the backups: %w", err)
	}
	copied, err := snapshots(ctx, to)
	if err != nil {
		return nil, fmt.Errorf("list the copies: %w", err)
	}
	there, oldest := map[string]bool{}, time.Time{}
	for _, s := range copied {
		there[s.Name] = true
		if oldest.IsZero() || s.Time.Before(oldest) {
			oldest = s.Time
		}
	}
	slices.SortFunc(stored, func(a, b snapshotname.Snapshot) int { return b.Time.Compare(a.Time) })
	for _, s := range stored {
		if !there[targetOf(from, to, s.Name)] && s.Time.After(oldest) && s.Time.Before(own.Time) {
			names = append(names, s.Name)
		}
	}
	return names, nil
}

// snapshots are those of repeated backups.
func snapshots(ctx context.Context, in destination) (all []snapshotname.Snapshot, err error) {
	names, err := in.list(ctx, in.path()+"_v")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if s, ok := snapshotname.Parse(in.path(), name); ok {
			all = append(all, s)
		}
	}
	return all, nil
}

// copy copies one backup with its metadata, and returns the name of the copy. Of a backup whose
// digest is known the copy has the same, or is not made.
func (j *job) copy(ctx context.Context, from, to destination, name, sha256 string) (target string, err error) {
	target = targetOf(from, to, name)
	is, err := from.look(ctx, name)
	if err != nil {
		return "", err
	}
	replace, err := j.permitted(ctx, to, target, sourceOf(is))
	if err != nil {
		return "", err
	}
	stored, err := from.read(ctx, name)
	if sha256 == "" && isGone(err) {
		return target, nil // it was deleted meanwhile
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = stored.Close() }() // it was only read
	var content io.Reader = stored
	if sha256 != "" {
		digest := snapshot.NewDigest(stored)
		content = &guarded{Reader: digest, check: func() error {
			if digest.SHA256() == sha256 {
				return nil
			}
			return runner.Passing(agent.ReasonCorruptSnapshot, "what was read back from %s is not what was stored there: its sha256 is %s instead of %s", from.location(name), digest.SHA256(), sha256)
		}}
	}
	return target, to.put(ctx, target, content, is.metadata, replace)
}

// sourceOf is the source of a backup that is stored, as far as it decides what a copy replaces.
func sourceOf(is found) member {
	id := identity(is.metadata)
	cluster, _ := strconv.ParseUint(id.Cluster, 16, 64) // 0 where it is not known
	return member{cluster: cluster, revision: id.Revision, health: health{quorum: true}}
}

func isGone(err error) bool {
	return errors.Is(err, objectstore.NotFound) || errors.Is(err, fs.ErrNotExist)
}
