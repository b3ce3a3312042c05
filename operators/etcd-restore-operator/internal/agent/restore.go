package agent

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/rebuild"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
)

// slack is what etcd needs beside its database, in bytes: 160 MiB, for two segments of its
// log of 64 MB each, which are made at once, and for what is written at first. The
// operator refuses volumes without as much before it touches the cluster.
const slack = 160 << 20

// restore makes the data dir, unless that was done before, or may not be any more.
func (j *job) restore(ctx context.Context) error {
	place := newPlace(j.task)
	done, err := place.done()
	if err != nil {
		return err
	}
	if done {
		j.result.Already = true
		return place.clear() // what a kill after the last step has left
	}
	allowed, err := j.allowed()
	if err != nil {
		return err
	}
	if !allowed {
		j.log.Info("nothing is restored: the leave to do so was withdrawn")
		j.result.Already = true
		return nil
	}
	renamed, err := place.renamed()
	if err != nil {
		return err
	}
	if renamed {
		j.result.Snapshot = j.task.Want
		return place.finish()
	}
	if err := place.checkFree(); err != nil {
		return err
	}
	defer j.progress.serve(j.settings.listen, j.log)()
	return j.insist(ctx, func(ctx context.Context) error { return j.rebuild(ctx, place) })
}

// allowed tells whether the Pod still has the leave to restore.
func (j *job) allowed() (bool, error) {
	content, err := os.ReadFile(j.task.Member.LeaveFile)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return strings.TrimSpace(string(content)) == j.task.UID, err
}

// rebuild fetches the snapshot and makes the data dir of it.
func (j *job) rebuild(ctx context.Context, p *place) error {
	if err := p.begin(); err != nil {
		return err
	}
	f, err := j.fetch(ctx, p.work, j.task.Want.DatabaseSize+slack)
	if err != nil {
		return errors.Join(err, p.clear())
	}
	defer func() { _ = f.file.Close() }() // it was only read
	m := j.task.Member
	j.log.Info("making the data dir", "member", m.Name, "revision", m.Revision)
	err = rebuild.Restore(ctx, j.log, f.file, p.made(), rebuild.Seed{Name: m.Name, PeerURL: m.PeerURL, Token: m.Token, Revision: m.Revision})
	if err != nil {
		return errors.Join(err, p.clear())
	}
	if err := p.publish(); err != nil {
		return err
	}
	j.result.Snapshot = j.task.Want
	return nil
}

// taken is the failure of a volume with data that is not ours.
func taken(dataDir string) error {
	return runner.Refuse(task.ReasonDataDirTaken, "%s holds data that this restore has not made, and is left as it is: delete the seed's PersistentVolumeClaim, so that it is made on a new volume", filepath.Clean(dataDir))
}
