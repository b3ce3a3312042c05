package plan

import (
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// A Job in doubt might run. The operator starts nothing that must not run at the same time, deletes nothing, records
// no end, and reports the Job in a condition.
func TestJobInDoubt(t *testing.T) {
	// doubt adds the Job of the backup that was due so long after the creation.
	doubt := func(due time.Duration) change {
		return func(s *scene) {
			s.Doubtful = append(s.Doubtful, Doubtful{Name: JobName(s.Backup, born.Add(due)), Scheduled: born.Add(due)})
		}
	}
	// eightNewer adds the records of eight newer backups.
	eightNewer := func(s *scene) {
		for i := range time.Duration(maxJobs) {
			before((i+1)*time.Hour, "")(s)
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
		"one-shot backup": {
			reason:    "its backup might still run",
			o:         observe(active(0), doubt(0), after(time.Hour)),
			condition: complete, want: "False JobInDoubt", active: 1,
		},
		"not in the status": {
			reason:    "the status write after its start was lost",
			o:         observe(seen, doubt(0)),
			condition: complete, want: "False JobInDoubt", active: 1,
		},
		"next backup due": {
			reason:    "concurrencyPolicy is Forbid, and the Job might still run",
			o:         hourly(active(0), doubt(0), after(time.Hour)),
			condition: scheduled, want: "True JobInDoubt", active: 1,
		},
		"next backup replaces it": {
			reason:    "the Job might belong to another owner, so it is not deleted",
			o:         hourly(concurrency(v1beta2.ReplaceConcurrent), active(0), doubt(0), after(time.Hour)),
			condition: scheduled, want: "True JobInDoubt", active: 1,
		},
		"next backup may run at the same time": {
			reason: "concurrencyPolicy is Allow, so the next backup starts",
			o:      hourly(concurrency(v1beta2.AllowConcurrent), active(0), doubt(0), after(time.Hour)),
			action: "StartJob", condition: scheduled, want: "True JobInDoubt", active: 2,
		},
		"eight newer backups": {
			reason: "concurrencyPolicy is Allow, and the Job still counts as active",
			o: hourly(
				concurrency(v1beta2.AllowConcurrent), active(0), doubt(0), eightNewer,
				counted("every 1h0m0s", 8*time.Hour), after(9*time.Hour),
			),
			action: "StartJob", condition: scheduled, want: "True JobInDoubt", active: 2, history: 8,
		},
		"last backup runs, and must be replaced": {
			reason: "concurrencyPolicy is Replace, and the next backup cannot start yet",
			o: hourly(
				concurrency(v1beta2.ReplaceConcurrent), active(0), doubt(0), started(time.Hour),
				counted("every 1h0m0s", time.Hour), after(2*time.Hour),
			),
			condition: scheduled, want: "True JobInDoubt", active: 2,
		},
		"backup was given up": {
			reason:    "it could start a Pod at the same time as a newer backup",
			o:         hourly(concurrency(v1beta2.AllowConcurrent), before(0, "NodeLost"), doubt(0), after(time.Hour)),
			condition: scheduled, want: "True JobInDoubt", history: 1,
		},
		"archive": {
			reason:    "two archivers must not record at the same time",
			o:         archived(archiverInDoubt),
			condition: v1beta2.ConditionArchiving, want: "False JobInDoubt", history: 1,
		},
		"archive that was removed": {
			reason:    "the Job might belong to another owner, so it is not deleted",
			o:         archived(archiverInDoubt, spec(func(s *v1beta2.BackupSpec) { s.Archive = nil })),
			condition: v1beta2.ConditionArchiving, want: "False JobInDoubt", history: 1,
		},
		"copies": {
			reason:    "two Jobs must not copy at the same time",
			o:         copied(copierInDoubt),
			condition: v1beta2.ConditionCopied, want: "False JobInDoubt", history: 1,
		},
		"copies that were removed": {
			reason:    "the Job might belong to another owner, so it is not deleted",
			o:         copied(copierInDoubt, spec(func(s *v1beta2.BackupSpec) { s.CopyTo = nil })),
			condition: v1beta2.ConditionCopied, want: "False JobInDoubt", history: 1,
		},
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

// The observer looks for an archiver as long as the status has an archive. An archiver that is in doubt when the user
// removes spec.archive must be stopped once its owner is corrected.
func TestArchiverInDoubtIsNotForgotten(t *testing.T) {
	removed := spec(func(s *v1beta2.BackupSpec) { s.Archive = nil })
	own := archived(removed)
	inDoubt := archived(removed, func(s *scene) { s.Archiver = &Archiver{Name: s.Archiver.Name, InDoubt: true} })
	first := noted(inDoubt).Status
	if first.Archive == nil {
		t.Fatal("status.archive is removed, want it kept while the archiver is in doubt")
	}
	own.Backup.Status = first
	d := noted(own)
	if got, ok := d.Action.(DeleteJob); !ok || got.Name != own.Archiver.Name || d.Status.Archive == nil {
		t.Fatalf("action %+v and archive %+v, want the corrected archiver to be deleted", d.Action, d.Status.Archive)
	}
	own.Backup.Status, own.Archiver = d.Status, nil
	if got := noted(own).Status.Archive; got != nil {
		t.Errorf("status.archive is %+v once the archiver is gone, want none", got)
	}
}
