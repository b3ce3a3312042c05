package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

const (
	// next is how soon to look again after an action: something may be due beside it.
	next = 10 * time.Millisecond
	// retry is after how long a Job that the API server did not take is tried again:
	// a quota may have room by then.
	retry = 30 * time.Second
	// slowest is how often at least to look for the policy that an EtcdBackup waits for.
	slowest = 10 * time.Minute
	// longest is how long to wait at most when a moment is waited for. Timers follow
	// a clock that neither steps nor runs while a machine is suspended; the wall
	// clock, which schedules follow, does both.
	longest = time.Hour
	// maxJobs is how many Jobs of one EtcdBackup there may be, running or kept. The
	// history has room for the records of all of them, and two more.
	maxJobs = v1beta2.MaxHistory - 2
	// retryOnce is how long a backup is tried again that no other follows.
	retryOnce = time.Hour
	// maxAttempts is how often a one-shot backup is started whose Job vanishes.
	maxAttempts = 3
)

// step is what a rule says: an action, or why there is none.
type step struct {
	action          Action
	reason, message string
	// warn is true for a state that a person should know of.
	warn bool
	// podNotStarting is true while the Pod of a backup that was started does not run.
	podNotStarting bool
}

// do is the step that carries out an action.
func do(a Action, reason, message string) *step {
	return &step{action: a, reason: reason, message: message}
}

// wait is a state that lasts until something changes.
func wait(reason, message string) *step {
	return &step{reason: reason, message: message}
}

// warn is such a state that a person should know of.
func warn(reason, message string) *step {
	return &step{reason: reason, message: message, warn: true}
}

// rule returns the step that it asks for, or nil if the next rule is to be tried.
type rule func(*view) *step

// actions is the runbook: the first rule that has something to do decides. Order is
// behaviour. That what has ended is recorded needs no rule: every status does it.
var actions = []rule{
	expire,
	// What was given up starts nothing any more,
	stop,
	// then what is due is started,
	replace,
	start,
	// then changes are recorded,
	archiver,
	// then what was stored is copied
	copier,
	// and verified,
	verify,
	// and then what is left over is tidied up.
	deleteJobs,
	deleteVerifications,
}

// states says how things are, once the action is done: the first rule that has
// something to say.
var states = []rule{
	ended,
	refuse,
	inDoubt,
	podNotStarting,
	retrying,
	blocked,
	running,
	suspended,
	rest,
}

// Plan decides the next step for one EtcdBackup. It never panics, whatever the
// Observation, and it returns the same Decision for the same Observation.
func Plan(o Observation) Decision {
	v := newView(o)
	if v.isIgnored() {
		return Decision{Status: *v.last.DeepCopy()}
	}
	act := first(actions, v)
	state := first(states, v)
	d := Decision{
		Reason:       state.reason,
		Message:      state.message,
		Events:       v.events(state),
		Recorded:     v.recorded,
		Copied:       v.copied,
		Verified:     v.verification.ended,
		RequeueAfter: v.requeueAfter(act),
		Status:       v.status(state),
	}
	d.Events = slices.Concat(d.Events, v.archiveEvents(), v.copyEvents(), v.verificationEvents())
	if act != nil {
		d.Action, d.Reason, d.Message = act.action, act.reason, act.message
	}
	return d
}

func first(rules []rule, v *view) *step {
	for _, r := range rules {
		if s := r(v); s != nil {
			return s
		}
	}
	return nil
}

// requeueAfter is the time until the first moment at which time alone changes something.
func (v *view) requeueAfter(act *step) time.Duration {
	switch {
	case act != nil || v.anchored:
		return next
	case v.wake.IsZero():
		return 0
	}
	return min(max(v.wake.Sub(v.Now), time.Millisecond), longest)
}

// expire deletes a one-shot backup that has ended, when its time is up. Its end is in
// the status by then, for whoever waits for that.
func expire(v *view) *step {
	ttl := v.spec.TTLSecondsAfterFinished
	if ttl == nil || *ttl < 0 || !v.hasEnded() || v.final().CompletionTime == nil || len(v.recorded) > 0 || v.copied != nil {
		return nil
	}
	due := v.final().CompletionTime.Add(time.Duration(*ttl) * time.Second)
	switch {
	case v.Now.Before(due):
		v.wakeAt(due)
		return nil
	case v.awaitsCopy(), v.awaitsVerification(): // its Job or EtcdRestore would be deleted with it
		return nil
	}
	return do(DeleteBackup{}, v1beta2.BackupReasonExpired, fmt.Sprintf(
		"deleted the EtcdBackup: it finished more than %d seconds ago (spec.ttlSecondsAfterFinished); stored backups stay", *ttl))
}

// replace stops the backups that run when the next is due and can be started.
func replace(v *view) *step {
	if v.due.IsZero() || v.spec.Concurrency() != v1beta2.ReplaceConcurrent || v.source.wait != nil || v.blockedByDoubt() != nil {
		return nil
	}
	for _, a := range v.active {
		if a.job != nil && !a.job.Deleting {
			return do(DeleteJob{Name: a.job.Name, UID: a.job.UID, Replaced: true}, v1beta2.BackupReasonReplaced, fmt.Sprintf(
				"deleted Job %s: the backup of %s is due, and spec.backupPolicy.concurrencyPolicy is Replace", a.Name, conditiontext.Time(v.due)))
		}
	}
	return nil
}

// start makes the Job of the backup that is due, unless something is in the way.
func start(v *view) *step {
	if v.due.IsZero() || v.blocker() != nil {
		return nil
	}
	name := JobName(v.Backup, v.due)
	forbidden, pinned := restrictedIDs(&v.Observation)
	job := StartJob{
		Name: name, Scheduled: v.due, Started: whole(v.Now), RetryUntil: v.retryUntil(),
		Endpoints: v.source.endpoints, TLSSecret: v.source.secret, AuthSecret: v.source.auth,
		Cluster: v.source.cluster, OwnAuth: v.source.ownAuth,
		Forbidden: forbidden, Pinned: pinned,
	}
	v.begin(name)
	return do(job, v1beta2.BackupReasonStarted, v.startedMessage())
}

// retryUntil is until when the backup that is started now is tried again: until the next
// one is due.
func (v *view) retryUntil() time.Time {
	if v.nextDue.After(v.Now) {
		return v.nextDue
	}
	return whole(v.Now).Add(retryOnce)
}

// retryPeriod is retryUntil in words.
func (v *view) retryPeriod() string {
	if v.nextDue.After(v.Now) {
		return "until the next backup is due at " + conditiontext.Time(v.nextDue)
	}
	return "for up to an hour"
}

// deleteJobs deletes a Job whose end is in the status. The newest that succeeded and
// the newest that failed are kept, for their logs.
func deleteJobs(v *view) *step {
	keep := v.kept()
	for i := range v.Jobs {
		j := &v.Jobs[i]
		if j.Deleting || slices.Contains(keep, j.Name) || v.wasActive(j.Name) || !IsDone(v.last, j) {
			continue
		}
		return do(DeleteJob{Name: j.Name, UID: j.UID}, v1beta2.BackupReasonJobDeleted, fmt.Sprintf(
			"deleted finished Job %s: its result is in status.history, and a newer Job is kept for its log", j.Name))
	}
	return nil
}

// ended is the rest of a one-shot backup.
func ended(v *view) *step {
	if !v.hasEnded() {
		return nil
	}
	reason, message := tell(v.final())
	return wait(reason, message)
}

// refuse says what is wrong with the spec. An edit is enough to resume.
func refuse(v *view) *step { return v.refusal }

// podNotStarting says why the Pod of a backup that was started does not run.
func podNotStarting(v *view) *step {
	for _, a := range v.active {
		if j := a.job; j != nil && j.Running && !j.Deleting && j.Waiting != "" {
			s := warn(v1beta2.BackupReasonPodNotStarting, fmt.Sprintf(
				"backup cannot start: the Pod of Job %s is waiting: %s; it starts once that is fixed", a.Name, conditiontext.Clip(j.Waiting)))
			s.podNotStarting = true
			return s
		}
	}
	return nil
}

// retrying tells the failure of the last attempt while the Job makes another one.
func retrying(v *view) *step {
	for _, a := range v.active {
		if j := a.job; j != nil && j.Running && !j.Deleting && j.Result != nil && j.Result.Failure != nil {
			f := j.Result.Failure
			return warn(conditiontext.Reason(f.Reason, v1beta2.BackupReasonJobFailed), fmt.Sprintf("backup attempt failed: %s; Job %s retries %s", conditiontext.Clip(f.Message), a.Name, v.retryPeriod()))
		}
	}
	return nil
}

// blocked says what is in the way of the backup that is due.
func blocked(v *view) *step {
	if v.due.IsZero() {
		return nil
	}
	return v.blocker()
}

// running waits for the backups that were started.
func running(v *view) *step {
	if len(v.active) == 0 {
		return nil
	}
	return wait(v1beta2.BackupReasonStarted, v.startedMessage())
}

func suspended(v *view) *step {
	if !v.spec.Suspend {
		return nil
	}
	return wait(v1beta2.BackupReasonSuspended, "backups are suspended: set spec.suspend to false to resume them")
}

// rest waits for the next due time.
func rest(v *view) *step {
	if v.nextDue.IsZero() {
		return wait(v1beta2.BackupReasonNothingDue, "no further backup is due: spec.backupPolicy.schedule has no later time; correct it if there should be more backups")
	}
	return wait(v1beta2.BackupReasonScheduled, "next backup is due at "+conditiontext.Time(v.nextDue))
}

// blocker is why the backup that is due is not started now; nil if it can be.
func (v *view) blocker() *step {
	switch {
	case v.source.wait != nil:
		return v.source.wait
	case v.blockedByDoubt() != nil:
		return v.blockedByDoubt()
	case len(v.active) > 0 && v.spec.Concurrency() != v1beta2.AllowConcurrent:
		return wait(v1beta2.BackupReasonPreviousRunning, fmt.Sprintf("waiting for Job %s to finish: the backup of %s is due, and spec.backupPolicy.concurrencyPolicy is %s",
			v.active[0].Name, conditiontext.Time(v.due), v.spec.Concurrency()))
	case v.abandoned() != nil:
		return wait(v1beta2.BackupReasonJobStopping, fmt.Sprintf("waiting for Job %s to be deleted: its backup was given up, and the backup of %s is due; if it takes long, check the Job's finalizers", v.abandoned().Name, conditiontext.Time(v.due)))
	case v.counted() >= maxJobs || len(v.active) >= maxJobs:
		return warn(v1beta2.BackupReasonTooManyJobs, fmt.Sprintf("too many Jobs: this EtcdBackup has %d, and the backup of %s waits; check why they do not finish or are not deleted",
			max(v.counted(), len(v.active)), conditiontext.Time(v.due)))
	case v.Refused != "":
		v.wakeAt(v.Now.Add(retry))
		return warn(v1beta2.BackupReasonStartRefused, fmt.Sprintf("the API server rejects the backup's Job: %s; the operator retries every %s",
			conditiontext.Clip(v.Refused), retry))
	}
	return nil
}
