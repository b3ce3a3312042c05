package agent

import (
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/retention"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/snapshot"
	"github.com/etcd-operators/etcd-operators/shared/snapshotname"
)

// Names of the metadata that is stored with a snapshot and decides what may become of it.
const (
	metaCluster  = snapshot.MetaClusterID
	metaRevision = "revision"
	metaUID      = "backup-uid"
	// metaBackup is namespace/name of the EtcdBackup.
	metaBackup = "backup"
	// metaMark is the mark of a source that was not as it should be; empty for others.
	metaMark = "mark"
)

// found is what lies under a name.
type found struct {
	// there is false if nothing does.
	there bool
	// hidden: these credentials cannot see whether anything does.
	hidden bool
	// foreign: no backup operator has written it.
	foreign bool
	// metadata is what was stored with it; empty if nothing was.
	metadata map[string]string
}

// identity is read from the metadata that is stored with a snapshot.
func identity(metadata map[string]string) retention.Identity {
	revision, err := strconv.ParseInt(metadata[metaRevision], 10, 64)
	if err != nil || metadata[metaCluster] == "" {
		return retention.Identity{Marked: metadata[metaMark] != ""}
	}
	return retention.Identity{Cluster: metadata[metaCluster], Revision: revision, Marked: metadata[metaMark] != ""}
}

// nameFor is what a snapshot of a member is called. That of a source that is not as it
// should be has a name of its own, for which nothing is ever replaced or deleted.
func (j *job) nameFor(path string, from member) string {
	switch mark := from.mark(); {
	case mark != "":
		return snapshotname.MarkedName(path, mark, from.revision, j.task.Time)
	case j.task.Repeated:
		return snapshotname.Name(path, from.revision, j.task.Time)
	}
	return path
}

// permitted reports whether a snapshot of a member may replace what there may be under a
// name; err is why it must not be stored at all.
func (j *job) permitted(ctx context.Context, to destination, name string, from member) (replace bool, err error) {
	// What an earlier Pod of the same run has stored is its own.
	mayReplace := j.task.Overwrite || j.task.Repeated || from.mark() != ""
	if !mayReplace {
		return false, nil // put refuses
	}
	there, err := to.look(ctx, name)
	if err != nil {
		return false, err
	}
	switch {
	case there.hidden:
		return j.task.OverwriteAlways && from.mark() == "", nil
	case !there.there, there.metadata[metaUID] == j.task.UID && !j.isOlder(there, from):
		return true, nil
	case there.foreign:
		return false, runner.Refuse(v1beta2.BackupReasonForeignFile, "cannot replace %s: it was not written by a backup operator, or was changed since; remove it, or choose another path", to.location(name))
	case from.mark() != "":
		return false, runner.Refuse(v1beta2.BackupReasonAlreadyExists, "cannot replace the backup at %s with one of an unhealthy source, or without a quorum: %s; repair the cluster, or choose another path", to.location(name), from.problem())
	}
	return true, j.replaceable(there, to.location(name), from)
}

// isOlder reports whether a snapshot of a member is of an earlier revision than what is there.
func (j *job) isOlder(there found, from member) bool {
	return identity(there.metadata).Revision > from.revision
}

// replaceable returns why a backup must not replace another; nil if it can.
func (j *job) replaceable(there found, location string, from member) error {
	const consent = "to replace it, set spec.overwritePolicy to Always; to keep it, choose another path"
	id := identity(there.metadata)
	switch {
	case j.task.OverwriteAlways:
		return nil
	case id.Cluster == "" || id.Marked:
		return runner.Refuse(v1beta2.BackupReasonUnknownBackup, "cannot replace %s: it does not record which cluster it is a backup of, like copies and backups of the archived operator, and might be the only one; %s", location, consent)
	case id.Cluster != hex(from.cluster):
		return runner.Refuse(v1beta2.BackupReasonOtherCluster, "cannot replace %s, a backup of another cluster (%s at revision %d; this one is %s at revision %d): %s", location, id.Cluster, id.Revision, hex(from.cluster), from.revision, consent)
	case id.Revision > from.revision:
		return runner.Refuse(v1beta2.BackupReasonNewerBackup, "cannot replace %s, a backup of a higher revision (%d) than this cluster's (%d), which was recreated, restored, or backed up by another run meanwhile: %s", location, id.Revision, from.revision, consent)
	}
	return nil
}

// errHidden is the refusal of a store that shows only that something lies under a name,
// and not what.
func errHidden(location string) error {
	return runner.Refuse(v1beta2.BackupReasonUnknownBackup, "%s exists already, and these credentials cannot see whose it is: grant them s3:GetObject and s3:ListBucket, or set spec.overwritePolicy to Always", location)
}

// guarded is a stream that ends only if a last check permits it.
type guarded struct {
	io.Reader
	check func() error
}

// Read implements io.Reader.
func (g *guarded) Read(p []byte) (int, error) {
	n, err := g.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		if refused := g.check(); refused != nil {
			return n, refused
		}
	}
	return n, err
}
