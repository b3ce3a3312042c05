package plan

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

// Copier is what Plan needs of the Job that copies a backup to spec.copyTo, and of its Pods. The
// Location of its Result is that of the copy, also beside a Failure.
type Copier struct {
	Job
	// InDoubt is true of a Job of that name that no controller owns: see [Doubtful]. Nothing but its Name is set then.
	InDoubt bool
	// Hash is that of the StartCopy that it was built from; see [StartCopy.Hash].
	Hash string
	// Backup is the name of the entry of status.history that it copies.
	Backup string
}

// StartCopy makes the Job that copies a backup that is stored, under the same conditions as
// StartJob. It is another one than that of the backup, so that whatever comes of the copy neither
// fails nor delays the backup, and needs nothing of etcd.
type StartCopy struct {
	Name string
	// Hash is of all that the Job is built from, but the name and the backup.
	Hash string
	// Backup is the entry of status.history that is copied.
	Backup v1beta2.BackupRecord
	// Forbidden and Pinned are those of a StartJob.
	Forbidden, Pinned []string
}

// Kind implements Action.
func (StartCopy) Kind() string { return "StartCopy" }

func (StartCopy) action() {}

// copies tells whether backups are to be copied now.
func (v *view) copies() bool {
	return v.spec.CopyTo != nil && v.copyRefusal == nil && !v.spec.Suspend && (!v.asksCreator() || v.Creator.Passed)
}

// copyTarget is the backup that is to be copied: the newest that is stored, if its end is in the
// status and that of its copy is not; nil for none. Earlier ones that are missing in the second
// place are copied with it.
func (v *view) copyTarget() *v1beta2.BackupRecord {
	if v.spec.CopyTo == nil {
		return nil
	}
	i := slices.IndexFunc(v.history, func(r v1beta2.BackupRecord) bool { return r.Succeeded && r.Location != "" })
	if i < 0 || v.history[i].Copy != nil || !isRecorded(v.last.History, v.history[i].Name) {
		return nil
	}
	return &v.history[i]
}

// awaitsCopy is true while the backup is still to be copied.
func (v *view) awaitsCopy() bool { return v.copies() && v.copyTarget() != nil }

// copier starts the Job that copies, and deletes one that is to make room for the next, or that is
// of another spec. The last one is kept for its log.
func copier(v *view) *step {
	c := v.Copier
	target := v.copyTarget()
	switch {
	case c == nil && (target == nil || !v.copies()), c != nil && c.InDoubt:
		return nil
	case c == nil && v.Refused != "":
		v.wakeAt(v.Now.Add(retry))
		return nil
	case c == nil:
		start := v.startCopy(target)
		return do(start, v1beta2.BackupReasonCopyStarted, fmt.Sprintf("started Job %s: copying backup %s to %s", start.Name, target.Name, storeOf(v.spec.Copy())))
	case c.Deleting:
		return nil
	case v.spec.CopyTo != nil && (v.copied != nil || !c.Running && !v.isCopyRecorded()):
		return nil // its end is written first
	case v.spec.CopyTo == nil || v.copyRefusal != nil:
		return do(DeleteJob{Name: c.Name, UID: c.UID}, v1beta2.BackupReasonCopyStopped, fmt.Sprintf("stopped Job %s: backups are no longer copied; what is copied stays", c.Name))
	case c.Running && !v.isCopyRecorded() && c.Hash != v.startCopy(nil).Hash:
		return do(DeleteJob{Name: c.Name, UID: c.UID}, v1beta2.BackupReasonCopyStopped, fmt.Sprintf("stopped Job %s, since its settings have changed; the copy is started again", c.Name))
	case v.isCopyRecorded() && target != nil:
		return do(DeleteJob{Name: c.Name, UID: c.UID}, v1beta2.BackupReasonJobDeleted, fmt.Sprintf("deleted Job %s: its result is in status.history, and the next copy is due", c.Name))
	}
	return nil
}

// isCopyRecorded is true of a Job whose end is in the status, or was: a cache may have a status for a
// while that lacks the backup that is copied.
func (v *view) isCopyRecorded() bool {
	c := v.Copier
	if i := slices.IndexFunc(v.last.History, func(r v1beta2.BackupRecord) bool { return r.Name == c.Backup }); i >= 0 {
		return v.last.History[i].Copy != nil
	}
	return IsDone(v.last, &Job{Name: c.Backup, Scheduled: c.Scheduled})
}

func (v *view) startCopy(of *v1beta2.BackupRecord) StartCopy {
	s := StartCopy{Name: CopierName(v.Backup)}
	s.Forbidden, s.Pinned = restrictedIDs(&v.Observation)
	s.Hash = digest(struct {
		StartCopy
		Image string
		Spec  *v1beta2.BackupSpec
	}{s, v.Image, copySpec(v.spec)})
	if of != nil {
		s.Backup = *of.DeepCopy()
	}
	return s
}

// copySpec is the part of a spec that the Job of a copy is built from.
func copySpec(s *v1beta2.BackupSpec) *v1beta2.BackupSpec {
	own := &v1beta2.BackupSpec{
		StorageType: s.StorageType, S3: s.S3, OSS: s.OSS, ABS: s.ABS, GCS: s.GCS, PVC: s.PVC, CopyTo: s.CopyTo, Archive: s.Archive, Pod: s.Pod,
		Overwrite: s.Overwrite, OverwritePolicy: s.OverwritePolicy,
	}
	if p := s.BackupPolicy.DeepCopy(); p != nil { // what is due, and when, is nothing to a copy
		p.BackupIntervalInSecond, p.Schedule, p.ConcurrencyPolicy, p.StartingDeadlineSeconds, p.TimeoutInSecond = 0, "", "", nil, 0
		own.BackupPolicy = p
	}
	return own
}

// recordCopy writes the end of a copy to the record of its backup.
func (v *view) recordCopy() {
	c := v.Copier
	if c == nil || c.InDoubt || v.spec.CopyTo == nil {
		return
	}
	i := slices.IndexFunc(v.history, func(r v1beta2.BackupRecord) bool { return r.Name == c.Backup && r.Succeeded && r.Copy == nil })
	if i < 0 {
		return
	}
	end := v.copyEnd()
	if end == nil || c.Deleting && end.Failure != nil {
		return // what was stopped is started again
	}
	v.history[i].Copy = end
	v.copied = v.history[i].DeepCopy()
}

// copyEnd is how the Job that copies has ended; nil if it has not.
func (v *view) copyEnd() *v1beta2.CopyRecord {
	c := v.Copier
	r := c.Result
	switch {
	case r != nil && (r.Failure == nil || r.Failure.Permanent || c.Failed):
		return &v1beta2.CopyRecord{Location: conditiontext.Clip(r.Location), CompletionTime: v.past(cmp.Or(r.Finished, v.Now)), Failure: copyFailure(r.Failure)}
	case c.Running && isOverdue(&c.Job, v.Now):
		return v.notCopied(c.HangReason, c.HangMessage)
	case c.Running:
		v.wakeAt(c.Deadline)
		return nil
	case v.Now.Sub(c.Finished).Abs() < reportGrace:
		v.wakeAt(v.Now.Add(reportGrace))
		return nil
	case c.Failed:
		return v.notCopied(c.FailReason, cmp.Or(c.FailMessage, fmt.Sprintf("Job %s failed without a report: see the events and the log of its Pod", c.Name)))
	}
	return v.notCopied(v1beta2.BackupReasonCopyResultLost, fmt.Sprintf("result unknown: Job %s completed, but its Pod was gone before its report was read; the copy might be stored", c.Name))
}

func (v *view) notCopied(reason, message string) *v1beta2.CopyRecord {
	return &v1beta2.CopyRecord{CompletionTime: v.past(v.Now), Failure: copyFailure(&agent.Failure{Reason: reason, Message: message})}
}

// copyFailure is what is written of an agent's failure to copy; nil if it has none.
func copyFailure(f *agent.Failure) *v1beta2.BackupFailure {
	if f == nil {
		return nil
	}
	return &v1beta2.BackupFailure{Reason: conditiontext.Reason(f.Reason, v1beta2.BackupReasonCopyFailed), Message: conditiontext.Clip(f.Message)}
}

// lastCopyTime is when a backup was last copied; nil if none was, or none is to be.
func (v *view) lastCopyTime() *metav1.Time {
	if v.spec.CopyTo == nil {
		return nil
	}
	if r := v.copied; r != nil && r.Copy.Location != "" {
		return r.Copy.CompletionTime.DeepCopy()
	}
	return v.last.LastCopyTime.DeepCopy()
}

// isCopied returns the condition Copied: of the newest copy that has ended, and of the archive; nil
// without spec.copyTo, unless a Job in doubt is left. It reports at once what prevents the next copy.
func (v *view) isCopied(a *v1beta2.ArchiveStatus) *metav1.Condition {
	const kind = v1beta2.ConditionCopied
	if v.spec.CopyTo == nil && (v.Copier == nil || !v.Copier.InDoubt) {
		return nil
	}
	i := slices.IndexFunc(v.history, func(r v1beta2.BackupRecord) bool { return r.Copy != nil })
	obstacle := v.copyObstacle()
	c := v.condition(kind, false, v1beta2.BackupReasonCopyFailed, "")
	switch {
	case obstacle != nil:
		c = v.condition(kind, false, obstacle.reason, obstacle.message)
	case i >= 0 && v.history[i].Copy.Failure != nil:
		c.Message = v.tellCopy(&v.history[i])
	case archiveCopyFailure(a) != nil:
		c.Message = tellArchiveCopy(archiveCopyFailure(a))
	case i >= 0:
		c = v.condition(kind, true, v1beta2.BackupReasonCopied, v.tellCopy(&v.history[i]))
	default:
		c = v.condition(kind, false, v1beta2.BackupReasonNotCopied, "no backup was copied yet: each is copied once it is stored")
		c.Status = metav1.ConditionUnknown
	}
	return &c
}

// copyObstacle is why the backup that is to be copied is not; nil if nothing is in the way.
func (v *view) copyObstacle() *step {
	c := v.Copier
	target := v.copyTarget()
	switch {
	case c != nil && c.InDoubt:
		return warn(v1beta2.BackupReasonJobInDoubt, v.doubtText(c.Name))
	case v.copyRefusal != nil:
		return v.copyRefusal
	case target == nil || v.spec.Suspend:
		return nil
	case c == nil && v.Refused != "":
		return warn(v1beta2.BackupReasonStartRefused, fmt.Sprintf("the API server rejects the Job of the copy: %s; the operator retries every %s", conditiontext.Clip(v.Refused), retry))
	case c == nil || !c.Running || c.Deleting:
		return nil
	case c.Waiting != "":
		return warn(v1beta2.BackupReasonPodNotStarting, fmt.Sprintf("copy cannot start: the Pod of Job %s is waiting: %s; it starts once that is fixed", c.Name, conditiontext.Clip(c.Waiting)))
	case c.Result != nil && c.Result.Failure != nil && v.copyEnd() == nil:
		f := copyFailure(c.Result.Failure)
		return warn(v1beta2.BackupReasonCopyFailed, fmt.Sprintf("copy of backup %s failed (%s): %s; Job %s retries", c.Backup, f.Reason, f.Message, c.Name))
	}
	return nil
}

// tellCopy is what became of a copy, for a person.
func (v *view) tellCopy(r *v1beta2.BackupRecord) string {
	outlook := "the next backup copies what is missing"
	if !v.spec.Repeated() {
		outlook = "the copy is not retried: fix the cause, then create another EtcdBackup"
	}
	switch f := r.Copy.Failure; {
	case f == nil:
		return "backup copied to " + r.Copy.Location
	case r.Copy.Location == "":
		return fmt.Sprintf("backup %s is stored, but not copied (%s): %s; %s", r.Name, f.Reason, f.Message, outlook)
	default:
		return fmt.Sprintf("backup copied to %s, but the rest of the work there failed (%s): %s; %s", r.Copy.Location, f.Reason, f.Message, outlook)
	}
}

func archiveCopyFailure(a *v1beta2.ArchiveStatus) *v1beta2.BackupFailure {
	if a == nil || a.Copy == nil {
		return nil
	}
	return a.Copy.Failure
}

func tellArchiveCopy(f *v1beta2.BackupFailure) string {
	return fmt.Sprintf("the archive is recorded, but not copied (%s): %s; the archiver retries", f.Reason, f.Message)
}

// copyEvents are about a copy that is new in the status, and about an archive whose copy has newly
// failed.
func (v *view) copyEvents() []Event {
	var all []Event
	if r := v.copied; r != nil {
		e := Event{Reason: v1beta2.BackupReasonCopied, Message: v.tellCopy(r)}
		if r.Copy.Failure != nil {
			e.Warning, e.Reason = true, v1beta2.BackupReasonCopyFailed
		}
		all = append(all, e)
	}
	if f := archiveCopyFailure(v.archive()); f != nil && archiveCopyFailure(v.last.Archive) == nil {
		all = append(all, Event{Warning: true, Reason: v1beta2.BackupReasonCopyFailed, Message: tellArchiveCopy(f)})
	}
	return all
}
