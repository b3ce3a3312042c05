package plan

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
	"github.com/etcd-operators/etcd-operators/shared/plaintext"
)

// maxDuration is the longest that a backup is believed to have taken.
const maxDuration = 365 * 24 * time.Hour

// status is what the Observation implies, and the action that is taken on it.
// Conditions carry no times: those are set when they are written.
func (v *view) status(s *step) v1beta2.BackupStatus {
	st := *v.last.DeepCopy()
	st.ObservedGeneration = v.Backup.Generation
	st.Phase = v.phase(s)
	st.History = v.history
	st.Active = nil
	for _, a := range v.active {
		st.Active = append(st.Active, a.ActiveBackup)
	}
	st.Clock, st.LastScheduleTime, st.NextScheduleTime = v.clock, v.scheduled, nil
	if !v.nextDue.IsZero() {
		st.NextScheduleTime = &metav1.Time{Time: v.nextDue}
	}
	st.MissedRuns += v.missed
	v.describeSnapshot(&st)
	if f := v.final(); f != nil || !v.spec.Repeated() {
		st.Succeeded = f != nil && f.Succeeded
	}
	st.Reason, st.Failure = v.legacyReason(), nil
	if f, _ := v.failure(); f != nil {
		st.Failure = &v1beta2.BackupFailure{Reason: f.reason, Message: f.message}
	}
	st.Archive = v.archive()
	st.Conditions = v.conditions(s)
	if c := v.isArchiving(st.Archive); c != nil {
		st.Conditions = append(st.Conditions, *c)
	}
	st.LastCopyTime = v.lastCopyTime()
	if c := v.isCopied(st.Archive); c != nil {
		st.Conditions = append(st.Conditions, *c)
	}
	st.Verification = v.verification.status
	if c := v.isVerified(); c != nil {
		st.Conditions = append(st.Conditions, *c)
	}
	return st
}

// describeSnapshot describes a backup that has newly succeeded.
func (v *view) describeSnapshot(st *v1beta2.BackupStatus) {
	r := v.stored
	if r == nil {
		return
	}
	at := v.storedAt
	st.LastSuccessDate = at
	st.EtcdVersion = conditiontext.Clip(r.EtcdVersion)
	st.EtcdRevision = r.Revision
	st.Snapshot = &v1beta2.BackupSnapshot{
		Location:       conditiontext.Clip(r.Location),
		Size:           r.Size,
		ReadableSize:   v1beta2.ReadableSize(r.Size),
		SHA256:         conditiontext.Clip(r.SHA256),
		Revision:       r.Revision,
		OldestRevision: max(r.OldestRevision, 0),
		Hash:           hashOf(r),
		ClusterID:      conditiontext.Clip(r.ClusterID),
		MemberID:       conditiontext.Clip(r.MemberID),
		EtcdVersion:    conditiontext.Clip(r.EtcdVersion),
		Quorum:         r.Quorum,
		Unhealthy:      conditiontext.Clip(r.Unhealthy),
		Compression:    v.spec.Packing(),
		Duration:       duration(r.Duration),
		CompletionTime: at.DeepCopy(),
	}
}

func (v *view) phase(s *step) v1beta2.BackupPhase {
	switch {
	case len(v.active) > 0 && s.podNotStarting:
		return v1beta2.BackupPending
	case len(v.active) > 0:
		return v1beta2.BackupRunning
	case v.hasEnded() && v.final().Succeeded:
		return v1beta2.BackupSucceeded
	case v.hasEnded() || v.refusal != nil:
		return v1beta2.BackupFailed
	case v.spec.Suspend:
		return v1beta2.BackupSuspended
	case !v.due.IsZero() || !v.spec.Repeated():
		return v1beta2.BackupPending
	}
	return v1beta2.BackupScheduled
}

// failure is what is wrong; nil if nothing is. isFinal is false while another attempt is made.
func (v *view) failure() (f *step, isFinal bool) {
	if v.refusal != nil {
		return v.refusal, true
	}
	if r := v.final(); r != nil && !r.Succeeded {
		return wait(r.Reason, r.Message), true
	}
	return retrying(v), false
}

// legacyReason is status.Reason: empty while a backup is under way, but that of a
// repeated one tells the failure of an attempt. (For clients of the predecessor a one-shot
// backup has ended once there is a Reason.)
func (v *view) legacyReason() string {
	if s := retrying(v); s != nil && v.spec.Repeated() {
		return s.reason + ": " + s.message
	}
	if len(v.active) > 0 {
		return ""
	}
	if f, isFinal := v.failure(); isFinal {
		return f.reason + ": " + f.message
	}
	return ""
}

// conditions are in a fixed order.
func (v *view) conditions(s *step) []metav1.Condition {
	all := []metav1.Condition{v.complete(s), v.hasFailed()}
	if v.spec.Repeated() {
		all = append(all, v.isScheduled(s))
	}
	if c := v.quorum(); c != nil {
		all = append(all, *c)
	}
	return all
}

func (v *view) condition(kind string, is bool, reason, message string) metav1.Condition {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: v.Backup.Generation}
	if is {
		c.Status = metav1.ConditionTrue
	}
	return c
}

// complete says whether the backup is stored, or the last one of a repeated backup.
func (v *view) complete(s *step) metav1.Condition {
	const kind = v1beta2.ConditionComplete
	f := v.final()
	if f == nil {
		return v.condition(kind, false, s.reason, s.message)
	}
	reason, message := tell(f)
	return v.condition(kind, f.Succeeded, reason, message)
}

func (v *view) hasFailed() metav1.Condition {
	const kind = v1beta2.ConditionFailed
	if f, isFinal := v.failure(); f != nil {
		return v.condition(kind, isFinal, f.reason, f.message)
	}
	return v.condition(kind, false, v1beta2.BackupReasonNotFailed, "no failure reported")
}

func (v *view) isScheduled(s *step) metav1.Condition {
	const kind = v1beta2.ConditionScheduled
	if v.refusal == nil && v.spec.Suspend {
		u := suspended(v)
		return v.condition(kind, false, u.reason, u.message)
	}
	return v.condition(kind, v.refusal == nil && (!v.nextDue.IsZero() || len(v.active) > 0), s.reason, s.message)
}

// tell is how a backup ended, for a person.
func tell(r *v1beta2.BackupRecord) (reason, message string) {
	if !r.Succeeded {
		return r.Reason, r.Message
	}
	message = "backup stored"
	if r.Location != "" {
		message = fmt.Sprintf("backup stored at %s: %s, revision %d", r.Location, v1beta2.ReadableSize(r.Size), r.Revision)
	}
	if r.Message != "" {
		message += "; " + r.Message
	}
	return v1beta2.BackupReasonSucceeded, message
}

// startedMessage names the Jobs that run.
func (v *view) startedMessage() string {
	if len(v.active) == 1 && !v.spec.Repeated() {
		return fmt.Sprintf("backup is running in Job %s", v.active[0].Name)
	}
	var jobs []string
	for _, a := range v.active {
		jobs = append(jobs, fmt.Sprintf("backup of %s is running in Job %s", conditiontext.Time(a.ScheduledTime.Time), a.Name))
	}
	return strings.Join(jobs, ", ")
}

// events are about what is new in the status.
func (v *view) events(s *step) []Event {
	var all []Event
	for i := range v.recorded {
		reason, message := tell(&v.recorded[i])
		all = append(all, Event{Warning: !v.recorded[i].Succeeded, Reason: reason, Message: message})
		if reason, message := doubts(&v.recorded[i]); reason != "" {
			all = append(all, Event{Warning: true, Reason: reason, Message: message})
		}
	}
	for _, n := range v.notes {
		all = append(all, Event{Warning: true, Reason: conditiontext.Reason(n.Reason, v1beta2.BackupReasonSucceeded), Message: conditiontext.Clip(n.Message)})
	}
	if v.missed > 0 {
		all = append(all, Event{Warning: true, Reason: v1beta2.BackupReasonMissed, Message: fmt.Sprintf(
			"scheduled backups missed: %d; at most the newest of them is still run; check whether the operator was down, or earlier backups took too long", v.missed)})
	}
	if s.warn && !v.isReported(s) {
		all = append(all, Event{Warning: true, Reason: s.reason, Message: s.message})
	}
	return all
}

// isReported is true when the last status says the same: whether it is news is all that follows.
func (v *view) isReported(s *step) bool {
	for _, c := range v.last.Conditions {
		if c.Reason == s.reason && c.Message == plaintext.Line(s.message) {
			return true
		}
	}
	return false
}

// duration is a number of seconds, if it is one.
func duration(seconds float64) *metav1.Duration {
	if !(seconds > 0 && seconds < maxDuration.Seconds()) {
		return nil
	}
	return &metav1.Duration{Duration: time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)}
}
