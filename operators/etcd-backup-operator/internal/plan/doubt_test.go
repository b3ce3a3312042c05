package plan

import (
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// A Job in doubt might run. Nothing is started that must not run beside it, nothing is deleted, no end is recorded,
// and a condition reports it.
func TestJobInDoubt(t *testing.T) {
	// doubt adds the Job of the backup that was due so long after the creation.
	doubt := func(due time.Duration) change {
		return func(s *scene) {
			s.Doubtful = append(s.Doubtful, Doubtful{Name: JobName(s.Backup, born.Add(due)), Scheduled: born.Add(due)})
		}
	}
	hourly := func(changes ...change) Observation {
		return observe(append([]change{every(time.Hour), counted("every 1h0m0s", 0)}, changes...)...)
	}
	archiverInDoubt := func(s *scene) { s.Archiver = &Archiver{Name: ArchiverName(s.Backup), InDoubt: true} }
	copierInDoubt := func(s *scene) { s.Copier = &Copier{Job: Job{Name: CopierName(s.Backup)}, InDoubt: true} }
	const complete, scheduled = v1beta2.ConditionComplete, v1beta2.ConditionScheduled
	for name, row := range map[string]struct {
		reason          string
		o               Observation
		action          string
		condition, want string
		active, history int
	}{
		"of a one-shot backup":           {"its backup might run", observe(active(0), doubt(0), after(time.Hour)), "", complete, "False JobInDoubt", 1, 0},
		"of which the status is missing": {"the write after its start was lost", observe(seen, doubt(0)), "", complete, "False JobInDoubt", 1, 0},
		"and the next backup is due":     {"Forbid: it might run", hourly(active(0), doubt(0), after(time.Hour)), "", scheduled, "True JobInDoubt", 1, 0},
		"that is to be replaced":         {"the Job of another must not be deleted", hourly(concurrency(v1beta2.ReplaceConcurrent), active(0), doubt(0), after(time.Hour)), "", scheduled, "True JobInDoubt", 1, 0},
		"beside which another may run":   {"Allow: it is no obstacle", hourly(concurrency(v1beta2.AllowConcurrent), active(0), doubt(0), after(time.Hour)), "StartJob", scheduled, "True JobInDoubt", 2, 0},
		"of a backup that was given up":  {"it could start a Pod beside any newer backup", hourly(concurrency(v1beta2.AllowConcurrent), before(0, "NodeLost"), doubt(0), after(time.Hour)), "", scheduled, "True JobInDoubt", 0, 1},
		"of the archive":                 {"two archivers must not record", archived(archiverInDoubt), "", v1beta2.ConditionArchiving, "False JobInDoubt", 0, 1},
		"of an archive that was removed": {"the Job of another must not be deleted", archived(archiverInDoubt, spec(func(s *v1beta2.BackupSpec) { s.Archive = nil })), "", scheduled, "True Scheduled", 0, 1},
		"of the copies":                  {"two must not copy", copied(copierInDoubt), "", v1beta2.ConditionCopied, "False JobInDoubt", 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := noted(row.o)
			action := ""
			if d.Action != nil {
				action = d.Action.Kind()
			}
			c := find(t, d.Status.Conditions, row.condition)
			if got := string(c.Status) + " " + c.Reason; action != row.action || got != row.want {
				t.Errorf("action %q and %s=%s, want %q and %s: %s", action, row.condition, got, row.action, row.want, row.reason)
			}
			if len(d.Status.Active) != row.active || len(d.Status.History) != row.history || len(d.Recorded) != 0 {
				t.Errorf("active %v, history %v, want %d and %d: %s", d.Status.Active, d.Status.History, row.active, row.history, row.reason)
			}
		})
	}
}
