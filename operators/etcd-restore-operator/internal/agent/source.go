package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
	"github.com/etcd-operators/etcd-operators/shared/sidecar"
	"github.com/etcd-operators/etcd-operators/shared/snapshot"
)

// Where etcd-backup-operator writes a snapshot's cluster, and the oldest revision that it holds,
// among the object's user metadata.
const (
	clusterIDKey      = snapshot.MetaClusterID
	oldestRevisionKey = snapshot.MetaOldestRevision
)

// stored is a snapshot as it is stored, which is read once.
type stored struct {
	io.ReadCloser
	// name is the key of the object, or the path of the file.
	name     string
	location string
	size     int64
	// etag and clusterID are empty if nothing tells them.
	etag, clusterID string
	// hash is what is recorded of its source; nil if nothing is.
	hash *snapshot.Hash
	// file is where it lies on a volume; nil if it lies in a store. asOpened is what the
	// volume said of it when it was opened.
	file     *os.File
	asOpened os.FileInfo
}

// checkUnchanged refuses a file that was written to since it was opened: its digest and what
// was found in it may be of different contents. What lies in a store is checked by its copy.
func (s *stored) checkUnchanged() error {
	if s.file == nil {
		return nil
	}
	now, err := s.file.Stat()
	if err != nil {
		return err
	}
	if now.Size() == s.asOpened.Size() && now.ModTime().Equal(s.asOpened.ModTime()) && changeTime(now) == changeTime(s.asOpened) {
		return nil
	}
	return runner.Refuse(task.ReasonChanged, "%s was written to while it was verified: create another EtcdRestore once nothing writes to it", s.location)
}

// changeTime is when a file's content or attributes were changed last, which nobody can set.
func changeTime(info os.FileInfo) syscall.Timespec {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ctim
	}
	return syscall.Timespec{}
}

// open opens the snapshot: of a restore, only what was verified. The caller closes it.
func (j *job) open(ctx context.Context) (*stored, error) {
	s, err := j.openPlace(ctx)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(j.checkCluster(s), j.checkWanted("size in bytes", s.size, wanted(j.task.Want).Size)); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (j *job) openPlace(ctx context.Context) (*stored, error) {
	if j.task.PVC != nil {
		return j.openFile()
	}
	return j.openObject(ctx)
}

// wanted is a snapshot without anything if there is none.
func wanted(s *task.Snapshot) task.Snapshot {
	if s == nil {
		return task.Snapshot{}
	}
	return *s
}

func (j *job) openObject(ctx context.Context) (*stored, error) {
	store, err := runner.OpenStore(ctx, j.task.Store, j.settings.stall, j.settings.storeBackoff)
	if err != nil {
		return nil, err
	}
	key, etag := j.task.Store.Key, wanted(j.task.Want).ETag
	if j.task.Store.Newest {
		if err := j.choose(ctx, store); err != nil {
			return nil, err
		}
		key, etag = j.chosen.Key, j.chosen.ETag
	}
	r, err := store.Get(ctx, key, etag)
	if j.chosen != nil && (errors.Is(err, objectstore.Changed) || errors.Is(err, objectstore.NotFound)) {
		// By retention, or by somebody else.
		j.chosen = nil
		return nil, runner.Passing(task.ReasonChanged, "%s was replaced or deleted since it was found to be the newest: another attempt looks for the newest again; if there is none, create another EtcdRestore", store.URL(key))
	}
	if errors.Is(err, objectstore.Changed) && j.task.Want != nil {
		return nil, j.changed("its ETag is no longer " + j.task.Want.ETag)
	}
	if err != nil {
		return nil, err
	}
	return &stored{ReadCloser: r, name: key, location: store.URL(r.Key), size: r.Size, etag: r.ETag, clusterID: r.Metadata[clusterIDKey], hash: snapshot.HashIn(r.Metadata)}, nil
}

func (j *job) openFile() (*stored, error) {
	p := j.task.PVC
	root, name, err := runner.OpenVolume(p)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // the file stays open
	location := p.Location(name)
	// A pipe has nobody at its other end.
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, notThere(location, err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if !info.Mode().IsRegular() {
		return nil, errors.Join(runner.Refuse(agent.ReasonInvalidPath, "%s is not a file: correct pvc.path", location), f.Close())
	}
	s := &stored{ReadCloser: f, name: name, location: location, size: info.Size(), file: f, asOpened: info}
	switch beside, err := sidecar.Of(root, name, f); {
	case err != nil:
		j.log.Warn("cannot read what is recorded beside the snapshot", "error", err)
	case beside != nil:
		s.hash, s.clusterID = snapshot.HashIn(beside.Metadata), beside.Metadata[clusterIDKey]
	}
	return s, nil
}

// checkCluster refuses a snapshot of another cluster than was asked for.
func (j *job) checkCluster(s *stored) error {
	switch want := j.task.ClusterID; {
	case want == "" || want == s.clusterID:
		return nil
	case s.clusterID == "":
		return runner.Refuse(task.ReasonWrongCluster, "the cluster of this snapshot is unknown, since no EtcdBackup has stored it in S3: remove spec.clusterID to restore it anyway")
	default:
		return runner.Refuse(task.ReasonWrongCluster, "the snapshot is of cluster %s, and not of cluster %s (spec.clusterID): name another snapshot, or correct spec.clusterID", s.clusterID, want)
	}
}

// checkWanted refuses another snapshot than was verified.
func (j *job) checkWanted(what string, got, want any) error {
	if j.task.Want == nil || got == want {
		return nil
	}
	return j.changed(fmt.Sprintf("its %s is %v, and was %v", what, got, want))
}

func (j *job) changed(how string) error {
	return runner.Refuse(task.ReasonChanged, "%s is no longer the snapshot that was verified (%s): create another EtcdRestore to restore what is there now", j.task.Want.Location, how)
}
