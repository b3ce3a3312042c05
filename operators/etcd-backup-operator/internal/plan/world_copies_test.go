package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
)

// simCopier is the Job that copies, as it really is.
type simCopier struct {
	Copier
	ends   time.Time
	goneAt time.Time // once it is being deleted
	result *task.Result
	fails  bool
}

// copies are the copies of a world, and what was recorded of them.
type copies struct {
	live *simCopier
	made int
	// stored are the backups that were ever copied, and recorded how often an end was, by the
	// name of the backup.
	stored   map[string]bool
	recorded map[string]int
}

func newCopies() copies { return copies{stored: map[string]bool{}, recorded: map[string]int{}} }

// copyChanged is what a watch of Jobs reports.
func (w *world) copyChanged() {
	for _, op := range w.operators {
		op.dirty = true
	}
}

// startCopy carries the Action out; false if a precondition does not hold.
func (w *world) startCopy(o Observation, a StartCopy) bool {
	if !w.noLiveRead && w.backup.ResourceVersion != o.Backup.ResourceVersion {
		return false
	}
	if w.copies.live != nil {
		return true // it exists already
	}
	switch j := w.all[a.Backup.Name]; {
	case j == nil || !j.success:
		w.fail("%s is copied, which was not stored", a.Backup.Name)
	case w.copies.recorded[a.Backup.Name] > 0:
		w.fail("%s is copied once more", a.Backup.Name)
	case o.Backup.Spec.Suspend:
		w.fail("%s is copied although the backup is suspended", a.Backup.Name)
	case w.account && !o.Creator.Passed:
		w.fail("%s is copied by an account that its creator might not be able to use", a.Backup.Name)
	}
	w.copies.made++
	c := &simCopier{
		Copier: Copier{Job: Job{Name: a.Name, UID: fmt.Sprint("copy-", w.copies.made), Created: w.now, Scheduled: a.Backup.ScheduledTime.Time, Running: true}, Hash: a.Hash, Backup: a.Backup.Name},
		ends:   w.now.Add(time.Duration(500+w.r.Intn(90_000)) * time.Millisecond),
	}
	switch w.r.Intn(5) {
	case 0:
		c.fails, c.result = true, &task.Result{Failure: &agent.Failure{Reason: "AccessDenied", Message: "the bucket is another's", Permanent: true}}
	case 1:
		c.fails = true // out of memory
	default:
		c.result = &task.Result{Location: "s3://mybucket/copies/" + a.Backup.Name}
	}
	w.copies.live = c
	w.copyChanged()
	return true
}

// moveCopy shows what has become of the Job by now.
func (w *world) moveCopy() {
	c := w.copies.live
	switch {
	case c == nil:
	case !c.goneAt.IsZero() && !w.now.Before(c.goneAt):
		w.copies.live = nil
		w.copyChanged()
	case c.Running && !w.now.Before(c.ends):
		c.Running, c.Failed, c.Finished, c.Result = false, c.fails, c.ends, c.result
		w.copies.stored[c.Backup] = w.copies.stored[c.Backup] || !c.fails
		w.say("the copy of %s has ended: failed %t", c.Backup, c.fails)
		w.copyChanged()
	}
}

func (w *world) deleteCopy(o Observation, a DeleteJob) {
	c := w.copies.live
	if c == nil || c.Name != a.Name || c.UID != a.UID || c.Deleting {
		return
	}
	isStored := slices.ContainsFunc(w.backup.Status.History, func(r v1beta2.BackupRecord) bool { return r.Name == c.Backup && r.Copy == nil })
	if o.Copier != nil && !o.Copier.Running && isStored { // one that runs may end before it is deleted: it is copied again
		w.fail("the copy of %s is deleted before its end is recorded", c.Backup)
	}
	c.Deleting, c.goneAt = true, w.now.Add(time.Second)
	w.copyChanged()
}

// checkCopied is what must hold whenever a status is written.
func (w *world) checkCopied(d Decision) {
	r := d.Copied
	if r == nil {
		return
	}
	if w.copies.recorded[r.Name]++; w.copies.recorded[r.Name] > 1 {
		w.fail("the copy of %s is recorded a second time", r.Name)
	}
	if r.Copy.Failure == nil && !w.copies.stored[r.Name] {
		w.fail("the copy of %s is recorded as a success, and is none", r.Name)
	}
	w.say("the copy of %s is recorded: %+v", r.Name, r.Copy.Failure)
}

// checkCopies is what must hold when for a while nothing has gone wrong.
func (w *world) checkCopies() {
	st, c := &w.backup.Status, w.copies.live
	if w.backup.Spec.CopyTo == nil {
		return
	}
	i := slices.IndexFunc(st.History, func(r v1beta2.BackupRecord) bool { return r.Succeeded })
	if i < 0 || st.History[i].Copy != nil || c != nil && (c.Running || w.now.Sub(c.Finished) < 2*reportGrace) {
		return
	}
	if w.now.Sub(st.History[i].CompletionTime.Time) > 10*time.Second {
		w.fail("backup %s is not copied", st.History[i].Name)
	}
}
