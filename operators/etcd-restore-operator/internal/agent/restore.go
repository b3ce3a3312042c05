package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/datadir"
	"github.com/etcd-operators/etcd-operators/shared/rebuild"
)

// maxRevision is the highest revision that a cluster begins at. What is beyond it is more
// than any cluster can write.
const maxRevision = int64(math.MaxInt64 / 2)

// newPlace is where the data dir of the task's member is made.
func newPlace(t task.Task) *datadir.Place {
	return datadir.New(t.Member.DataDir, datadir.Stamp{Restore: t.Restore, UID: t.UID, Member: t.Member.Name})
}

// restore prepares the data dir, unless that was done before, or the permit was withdrawn. With
// the start permit it is the data dir at the end, without it the launcher makes it so.
func (j *job) restore(ctx context.Context) error {
	place := newPlace(j.task)
	over, p, err := j.isOver(place)
	if over || err != nil {
		return err
	}
	if p == permitNone {
		j.restoresNothing()
		return nil
	}
	ready, err := j.isPrepared(place)
	if err != nil {
		return err
	}
	if !ready {
		if err := place.CheckFree(); err != nil {
			return err
		}
		defer j.progress.serve(j.settings.listen, j.log)()
		if err := j.insist(ctx, func(ctx context.Context) error { return j.rebuild(ctx, place) }); err != nil {
			return err
		}
	}
	// The permit might have changed since.
	switch p, err = readPermit(j.task.Member.PermitFile, j.task.UID); {
	case err != nil:
		return err
	case p == permitStart:
		return place.Publish()
	case p == permitNone: // the launcher would wait for ever
		j.restoresNothing()
	}
	return nil
}

func (j *job) restoresNothing() {
	j.log.Info("restored nothing, since the permit was revoked")
	j.result.Already = true
}

// isOver reports whether the data dir is made, and else tells the permit to make it.
func (j *job) isOver(place *datadir.Place) (over bool, p permit, err error) {
	done, err := place.Done()
	if err != nil {
		return false, permitNone, err
	}
	if done {
		j.result.Already = true
		return true, permitNone, place.Clear() // what a kill after the last step has left
	}
	if p, err = readPermit(j.task.Member.PermitFile, j.task.UID); p == permitNone || err != nil {
		return false, p, err
	}
	renamed, err := place.Renamed()
	if err != nil || !renamed {
		return false, p, err
	}
	j.result.Snapshot = j.task.Want
	return true, p, place.Finish()
}

// facts are what is noted of a database that is prepared: the result, for another start of
// the container.
type facts struct {
	Snapshot *task.Snapshot `json:"snapshot"`
	Cut      *task.Cut      `json:"cut,omitempty"`
	Prefixes []string       `json:"prefixes,omitempty"`
	Revision int64          `json:"revision"`
}

// isOf reports whether the database is what a task asks for.
func (f *facts) isOf(t task.Task) bool {
	if f.Snapshot == nil || !slices.Equal(f.Prefixes, t.Prefixes) || t.Want != nil && *f.Snapshot != *t.Want {
		return false
	}
	switch {
	case f.Cut == nil:
		return t.Revision == 0 && t.Time.IsZero() && len(t.Prefixes) == 0
	case !t.Time.IsZero(): // that of an EtcdRestore is always the same
		return !f.Cut.Time.IsZero()
	}
	return f.Cut.Revision == t.Revision || t.Revision == 0 && len(t.Prefixes) > 0 && f.Cut.Revision == f.Snapshot.Revision
}

// isPrepared reports whether an earlier start has prepared the data dir, and tells the same
// as that did.
func (j *job) isPrepared(place *datadir.Place) (bool, error) {
	noted, ok, err := place.Prepared()
	if !ok || err != nil {
		return false, err
	}
	var f facts
	unreadable := json.Unmarshal(noted, &f)
	ok = unreadable == nil && f.isOf(j.task)
	if ok {
		j.result.Snapshot, j.result.Cut, j.result.Revision = f.Snapshot, f.Cut, f.Revision
	}
	return ok, nil // what is not ok is rebuilt
}

// rebuild fetches the snapshot, checks it unless that was done before, and makes the data
// dir of it, beside the place where that will be.
func (j *job) rebuild(ctx context.Context, p *datadir.Place) error {
	if err := p.Begin(); err != nil {
		return err
	}
	f, err := j.fetch(ctx, p.Work)
	if err != nil {
		return errors.Join(err, p.Clear())
	}
	defer func() { _ = f.file.Close() }() // rebuild.Restore has synced it, or it was given up
	made, err := j.assemble(ctx, f, p.Made(), j.task.Member)
	if err != nil {
		return errors.Join(err, p.Clear())
	}
	noted, err := json.Marshal(made)
	if err != nil {
		return fmt.Errorf("encode what is prepared: %w", err)
	}
	if err := p.Prepare(noted); err != nil {
		return err
	}
	j.result.Snapshot, j.result.Cut, j.result.Revision = made.Snapshot, made.Cut, made.Revision
	return nil
}

// assemble makes the data dir of a member of what was fetched.
func (j *job) assemble(ctx context.Context, f *fetched, dataDir string, m *task.Member) (*facts, error) {
	found := j.task.Want
	if found == nil {
		var err error
		if found, err = j.examine(ctx, f); err != nil {
			return nil, err
		}
	}
	t, err := j.aim(ctx, f, found)
	if err != nil {
		return nil, err
	}
	defer t.close()
	newest := found.Revision
	if t != nil {
		newest = max(newest, t.revision)
	}
	if newest > maxRevision-m.Bump || m.Revision > maxRevision {
		return nil, runner.Refuse(task.ReasonRevisionTooHigh, "revision too high: the snapshot has revision %d, which is beyond %[3]d when raised by %[2]d; remove spec.revisionBump", newest, m.Bump, maxRevision)
	}
	revision := m.Revision
	if m.Bump > 0 {
		revision = max(revision, newest+m.Bump)
	}
	// What is left out counts in the hash, and what is added does not; else what was rebuilt is
	// compared.
	var hash string
	if t != nil {
		hash, err = j.compareHash(ctx, f, found)
	}
	if err != nil {
		return nil, err
	}
	cut, err := j.bring(ctx, f, found, t)
	if err != nil {
		return nil, err
	}
	j.log.Info("rebuilding the data dir", "member", m.Name, "revision", revision)
	made, err := rebuild.Restore(ctx, j.log, f.file, dataDir, rebuild.Seed{Name: m.Name, PeerURL: m.PeerURL, Token: m.Token, Revision: revision})
	if err != nil {
		return nil, err
	}
	if len(made.ClearedAlarms) > 0 {
		j.log.Info("cleared the alarms of the snapshot", "alarms", made.ClearedAlarms)
	}
	if cut == nil {
		hash, err = j.compareHash(ctx, f, found)
	}
	if err != nil {
		return nil, err
	}
	if j.task.Want == nil { // else it was compared, and is told as it was
		found.Hash = hash
	}
	return &facts{Snapshot: found, Cut: cut, Prefixes: j.task.Prefixes, Revision: revision}, nil
}

// bring brings the database to what it was at the target, and leaves of it what is under the
// task's prefixes; nil if the snapshot is restored as it is.
func (j *job) bring(ctx context.Context, f *fetched, found *task.Snapshot, t *target) (cut *task.Cut, err error) {
	if t == nil {
		return nil, nil
	}
	cut = &task.Cut{Revision: t.revision}
	if len(t.chain) > 0 {
		if cut, err = j.follow(ctx, f, found, t); err != nil {
			return nil, err
		}
	}
	cut.Time = t.at.UTC()
	if len(j.task.Prefixes) > 0 {
		if err := j.count(ctx, f, cut); err != nil {
			return nil, err
		}
		if err := j.extract(ctx, f); err != nil {
			return nil, err
		}
	}
	leased := rebuild.DropLeasedKeys
	if j.task.KeepLeasedKeys {
		leased = rebuild.KeepLeasedKeys
	}
	var changed rebuild.Cut
	if len(t.chain) > 0 {
		changed, err = rebuild.SettleLeasedKeys(ctx, f.file, t.revision, leased)
	} else {
		j.log.Info("leaving out what came after the revision", "revision", t.revision)
		changed, err = rebuild.CutAt(ctx, f.file, t.revision, leased)
	}
	if err != nil {
		return nil, err
	}
	info, err := rebuild.Inspect(ctx, f.file) // what we have made is held to the same rules
	if err != nil {
		return nil, err
	}
	if info.Revision > t.revision {
		return nil, fmt.Errorf("the database is still at revision %d, and not at %d", info.Revision, t.revision)
	}
	cut.TotalKeys, cut.WithoutLease = info.TotalKeys, changed.LeasedKeysWithoutLease
	j.log.Info("the database is as it was at the revision", "revision", t.revision, "keys", cut.TotalKeys, "keysWithoutLease", cut.WithoutLease)
	return cut, nil
}

// extract replaces the file by one of the keys under the task's prefixes alone. Until then the
// volume holds both.
func (j *job) extract(ctx context.Context, f *fetched) error {
	j.log.Info("leaving out the keys that do not begin with a prefix", "prefixes", j.task.Prefixes)
	all := f.file.Name()
	path := all + ".prefixes"
	if err := rebuild.Extract(ctx, f.file, path, j.task.Prefixes); err != nil {
		return err
	}
	some, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_ = f.file.Close() // it was only read
	f.file = some
	return os.Remove(all)
}
