package plan

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

func timeAt(d time.Duration) *metav1.Time { return &metav1.Time{Time: born.Add(d)} }

func condition(kind string, is metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: is, Reason: reason, Message: message, ObservedGeneration: 1}
}

// The whole status, from the creation of a one-shot backup to its end.
func TestStatusOfSuccess(t *testing.T) {
	first := noted(observe())
	making := fmt.Sprintf("backup is running in Job %s", name(0))
	want := v1beta2.BackupStatus{
		Phase:              v1beta2.BackupRunning,
		ObservedGeneration: 1,
		Active:             []v1beta2.ActiveBackup{{Name: name(0), ScheduledTime: *timeAt(0)}},
		Conditions: []metav1.Condition{
			condition("Complete", "False", "BackupStarted", making),
			condition("Failed", "False", "NotFailed", "no failure reported"),
		},
	}
	if diff := cmp.Diff(want, first.Status); diff != "" {
		t.Errorf("under way (-want +got):\n%s", diff)
	}
	written := status(func(s *v1beta2.BackupStatus) { *s = first.Status })
	if diff := cmp.Diff(want, noted(observe(written, job(0), after(time.Second))).Status); diff != "" {
		t.Errorf("still under way, something is written:\n%s", diff)
	}

	d := noted(observe(written, job(0, reported), after(4*time.Second)))
	stored := "backup stored at s3://mybucket/etcd.backup: 2.0 KiB, revision 42"
	hash := &v1beta2.SnapshotHash{Value: 4_000_000_000, Revision: 42, CompactedRevision: 7}
	record := v1beta2.BackupRecord{
		Name: name(0), ScheduledTime: timeAt(0), StartTime: timeAt(time.Second), CompletionTime: timeAt(3 * time.Second), Succeeded: true,
		Location: "s3://mybucket/etcd.backup", Size: 2048, SHA256: "abc", Revision: 42, OldestRevision: 7, Hash: hash, EtcdVersion: "3.6.16", ClusterID: "00000000000000c1",
	}
	want = v1beta2.BackupStatus{
		Succeeded:          true,
		EtcdVersion:        "3.6.16",
		EtcdRevision:       42,
		LastSuccessDate:    timeAt(3 * time.Second),
		Phase:              v1beta2.BackupSucceeded,
		ObservedGeneration: 1,
		Conditions: []metav1.Condition{
			condition("Complete", "True", "BackupSucceeded", stored),
			condition("Failed", "False", "NotFailed", "no failure reported"),
		},
		Snapshot: &v1beta2.BackupSnapshot{
			Location: "s3://mybucket/etcd.backup", Size: 2048, ReadableSize: "2.0 KiB", SHA256: "abc", Revision: 42, OldestRevision: 7, Hash: hash, EtcdVersion: "3.6.16",
			ClusterID: "00000000000000c1", MemberID: "00000000000000a1", Duration: &metav1.Duration{Duration: 1500 * time.Millisecond},
			CompletionTime: timeAt(3 * time.Second),
		},
		History: []v1beta2.BackupRecord{record},
	}
	if diff := cmp.Diff(want, d.Status); diff != "" {
		t.Errorf("succeeded (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]v1beta2.BackupRecord{record}, d.Recorded); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Event{{Reason: "BackupSucceeded", Message: stored}}, d.Events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}

	again := noted(observe(status(func(s *v1beta2.BackupStatus) { *s = d.Status }), job(0, reported, isComplete(3*time.Second)), after(time.Hour)))
	if diff := cmp.Diff(want, again.Status); diff != "" {
		t.Errorf("at rest, something is written:\n%s", diff)
	}
	if again.Recorded != nil || again.Events != nil {
		t.Errorf("at rest, it records %v and tells %v", again.Recorded, again.Events)
	}
}

func TestStatus(t *testing.T) {
	const hour = time.Hour
	hourly := every(hour)
	type fields struct {
		Succeeded   bool
		Reason      string
		Last, Next  string
		Missed      int64
		Active      int
		History     int
		Complete    metav1.ConditionStatus
		Failed      metav1.ConditionStatus
		Scheduled   metav1.ConditionStatus
		LastSuccess string
	}
	show := func(t *metav1.Time) string {
		if t == nil {
			return ""
		}
		return t.UTC().Format("02 15:04:05")
	}
	rows := map[string]struct {
		reason string
		o      Observation
		want   fields
	}{
		"first run": {
			reason: "nothing is known of success yet",
			o:      observe(hourly),
			want:   fields{Last: "01 10:00:00", Next: "01 11:00:00", Active: 1, Complete: "False", Failed: "False", Scheduled: "True"},
		},
		"run after a failure": {
			reason: "Reason is empty while one is under way; the last one has failed all the same",
			o:      observe(hourly, kept(0, "NoSpace"), counted("every 1h0m0s", 0), after(hour)),
			want:   fields{Last: "01 11:00:00", Next: "01 12:00:00", Active: 1, History: 1, Complete: "False", Failed: "True", Scheduled: "True"},
		},
		"between runs, failed": {
			reason: "Reason says why",
			o:      observe(hourly, kept(0, "NoSpace"), counted("every 1h0m0s", 0), after(hour/2)),
			want:   fields{Reason: "NoSpace: the volume is full: free space on it, or make it larger: write etcd.backup: no space left on device", Last: "01 10:00:00", Next: "01 11:00:00", History: 1, Complete: "False", Failed: "True", Scheduled: "True"},
		},
		"success after a failure": {
			reason: "succeeded tells of the last run",
			o:      observe(hourly, kept(0, "NoSpace"), counted("every 1h0m0s", hour), started(hour, reported), after(hour+time.Minute)),
			want: fields{Succeeded: true, Last: "01 11:00:00", Next: "01 12:00:00", History: 2, Complete: "True", Failed: "False", Scheduled: "True",
				LastSuccess: "01 11:00:03"},
		},
		"failure after a success": {
			reason: "and of what was stored before, lastSuccessDate tells",
			o: observe(hourly, kept(0, ""), counted("every 1h0m0s", hour), started(hour, reportedFailure(true)), after(hour+time.Minute),
				status(func(s *v1beta2.BackupStatus) { s.Succeeded, s.LastSuccessDate = true, timeAt(3*time.Second) })),
			want: fields{Reason: "BucketNotFound: there is no bucket mybucket", Last: "01 11:00:00", Next: "01 12:00:00", History: 2,
				Complete: "False", Failed: "True", Scheduled: "True", LastSuccess: "01 10:00:03"},
		},
		"missed": {
			reason: "four of five",
			o:      observe(hourly, kept(0, ""), counted("every 1h0m0s", 0), after(5*hour+time.Minute), status(func(s *v1beta2.BackupStatus) { s.MissedRuns = 10 })),
			want:   fields{Succeeded: true, Last: "01 15:00:00", Next: "01 16:00:00", Missed: 14, Active: 1, History: 1, Complete: "True", Failed: "False", Scheduled: "True"},
		},
		"missed, too late for all": {
			reason: "five of five; lastScheduleTime is that of the last one that started",
			o:      observe(hourly, deadline(time.Minute), kept(0, ""), counted("every 1h0m0s", 0), after(5*hour+2*time.Minute)),
			want:   fields{Succeeded: true, Last: "01 10:00:00", Next: "01 16:00:00", Missed: 5, History: 1, Complete: "True", Failed: "False", Scheduled: "True"},
		},
		"missed, start not written": {
			reason: "three were due before the one that was started",
			o:      observe(hourly, counted("every 1h0m0s", 0), job(4*hour), after(4*hour+time.Minute)),
			want:   fields{Last: "01 14:00:00", Next: "01 15:00:00", Missed: 3, Active: 1, Complete: "False", Failed: "False", Scheduled: "True"},
		},
		"waiting is not missed": {
			reason: "the one that is due may still start",
			o:      observe(hourly, started(0), counted("every 1h0m0s", 0), after(3*hour)),
			want:   fields{Last: "01 10:00:00", Next: "01 14:00:00", Active: 1, Complete: "False", Failed: "False", Scheduled: "True"},
		},
		"suspended": {
			reason: "there is no next one",
			o:      observe(hourly, suspend, kept(0, ""), counted("every 1h0m0s", 0), after(3*hour)),
			want:   fields{Succeeded: true, Last: "01 10:00:00", History: 1, Complete: "True", Failed: "False", Scheduled: "False"},
		},
		"refused later": {
			reason: "what was stored is stored",
			o:      observe(hourly, kept(0, ""), counted("every 1h0m0s", 0), after(3*hour), spec(func(s *specOf) { s.StorageType = "Tape" })),
			want: fields{Succeeded: true, Reason: "StorageUnknown: spec.storageType \"Tape\" is not supported: set S3, OSS, ABS, GCS or PVC",
				Last: "01 10:00:00", History: 1, Complete: "True", Failed: "True", Scheduled: "False"},
		},
		"two ended at once": {
			reason: "the one that ended last is the newest, whenever it was due",
			o: observe(hourly, concurrency("Allow"), counted("every 1h0m0s", hour), after(hour+time.Minute),
				started(0, reported, func(j *Job) { j.Result.Finished = born.Add(hour + 50*time.Second) }), started(hour, reportedFailure(true))),
			want: fields{Succeeded: true, Last: "01 11:00:00", Next: "01 12:00:00", History: 2, Complete: "True", Failed: "False", Scheduled: "True", LastSuccess: "01 11:00:50"},
		},
		"node's clock is ahead": {
			reason: "nothing has ended later than now",
			o:      observe(started(0, reported, func(j *Job) { j.Result.Finished = born.Add(hour) }), after(time.Minute)),
			want:   fields{Succeeded: true, History: 1, Complete: "True", Failed: "False", LastSuccess: "01 10:01:00"},
		},
		"one-shot lost, started again": {
			reason: "it has not failed yet",
			o:      observe(active(0), after(time.Minute)),
			want:   fields{Active: 1, History: 1, Complete: "False", Failed: "False"},
		},
		"one-shot lost for good": {
			reason: "that is a failure",
			o:      observe(before(0, "JobLost"), before(time.Second, "JobLost"), active(2*time.Second), after(time.Minute)),
			want: fields{Reason: "JobLost: the Job was deleted before it reported a result; a snapshot might be stored; " +
				"the data in etcd is not affected; the backup is not retried: fix the cause, then create another EtcdBackup", History: 3, Complete: "False", Failed: "True"},
		},
	}
	for label, r := range rows {
		t.Run(label, func(t *testing.T) {
			d := noted(r.o)
			st := &d.Status
			got := fields{
				Succeeded: st.Succeeded, Reason: st.Reason, Last: show(st.LastScheduleTime), Next: show(st.NextScheduleTime),
				Missed: st.MissedRuns, Active: len(st.Active), History: len(st.History), LastSuccess: show(st.LastSuccessDate),
				Complete: find(t, st.Conditions, "Complete").Status, Failed: find(t, st.Conditions, "Failed").Status,
			}
			if r.o.Backup.Spec.Repeated() {
				got.Scheduled = find(t, st.Conditions, "Scheduled").Status
			}
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", r.reason, diff)
			}
			for _, broken := range append(oracle(r.o, d), oracleSize(r.o, d)...) {
				t.Error(broken)
			}
		})
	}
}

// What a schedule is anchored at is written, and nothing is due before that.
func TestClock(t *testing.T) {
	const hour = time.Hour
	rows := map[string]struct {
		reason string
		o      Observation
		want   *v1beta2.BackupClock
	}{
		"one-shot":         {"it has none", observe(before(0, ""), counted("every 1h0m0s", 0)), nil},
		"suspended":        {"it stands still", observe(suspend, every(hour), counted("every 1h0m0s", 0)), nil},
		"refused":          {"it goes on where it was, once the spec is mended", observe(every(hour), counted("every 1h0m0s", 0), after(9*hour), spec(func(s *specOf) { s.S3 = nil })), &v1beta2.BackupClock{Schedule: "every 1h0m0s", After: *timeAt(0)}},
		"first look":       {"an interval begins at the creation", observe(every(hour), cluster(nil), after(9*hour)), &v1beta2.BackupClock{Schedule: "every 1h0m0s", After: *timeAt(-hour)}},
		"first look, cron": {"the first time after the creation counts", observe(cron("0 * * * *"), cluster(nil), after(9*hour)), &v1beta2.BackupClock{Schedule: "cron 0 * * * *", After: *timeAt(0)}},
		"resumed":          {"an interval goes on after the last one", observe(seen, every(hour), after(hour/2+time.Millisecond), before(0, "")), &v1beta2.BackupClock{Schedule: "every 1h0m0s", After: *timeAt(0)}},
		"resumed late":     {"one is due at once", observe(seen, every(hour), after(9*hour), before(0, "")), &v1beta2.BackupClock{Schedule: "every 1h0m0s", After: *timeAt(8 * hour)}},
		"resumed, cron":    {"what was due in between is not missed", observe(seen, cron("0 * * * *"), after(9*hour), before(0, "")), &v1beta2.BackupClock{Schedule: "cron 0 * * * *", After: *timeAt(9 * hour)}},
		"edited":           {"an hour's schedule was in force", observe(cron("* * * * *"), counted("every 1h0m0s", 0), after(hour/2)), &v1beta2.BackupClock{Schedule: "cron * * * * *", After: *timeAt(hour / 2)}},
		"edited otherwise": {"the schedule is the same", observe(cron("0  * * * *"), counted("cron 0 * * * *", 0), after(hour/2), func(s *scene) { s.Backup.Generation = 7 }), &v1beta2.BackupClock{Schedule: "cron 0 * * * *", After: *timeAt(0)}},
		"put back":         {"it is out of reach", observe(cron("0 * * * *"), counted("cron 0 * * * *", 100*hour)), &v1beta2.BackupClock{Schedule: "cron 0 * * * *", After: *timeAt(0)}},
		"put back a bit":   {"it will get there", observe(cron("0 * * * *"), counted("cron 0 * * * *", hour)), &v1beta2.BackupClock{Schedule: "cron 0 * * * *", After: *timeAt(hour)}},
		"centuries behind": {"nobody wrote that", observe(cron("0 * * * *"), counted("cron 0 * * * *", math.MinInt64)), &v1beta2.BackupClock{Schedule: "cron 0 * * * *", After: *timeAt(0)}},
	}
	for label, r := range rows {
		t.Run(label, func(t *testing.T) {
			d := noted(r.o)
			if diff := cmp.Diff(r.want, d.Status.Clock); diff != "" {
				t.Errorf("%s (-want +got):\n%s", r.reason, diff)
			}
			if d.Action != nil {
				t.Errorf("%s", d.Action.Kind())
			}
		})
	}
}

// While the Job tries again, the failure of the last attempt is told, once. The legacy
// Reason of a one-shot backup stays empty: its readers take it for the end.
func TestFailedAttempt(t *testing.T) {
	said := fmt.Sprintf("backup attempt failed: there is no bucket mybucket; Job %s retries for up to an hour", name(0))
	first := noted(observe(started(0, reportedFailure(false)), after(3*time.Second)))
	want := []metav1.Condition{condition("Complete", "False", "BucketNotFound", said), condition("Failed", "False", "BucketNotFound", said)}
	if diff := cmp.Diff(&v1beta2.BackupFailure{Reason: "BucketNotFound", Message: said}, first.Status.Failure); diff != "" {
		t.Errorf("one-shot: failure (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, first.Status.Conditions); diff != "" || first.Status.Reason != "" {
		t.Errorf("one-shot: Reason %q, conditions (-want +got):\n%s", first.Status.Reason, diff)
	}
	again := noted(observe(status(func(s *v1beta2.BackupStatus) { *s = first.Status }), job(0, reportedFailure(false)), after(time.Minute)))
	if len(first.Events) != 1 || !first.Events[0].Warning || len(again.Events) != 0 {
		t.Errorf("events %v, then %v: want one warning", first.Events, again.Events)
	}

	due := 2 * time.Hour
	said = fmt.Sprintf("backup attempt failed: there is no bucket mybucket; Job %s retries until the next backup is due at 2026-01-01T13:00:00Z", name(due))
	repeated := noted(observe(every(time.Hour), counted("every 1h0m0s", due), before(time.Hour, ""), started(due, reportedFailure(false)), after(due+3*time.Second))).Status
	if repeated.Reason != "BucketNotFound: "+said {
		t.Errorf("repeated: Reason is %q", repeated.Reason)
	}
	for kind, reason := range map[string]string{"Complete": "BackupSucceeded", "Failed": "BucketNotFound", "Scheduled": "BucketNotFound"} {
		if c := find(t, repeated.Conditions, kind); c.Reason != reason || (reason == "BucketNotFound" && c.Message != said) {
			t.Errorf("repeated: %s has reason %s, want %s: %s", kind, c.Reason, reason, c.Message)
		}
	}
}

// The history keeps what Jobs and people need of it.
func TestHistory(t *testing.T) {
	failures := func(from, to int) change {
		return func(s *scene) {
			for i := from; i < to; i++ {
				before(time.Duration(i)*time.Hour, "NoSpace")(s)
			}
		}
	}
	rows := map[string]struct {
		reason string
		o      Observation
		want   []int // the hours at which the records were due
	}{
		"full": {
			"the oldest makes room", observe(every(time.Hour), failures(0, 10), counted("every 1h0m0s", 10*time.Hour), started(10*time.Hour, reportedFailure(true)), after(10*time.Hour+time.Minute)),
			[]int{10, 9, 8, 7, 6, 5, 4, 3, 2, 1},
		},
		"an old success": {
			"the newest success stays", observe(every(time.Hour), before(0, ""), failures(1, 10), counted("every 1h0m0s", 10*time.Hour), started(10*time.Hour, reportedFailure(true)), after(10*time.Hour+time.Minute)),
			[]int{10, 9, 8, 7, 6, 5, 4, 3, 2, 0},
		},
		"an old Job": {
			"a Job that is there is known to be recorded", observe(every(time.Hour), kept(0, "NoSpace"), failures(1, 10), counted("every 1h0m0s", 10*time.Hour), started(10*time.Hour, reportedFailure(true)), after(10*time.Hour+time.Minute)),
			[]int{10, 9, 8, 7, 6, 5, 4, 3, 2, 0},
		},
	}
	for label, r := range rows {
		t.Run(label, func(t *testing.T) {
			var got []int
			for _, rec := range Plan(r.o).Status.History {
				got = append(got, int(rec.ScheduledTime.Sub(born)/time.Hour))
			}
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", r.reason, diff)
			}
		})
	}
}

// What comes from elsewhere is bounded, and fit to be written.
func TestForeignText(t *testing.T) {
	long := strings.Repeat("ä", 5000)
	rows := map[string]struct {
		reason string
		job    func(*Job)
		want   string
	}{
		"no reason": {"a condition needs one", func(j *Job) { j.Result = &task.Result{Failure: &agent.Failure{Permanent: true}} }, "JobFailed"},
		"not CamelCase": {"a condition can't hold it", func(j *Job) {
			j.Result = &task.Result{Failure: &agent.Failure{Reason: "no such bucket", Permanent: true}}
		}, "JobFailed"},
		"too long": {"nor that", func(j *Job) {
			j.Result = &task.Result{Failure: &agent.Failure{Reason: strings.Repeat("A", 5000), Message: long, Permanent: true}}
		}, "JobFailed"},
		"broken text": {"nor bytes that are no text", func(j *Job) {
			j.Result = &task.Result{Failure: &agent.Failure{Reason: "A", Message: "\xff\x00", Permanent: true}}
		}, "A"},
		"strange result": {"numbers that are none", func(j *Job) {
			j.Result = &task.Result{Location: long, Size: -1, Duration: math.NaN(), RetentionError: long}
		}, "BackupSucceeded"},
		"long wait": {"a long story", func(j *Job) { j.Waiting = long }, "PodNotStarting"},
	}
	for label, r := range rows {
		t.Run(label, func(t *testing.T) {
			o := observe(started(0, r.job), after(time.Minute))
			d := Plan(o)
			if d.Reason != r.want {
				t.Errorf("%s: the reason is %q, want %q", r.reason, d.Reason, r.want)
			}
			if len(d.Message) > 3*conditiontext.MaxText {
				t.Errorf("%s: the message has %d bytes", r.reason, len(d.Message))
			}
			for _, broken := range append(oracle(o, d), oracleSize(o, d)...) {
				t.Error(broken)
			}
		})
	}
}

func TestRetentionErrorIsTold(t *testing.T) {
	d := noted(observe(started(0, reported, func(j *Job) { j.Result.RetentionError = "AccessDenied" }), after(time.Minute)))
	if want := "cannot delete older backups: AccessDenied"; !strings.Contains(d.Message, want) || !d.Status.Succeeded {
		t.Errorf("succeeded is %t, and %q does not say %q", d.Status.Succeeded, d.Message, want)
	}
}

func TestJobName(t *testing.T) {
	backup := func(name, uid string) *v1beta2.EtcdBackup {
		b := observe().Backup
		b.Name, b.UID = name, "u"
		if uid != "" {
			b.UID = b.UID + "-" + b.UID
		}
		return b
	}
	long := strings.Repeat("a", 51) + "-b-" + strings.Repeat("c", 199)
	seen := map[string]bool{}
	for _, b := range []*v1beta2.EtcdBackup{backup("b", ""), backup("b", "other"), backup("b.c", ""), backup(long, "")} {
		for _, at := range []time.Time{born, born.Add(time.Second)} {
			n := JobName(b, at)
			if why := validation.IsDNS1123Label(n); why != nil {
				t.Errorf("%s: %s", n, why)
			}
			if seen[n] {
				t.Errorf("%s is the name of two Jobs", n)
			}
			seen[n] = true
			if n != JobName(b, at.Add(300*time.Millisecond).In(time.FixedZone("", 3600))) {
				t.Errorf("%s is called otherwise in another zone", n)
			}
		}
	}
}
