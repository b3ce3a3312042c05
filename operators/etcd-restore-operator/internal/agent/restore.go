package agent

import (
	"context"
	"errors"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/rebuild"
)

// newPlace is where the data dir of the task's member is made.
func newPlace(t task.Task) *rebuild.Place {
	return rebuild.NewPlace(t.Member.DataDir, rebuild.Stamp{Restore: t.Restore, UID: t.UID, Member: t.Member.Name})
}

// restore makes the data dir, unless that was done before, or may not be any more.
func (j *job) restore(ctx context.Context) error {
	place := newPlace(j.task)
	done, err := place.Done()
	if err != nil {
		return err
	}
	if done {
		j.result.Already = true
		return place.Clear() // what a kill after the last step has left
	}
	allowed, err := rebuild.Allowed(j.task.Member.LeaveFile, j.task.UID)
	if err != nil {
		return err
	}
	if !allowed {
		j.log.Info("nothing is restored: the leave to do so was withdrawn")
		j.result.Already = true
		return nil
	}
	renamed, err := place.Renamed()
	if err != nil {
		return err
	}
	if renamed {
		j.result.Snapshot = j.task.Want
		return place.Finish()
	}
	if err := place.CheckFree(); err != nil {
		return err
	}
	defer j.progress.serve(j.settings.listen, j.log)()
	return j.insist(ctx, func(ctx context.Context) error { return j.rebuild(ctx, place) })
}

// rebuild fetches the snapshot and makes the data dir of it.
func (j *job) rebuild(ctx context.Context, p *rebuild.Place) error {
	if err := p.Begin(); err != nil {
		return err
	}
	f, err := j.fetch(ctx, p.Work, j.task.Want.DatabaseSize+rebuild.Slack)
	if err != nil {
		return errors.Join(err, p.Clear())
	}
	defer func() { _ = f.file.Close() }() // it was only read
	m := j.task.Member
	j.log.Info("making the data dir", "member", m.Name, "revision", m.Revision)
	err = rebuild.Restore(ctx, j.log, f.file, p.Made(), rebuild.Seed{Name: m.Name, PeerURL: m.PeerURL, Token: m.Token, Revision: m.Revision})
	if err != nil {
		return errors.Join(err, p.Clear())
	}
	if err := p.Publish(); err != nil {
		return err
	}
	j.result.Snapshot = j.task.Want
	return nil
}
