package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
	"github.com/etcd-operators/etcd-operators/shared/schedule"
)

// Verification is what Plan needs of an EtcdRestore that verifies a backup.
type Verification struct {
	Name, UID string
	// Backup is the name of the entry of status.history that it verifies, and Revision up to
	// which it adds the archive; 0: not at all.
	Backup   string
	Revision int64
	Created  time.Time
	// Deleting is true once it has a deletion timestamp.
	Deleting bool
	// Phase is empty until etcd-restore-operator looks at it.
	Phase v1beta2.RestorePhase
	// Finished is when it was verified or had failed.
	Finished time.Time
	// Reason and Message are those of its failure, or of what it does now.
	Reason, Message string
	// Served is what etcd has served; nil before that.
	Served *v1beta2.ServedState
}

// hasEnded reports whether it is verified, or has failed.
func (r *Verification) hasEnded() bool {
	return r.Phase == v1beta2.RestoreVerified || r.Phase == v1beta2.RestoreFailed
}

// StartVerification makes the EtcdRestore that verifies a backup. It is carried out only if, read
// live, the EtcdBackup still has the uid and resourceVersion of Observation.Backup, the EtcdRestores
// that it controls have the same names as Observation.Verifications, and the API server's clock is
// beyond the second in which the last was created: so neither a cache that lags nor a second
// operator verifies beside another, and each end is recorded once. That one of this Name exists
// already, controlled by this EtcdBackup, is success.
type StartVerification struct {
	Name string
	// Backup is the name of the entry of status.history, and Revision up to which the archive is
	// added; 0: it is not.
	Backup   string
	Revision int64
}

// DeleteVerification deletes an EtcdRestore by uid. That it is gone already is success.
type DeleteVerification struct{ Name, UID string }

// Kind implements Action.
func (StartVerification) Kind() string { return "StartVerification" }

// Kind implements Action.
func (DeleteVerification) Kind() string { return "DeleteVerification" }

func (StartVerification) action()  {}
func (DeleteVerification) action() {}

// verification is what follows of an Observation for verifications.
type verification struct {
	// status is the next status; nil without spec.verification.
	status *v1beta2.VerificationStatus
	// schedule is that of spec.verification, and invalid why it cannot be used.
	schedule schedule.Schedule
	invalid  error
	// ended are those whose end is new in the status, oldest first.
	ended []v1beta2.VerificationRecord
	// running is one that has not ended; nil if there is none.
	running *Verification
	// target is the backup that is due to be verified, and due since when; nil if none is.
	target *v1beta2.BackupRecord
	due    time.Time
}

// verifies tells whether backups are to be verified.
func (v *view) verifies() bool {
	return v.spec.Verification != nil && v.refusal == nil && !v.spec.Suspend
}

// findVerifications finds out what has ended, and what is due.
func (v *view) findVerifications() {
	slices.SortFunc(v.Verifications, func(a, b Verification) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	})
	if v.spec.Verification == nil {
		return // what is left of it is deleted
	}
	st := v.last.Verification.DeepCopy()
	if st == nil {
		st = &v1beta2.VerificationStatus{}
	}
	v.verification.status = st
	for i := range v.Verifications {
		r := &v.Verifications[i]
		switch {
		case !r.hasEnded():
			v.verification.running = r
		case !isVerificationRecorded(v.last, r):
			v.recordVerification(st, r)
		}
	}
	v.verificationDue(st)
}

// isVerificationRecorded is true of one whose end is in a status, or was: they are made one after
// another, and a cache may show one for a while that is gone. What spec.verification has told
// before it was removed is in the history alone.
func isVerificationRecorded(status *v1beta2.BackupStatus, r *Verification) bool {
	isOf := func(known *v1beta2.VerificationRecord) bool {
		return known != nil && (known.Name == r.Name || !r.Created.After(known.StartTime.Time))
	}
	return status.Verification != nil && isOf(status.Verification.Last) ||
		slices.ContainsFunc(status.History, func(b v1beta2.BackupRecord) bool { return isOf(b.Verification) })
}

// recordVerification writes the end of one to the status and to the backup's record.
func (v *view) recordVerification(st *v1beta2.VerificationStatus, r *Verification) {
	finished := r.Finished
	if finished.IsZero() {
		finished = v.Now
	}
	rec := v1beta2.VerificationRecord{
		Name: r.Name, Backup: r.Backup, Succeeded: r.Phase == v1beta2.RestoreVerified,
		StartTime: metav1.NewTime(whole(r.Created)), CompletionTime: *v.past(finished), Revision: r.Revision,
	}
	if s := r.Served; s != nil {
		rec.EtcdVersion, rec.TotalKeys = conditiontext.Clip(s.EtcdVersion), s.TotalKeys
	}
	if rec.Succeeded {
		st.LastVerifiedTime = rec.CompletionTime.DeepCopy()
	} else {
		rec.Reason = conditiontext.Reason(r.Reason, v1beta2.BackupReasonVerificationFailed)
		rec.Message = cmp.Or(conditiontext.Clip(r.Message), fmt.Sprintf("EtcdRestore %s failed without a message: read its status", r.Name))
	}
	st.Last = &rec
	for i := range v.history {
		if v.history[i].Name == r.Backup {
			v.history[i].Verification = rec.DeepCopy()
		}
	}
	v.verification.ended = append(v.verification.ended, rec)
}

// verificationDue finds the backup that is due to be verified: the newest good one, after it was
// stored, or when the schedule says so.
func (v *view) verificationDue(st *v1beta2.VerificationStatus) {
	st.NextScheduleTime = nil
	if !v.verifies() {
		st.Clock = nil // it begins anew
		return
	}
	newest := v.newestGood()
	if newest != nil && !isRecorded(v.last.History, newest.Name) {
		newest = nil // etcd-restore-operator finds it in the status alone
	}
	x := &v.verification
	if v.spec.VerificationSchedule() == "" {
		st.Clock = nil
		if newest != nil && newest.Verification == nil && newest.CompletionTime != nil {
			x.target, x.due = newest, newest.CompletionTime.Time
		}
		return
	}
	if x.schedule, x.invalid = schedule.Parse(v.spec.VerificationSchedule()); x.invalid != nil {
		return
	}
	if st.Clock == nil || st.Clock.Schedule != x.schedule.String() || st.Clock.After.After(v.Now.Add(maxSkew)) {
		st.Clock = &v1beta2.BackupClock{Schedule: x.schedule.String(), After: metav1.NewTime(x.schedule.Start(whole(v.Now)))}
	} else if due, n := x.schedule.Due(st.Clock.After.Time, v.Now); n > 0 && newest != nil {
		x.target, x.due = newest, due
		if v.wasStarted(st, v.verificationName()) {
			st.Clock.After, x.target = metav1.NewTime(due), nil // its start was not written
		}
	}
	if next := x.schedule.Next(st.Clock.After.Time, v.Now); !next.IsZero() {
		st.NextScheduleTime = &metav1.Time{Time: next}
		v.wakeAt(next)
	}
}

// VerificationDue is since when, or from when on, the next verification is due after the last one that
// was good; zero before that, and if none is to be made. Without a schedule it is the first backup
// that was not verified since.
func VerificationDue(spec *v1beta2.BackupSpec, status *v1beta2.BackupStatus) time.Time {
	if spec.Verification == nil || spec.Suspend || status.Verification == nil || status.Verification.LastVerifiedTime == nil {
		return time.Time{}
	}
	last := status.Verification.LastVerifiedTime.Time
	if cron := spec.VerificationSchedule(); cron != "" {
		s, err := schedule.Parse(cron)
		if err != nil {
			return time.Time{}
		}
		return s.Next(last, last)
	}
	var due time.Time
	for i := range status.History {
		r := &status.History[i]
		if r.Succeeded && r.Verification == nil && r.CompletionTime != nil && r.CompletionTime.After(last) && (due.IsZero() || r.CompletionTime.Time.Before(due)) {
			due = r.CompletionTime.Time
		}
	}
	return due
}

// wasStarted reports whether there is, or was last, an EtcdRestore of a name.
func (v *view) wasStarted(st *v1beta2.VerificationStatus, name string) bool {
	return st.Last != nil && st.Last.Name == name || slices.ContainsFunc(v.Verifications, func(r Verification) bool { return r.Name == name })
}

// newestGood is the newest good backup that is remembered; nil if there is none.
func (v *view) newestGood() *v1beta2.BackupRecord {
	for i := range v.history {
		if r := &v.history[i]; r.Succeeded && r.Location != "" && !isDoubtful(r.Quorum, r.Unhealthy) {
			return r
		}
	}
	return nil
}

// verify starts the verification that is due, one at a time.
func verify(v *view) *step {
	x := &v.verification
	if x.target == nil || x.running != nil || !v.VerifierServed || v.Refused != "" {
		return nil
	}
	if len(x.ended) > 0 { // their end is written first
		return nil
	}
	if last := x.status.Last; last != nil && v.Now.Sub(last.StartTime.Time).Abs() < time.Second {
		v.wakeAt(v.Now.Add(time.Second)) // of the same second, nobody knows which was first
		return nil
	}
	start := StartVerification{Name: v.verificationName(), Backup: x.target.Name, Revision: v.archivedRevision(x.target)}
	if x.status.Clock != nil {
		x.status.Clock.After = metav1.NewTime(whole(x.due))
	}
	x.running = &Verification{Name: start.Name, Backup: start.Backup}
	return do(start, v1beta2.BackupReasonVerificationStarted, fmt.Sprintf("started verification of backup %s by EtcdRestore %s", start.Backup, start.Name))
}

// verificationName is the name of the EtcdRestore of the verification that is due.
func (v *view) verificationName() string {
	return jobName(v.Backup, "verification/"+v.verification.target.Name+"/"+strconv.FormatInt(v.verification.due.Unix(), 10))
}

// archivedRevision is up to which revision the archive follows on from a backup; 0 if it does not.
func (v *view) archivedRevision(r *v1beta2.BackupRecord) int64 {
	a := v.archive()
	if a == nil || a.ClusterID == "" || a.ClusterID != r.ClusterID || a.OldestRevision == 0 || r.Revision < a.OldestRevision || a.Revision <= r.Revision {
		return 0
	}
	return a.Revision
}

// deleteVerifications deletes an EtcdRestore whose end is in the status, but for the newest, which
// stays for its log, and all once none is to be verified any more.
func deleteVerifications(v *view) *step {
	for i := range v.Verifications {
		r := &v.Verifications[i]
		why := "its result is in status.history, and there is a newer one"
		switch {
		case r.Deleting:
			continue
		case v.spec.Verification == nil:
			why = "spec.verification was removed"
		case !r.hasEnded() || i == len(v.Verifications)-1 || !isVerificationRecorded(v.last, r):
			continue
		}
		return do(DeleteVerification{Name: r.Name, UID: r.UID}, v1beta2.BackupReasonVerificationDeleted, fmt.Sprintf("deleted EtcdRestore %s: %s", r.Name, why))
	}
	return nil
}

// awaitsVerification is true while the backup is still to be verified.
func (v *view) awaitsVerification() bool {
	x := &v.verification
	return v.verifies() && v.VerifierServed && (x.running != nil || x.target != nil)
}

// isVerified is the condition Verified; nil without spec.verification.
func (v *view) isVerified() *metav1.Condition {
	st := v.verification.status
	if st == nil {
		return nil
	}
	goesOn := v.verificationState()
	var c metav1.Condition
	switch last := st.Last; {
	case last == nil:
		c = v.condition(v1beta2.ConditionVerified, false, v1beta2.BackupReasonNotVerified, "no backup was verified yet; "+goesOn)
		c.Status = metav1.ConditionUnknown
		if !v.VerifierServed {
			c.Reason = v1beta2.BackupReasonVerifierMissing
		}
	case last.Succeeded:
		c = v.condition(v1beta2.ConditionVerified, true, v1beta2.BackupReasonVerified, tellVerified(last)+"; "+goesOn)
	default:
		c = v.condition(v1beta2.ConditionVerified, false, v1beta2.BackupReasonVerificationFailed, tellVerified(last)+"; "+goesOn)
	}
	return &c
}

// tellVerified is how a verification ended, for a person.
func tellVerified(r *v1beta2.VerificationRecord) string {
	if !r.Succeeded {
		return fmt.Sprintf("backup %s could not be verified (%s): %s", r.Backup, r.Reason, r.Message)
	}
	archived := ""
	if r.Revision > 0 {
		archived = fmt.Sprintf(", with the archive up to revision %d", r.Revision)
	}
	return fmt.Sprintf("backup %s is good: etcd %s served all %d keys of it%s", r.Backup, r.EtcdVersion, r.TotalKeys, archived)
}

// verificationState says what happens now, or next.
func (v *view) verificationState() string {
	x := &v.verification
	switch r := x.running; {
	case !v.VerifierServed:
		return "Kubernetes knows no EtcdRestores: install etcd-restore-operator"
	case r != nil && r.Phase == v1beta2.RestoreNone:
		return fmt.Sprintf("backup %s is to be verified by EtcdRestore %s: if that does not begin, check that etcd-restore-operator runs", r.Backup, r.Name)
	case r != nil:
		return fmt.Sprintf("EtcdRestore %s verifies backup %s: %s", r.Name, r.Backup, conditiontext.Clip(r.Message))
	case v.refusal != nil:
		return "nothing is verified until the spec is corrected"
	case v.spec.Suspend:
		return "verifications are suspended: set spec.suspend to false to resume them"
	case x.target != nil && v.Refused != "":
		v.wakeAt(v.Now.Add(retry))
		return fmt.Sprintf("the API server rejects the EtcdRestore that verifies backup %s: %s; the operator retries every %s", x.target.Name, conditiontext.Clip(v.Refused), retry)
	case x.status.NextScheduleTime != nil:
		return "the next verification is due at " + conditiontext.Time(x.status.NextScheduleTime.Time)
	case x.invalid != nil:
		return "spec.verification.schedule cannot be used: " + conditiontext.Clip(x.invalid.Error())
	case v.spec.VerificationSchedule() != "":
		return "spec.verification.schedule has no later time: correct it"
	}
	return "the next backup is verified once it is stored"
}

// verificationEvents are about verifications whose end is new in the status.
func (v *view) verificationEvents() []Event {
	var all []Event
	for i := range v.verification.ended {
		r := &v.verification.ended[i]
		reason := v1beta2.BackupReasonVerified
		if !r.Succeeded {
			reason = v1beta2.BackupReasonVerificationFailed
		}
		all = append(all, Event{Warning: !r.Succeeded, Reason: reason, Message: tellVerified(r)})
	}
	return all
}
