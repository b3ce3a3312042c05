package agent

import (
	"context"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/rebuild"
)

// compareHash compares the data with what its source hashed it to when the snapshot was taken,
// and fails if it differs. found is the snapshot as it was fetched. A snapshot that was verified
// before and could not be compared then is not compared now: members might be stopped for it.
// For the same reason a difference is no end if there was none then: the bytes are the same, and
// this copy of them is not.
func (j *job) compareHash(ctx context.Context, f *fetched, found *task.Snapshot) (string, error) {
	switch {
	case j.task.SkipHashCheck:
		return string(v1beta2.HashSkipped), nil
	case j.task.Want != nil && found.Hash != string(v1beta2.HashEqual):
		return found.Hash, nil
	case f.recorded == nil:
		return string(v1beta2.HashNotRecorded), nil
	case found.OldestRevision == 0: // an earlier release has verified it, and did not say
		return string(v1beta2.HashNotComparable), nil
	}
	h := *f.recorded
	j.log.Info("comparing the hash of the data with that of its source", "hash", h.Value, "revision", h.Revision, "compactedRevision", h.CompactedRevision)
	got, err := rebuild.CompareHash(ctx, f.file, found.OldestRevision, found.Revision, h)
	if f.inPlace != nil {
		if changed := f.inPlace.checkUnchanged(); changed != nil {
			return "", changed
		}
	}
	switch {
	case err != nil:
		return "", err
	case got == rebuild.HashDiffers && j.task.Want != nil:
		return "", runner.Passing(task.ReasonHashMismatch, "the copy of %s differs from what was verified: at revision %d, it does not have the hash that its source had (HashKV %d): it is fetched again; if that does not help, replace the volume or its node, or delete this EtcdRestore and restore another snapshot", found.Location, h.Revision, h.Value)
	case got == rebuild.HashDiffers:
		return "", runner.Refuse(task.ReasonHashMismatch, "data differs from what was backed up: at revision %d, %s does not have the hash that its source had (HashKV %d); restore another snapshot, or set spec.skipHashCheck in another EtcdRestore to restore this one as it is", h.Revision, found.Location, h.Value)
	case got == rebuild.HashNotComparable:
		j.log.Info("the hash is not comparable: a compaction came between, or no key existed then")
		return string(v1beta2.HashNotComparable), nil
	}
	j.log.Info("the data has the hash of its source")
	return string(v1beta2.HashEqual), nil
}
