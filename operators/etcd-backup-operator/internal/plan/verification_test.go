package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// verified is an EtcdBackup with two stored backups, a verification of the spec, and what its
// changes say.
func verified(changes ...func(*Observation)) Observation {
	o := observe()
	o.Now = born.Add(time.Hour)
	b := o.Backup
	b.Spec.BackupPolicy = &v1beta2.BackupPolicy{BackupIntervalInSecond: 3600}
	b.Spec.Verification = &v1beta2.BackupVerification{}
	b.Status.Phase = v1beta2.BackupScheduled
	b.Status.Clock = &v1beta2.BackupClock{Schedule: "every 1h0m0s", After: metav1.NewTime(o.Now)}
	b.Status.History = []v1beta2.BackupRecord{storedAt("b-2", o.Now.Add(-time.Minute)), storedAt("b-1", o.Now.Add(-time.Hour))}
	o.VerifierServed = true
	for _, c := range changes {
		c(&o)
	}
	return o
}

// by adds an EtcdRestore that verifies a backup, some time ago.
func by(name, backup string, ago time.Duration, change func(*Verification)) func(*Observation) {
	return func(o *Observation) {
		r := Verification{Name: name, UID: "uid-" + name, Backup: backup, Created: o.Now.Add(-ago)}
		if change != nil {
			change(&r)
		}
		o.Verifications = append(o.Verifications, r)
	}
}

func good(r *Verification) {
	r.Phase, r.Finished = v1beta2.RestoreVerified, r.Created.Add(20*time.Second)
	r.Served = &v1beta2.ServedState{EtcdVersion: "3.6.16", TotalKeys: 10}
}

func bad(r *Verification) {
	r.Phase, r.Finished, r.Reason, r.Message = v1beta2.RestoreFailed, r.Created.Add(20*time.Second), "HashMismatch", "data differs from what was backed up"
}

// last has a verification that is recorded.
func last(backup string, succeeded bool, ago time.Duration) func(*Observation) {
	return func(o *Observation) {
		at := metav1.NewTime(o.Now.Add(-ago))
		r := &v1beta2.VerificationRecord{Name: "r-" + backup, Backup: backup, Succeeded: succeeded, StartTime: at, CompletionTime: at, EtcdVersion: "3.6.16", TotalKeys: 10}
		if !succeeded {
			r.Reason, r.Message = "HashMismatch", "data differs from what was backed up"
		}
		o.Backup.Status.Verification = &v1beta2.VerificationStatus{Last: r}
		if succeeded {
			o.Backup.Status.Verification.LastVerifiedTime = &at
		}
		for i := range o.Backup.Status.History {
			if h := &o.Backup.Status.History[i]; h.Name == backup {
				h.Verification = r.DeepCopy()
			}
		}
	}
}

func TestVerification(t *testing.T) {
	schedule := func(text string, after time.Duration) func(*Observation) {
		return func(o *Observation) {
			o.Backup.Spec.Verification.Schedule = text
			st := o.Backup.Status.Verification
			if st == nil {
				st = &v1beta2.VerificationStatus{}
				o.Backup.Status.Verification = st
			}
			st.Clock = &v1beta2.BackupClock{Schedule: "cron " + text, After: metav1.NewTime(o.Now.Add(-after))}
		}
	}
	archived := func(oldest, newest int64) func(*Observation) {
		return func(o *Observation) {
			o.Backup.Spec.Archive = &v1beta2.BackupArchive{}
			o.Backup.Status.Archive = &v1beta2.ArchiveStatus{ClusterID: "c0", OldestRevision: oldest, Revision: newest, Timeline: 1, Since: &metav1.Time{Time: born}}
			o.Backup.Status.History[0].ScheduledTime = &metav1.Time{Time: o.Now.Add(-time.Minute)}
			o.Archiver = &Archiver{Name: ArchiverName(o.Backup), UID: "a", Hash: newView(*o).startArchiver().Hash}
		}
	}
	start := func(backup string, revision int64) Action {
		return StartVerification{Backup: backup, Revision: revision}
	}
	rows := map[string]struct {
		why string
		o   Observation
		// action is without its name.
		action  Action
		status  metav1.ConditionStatus
		reason  string
		words   string
		events  string
		ended   int
		without bool
	}{
		"the newest":        {why: "the older one is of less use", o: verified(), action: start("b-2", 0), status: "Unknown", reason: "NotVerified", words: "backup b-2 is to be verified by EtcdRestore"},
		"none is asked for": {why: "nothing is made", o: verified(func(o *Observation) { o.Backup.Spec.Verification = nil }), without: true},
		"none is stored":    {why: "there is nothing to verify", o: verified(func(o *Observation) { o.Backup.Status.History = nil }), status: "Unknown", reason: "NotVerified", words: "once it is stored"},
		"one failed since": {why: "what was stored before counts", o: verified(func(o *Observation) {
			o.Backup.Status.History[0] = v1beta2.BackupRecord{Name: "b-2", Reason: "NoSpace", Message: "the bucket is full"}
		}), action: start("b-1", 0), status: "Unknown", reason: "NotVerified"},
		"suspended":                 {why: "nothing is started", o: verified(func(o *Observation) { o.Backup.Spec.Suspend = true }), status: "Unknown", reason: "NotVerified", words: "set spec.suspend to false"},
		"a spec that is refused":    {why: "nothing is started", o: verified(func(o *Observation) { o.Backup.Spec.S3 = nil }), status: "Unknown", reason: "NotVerified", words: "until the spec is corrected"},
		"no restore operator":       {why: "what to do is told", o: verified(func(o *Observation) { o.VerifierServed = false }), status: "Unknown", reason: "VerifierMissing", words: "install etcd-restore-operator"},
		"refused":                   {why: "it is tried again", o: verified(func(o *Observation) { o.Refused = "exceeded quota" }), status: "Unknown", reason: "NotVerified", words: "rejects the EtcdRestore that verifies backup b-2: exceeded quota"},
		"not looked at":             {why: "nobody may be there", o: verified(by("r", "b-2", time.Minute, nil)), status: "Unknown", reason: "NotVerified", words: "check that etcd-restore-operator runs"},
		"running":                   {why: "what it does is told", o: verified(by("r", "b-2", time.Minute, func(r *Verification) { r.Phase, r.Message = v1beta2.RestoreVerifying, "Job j fetches" })), status: "Unknown", reason: "NotVerified", words: "EtcdRestore r verifies backup b-2: Job j fetches"},
		"good":                      {why: "that is told", o: verified(by("r", "b-2", time.Minute, good)), status: "True", reason: "BackupVerified", words: "backup b-2 is good: etcd 3.6.16 served all 10 keys of it", events: "BackupVerified", ended: 1},
		"bad":                       {why: "that is told", o: verified(by("r", "b-2", time.Minute, bad)), status: "False", reason: "VerificationFailed", words: "backup b-2 could not be verified (HashMismatch): data differs", events: "VerificationFailed", ended: 1},
		"bad, without a word":       {why: "an operator of another release", o: verified(by("r", "b-2", time.Minute, func(r *Verification) { bad(r); r.Reason, r.Message = "", "" })), status: "False", reason: "VerificationFailed", words: "failed without a message", events: "VerificationFailed", ended: 1},
		"recorded":                  {why: "its end is told once", o: verified(last("b-2", true, time.Minute), by("r-b-2", "b-2", time.Minute, good)), status: "True", reason: "BackupVerified"},
		"a newer one":               {why: "what was good stays good meanwhile", o: verified(last("b-1", true, 30*time.Minute)), action: start("b-2", 0), status: "True", reason: "BackupVerified", words: "backup b-1 is good"},
		"a newer one after a bad":   {why: "it may be better", o: verified(last("b-1", false, 30*time.Minute)), action: start("b-2", 0), status: "False", reason: "VerificationFailed"},
		"two are left":              {why: "the older one is of no use", o: verified(last("b-2", true, time.Minute), by("r-b-1", "b-1", time.Hour, good), by("r-b-2", "b-2", time.Minute, good)), action: DeleteVerification{Name: "r-b-1", UID: "uid-r-b-1"}, status: "True", reason: "BackupVerified"},
		"it goes already":           {why: "once is enough", o: verified(last("b-2", true, time.Minute), by("r-b-1", "b-1", time.Hour, func(r *Verification) { good(r); r.Deleting = true }), by("r-b-2", "b-2", time.Minute, good)), status: "True", reason: "BackupVerified"},
		"running, not wanted":       {why: "it is stopped", o: verified(by("r", "b-2", time.Minute, nil), func(o *Observation) { o.Backup.Spec.Verification = nil }), action: DeleteVerification{Name: "r", UID: "uid-r"}, without: true},
		"ended, not wanted":         {why: "it is of no use, and nothing is told of it again", o: verified(by("r", "b-2", time.Minute, good), func(o *Observation) { o.Backup.Spec.Verification = nil }), action: DeleteVerification{Name: "r", UID: "uid-r"}, without: true},
		"wanted again":              {why: "its end is in the history", o: verified(last("b-2", true, time.Minute), by("r-b-2", "b-2", time.Minute, good), func(o *Observation) { o.Backup.Status.Verification = nil }), status: "Unknown", reason: "NotVerified"},
		"a backup without a quorum": {why: "it is not a good one", o: verified(func(o *Observation) { o.Backup.Status.History[0].Quorum = new(bool) }), action: StartVerification{Backup: "b-1"}, status: "Unknown", reason: "NotVerified"},
		"no schedule":               {why: "what is wrong with it is told", o: verified(schedule("61 * * * *", time.Minute)), status: "Unknown", reason: "NotVerified", words: "spec.verification.schedule cannot be used"},
		"not due":                   {why: "the schedule says when", o: verified(schedule("30 * * * *", 10*time.Minute)), status: "Unknown", reason: "NotVerified", words: "the next verification is due at"},
		"due":                       {why: "the schedule says so", o: verified(schedule("30 * * * *", 50*time.Minute)), action: start("b-2", 0), status: "Unknown", reason: "NotVerified"},
		"due once more":             {why: "a backup can rot where it lies", o: verified(last("b-2", true, 40*time.Minute), schedule("30 * * * *", 50*time.Minute)), action: start("b-2", 0), status: "True", reason: "BackupVerified"},
		"never due":                 {why: "a date that never comes", o: verified(schedule("0 0 30 2 *", time.Minute)), status: "Unknown", reason: "NotVerified", words: "has no later time"},
		"with the archive":          {why: "what was recorded is to be proved, too", o: verified(archived(5, 90)), action: start("b-2", 90), status: "Unknown", reason: "NotVerified"},
		"an archive that is behind": {why: "the snapshot holds all", o: verified(archived(5, 5)), action: start("b-2", 0), status: "Unknown", reason: "NotVerified"},
		"an archive told":           {why: "up to where is told", o: verified(by("r", "b-2", time.Minute, func(r *Verification) { good(r); r.Revision = 90 })), status: "True", reason: "BackupVerified", words: "with the archive up to revision 90", events: "BackupVerified", ended: 1},
	}
	for label, r := range rows {
		t.Run(label, func(t *testing.T) {
			d := noted(r.o)
			for _, broken := range oracle(r.o, d) {
				t.Error(broken)
			}
			got := d.Action
			if a, ok := got.(StartVerification); ok {
				a.Name = ""
				got = a
			}
			if diff := cmp.Diff(r.action, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", r.why, diff)
			}
			c := meta.FindStatusCondition(d.Status.Conditions, v1beta2.ConditionVerified)
			if (c == nil) != r.without {
				t.Fatalf("%s: the condition is %+v", r.why, c)
			}
			if c != nil && (c.Status != r.status || c.Reason != r.reason || !strings.Contains(c.Message, r.words)) {
				t.Errorf("%s: %s %s: %s, want %s %s with %q", r.why, c.Status, c.Reason, c.Message, r.status, r.reason, r.words)
			}
			var events []string
			for _, e := range d.Events {
				if strings.Contains(e.Message, "backup b-") {
					events = append(events, e.Reason)
				}
			}
			if got := strings.Join(events, " "); got != r.events || len(d.Verified) != r.ended {
				t.Errorf("%s: events %q, %d ended", r.why, got, len(d.Verified))
			}
		})
	}
}

// The status tells of the last one, and the record of its backup does, too.
func TestVerificationIsRecorded(t *testing.T) {
	o := verified(by("r", "b-2", time.Minute, good))
	st := Plan(o).Status
	at := metav1.NewTime(o.Now.Add(-time.Minute).Add(20 * time.Second))
	want := &v1beta2.VerificationRecord{Name: "r", Backup: "b-2", Succeeded: true, StartTime: metav1.NewTime(o.Now.Add(-time.Minute)), CompletionTime: at, EtcdVersion: "3.6.16", TotalKeys: 10}
	if diff := cmp.Diff(&v1beta2.VerificationStatus{LastVerifiedTime: &at, Last: want}, st.Verification); diff != "" {
		t.Errorf("the status (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, st.History[0].Verification); diff != "" {
		t.Errorf("the record (-want +got):\n%s", diff)
	}
	if st.History[1].Verification != nil || o.Backup.Status.History[0].Verification != nil {
		t.Error("another record, or what was observed, has changed")
	}
}

// An EtcdBackup is not deleted before its backup is verified, since its EtcdRestore would be, too.
func TestExpiryWaitsForVerification(t *testing.T) {
	once := func(o *Observation) {
		o.Backup.Spec.BackupPolicy, o.Backup.Spec.TTLSecondsAfterFinished = nil, new(int32(1))
		o.Backup.Status.Phase = v1beta2.BackupSucceeded
	}
	for label, row := range map[string]struct {
		o    Observation
		want bool
	}{
		"due":         {verified(once), false},
		"running":     {verified(once, by("r", "b-2", time.Minute, nil)), false},
		"done":        {verified(once, last("b-2", true, time.Minute)), true},
		"nobody does": {verified(once, func(o *Observation) { o.VerifierServed = false }), true},
	} {
		if _, got := Plan(row.o).Action.(DeleteBackup); got != row.want {
			t.Errorf("%s: it is deleted: %t", label, got)
		}
	}
}

// Whoever watches over the verifications can tell one that is overdue from one that is still to come.
func TestVerificationDue(t *testing.T) {
	last := born
	at := func(n int) time.Time { return last.Add(time.Duration(n) * time.Minute) }
	stored := func(n int) v1beta2.BackupRecord { return storedAt("b", at(n)) }
	done := stored(30)
	done.Verification = &v1beta2.VerificationRecord{Succeeded: true}
	for name, tc := range map[string]struct {
		spec     func(*v1beta2.BackupSpec)
		status   func(*v1beta2.BackupStatus)
		history  []v1beta2.BackupRecord
		schedule string
		want     time.Time
	}{
		"after each backup, and there is none later": {history: []v1beta2.BackupRecord{stored(-5)}},
		"the first backup since":                     {history: []v1beta2.BackupRecord{stored(20), stored(10), stored(-5)}, want: at(10)},
		"one that was verified, and failed":          {history: []v1beta2.BackupRecord{done}},
		"by a schedule":                              {schedule: "0 0 1 * *", want: time.Date(born.Year(), born.Month()+1, 1, 0, 0, 0, 0, time.UTC)},
		"by one that cannot be read":                 {schedule: "monthly"},
		"suspended":                                  {schedule: "@hourly", spec: func(s *v1beta2.BackupSpec) { s.Suspend = true }},
		"not asked for any more":                     {spec: func(s *v1beta2.BackupSpec) { s.Verification = nil }, history: []v1beta2.BackupRecord{stored(10)}},
		"never proved":                               {schedule: "@hourly", status: func(s *v1beta2.BackupStatus) { s.Verification.LastVerifiedTime = nil }},
	} {
		spec := &v1beta2.BackupSpec{Verification: &v1beta2.BackupVerification{Schedule: tc.schedule}}
		status := &v1beta2.BackupStatus{History: tc.history, Verification: &v1beta2.VerificationStatus{LastVerifiedTime: &metav1.Time{Time: last}}}
		if tc.spec != nil {
			tc.spec(spec)
		}
		if tc.status != nil {
			tc.status(status)
		}
		if got := VerificationDue(spec, status); !got.Equal(tc.want) {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
