package plan

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/creator"
)

// FuzzPlan gives Plan Observations that no world would produce. It never panics, and
// what it decides is in order by the Observation alone.
func FuzzPlan(f *testing.F) {
	for seed := range int64(200) {
		f.Add(seed, "0 * * * *", "http://a:2379")
	}
	f.Add(int64(1), "CRON_TZ=UTC", "b:2379")
	f.Add(int64(2), "TZ=America/Havana 0 0 * * *", "https://[::1]:1")
	f.Fuzz(func(t *testing.T, seed int64, schedule, endpoint string) {
		o := randomObservation(rand.New(rand.NewSource(seed)), schedule, endpoint)
		before := o.Backup.DeepCopy()
		d := Plan(o)
		for _, broken := range append(oracle(o, d), oracleSize(o, d)...) {
			t.Errorf("%s\n%+v\n%+v", broken, o, d)
		}
		if diff := cmp.Diff(before, o.Backup); diff != "" {
			t.Errorf("Plan changed what it was given:\n%s", diff)
		}
		if diff := cmp.Diff(d, Plan(o)); diff != "" {
			t.Errorf("Plan says something else the second time:\n%s", diff)
		}
	})
}

// No Observation at all is one.
func TestNothing(t *testing.T) {
	if d := Plan(Observation{}); d.Action != nil || d.Reason != "StorageUnknown" {
		t.Errorf("%s: %s", d.Reason, d.Message)
	}
}

func randomObservation(r *rand.Rand, schedule, endpoint string) Observation {
	moment := func() time.Duration {
		switch r.Intn(12) {
		case 0:
			return time.Duration(r.Uint64()) // centuries, in either direction
		case 1:
			return time.Duration(r.Intn(1e6)) * time.Hour / 100
		}
		return time.Duration(r.Intn(4*3600)-600) * time.Second
	}
	maybe := func(n int) bool { return r.Intn(n) == 0 }
	o := observe()
	o.Now = born.Add(moment().Abs())
	spec, st := &o.Backup.Spec, &o.Backup.Status
	if maybe(3) {
		spec.EtcdEndpoints = []string{endpoint}
	}
	if maybe(10) {
		spec.StorageType = []v1beta2.StorageType{"", "PVC", "OSS", "ABS", "GCS", "Tape"}[r.Intn(6)]
	}
	if maybe(10) {
		spec.StorageType, spec.PVC = v1beta2.StoragePVC, &v1beta2.PVCSource{ClaimName: "backups", Path: "a/b"}
	}
	o.Creator = []creator.Check{{Passed: true}, {Missing: "there is no policy"}, {Unknown: "\xff"}, {}}[r.Intn(4)]
	spec.Suspend = maybe(8)
	if maybe(5) {
		spec.TTLSecondsAfterFinished = new(int32(r.Intn(4000) - 10))
	}
	if !maybe(4) {
		spec.BackupPolicy = randomPolicy(r, schedule)
	}
	if maybe(20) {
		o.Backup.DeletionTimestamp = &metav1.Time{Time: o.Now}
	}
	if maybe(20) {
		o.Backup.CreationTimestamp = metav1.Time{}
	}
	if maybe(6) {
		cluster(func(c *v1beta2.EtcdCluster) { c.Status.Members.Ready = c.Status.Members.Ready[:r.Intn(3)] })(&scene{o})
	}
	st.Phase = []v1beta2.BackupPhase{"", "Pending", "Running", "Scheduled", "Suspended", "Succeeded", "Failed"}[r.Intn(7)]
	st.Succeeded, st.MissedRuns = maybe(4), int64(r.Intn(100))
	if maybe(5) {
		st.Reason = "no such bucket"
	}
	if maybe(3) {
		st.LastScheduleTime = &metav1.Time{Time: born.Add(moment())}
	}
	if !maybe(3) {
		s, _ := check(spec)
		st.Clock = &v1beta2.BackupClock{Schedule: s.String(), After: metav1.NewTime(born.Add(moment()))}
	}
	for i := range r.Intn(13) {
		due := moment()
		st.History = append(st.History, v1beta2.BackupRecord{
			Name: JobName(o.Backup, born.Add(due)), ScheduledTime: timeAt(due), CompletionTime: timeAt(due), Succeeded: maybe(2), Reason: "NoSpace", Message: fmt.Sprint(i),
		})
		if maybe(4) {
			o.Jobs = append(o.Jobs, randomJob(r, o, due))
		}
	}
	for range r.Intn(4) {
		due := moment()
		a := v1beta2.ActiveBackup{Name: JobName(o.Backup, born.Add(due)), ScheduledTime: *timeAt(due)}
		if !isRecorded(st.History, a.Name) {
			st.Active = append(st.Active, a)
		}
		if !maybe(3) {
			o.Jobs = append(o.Jobs, randomJob(r, o, due))
		}
	}
	for range r.Intn(3) {
		o.Jobs = append(o.Jobs, randomJob(r, o, moment()))
	}
	seen := map[string]bool{}
	o.Jobs = slices.DeleteFunc(o.Jobs, func(j Job) bool { // a name is there once
		defer func() { seen[j.Name] = true }()
		return seen[j.Name]
	})
	if maybe(10) {
		o.Refused = "exceeded quota"
	}
	for _, name := range []string{"c", "example"} {
		if maybe(4) {
			stores := []string{"s3://mybucket", "s3://elsewhere", "", "pvc://", "s3://mybucket?endpoint=::", "?endpoint=", endpoint}
			o.Restricted = append(o.Restricted, restricted("ns", name, "id of "+name, stores[r.Intn(len(stores))]))
		}
	}
	if maybe(2) {
		spec.Archive = &v1beta2.BackupArchive{Interval: &metav1.Duration{Duration: moment()}}
	}
	if maybe(2) {
		spec.CopyTo = &v1beta2.BackupCopy{StorageType: v1beta2.StorageS3, S3: &v1beta2.S3Source{Path: "mybucket/copies"}}
		if maybe(3) {
			spec.CopyTo = &v1beta2.BackupCopy{StorageType: []v1beta2.StorageType{"", "PVC", "GCS"}[r.Intn(3)], PVC: &v1beta2.PVCSource{ClaimName: "backups", Path: "a/b"}}
		}
		for i := range st.History {
			if st.History[i].Location = "s3://mybucket/etcd.backup"; maybe(2) {
				st.History[i].Copy = &v1beta2.CopyRecord{}
			}
		}
	}
	if maybe(2) {
		o.Copier = &Copier{Job: randomJob(r, o, moment()), Hash: "hash", Backup: "x"}
		o.Copier.Name = CopierName(o.Backup)
		if len(st.History) > 0 {
			o.Copier.Backup = st.History[r.Intn(len(st.History))].Name
		}
		if maybe(3) {
			o.Copier.Deadline, o.Copier.HangReason = born.Add(moment()), "NodeLost"
		}
	}
	if maybe(2) {
		o.Archiver = &Archiver{Name: ArchiverName(o.Backup), UID: "archiver", Hash: "hash", Ended: maybe(5), Deleting: maybe(5)}
	}
	if o.Archiver != nil && !maybe(3) {
		at := func() time.Time { return born.Add(moment()) }
		o.Archiver.Progress = &task.ArchiveProgress{
			Time: at(), ClusterID: []string{"", "c0", "\xff"}[r.Intn(3)], Timeline: r.Uint32(), Begin: r.Int63() - r.Int63(), Revision: r.Int63() - r.Int63(),
			RecoveryTime: at(), AuthChanged: at(), Copy: &task.CopyProgress{Revision: r.Int63() - r.Int63(), Failure: &agent.Failure{Message: "\xff"}}, Gap: &task.Gap{From: r.Int63(), To: r.Int63(), Message: "\xff", Time: at()},
		}
	}
	return o
}

func randomPolicy(r *rand.Rand, schedule string) *v1beta2.BackupPolicy {
	p := &v1beta2.BackupPolicy{ConcurrencyPolicy: []v1beta2.ConcurrencyPolicy{"", "Forbid", "Allow", "Replace"}[r.Intn(4)]}
	switch r.Intn(4) {
	case 0:
		p.Schedule = schedule
	case 1, 2:
		p.BackupIntervalInSecond = int64(r.Intn(4000) - 3)
	case 3:
		p.BackupIntervalInSecond = r.Int63()
	}
	if r.Intn(3) == 0 {
		p.StartingDeadlineSeconds = new(int64(r.Intn(4000) - 3))
	}
	return p
}

func randomJob(r *rand.Rand, o Observation, due time.Duration) Job {
	at := born.Add(due)
	n := JobName(o.Backup, at)
	j := Job{Name: n, UID: "uid of " + n, Scheduled: whole(at), Created: at, Running: r.Intn(2) == 0, Deleting: r.Intn(6) == 0}
	if !j.Running {
		j.Finished, j.Failed = o.Now.Add(-time.Duration(r.Intn(20))*time.Second), r.Intn(2) == 0
		j.FailReason = []string{"", "OOMKilled", "not CamelCase"}[r.Intn(3)]
	}
	switch r.Intn(4) {
	case 0:
		reported(&j)
		j.Result.Finished = at.Add(time.Duration(r.Int63()))
	case 1:
		reportedFailure(r.Intn(2) == 0)(&j)
	case 2:
		j.Result = &task.Result{Failure: &agent.Failure{Message: "\xff", Permanent: true}}
	}
	if r.Intn(4) == 0 {
		j.Waiting = "ContainerCreating"
	}
	return j
}
