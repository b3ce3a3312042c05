package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
		"negative":           {reason: "of an old CRD", history: known, revision: -1, says: "RevisionInvalid", words: "negative"},
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
