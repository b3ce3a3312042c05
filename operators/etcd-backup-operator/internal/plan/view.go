package plan

import (
	"cmp"
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/schedule"
)

// maxSkew is how far the clock may have been put back before due times that are
// done with are forgotten. Up to that, the backups that are due in between are left
// out: an hour covers clocks that were set to the wrong zone's winter or summer time.
const maxSkew = time.Hour

// view is an Observation with what follows from it.
type view struct {
	Observation
	spec *v1beta2.BackupSpec
	// last is the status as it was last written.
	last *v1beta2.BackupStatus

	// refusal says what is wrong with the spec; nil if nothing is.
	refusal *step
	source  source

	// active are the backups that were started and have not ended, oldest first;
	// history those that have, newest first; recorded those that are new in it,
	// oldest first, and stored is the report of the newest of them that succeeded, if it
	// counts as the newest good backup; storedAt is when it was finished. notes are what a
	// person should know of those that succeeded.
	active   []run
	history  []v1beta2.BackupRecord
	recorded []v1beta2.BackupRecord
	stored   *task.Result
	storedAt *metav1.Time
	notes    []task.Note

	// copied is a record in history whose copy is new in it; nil for none. copyRefusal says why
	// nothing is to be copied; unlike refusal, also of a one-shot backup that has ended.
	copied      *v1beta2.BackupRecord
	copyRefusal *step

	schedule schedule.Schedule
	// clock is nil unless a repeated backup's times count. It is anchored when it
	// begins anew at Now: then nothing is due before it has been recorded, since what
	// is due must not depend on the moment of the look.
	clock    *v1beta2.BackupClock
	anchored bool
	// due is when the backup was due that is to be started; zero if none is. Before
	// it, earlier ones were due that are not made up.
	due     time.Time
	earlier int64
	// nextDue is the first due time after Now, missed how many are given up.
	nextDue time.Time
	missed  int64
	// scheduled is the newest due time that was started; nil if none was.
	scheduled *metav1.Time

	// verification is about EtcdRestores that verify backups.
	verification verification

	// wake is the first moment at which time alone changes something; zero if none.
	wake time.Time
}

func newView(o Observation) *view {
	if o.Backup == nil {
		o.Backup = &v1beta2.EtcdBackup{}
	}
	v := &view{
		Observation: o,
		spec:        &o.Backup.Spec,
		last:        &o.Backup.Status,
		history:     slices.Clone(o.Backup.Status.History),
		scheduled:   o.Backup.Status.LastScheduleTime.DeepCopy(),
		clock:       o.Backup.Status.Clock.DeepCopy(),
	}
	if v.isIgnored() {
		return v
	}
	v.schedule, v.refusal = check(v.spec)
	byClusters := false
	if v.refusal == nil {
		v.refusal = cmp.Or(refuseStore(&o), refuseMany(&o))
		byClusters = v.refusal != nil
	}
	v.source = findSource(&o)
	v.active = runs(&o)
	v.record()
	v.checkCreator()
	v.copyRefusal = v.refusal
	v.recordCopy()
	switch {
	case v.final() != nil && !v.spec.Repeated():
		v.clock, v.refusal = nil, nil
	case v.refusal != nil:
		v.adopt() // and beyond that the clock stands until the spec is corrected
		if byClusters {
			v.wakeAt(o.Now.Add(retry)) // an edit of the EtcdClusters might trigger no reconcile
		}
	case !v.spec.Repeated():
		v.onceDue()
	case v.spec.Suspend:
		v.adopt()
		v.clock = nil
	default:
		v.anchor()
		v.adopt()
		v.countDue()
		v.needSnapshot()
	}
	v.findVerifications()
	if v.archives() {
		v.wakeAt(o.Now.Add(v.archivePoll()))
	}
	return v
}

// isIgnored is true for an EtcdBackup that nothing is done for, and whose status stays as it
// is: one that is being deleted, of which the garbage collector stops the Jobs, or one that
// the archived operator has carried out.
func (v *view) isIgnored() bool {
	return v.Backup.DeletionTimestamp != nil || v.isLegacy()
}

// isLegacy is true for a one-shot backup that the archived operator ended.
func (v *view) isLegacy() bool {
	return !v.spec.Repeated() && v.last.Phase == v1beta2.BackupNone && (v.last.Succeeded || v.last.Reason != "")
}

// final is the record that tells how the backup ended, or the last one of a repeated
// backup; nil if none has yet. A one-shot backup whose Job was lost has not ended
// as long as it can be started again.
func (v *view) final() *v1beta2.BackupRecord {
	if len(v.history) == 0 {
		if !v.spec.Repeated() && (v.last.Phase == v1beta2.BackupSucceeded || v.last.Succeeded) {
			return &v1beta2.BackupRecord{Succeeded: true, CompletionTime: v.last.LastSuccessDate}
		}
		return nil
	}
	if v.spec.Repeated() {
		return &v.history[0]
	}
	for i := range v.history {
		if !v.history[i].Lost {
			return &v.history[i]
		}
	}
	if len(v.history) >= maxAttempts {
		return &v.history[0]
	}
	return nil
}

// hasEnded is true for a one-shot backup that will not be started again.
func (v *view) hasEnded() bool {
	return !v.spec.Repeated() && len(v.active) == 0 && v.final() != nil
}

// onceDue makes a one-shot backup due from its creation on. Another attempt counts as
// due a second later, so that its Job has a name of its own.
func (v *view) onceDue() {
	v.clock = nil
	if len(v.active) > 0 || v.spec.Suspend {
		return
	}
	v.due = v.created()
	for v.taken(v.due) {
		v.due = v.due.Add(time.Second)
	}
}

// anchor says from when on the times of the schedule count.
func (v *view) anchor() {
	now, name := whole(v.Now), v.schedule.String()
	if v.clock == nil && v.last.Phase == v1beta2.BackupNone {
		// It has never been looked at: it counts from its creation, or from the last
		// backup that the archived operator made.
		after := v.schedule.Start(v.created())
		if t := v.last.LastSuccessDate; t != nil && t.After(after) {
			after = whole(t.Time)
		}
		v.clock = &v1beta2.BackupClock{Schedule: name, After: metav1.NewTime(after)}
		if v.plausible() {
			return
		}
	}
	if v.clock != nil && v.clock.Schedule == name && v.plausible() {
		return
	}
	// The schedule is new, or was suspended, or the clock was put back.
	after := v.schedule.Start(now)
	if v.scheduled != nil && v.scheduled.After(after) && !v.scheduled.After(now) {
		after = whole(v.scheduled.Time)
	}
	v.clock = &v1beta2.BackupClock{Schedule: name, After: metav1.NewTime(after)}
	v.anchored = true
}

// plausible is false for a clock that is too far ahead, or centuries behind.
func (v *view) plausible() bool {
	after := v.clock.After.Time
	return !after.After(v.Now.Add(maxSkew)) && v.Now.Sub(after) < math.MaxInt64
}

// adopt moves the clock on to the Jobs of which the status does not know that they
// were started, since its write was lost.
func (v *view) adopt() {
	unknown := int64(0)
	for i := range v.Jobs {
		j := &v.Jobs[i]
		at := whole(j.Scheduled)
		if at.After(v.Now.Add(maxSkew)) || v.wasActive(j.Name) || IsDone(v.last, j) {
			continue
		}
		if v.clock != nil && at.After(v.clock.After.Time) {
			unknown++
		}
		if v.scheduled == nil || at.After(v.scheduled.Time) {
			v.scheduled = &metav1.Time{Time: at}
		}
	}
	if v.clock == nil || v.scheduled == nil || !v.scheduled.After(v.clock.After.Time) || v.scheduled.After(v.Now.Add(maxSkew)) {
		return
	}
	if _, n := v.schedule.Due(v.clock.After.Time, v.scheduled.Time); !v.anchored {
		v.missed += max(n-unknown, 0)
	}
	v.clock.After = *v.scheduled
}

// wasActive is true for a Job that the last status calls active.
func (v *view) wasActive(name string) bool {
	return slices.ContainsFunc(v.last.Active, func(a v1beta2.ActiveBackup) bool { return a.Name == name })
}

// isActive is true for a Job whose end is not recorded, not even now.
func (v *view) isActive(name string) bool {
	return slices.ContainsFunc(v.active, func(r run) bool { return r.Name == name })
}

// countDue finds the newest due time, and gives up what is too late. A Job that a cache
// does not show yet may so be counted as missed although it was started; it is told of
// when it shows.
func (v *view) countDue() {
	after := v.clock.After.Time
	if v.anchored {
		v.nextDue = v.schedule.Next(after, after)
		return
	}
	v.nextDue = v.schedule.Next(after, v.Now)
	v.wakeAt(v.nextDue)
	due, n := v.schedule.Due(after, v.Now)
	if n == 0 {
		return
	}
	if v.taken(due) {
		// The clock was put back, and comes to a time for the second time.
		v.missed += n - 1
		v.clock.After = metav1.NewTime(due)
		return
	}
	if deadline, ok := v.spec.StartingDeadline(); ok {
		if whole(v.Now).After(due.Add(deadline)) {
			v.missed += n
			v.clock.After = metav1.NewTime(due)
			return
		}
		v.wakeAt(due.Add(deadline + time.Second))
	}
	v.due, v.earlier = due, n-1
}

// begin is what follows from starting the Job of the backup that is due.
func (v *view) begin(name string) {
	at := metav1.NewTime(v.due)
	v.active = append(v.active, run{ActiveBackup: v1beta2.ActiveBackup{Name: name, ScheduledTime: at}})
	if v.clock != nil {
		v.clock.After, v.scheduled = at, &at
		v.missed += v.earlier
	}
	v.due = time.Time{}
}

// taken is true when there is, or was, a Job for a due time.
func (v *view) taken(t time.Time) bool {
	return slices.ContainsFunc(v.history, func(r v1beta2.BackupRecord) bool {
		return r.ScheduledTime != nil && r.ScheduledTime.Unix() == t.Unix()
	}) || slices.ContainsFunc(v.active, func(r run) bool { return r.ScheduledTime.Unix() == t.Unix() })
}

// created is when the EtcdBackup was created.
func (v *view) created() time.Time {
	if v.Backup.CreationTimestamp.IsZero() {
		return whole(v.Now)
	}
	return whole(v.Backup.CreationTimestamp.Time)
}

// wakeAt asks to look again at a time, if that is ahead.
func (v *view) wakeAt(t time.Time) {
	if t.After(v.Now) && (v.wake.IsZero() || t.Before(v.wake)) {
		v.wake = t
	}
}

func whole(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }
