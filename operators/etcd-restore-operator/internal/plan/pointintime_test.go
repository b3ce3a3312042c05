package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
)

// asOfRevision asks for a revision.
func asOfRevision(r int64) change {
	return spec(func(s *v1beta2.RestoreSpec) { s.Revision = r })
}

// Of an EtcdBackup the newest snapshot is taken that holds the revision, since retention might
// have deleted older ones that its status still lists; and nothing is touched when none does.
func TestTheSnapshotThatHoldsARevision(t *testing.T) {
	const one, two = "00000000000000c1", "00000000000000c2"
	entryOf := func(name string, oldest, revision int64, cluster string) v1beta2.BackupRecord {
		return v1beta2.BackupRecord{Name: name, Succeeded: true, Location: "s3://mybucket/" + name, OldestRevision: oldest, Revision: revision, ClusterID: cluster}
	}
	known := []v1beta2.BackupRecord{entryOf("b-9", 700, 900, one), entryOf("b-8", 300, 800, one), entryOf("b-7", 100, 400, one)}
	unhealthy := entryOf("b-6", 1, 950, one)
	unhealthy.Unhealthy = "a CORRUPT alarm"
	noQuorum := entryOf("b-5", 1, 960, one)
	noQuorum.Quorum = new(bool)
	failed := v1beta2.BackupRecord{Name: "b-4", Message: "the bucket is full", Revision: 990}
	history := func(records ...v1beta2.BackupRecord) func(*v1beta2.EtcdBackup) {
		return func(b *v1beta2.EtcdBackup) {
			newest("s3://mybucket/b-9")(b)
			b.Status.History = records
		}
	}
	late := after(2 * time.Minute)
	running := func(s *scene) { s.Backup.Status.Active = []v1beta2.ActiveBackup{{Name: "b-10"}} }
	rows := map[string]struct {
		reason   string
		history  []v1beta2.BackupRecord
		revision int64
		changes  []change
		want     string // the snapshot
		says     string // the reason, if there is none
		words    string
	}{
		"in one":                         {reason: "the only one", history: known, revision: 850, want: "b-9"},
		"in two":                         {reason: "retention deletes the newest last", history: known, revision: 750, want: "b-9"},
		"at a compaction":                {reason: "all keys can still be read there", history: known, revision: 100, want: "b-7"},
		"a snapshot's own":               {reason: "a newer one holds it, too", history: known, revision: 400, want: "b-8"},
		"compacted":                      {reason: "nobody has it any more", history: known, revision: 99, changes: []change{late}, says: task.ReasonRevisionNotHeld, words: "no snapshot in status.history of EtcdBackup b holds revision 99 (b-9 holds 700 to 900, b-8 holds 300 to 800, b-7 holds 100 to 400): set spec.revision to one that a snapshot holds, or set s3.prefix instead of backupRef"},
		"compacted, on a volume":         {reason: "a volume is not searched", history: []v1beta2.BackupRecord{{Name: "b-1", Succeeded: true, Location: "pvc://backups/b-1", OldestRevision: 100, Revision: 200}}, revision: 99, changes: []change{late}, says: task.ReasonRevisionNotHeld, words: "name the location of an older snapshot"},
		"too new":                        {reason: "the cluster may have it yet", history: known, revision: 901, changes: []change{late}, says: task.ReasonRevisionNotHeld, words: "back the cluster up again"},
		"too new, running":               {reason: "it may hold it", history: known, revision: 901, changes: []change{late, running}, says: "BackupNotReady", words: "revision 901"},
		"too new, at first":              {reason: "a cache may lag", history: known, revision: 901, says: task.ReasonRevisionNotHeld, words: "back the cluster up again"},
		"too new for an older release's": {reason: "nobody knows how far they go back", history: []v1beta2.BackupRecord{entryOf("b-2", 0, 900, one)}, revision: 901, changes: []change{late}, says: task.ReasonRevisionNotHeld, words: "(b-2 ends at 900)"},
		"not confirmed":                  {reason: "a person names such a snapshot", history: append([]v1beta2.BackupRecord{failed, noQuorum, unhealthy}, known...), revision: 940, changes: []change{late}, says: task.ReasonRevisionNotHeld, words: "b-9 holds 700 to 900"},
		"an older release's": {
			reason: "of those that do not tell, the oldest is the likeliest to reach back", history: []v1beta2.BackupRecord{entryOf("b-2", 0, 900, one), entryOf("b-1", 0, 500, "")}, revision: 450, want: "b-1",
		},
		"one that tells first": {reason: "it is known to hold it", history: []v1beta2.BackupRecord{entryOf("b-2", 100, 900, one), entryOf("b-1", 0, 500, one)}, revision: 450, want: "b-2"},
		"of two clusters":      {reason: "which is meant?", history: []v1beta2.BackupRecord{entryOf("b-2", 1, 900, two), entryOf("b-1", 1, 950, one)}, revision: 450, says: task.ReasonClusterAmbiguous, words: one + ", " + two},
		"perhaps of another": {
			reason: "which is meant?", history: []v1beta2.BackupRecord{entryOf("b-2", 1, 900, two), entryOf("b-1", 0, 950, one)}, revision: 450,
			says: task.ReasonClusterAmbiguous, words: one + ", " + two,
		},
		"not of another, which ends before": {
			reason: "it cannot hold it", history: []v1beta2.BackupRecord{entryOf("b-2", 1, 900, two), entryOf("b-1", 0, 449, one)}, revision: 450, want: "b-2",
		},
		"of one of them": {
			reason: "it is told", history: []v1beta2.BackupRecord{entryOf("b-2", 1, 900, two), entryOf("b-1", 1, 950, one)}, revision: 450,
			changes: []change{spec(func(s *v1beta2.RestoreSpec) { s.ClusterID = one })}, want: "b-1",
		},
		"of another": {
			reason: "it has none", history: known, revision: 450,
			changes: []change{late, spec(func(s *v1beta2.RestoreSpec) { s.ClusterID = two })}, says: task.ReasonWrongCluster, words: two,
		},
		"an entry":           {reason: "it is named", history: known, revision: 750, changes: []change{entry("b-9")}, want: "b-9"},
		"a little too new":   {reason: "it holds at least what is recorded: the agent finds out", history: known, revision: 901, changes: []change{entry("b-9")}, want: "b-9"},
		"not in the entry":   {reason: "nothing is touched", history: known, revision: 600, changes: []change{entry("b-9")}, says: task.ReasonRevisionNotHeld, words: "holds revisions 700 to 900"},
		"of the predecessor": {reason: "nothing is recorded", revision: 600, want: "b-9"},
		"archived":           {reason: "the archive leads there from the newest before", history: known, revision: 901, changes: []change{archives}, want: "b-9"},
		"archived in between": {
			reason: "what holds it has more to leave out, and nothing to add", history: known, revision: 650, changes: []change{archives}, want: "b-8",
		},
		"archived in a gap": {
			reason: "it was compacted before the next snapshot", history: []v1beta2.BackupRecord{entryOf("b-9", 700, 900, one), entryOf("b-7", 100, 400, one)}, revision: 650, changes: []change{archives}, want: "b-7",
		},
		"archived later": {reason: "no snapshot is before it", history: known, revision: 99, changes: []change{late, archives}, says: task.ReasonRevisionNotHeld, words: "holds revision 99"},
		"negative":       {reason: "of an old CRD", history: known, revision: -1, says: "RevisionInvalid", words: "negative"},
	}
	for label, row := range rows {
		t.Run(label, func(t *testing.T) {
			d := noted(observe(append([]change{first, backup(history(row.history...)), asOfRevision(row.revision)}, row.changes...)...))
			job, _ := d.Action.(StartJob)
			if row.says != "" {
				if d.Reason != row.says || d.Action != nil || !strings.Contains(d.Message, row.words) {
					t.Errorf("%s: %s: %s", row.reason, d.Reason, d.Message)
				}
				return
			}
			if job.Source.Store == nil || job.Source.Store.Path != "mybucket/"+row.want {
				t.Errorf("%s: %+v: %s", row.reason, job.Source, d.Message)
			}
		})
	}
}

// archives has the EtcdBackup record an archive.
func archives(s *scene) { s.Backup.Spec.Archive = &v1beta2.BackupArchive{} }

// noonAnd is a time so many minutes after a noon.
func noonAnd(minutes int) *metav1.Time {
	return &metav1.Time{Time: time.Date(2026, 3, 1, 12, minutes, 0, 0, time.UTC)}
}

// asOfTime asks for a time, so many minutes after the noon.
func asOfTime(minutes int) change {
	return spec(func(s *v1beta2.RestoreSpec) { s.Time = noonAnd(minutes) })
}

// The archive is appended to the newest snapshot that was complete by the time; nothing else tells
// times.
func TestTheSnapshotBeforeATime(t *testing.T) {
	entryOf := func(name string, minutes int, revision int64, cluster string) v1beta2.BackupRecord {
		return v1beta2.BackupRecord{Name: name, Succeeded: true, Location: "s3://mybucket/" + name, Revision: revision, ClusterID: cluster, CompletionTime: noonAnd(minutes)}
	}
	const one, two = "00000000000000c1", "00000000000000c2"
	known := []v1beta2.BackupRecord{entryOf("b-3", 30, 300, two), {Name: "b-0", Message: "the bucket is full"}, entryOf("b-1", 10, 100, one), entryOf("b-2", 20, 200, one)}
	late := after(2 * time.Hour)
	rows := map[string]struct {
		reason  string
		minutes int
		changes []change
		want    string // the snapshot
		says    string // the reason, if there is none
		words   string
	}{
		"after all":       {reason: "the newest has the least to add", minutes: 40, changes: []change{archives}, want: "b-3"},
		"in between":      {reason: "what is later may not hold it any more", minutes: 29, changes: []change{archives}, want: "b-2"},
		"at its end":      {reason: "it was complete by then", minutes: 20, changes: []change{archives}, want: "b-2"},
		"before all":      {reason: "the oldest may hold it", minutes: 5, changes: []change{archives}, want: "b-1"},
		"of a cluster":    {reason: "it is told", minutes: 40, changes: []change{archives, spec(func(s *v1beta2.RestoreSpec) { s.ClusterID = one })}, want: "b-2"},
		"of another":      {reason: "it has none", minutes: 40, changes: []change{late, archives, spec(func(s *v1beta2.RestoreSpec) { s.ClusterID = "00000000000000c3" })}, says: task.ReasonWrongCluster, words: "c3"},
		"an entry":        {reason: "it is named: the agent finds out", minutes: 40, changes: []change{entry("b-1")}, want: "b-1"},
		"without archive": {reason: "snapshots tell no times", minutes: 25, changes: []change{late}, says: task.ReasonTimeNotHeld, words: "such as b-2 of 2026-03-01T12:20:00Z with revision 200"},
		"archived before": {reason: "what was recorded is still there", minutes: 40, changes: []change{func(s *scene) { s.Backup.Status.Archive = &v1beta2.ArchiveStatus{} }}, want: "b-3"},
		"with a revision": {reason: "which is meant?", minutes: 40, changes: []change{archives, asOfRevision(5)}, says: "RevisionInvalid", words: "must not be set together with revision"},
	}
	for label, row := range rows {
		t.Run(label, func(t *testing.T) {
			history := backup(func(b *v1beta2.EtcdBackup) {
				newest("s3://mybucket/b-3")(b)
				b.Status.History = known
			})
			d := noted(observe(append([]change{first, history, asOfTime(row.minutes)}, row.changes...)...))
			job, _ := d.Action.(StartJob)
			switch {
			case row.says != "":
				if d.Reason != row.says || d.Action != nil || !strings.Contains(d.Message, row.words) {
					t.Errorf("%s: %s: %s", row.reason, d.Reason, d.Message)
				}
			case job.Source.Store == nil || row.want != "" && job.Source.Store.Path != "mybucket/"+row.want:
				t.Errorf("%s: %+v: %s: %s", row.reason, job.Source, d.Reason, d.Message)
			}
		})
	}
}

// Which revision the time stands for is settled by who verifies, and holds from then on.
func TestTheTimeIsSettledOnce(t *testing.T) {
	told := &task.Cut{Revision: 60, TotalKeys: 5, Appended: 18, DatabaseSize: 3 << 20, Time: noonAnd(39).Time}
	cutBy := func(c *task.Cut, revision int64) func(*Pod) {
		return func(p *Pod) { prepared(p); p.Result.Cut, p.Result.Revision = c, revision }
	}
	byJob := func(c *task.Cut) change { return func(s *scene) { s.Job.Result.Cut = c } }
	settled := status(func(s *v1beta2.RestoreStatus) { s.TargetRevision, s.RecoveryTime = 60, noonAnd(39) })
	again := *told
	again.Time = time.Time{} // it is asked for by its revision
	rows := map[string]struct {
		reason, says, words string
		o                   Observation
		target              int64
		restored            *v1beta2.RestoredState
	}{
		"by a seed": {
			reason: "it restores what it finds", o: observe(asOfTime(40), beside(cutBy(told, 1_005_000_000))), says: "SnapshotVerified",
			words:  "it is restored as of 2026-03-01T12:40:00Z (revision 60) with 5 keys, and the 18 revisions after the snapshot are from its archive",
			target: 60, restored: &v1beta2.RestoredState{Revision: 60, TotalKeys: 5, RevisionsAppended: 18},
		},
		"by a seed again": {
			reason: "another Pod of it", o: observe(asOfTime(40), settled, beside(cutBy(&again, 1_005_000_000))), says: "SnapshotVerified", target: 60,
			restored: &v1beta2.RestoredState{Revision: 60, TotalKeys: 5, RevisionsAppended: 18},
		},
		"by a seed, otherwise": {
			reason: "it is not what was settled", o: observe(asOfTime(40), settled, beside(cutBy(&task.Cut{Revision: 61}, 1_005_000_000))), says: "ResultInvalid", target: 60,
		},
		"by an older seed": {reason: "it does not know times", o: observe(asOfTime(40), beside(prepared)), says: "ResultInvalid"},
		"too low":          {reason: "clients would see what they have seen again", o: observe(asOfTime(40), beside(cutBy(&task.Cut{Revision: 10_000_000, Time: told.Time}, 1_005_000_000))), says: "ResultInvalid", words: "lower than requested"},
		"by a Job": {
			reason: "the seed restores by the revision", o: observe(first, asOfTime(40), phase(v1beta2.RestoreVerifying), job(reported), byJob(told)), says: "SnapshotVerified",
			words: "it is restored as of 2026-03-01T12:40:00Z (revision 60)", target: 60,
		},
		"only to be verified": {
			reason: "it says that it could be", o: observe(asOfTime(40), verifyOnly, phase(v1beta2.RestoreVerifying), job(reported), byJob(told)), says: "SnapshotVerified",
			words: "it can be restored as of 2026-03-01T12:40:00Z (revision 60) with 5 keys", target: 60,
		},
		"by an older Job": {reason: "it does not know times", o: observe(first, asOfTime(40), phase(v1beta2.RestoreVerifying), job(reported)), says: "ResultInvalid", words: "did not report the revision at spec.time"},
	}
	for label, row := range rows {
		t.Run(label, func(t *testing.T) {
			d := noted(row.o)
			if d.Reason != row.says || !strings.Contains(d.Message, row.words) {
				t.Errorf("%s: %s: %s", row.reason, d.Reason, d.Message)
			}
			if diff := cmp.Diff(row.restored, d.Status.Restored); diff != "" || d.Status.TargetRevision != row.target || (d.Status.RecoveryTime != nil) != (row.target > 0) {
				t.Errorf("%s: revision %d at %v\n%s", row.reason, d.Status.TargetRevision, d.Status.RecoveryTime, diff)
			}
			if s := d.Status.Snapshot; s != nil && row.target > 0 && s.DatabaseSizeAtRevision != told.DatabaseSize {
				t.Errorf("%s: the database has %d bytes", row.reason, s.DatabaseSizeAtRevision)
			}
		})
	}
}

// A seed that is prepared tells what it has restored, before a member is stopped.
func TestTheRestoredRevisionIsRecorded(t *testing.T) {
	cutAt := func(c *task.Cut) func(*Pod) {
		return func(p *Pod) { prepared(p); p.Result.Cut = c }
	}
	noKey := &v1beta2.RestoredState{Revision: 20, KeysLeftOut: new(int64(7))}
	allowEmpty := spec(func(s *v1beta2.RestoreSpec) { s.AllowEmptySnapshot = true })
	rows := map[string]struct {
		reason string
		o      Observation
		says   string
		want   *v1beta2.RestoredState
	}{
		"cut": {
			reason: "it is in the status", o: observe(asOfRevision(20), beside(cutAt(&task.Cut{Revision: 20, TotalKeys: 5, WithoutLease: 2}))),
			says: "SnapshotVerified", want: &v1beta2.RestoredState{Revision: 20, TotalKeys: 5, RevisionsLeftOut: 22, KeysWithoutLease: 2},
		},
		"verified by a Job before": {
			reason: "the Job does not cut", o: observe(first, asOfRevision(20), seeded(cutAt(&task.Cut{Revision: 20, TotalKeys: 5}))),
			says: "SnapshotVerified", want: &v1beta2.RestoredState{Revision: 20, TotalKeys: 5, RevisionsLeftOut: 22},
		},
		"not cut":               {reason: "what was to be undone would be restored", o: observe(asOfRevision(20), beside(prepared)), says: "ResultInvalid"},
		"cut at another":        {reason: "it is not what was asked for", o: observe(asOfRevision(20), beside(cutAt(&task.Cut{Revision: 21}))), says: "ResultInvalid"},
		"nothing left":          {reason: "all keys would be lost", o: observe(asOfRevision(20), recordedCut(&v1beta2.RestoredState{Revision: 20}), beside(cutAt(&task.Cut{Revision: 20})), keepSnapshot), says: "EmptySnapshot", want: &v1beta2.RestoredState{Revision: 20}},
		"without a revision":    {reason: "nothing is told of a cut", o: observe(beside(prepared)), says: "SnapshotVerified"},
		"only to be verified":   {reason: "it says that it could be", o: observe(asOfRevision(20), verifyOnly, phase(v1beta2.RestoreVerifying), job(reported)), says: "SnapshotVerified"},
		"verified, and counted": {reason: "it says with how many keys", o: observe(asOfRevision(20), verifyOnly, phase(v1beta2.RestoreVerifying), job(reported), func(s *scene) { s.Job.Result.Cut = &task.Cut{Revision: 20, TotalKeys: 5} }), says: "SnapshotVerified"},
		"only some prefixes": {
			reason: "what is left out is counted", o: observe(asOfRevision(20), under("a"), beside(cutAt(&task.Cut{Revision: 20, TotalKeys: 5, LeftOut: new(int64(3))}))),
			says: "SnapshotVerified", want: &v1beta2.RestoredState{Revision: 20, TotalKeys: 5, RevisionsLeftOut: 22, KeysLeftOut: new(int64(3))},
		},
		"prefixes, at its own": {
			reason: "without a revision, too", o: observe(under("a"), beside(cutAt(&task.Cut{Revision: 42, TotalKeys: 5, LeftOut: new(int64(0))}))),
			says: "SnapshotVerified", want: &v1beta2.RestoredState{Revision: 42, TotalKeys: 5, KeysLeftOut: new(int64(0))},
		},
		"all, and not some":  {reason: "an older agent does not know prefixes", o: observe(asOfRevision(20), under("a"), beside(cutAt(&task.Cut{Revision: 20, TotalKeys: 5}))), says: "ResultInvalid"},
		"some, and not all":  {reason: "keys are missing", o: observe(asOfRevision(20), beside(cutAt(&task.Cut{Revision: 20, TotalKeys: 5, LeftOut: new(int64(3))}))), says: "ResultInvalid"},
		"prefixes, verified": {reason: "it says with how many keys", o: observe(under("a"), verifyOnly, phase(v1beta2.RestoreVerifying), job(reported), func(s *scene) { s.Job.Result.Cut = &task.Cut{Revision: 42, TotalKeys: 5, LeftOut: new(int64(3))} }), says: "SnapshotVerified"},
		"no key under prefixes": {
			reason: "somebody has misspelled it", o: observe(asOfRevision(20), under("a"), recordedCut(noKey), beside(cutAt(&task.Cut{Revision: 20, LeftOut: new(int64(7))})), keepSnapshot),
			says: "EmptySnapshot", want: noKey,
		},
		"no key, and meant": {
			reason: "it is allowed", o: observe(asOfRevision(20), under("a"), allowEmpty, recordedCut(noKey), beside(cutAt(&task.Cut{Revision: 20, LeftOut: new(int64(7))})), keepSnapshot),
			says: "StoppingMembers", want: noKey,
		},
		"recorded, and ready": {reason: "members are stopped", o: observe(asOfRevision(20), recordedCut(&v1beta2.RestoredState{Revision: 20, TotalKeys: 5}), beside(cutAt(&task.Cut{Revision: 20, TotalKeys: 5})), keepSnapshot), says: "StoppingMembers", want: &v1beta2.RestoredState{Revision: 20, TotalKeys: 5}},
	}
	for label, row := range rows {
		t.Run(label, func(t *testing.T) {
			d := noted(row.o)
			if d.Reason != row.says {
				t.Errorf("%s: %s: %s", row.reason, d.Reason, d.Message)
			}
			if diff := cmp.Diff(row.want, d.Status.Restored); diff != "" {
				t.Errorf("%s: %s", row.reason, diff)
			}
		})
	}
}

// under asks for a new cluster of the keys under prefixes.
func under(prefixes ...string) change {
	return spec(func(s *v1beta2.RestoreSpec) {
		s.EtcdCluster, s.ClusterTemplate, s.Prefixes = nil, &v1beta2.ClusterTemplate{}, prefixes
	})
}

func recordedCut(r *v1beta2.RestoredState) change {
	return status(func(s *v1beta2.RestoreStatus) { s.Restored = r })
}

// keepSnapshot has the snapshot that the seed has told recorded, and members asked.
func keepSnapshot(s *scene) {
	s.Restore.Status.Snapshot = snapshotOf(found())
	s.Restore.Status.Revision = 1_005_000_000
	s.Asked, s.Reported = true, 5_000_000
}
