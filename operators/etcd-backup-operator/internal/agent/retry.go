package agent

import (
	"time"

	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

const (
	// maxBackoff is the longest pause between two attempts. A store that is back is used
	// soon, and a snapshot that breaks off each time does not keep its member busy.
	maxBackoff = 2 * time.Minute
	// reportAfter is how long after the start of its Job a Pod must have begun to try for
	// long. An earlier one ends after a few attempts: the operator, and so the
	// user, learns why a Pod failed only when it has ended. The Job's next Pod continues.
	reportAfter = time.Minute
)

// persists reports whether this Pod tries until RetryUntil, rather than to end soon with
// a report.
func (j *job) persists() bool {
	return !j.task.RetryUntil.IsZero() && j.begun.Sub(j.task.Started) >= j.limits.report
}

// hasTime reports whether another attempt after a pause begins in time. The node's clock
// may be wrong: however it is, one Pod takes no longer than the operator meant to give.
func (j *job) hasTime(now time.Time, pause time.Duration) bool {
	t := &j.task
	return now.Add(pause).Before(t.RetryUntil) && now.Sub(j.begun)+pause < t.RetryUntil.Sub(t.Started)
}

// giveUp is the end of all attempts. Of a Pod that has tried for as long as it may, it
// ends the Job: another Pod would come too late.
func (j *job) giveUp(f *agent.Failure, err error) error {
	if !j.persists() {
		return err
	}
	return runner.Refuse(f.Reason, "%s; no attempt succeeded until %s", f.Message, conditiontext.Time(j.task.RetryUntil))
}
