package plan

import (
	"cmp"
	"fmt"
	"regexp"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

// creationGrace is how long an EtcdRestore waits for what it names after the operator has first seen it: both might
// have been created at once, and so might a permission.
const creationGrace = time.Minute

// What admission refuses is refused here as well, for objects that are older than the
// CRD's rules: each text below is a pattern of the CRD.
var (
	clusterPattern   = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	storePathPattern = regexp.MustCompile(`^[A-Za-z0-9][-._A-Za-z0-9]{1,254}/[^\x00-\x1f\x7f]+$`)
	claimPattern     = regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`)
	pathPattern      = regexp.MustCompile(`^([^/\x00-\x1f\x7f]{1,255}/)*[^/\x00-\x1f\x7f]{1,255}$`)
	dotsPattern      = regexp.MustCompile(`(^|/)[.][.]?(/|$)`)
	idPattern        = regexp.MustCompile(`^[0-9a-f]{16}$`)
)

// refusal is what is wrong with a spec; nil if nothing is.
type refusal struct{ reason, message string }

// refuse fails a restore whose spec cannot be carried out, and cannot be changed either.
func refuse(v *view) *step {
	for _, check := range []func(*v1beta2.EtcdRestore) *refusal{checkTarget, checkStorage, checkRest} {
		if r := check(v.Restore); r != nil {
			return v.fail(r.reason, r.message)
		}
	}
	return nil
}

func checkTarget(r *v1beta2.EtcdRestore) *refusal {
	spec := &r.Spec
	switch {
	case spec.VerifyOnly:
		return nil // whatever it is, it is not touched
	case spec.EtcdCluster != nil && spec.ClusterTemplate != nil:
		return &refusal{v1beta2.RestoreReasonTargetAmbiguous, "etcdCluster must not be set together with clusterTemplate: set etcdCluster for an EtcdCluster of this namespace, or clusterTemplate for a new one with another spec"}
	case spec.ClusterTemplate == nil && (spec.EtcdCluster == nil || spec.EtcdCluster.Name == ""):
		return &refusal{v1beta2.RestoreReasonTargetMissing, "no target is set: set etcdCluster.name to an EtcdCluster of this namespace, or clusterTemplate to create a new one"}
	case spec.ClusterTemplate != nil && spec.Target == v1beta2.TargetInPlace:
		return &refusal{v1beta2.RestoreReasonTargetAmbiguous, "target must not be InPlace when clusterTemplate is set: set target: New, or set etcdCluster instead of clusterTemplate"}
	case spec.Target != "" && spec.Target != v1beta2.TargetInPlace && spec.Target != v1beta2.TargetNew:
		return &refusal{v1beta2.RestoreReasonTargetUnknown, fmt.Sprintf("target %s is not supported: set InPlace or New", conditiontext.Quote(string(spec.Target)))}
	case spec.ClusterTemplate == nil && spec.Target == "" && spec.EtcdCluster.Name != r.Name:
		return &refusal{v1beta2.RestoreReasonTargetMissing, fmt.Sprintf(
			"target must be set when EtcdCluster %s has another name than this EtcdRestore: set target: InPlace to replace its data with the snapshot, or target: New to create EtcdCluster %s", conditiontext.Clip(spec.EtcdCluster.Name), r.Name)}
	case spec.ClusterTemplate == nil && spec.Target == v1beta2.TargetNew && spec.EtcdCluster.Name == r.Name:
		return &refusal{v1beta2.RestoreReasonTargetAmbiguous, fmt.Sprintf(
			"target must not be New when etcdCluster.name is the name of this EtcdRestore, because the new EtcdCluster %s gets that name: give this EtcdRestore another name, or set target: InPlace to replace the data of the existing EtcdCluster with the snapshot", r.Name)}
	case len(spec.Prefixes) > 0 && !makesCluster(spec):
		return &refusal{v1beta2.RestoreReasonTargetAmbiguous, "prefixes must not be set for a restore in place, because all other keys of the cluster would be lost: set target: New, or clusterTemplate instead of etcdCluster"}
	case makesCluster(spec) && (len(r.Name) > v1beta2.MaxNameLength || !clusterPattern.MatchString(r.Name)):
		return &refusal{v1beta2.RestoreReasonNameInvalid, fmt.Sprintf(
			"the new EtcdCluster cannot have this EtcdRestore's name: choose one of at most %d lower-case letters, digits and dashes, with a letter first and no dash last", v1beta2.MaxNameLength)}
	}
	return nil
}

func checkStorage(r *v1beta2.EtcdRestore) *refusal {
	spec := &r.Spec
	if spec.BackupRef != nil {
		switch {
		case spec.BackupStorageType != "":
			return &refusal{v1beta2.RestoreReasonStorageAmbiguous, "backupRef must not be set together with backupStorageType: remove backupRef, or remove backupStorageType and the store (such as s3 or pvc)"}
		case spec.BackupRef.Name == "":
			return &refusal{v1beta2.RestoreReasonStorageMissing, "backupRef.name is empty: set it to the name of an EtcdBackup of this namespace"}
		}
		return nil
	}
	switch spec.BackupStorageType {
	case v1beta2.StorageS3, v1beta2.StorageOSS, v1beta2.StorageABS, v1beta2.StorageGCS:
		return checkStore(spec.BackupStorageType, spec.Store())
	case v1beta2.StoragePVC:
		return checkPVC(spec.PVC)
	case "":
		return &refusal{v1beta2.RestoreReasonStorageMissing, "no snapshot is set: set backupRef.name, or backupStorageType with s3, oss, abs, gcs or pvc"}
	}
	return &refusal{v1beta2.RestoreReasonStorageUnknown, fmt.Sprintf("backupStorageType %s is not supported: set S3, OSS, ABS, GCS or PVC", conditiontext.Quote(string(spec.BackupStorageType)))}
}

func checkPVC(pvc *v1beta2.PVCSource) *refusal {
	switch {
	case pvc == nil:
		return &refusal{v1beta2.RestoreReasonStorageMissing, "pvc is missing for backupStorageType PVC: set pvc.claimName and pvc.path, such as backups/etcd.db"}
	case !claimPattern.MatchString(pvc.ClaimName):
		return &refusal{v1beta2.RestoreReasonClaimInvalid, "pvc.claimName must be the name of a PVC of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as etcd-backups"}
	case !pathPattern.MatchString(pvc.Path) || dotsPattern.MatchString(pvc.Path):
		return &refusal{v1beta2.RestoreReasonPathInvalid, "pvc.path must be the path of a file on the volume, such as backups/etcd.db, without a slash at either end and without .."}
	}
	return nil
}

func checkRest(r *v1beta2.EtcdRestore) *refusal {
	spec := &r.Spec
	switch {
	case spec.ClusterID != "" && !idPattern.MatchString(spec.ClusterID):
		return &refusal{v1beta2.RestoreReasonClusterIDInvalid, "clusterID must be 16 lower-case hexadecimal digits: copy status.clusterID of the EtcdCluster"}
	case spec.RevisionBump != nil && *spec.RevisionBump < minBump:
		return &refusal{v1beta2.RestoreReasonRevisionBumpTooSmall, fmt.Sprintf(
			"revisionBump %d is too small: set at least %d, or remove it; with less, clients of the old cluster could see its revisions a second time", *spec.RevisionBump, minBump)}
	case spec.Revision < 0:
		return &refusal{v1beta2.RestoreReasonRevisionInvalid, fmt.Sprintf("revision %d is negative: set it to the last revision to keep, or remove it", spec.Revision)}
	case spec.Revision > 0 && spec.Time != nil:
		return &refusal{v1beta2.RestoreReasonRevisionInvalid, "time must not be set together with revision: set revision to the last revision to keep, or time to restore what the archive recorded until then"}
	case spec.TimeoutInSecond < 0:
		return &refusal{v1beta2.RestoreReasonTimeoutInvalid, fmt.Sprintf("timeoutInSecond %d is negative: set 0 or more", spec.TimeoutInSecond)}
	}
	return nil
}

// timeOut gives up what has taken too long.
func timeOut(v *view) *step {
	seconds := v.spec.TimeoutInSecond
	if seconds <= 0 || seconds > int64(longest/time.Second) || v.last.StartTime == nil {
		return nil
	}
	due := v.last.StartTime.Add(time.Duration(seconds) * time.Second)
	if v.Now.Before(due) {
		v.wakeAt(due)
		return nil
	}
	late := "the seed was not handed over"
	if v.spec.VerifyOnly {
		late = "the snapshot was not verified"
	}
	return v.fail(v1beta2.ReasonTimedOut, fmt.Sprintf("%s within %d seconds (spec.timeoutInSecond); last state: %s", late, seconds, v.waited()))
}

// noCause is the message of a failure that came without one.
const noCause = "no cause was reported"

// longest is the longest timeout that is counted; a longer one is none.
const longest = 100 * 365 * 24 * time.Hour

// waited is what the last status says of the restore.
func (v *view) waited() string {
	for _, c := range v.last.Conditions {
		if c.Type == v1beta2.ConditionComplete && c.Message != "" {
			return conditiontext.Clip(c.Message)
		}
	}
	return "unknown"
}

// missing waits for an object that may be created yet, and fails when it was not.
func (v *view) missing(object, reason, message string) *step {
	due := v.Now.Add(creationGrace)
	if begun := v.last.StartTime; begun != nil { // not creationTimestamp, which is by the API server's clock
		due = begun.Add(creationGrace)
	}
	if !v.Now.Before(due) {
		return v.fail(reason, message)
	}
	v.wakeAt(due)
	return warn(v1beta2.RestorePending, reason, message, object)
}

// fail ends a restore that has touched nothing, and begins to roll any other one back.
func (v *view) fail(reason, message string) *step {
	reason, message = conditiontext.Reason(reason, v1beta2.RestoreReasonRestoreFailed), conditiontext.Clip(message)
	if message == "" {
		message = noCause
	}
	s := record(v1beta2.RestoreRollingBack, reason, message, func(st *v1beta2.RestoreStatus) { setFailure(st, reason, message) })
	if !v.held || v.spec.VerifyOnly { // which has nothing to give back
		s = v.end(reason, message)
	}
	s.warn = true
	return s
}

// end is the end of a restore that has failed, and has nothing to give back.
func (v *view) end(reason, message string) *step {
	s := record(v1beta2.RestoreFailed, reason, message, func(st *v1beta2.RestoreStatus) {
		setFailure(st, reason, message)
		st.CompletionTime = v.now()
	})
	s.warn = true
	return s
}

// setFailure records why a restore fails: in one text for people, and in its parts for the end
// of its rollback.
func setFailure(st *v1beta2.RestoreStatus, reason, message string) {
	st.Reason = reason + ": " + message
	st.Failure = &v1beta2.RestoreFailure{Reason: reason, Message: message}
}

// recordedFailure is why a restore has begun to roll back.
func (v *view) recordedFailure() (reason, message string) {
	if f := v.last.Failure; f != nil {
		reason, message = f.Reason, f.Message
	}
	return conditiontext.Reason(reason, v1beta2.RestoreReasonRestoreFailed), cmp.Or(conditiontext.Clip(message), conditiontext.Clip(v.last.Reason), noCause)
}
