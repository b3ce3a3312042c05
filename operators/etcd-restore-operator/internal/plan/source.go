package plan

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

// schemePVC is what locations on volumes begin with.
const schemePVC = "pvc://"

// stored is what an EtcdBackup tells of a snapshot.
type stored struct {
	location, sha256, clusterID, etcdVersion string
	size                                     int64
}

// findSource finds where the snapshot lies. Once that was checked, it is there and
// nowhere else, also if an EtcdBackup has stored newer ones.
func findSource(v *view) *step {
	if v.seed != nil && v.seed.Deleting.IsZero() {
		return nil // it has been told
	}
	account := ""
	if v.spec.Pod != nil {
		account = v.spec.Pod.ServiceAccountName
	}
	v.source = Source{Store: v.spec.Store(), ServiceAccountName: account}
	switch {
	case v.spec.BackupRef != nil:
		return v.fromBackup(account)
	case v.spec.BackupStorageType == v1beta2.StoragePVC:
		v.source = Source{PVC: v.spec.PVC.DeepCopy(), ServiceAccountName: account}
	}
	return nil
}

// fromBackup finds the place and the credentials by an EtcdBackup.
func (v *view) fromBackup(account string) *step {
	b, name := v.Backup, v.spec.BackupRef.Name
	if b == nil {
		return v.missing("EtcdBackup "+name, v1beta2.RestoreReasonBackupNotFound, fmt.Sprintf(
			"EtcdBackup %s does not exist in this namespace: correct backupRef.name, or set backupStorageType and the location of the snapshot", name))
	}
	location := ""
	if v.last.Snapshot != nil {
		location = v.last.Snapshot.Location
	} else {
		found, s := v.pick(b)
		if s != nil {
			return s
		}
		location = found.location
	}
	if account == "" && b.Spec.Pod != nil {
		account = b.Spec.Pod.ServiceAccountName
	}
	source, ok := sourceAt(location, &b.Spec)
	if !ok {
		return v.fail(v1beta2.RestoreReasonBackupStorageUnknown, fmt.Sprintf(
			"EtcdBackup %s has no storage settings for its snapshot at %s: set backupStorageType and the location instead of backupRef", name, conditiontext.Quote(location)))
	}
	source.ServiceAccountName = account
	v.source = source
	if told := toldOf(b, location); told != nil {
		v.recordedVersion = told.etcdVersion
	}
	return nil
}

// pick is the backup that is asked for: the newest good one, or the one of the name.
func (v *view) pick(b *v1beta2.EtcdBackup) (*stored, *step) {
	if entry := v.spec.BackupRef.Entry; entry != "" {
		return v.pickEntry(b, entry)
	}
	if r := v.spec.Revision; r > 0 && hasStored(b) {
		return v.pickRevision(b, r)
	}
	if at := v.spec.Time; at != nil && hasStored(b) {
		return v.pickTime(b, at.Time)
	}
	if s := b.Status.Snapshot; s != nil && s.Location != "" {
		return &stored{location: s.Location}, nil
	}
	if location := predecessorsLocation(b); location != "" {
		return &stored{location: location}, nil
	}
	if b.Status.Phase == v1beta2.BackupFailed {
		return nil, v.fail(v1beta2.RestoreReasonBackupFailed, fmt.Sprintf("EtcdBackup %s failed and stored no snapshot: %s", b.Name, cmp.Or(conditiontext.Clip(b.Status.Reason), noCause)))
	}
	return nil, warn(v1beta2.RestorePending, v1beta2.RestoreReasonBackupNotReady, fmt.Sprintf(
		"waiting for EtcdBackup %s to store a snapshot", b.Name), "EtcdBackup "+b.Name)
}

// predecessorsLocation is where a one-shot backup lies that the archived operator made.
func predecessorsLocation(b *v1beta2.EtcdBackup) string {
	place := b.Spec.Store()
	if !b.Status.Succeeded || b.Spec.Repeated() || place == nil || place.Path == "" {
		return ""
	}
	return place.Location()
}

// pickEntry finds a record by its name, or else by the file's or the object's.
func (v *view) pickEntry(b *v1beta2.EtcdBackup, entry string) (*stored, *step) {
	var found *v1beta2.BackupRecord
	for i := range b.Status.History {
		if b.Status.History[i].Name == entry {
			found = &b.Status.History[i]
			break
		}
	}
	for i := range b.Status.History {
		if r := &b.Status.History[i]; found == nil && r.Location != "" && path.Base(r.Location) == entry {
			found = r
		}
	}
	object := "EtcdBackup " + b.Name
	for _, a := range b.Status.Active {
		if found == nil && a.Name == entry {
			return nil, warn(v1beta2.RestorePending, v1beta2.RestoreReasonBackupNotReady, fmt.Sprintf("waiting for EtcdBackup %s to store backup %s", b.Name, entry), object)
		}
	}
	switch {
	case found == nil:
		return nil, v.missing(object, v1beta2.RestoreReasonEntryNotFound, fmt.Sprintf(
			"EtcdBackup %s has no backup %s in its status.history: set backupRef.entry to a name in it, or set backupStorageType and the location of an older snapshot", b.Name, conditiontext.Clip(entry)))
	case !found.Succeeded || found.Location == "":
		return nil, v.fail(v1beta2.RestoreReasonEntryFailed, fmt.Sprintf("backup %s of EtcdBackup %s failed and was not stored: %s", conditiontext.Clip(entry), b.Name, conditiontext.Clip(found.Message)))
	}
	if r, oldest := v.spec.Revision, found.OldestRevision; r > 0 && r < oldest {
		return nil, v.fail(task.ReasonRevisionNotHeld, fmt.Sprintf("backup %s of EtcdBackup %s holds revisions %d to %d, and not revision %d: set spec.revision to one of them, or restore another backup", conditiontext.Clip(entry), b.Name, oldest, found.Revision, r))
	}
	return &stored{location: found.Location}, nil
}

// toldOf is what an EtcdBackup tells of what it has stored at a place; nil if nothing, or
// no more.
func toldOf(b *v1beta2.EtcdBackup, location string) *stored {
	if b == nil {
		return nil
	}
	if s := b.Status.Snapshot; s != nil && s.Location == location {
		return &stored{location, s.SHA256, s.ClusterID, s.EtcdVersion, s.Size}
	}
	for i := range b.Status.History {
		if r := &b.Status.History[i]; r.Succeeded && r.Location == location {
			return &stored{location, r.SHA256, r.ClusterID, r.EtcdVersion, r.Size}
		}
	}
	return nil
}

// sourceAt is a place, reached like those that an EtcdBackup writes to.
func sourceAt(location string, spec *v1beta2.BackupSpec) (Source, bool) {
	for _, place := range spec.Stores() {
		if where, ok := strings.CutPrefix(location, place.Type.Scheme()); ok && storePathPattern.MatchString(where) {
			return Source{Store: place.At(where)}, true
		}
	}
	if where, ok := strings.CutPrefix(location, schemePVC); ok {
		claim, file, _ := strings.Cut(where, "/")
		pvc := &v1beta2.PVCSource{ClaimName: claim, Path: file}
		if checkPVC(pvc) == nil {
			return Source{PVC: pvc}, true
		}
	}
	return Source{}, false
}
