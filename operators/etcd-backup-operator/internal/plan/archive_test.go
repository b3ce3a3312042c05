package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/creator"
)

// archived is a backup of every hour with an archive, which was stored once, since the
// recording began.
func archived(changes ...change) Observation {
	at := metav1.NewTime(born)
	all := []change{
		every(time.Hour),
		spec(func(s *v1beta2.BackupSpec) { s.Archive = &v1beta2.BackupArchive{} }),
		status(func(s *v1beta2.BackupStatus) {
			since := metav1.NewTime(born.Add(-time.Second))
			s.Phase, s.Clock, s.LastScheduleTime = v1beta2.BackupScheduled, &v1beta2.BackupClock{Schedule: "every 1h0m0s", After: at}, &at
			s.History = []v1beta2.BackupRecord{{Name: "j", ScheduledTime: &at, CompletionTime: &at, Succeeded: true, Revision: 60, ClusterID: "c0", Quorum: new(true)}}
			s.Archive = &v1beta2.ArchiveStatus{Phase: v1beta2.ArchiveRunning, ClusterID: "c0", Timeline: 1, BeginRevision: 50, Since: &since, OldestRevision: 60, Revision: 70}
		}),
		func(s *scene) {
			s.Now = born.Add(time.Minute)
			s.Image = "image"
			s.Archiver = &Archiver{Name: ArchiverName(s.Backup), UID: "archiver", Progress: &task.ArchiveProgress{
				Time: born.Add(time.Minute), ClusterID: "c0", MemberID: "m0", Timeline: 1, Begin: 50, Revision: 80, Newest: 80, RecoveryTime: born.Add(50 * time.Second),
			}}
		},
	}
	o := observe(append(all, changes...)...)
	if a := o.Archiver; a != nil && a.Hash == "" {
		v := newView(o)
		a.Hash = v.startArchiver().Hash
	}
	return o
}

func progress(f func(*task.ArchiveProgress)) change {
	return func(s *scene) { f(s.Archiver.Progress) }
}

func TestArchiver(t *testing.T) {
	const recording = "True Recording"
	for name, c := range map[string]struct {
		reason    string
		change    change
		action    string
		condition string
		says      string
		phase     v1beta2.ArchivePhase
	}{
		"it records":       {reason: "nothing to do", change: nil, condition: recording, says: "each revision from 60 on", phase: v1beta2.ArchiveRunning},
		"there is none":    {reason: "it is started", change: func(s *scene) { s.Archiver = nil }, action: "StartArchiver", condition: "False ArchiverStarting", phase: v1beta2.ArchivePending},
		"its Job ended":    {reason: "it is to run for ever", change: func(s *scene) { s.Archiver.Ended = true }, action: "DeleteJob", condition: "False ArchiverStopping", phase: v1beta2.ArchivePending},
		"other settings":   {reason: "it is built anew", change: func(s *scene) { s.Archiver.Hash = "another" }, action: "DeleteJob", condition: recording, phase: v1beta2.ArchiveRunning},
		"it is going":      {reason: "two would write the same", change: func(s *scene) { s.Archiver.Deleting = true }, condition: "False ArchiverStopping", phase: v1beta2.ArchivePending},
		"suspended":        {reason: "so the user wants", change: spec(func(s *v1beta2.BackupSpec) { s.Suspend = true }), action: "DeleteJob", condition: "False Suspended", phase: v1beta2.ArchiveSuspended},
		"it does not run":  {reason: "the words of the kubelet help", change: func(s *scene) { s.Archiver.Waiting, s.Archiver.Progress = "no such Secret", nil }, condition: "False PodNotStarting", says: "no such Secret", phase: v1beta2.ArchivePending},
		"it tells nothing": {reason: "it was just started", change: func(s *scene) { s.Archiver.Progress = nil }, condition: "False ArchiverStarting", phase: v1beta2.ArchivePending},
		"it fails": {reason: "its own words help", change: progress(func(p *task.ArchiveProgress) {
			p.Failure = &agent.Failure{Reason: "AccessDenied", Message: "grant it"}
		}), condition: "False AccessDenied", says: "grant it", phase: v1beta2.ArchiveFailed},
		"refused": {reason: "a quota might have room later", change: func(s *scene) { s.Archiver, s.Refused = nil, "quota" }, condition: "False StartRefused", says: "quota", phase: v1beta2.ArchiveFailed},
		"no cluster": {reason: "one that runs may find it again", change: func(s *scene) {
			s.Backup.Spec.EtcdEndpoints, s.Backup.Spec.ClusterRef = nil, &v1beta2.ClusterReference{Name: "c"}
		}, condition: recording, phase: v1beta2.ArchiveRunning},
		"no cluster, none": {reason: "there is nothing to record", change: func(s *scene) {
			s.Backup.Spec.EtcdEndpoints, s.Backup.Spec.ClusterRef, s.Archiver = nil, &v1beta2.ClusterReference{Name: "c"}, nil
		}, condition: "False ClusterNotFound", phase: v1beta2.ArchivePending},
		"a wrong spec": {reason: "the store might not be allowed any more", change: spec(func(s *v1beta2.BackupSpec) { s.StorageType = "FTP" }), action: "DeleteJob", condition: "False StorageUnknown", phase: v1beta2.ArchiveFailed},
	} {
		t.Run(name, func(t *testing.T) {
			var changes []change
			if c.change != nil {
				changes = append(changes, c.change)
			}
			d := noted(archived(changes...))
			action := ""
			if d.Action != nil {
				action = d.Action.Kind()
			}
			got := meta.FindStatusCondition(d.Status.Conditions, v1beta2.ConditionArchiving)
			if got == nil || d.Status.Archive == nil {
				t.Fatalf("conditions %+v", d.Status.Conditions)
			}
			if action != c.action || string(got.Status)+" "+got.Reason != c.condition || !strings.Contains(got.Message, c.says) || d.Status.Archive.Phase != c.phase {
				t.Errorf("%s: %s, %s %s %q, %s", c.reason, action, got.Status, got.Reason, got.Message, d.Status.Archive.Phase)
			}
			if d.RequeueAfter == 0 && c.phase != v1beta2.ArchiveSuspended && c.phase != v1beta2.ArchiveFailed {
				t.Error("nobody asks it again")
			}
		})
	}
}

// Without spec.archive, a Job that is left is stopped, and no condition reports on an archive. Until the Job is gone,
// status.archive stays, so that the operator looks for the Job again.
func TestArchiveRemoved(t *testing.T) {
	d := noted(archived(spec(func(s *v1beta2.BackupSpec) { s.Archive = nil })))
	if stop, ok := d.Action.(DeleteJob); !ok || stop.UID != "archiver" || d.Status.Archive == nil || meta.FindStatusCondition(d.Status.Conditions, v1beta2.ConditionArchiving) != nil {
		t.Errorf("action %+v and status %+v, want the Job to be deleted, status.archive, and no condition Archiving", d.Action, d.Status)
	}
}

func TestArchiveStatus(t *testing.T) {
	d := noted(archived())
	at := metav1.NewTime(born.Add(-time.Second))
	want := &v1beta2.ArchiveStatus{
		Phase: v1beta2.ArchiveRunning, ClusterID: "c0", Timeline: 1, BeginRevision: 50, Since: &at, OldestRevision: 60, Revision: 80,
		RecoveryTime: &metav1.Time{Time: born.Add(50 * time.Second)}, LagSeconds: 10,
	}
	if diff := cmp.Diff(want, d.Status.Archive); diff != "" {
		t.Error(diff)
	}
}

// Changes alone restore nothing: the recovery point goes forward once a snapshot is stored that they
// follow, and until then it stays what it was.
func TestRecoveryPointNeedsASnapshot(t *testing.T) {
	before := metav1.NewTime(born.Add(-time.Hour))
	for name, c := range map[string]struct {
		change change
		want   *metav1.Time
		lag    int64
	}{
		"a snapshot of before the archive began": {progress(func(p *task.ArchiveProgress) { p.Begin = 61 }), nil, 0},
		"none at all":                            {status(func(s *v1beta2.BackupStatus) { s.History = nil }), nil, 0},
		"a timeline that begins": {func(s *scene) {
			s.Archiver.Progress.Timeline, s.Archiver.Progress.Begin = 2, 61
			s.Backup.Status.Archive.RecoveryTime = &before
		}, &before, 3660},
		"users or roles have changed": {func(s *scene) {
			s.Archiver.Progress.AuthChanged = born.Add(time.Second)
			s.Backup.Status.Archive.RecoveryTime = &before
		}, &before, 3660},
	} {
		t.Run(name, func(t *testing.T) {
			if got := noted(archived(c.change)).Status.Archive; got.OldestRevision != 0 || !got.RecoveryTime.Equal(c.want) || got.LagSeconds != c.lag {
				t.Errorf("%+v, want the recovery point %s", got, c.want)
			}
		})
	}
}

// A snapshot is due at once where none is newer than the begin of the recording, or than a
// change of users and roles; and a failed one is not repeated without end.
func TestSnapshotsForTheArchive(t *testing.T) {
	later := born.Add(50 * time.Second)
	for name, c := range map[string]struct {
		change change
		starts bool
	}{
		"the first snapshot is newer":                 {change: func(*scene) {}},
		"none yet":                                    {change: status(func(s *v1beta2.BackupStatus) { s.History = nil; s.LastScheduleTime = nil }), starts: true},
		"a new timeline":                              {change: progress(func(p *task.ArchiveProgress) { p.Timeline, p.Begin = 2, 75 }), starts: true},
		"begun again before anything was stored":      {change: progress(func(p *task.ArchiveProgress) { p.Begin = 75 }), starts: true},
		"segments that no snapshot needs are deleted": {change: progress(func(p *task.ArchiveProgress) { p.Begin = 55 })},
		"rolled back":                                 {change: progress(func(p *task.ArchiveProgress) { p.Timeline, p.Begin, p.Revision = 2, 20, 30 }), starts: true},
		"another cluster":                             {change: progress(func(p *task.ArchiveProgress) { p.ClusterID, p.Begin = "c1", 1 }), starts: true},
		"users changed":                               {change: progress(func(p *task.ArchiveProgress) { p.AuthChanged = later }), starts: true},
		"users changed, as was told": {change: func(s *scene) {
			s.Archiver.Progress.AuthChanged = later
			s.Backup.Status.Archive.AuthChangeTime = &metav1.Time{Time: later}
		}},
		"that one had no quorum":       {change: status(func(s *v1beta2.BackupStatus) { s.History[0].Quorum = new(false); s.LastScheduleTime = nil }), starts: true},
		"the last one failed just now": {change: status(func(s *v1beta2.BackupStatus) { s.History[0].Succeeded = false })},
		"the last one failed long ago": {change: func(s *scene) { s.Backup.Status.History[0].Succeeded = false; s.Now = born.Add(11 * time.Minute) }, starts: true},
		"the archiver has told nothing": {change: func(s *scene) {
			s.Archiver.Progress = nil
			s.Backup.Status.Archive = nil
			s.Backup.Status.History = nil
		}},
		"it is suspended": {change: func(s *scene) { s.Backup.Status.History = nil; s.Backup.Spec.Suspend = true }},
	} {
		t.Run(name, func(t *testing.T) {
			o := archived(c.change)
			d := noted(o)
			if d.Action == nil { // a second later it is surely newer
				o.Backup.Status, o.Now = d.Status, o.Now.Add(time.Second)
				d = noted(o)
			}
			start, starts := d.Action.(StartJob)
			if starts != c.starts || starts && (!start.Scheduled.Equal(whole(o.Now)) || !start.Scheduled.After(d.Status.Archive.Since.Time)) {
				t.Errorf("got %+v", d.Action)
			}
			want := "SnapshotNeeded"
			if got := meta.FindStatusCondition(d.Status.Conditions, v1beta2.ConditionArchiving); c.starts && got.Reason != want {
				t.Errorf("it says %s", got.Reason)
			}
		})
	}
}

// A gap is told once, and counted.
func TestArchiveGapIsTold(t *testing.T) {
	found := born.Add(time.Second)
	for _, g := range []task.Gap{{From: 71, To: 75, Message: "it was compacted", Time: found}, {From: 71, To: 30, Message: "rolled back", Time: found}} {
		o := archived(progress(func(p *task.ArchiveProgress) { p.Gap = &g }))
		d := noted(o)
		want := &v1beta2.ArchiveGap{From: g.From, To: g.To, Message: g.Message, Time: &metav1.Time{Time: found}}
		if diff := cmp.Diff(want, d.Status.Archive.Gap); diff != "" || d.Status.Archive.Gaps != 1 {
			t.Error(d.Status.Archive.Gaps, diff)
		}
		if len(d.Events) != 1 || d.Events[0].Reason != v1beta2.BackupReasonArchiveGap || !d.Events[0].Warning || !strings.Contains(d.Events[0].Message, g.Message) {
			t.Errorf("events %+v", d.Events)
		}
		o.Backup.Status = d.Status
		if d := noted(o); len(d.Events) != 0 || d.Status.Archive.Gaps != 1 {
			t.Errorf("the second time: %+v, %d gaps", d.Events, d.Status.Archive.Gaps)
		}
	}
}

// The hash of an archiver follows what its Pod is built from, and nothing else.
func TestArchiverHash(t *testing.T) {
	hash := func(changes ...change) string {
		o := archived(changes...)
		v := newView(o)
		return v.startArchiver().Hash
	}
	was := hash()
	for name, c := range map[string]change{
		"the place":    spec(func(s *v1beta2.BackupSpec) { s.S3.Path += "x" }),
		"the interval": spec(func(s *v1beta2.BackupSpec) { s.Archive.Interval = &metav1.Duration{Duration: time.Second} }),
		"the Pod":      spec(func(s *v1beta2.BackupSpec) { s.Pod = &v1beta2.AgentPod{PriorityClassName: "high"} }),
		"the user":     spec(func(s *v1beta2.BackupSpec) { s.AuthSecret = "root" }),
		"TLS":          spec(func(s *v1beta2.BackupSpec) { s.ClientTLSSecret = "tls" }),
		"the members":  spec(func(s *v1beta2.BackupSpec) { s.EtcdEndpoints = []string{"http://b:2379"} }),
		"the image":    func(s *scene) { s.Image = "newer" },
	} {
		if hash(c) == was {
			t.Errorf("%s is not in it", name)
		}
	}
	for name, c := range map[string]change{
		"the schedule":  every(time.Minute),
		"the retention": policy(func(p *v1beta2.BackupPolicy) { p.MaxBackups = 3 }),
		"the default": spec(func(s *v1beta2.BackupSpec) {
			s.Archive.Interval = &metav1.Duration{Duration: v1beta2.DefaultArchiveInterval}
		}),
		"the time":    func(s *scene) { s.Now = s.Now.Add(time.Hour) },
		"the creator": creators(creator.Check{Passed: true, Unknown: "x"}),
	} {
		if hash(c) != was {
			t.Errorf("%s is in it", name)
		}
	}
	azure := func(endpoint string) string {
		return hash(spec(func(s *v1beta2.BackupSpec) {
			s.StorageType, s.S3, s.ABS = v1beta2.StorageABS, nil, &v1beta2.ABSSource{Path: "container/etcd", Endpoint: endpoint}
		}))
	}
	if azure("https://a.blob.core.windows.net") == azure("https://b.blob.core.windows.net") {
		t.Error("the place in Azure is not in it")
	}
	of := func(ready, unready []string) string {
		return hash(func(s *scene) {
			s.Backup.Spec.EtcdEndpoints, s.Backup.Spec.ClusterRef = nil, &v1beta2.ClusterReference{Name: "c"}
			s.Cluster = &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "ns"}}
			s.Cluster.Status.Members.Ready, s.Cluster.Status.Members.Unready = ready, unready
		})
	}
	if of([]string{"c-1", "c-2"}, nil) != of([]string{"c-2"}, []string{"c-1"}) {
		t.Error("a member that restarts changes it")
	}
	if of([]string{"c-1"}, nil) == of([]string{"c-2"}, nil) {
		t.Error("another member does not change it")
	}
}

// The status is as fresh as the recording, within bounds.
func TestArchiverIsAskedOnceInAnInterval(t *testing.T) {
	for interval, want := range map[time.Duration]time.Duration{
		time.Second: 2 * time.Second, 10 * time.Second: 10 * time.Second, time.Minute: 15 * time.Second,
	} {
		d := Plan(archived(spec(func(s *v1beta2.BackupSpec) { s.Archive.Interval = &metav1.Duration{Duration: interval} })))
		if d.RequeueAfter != want {
			t.Errorf("with an interval of %s it is asked after %s, want %s", interval, d.RequeueAfter, want)
		}
	}
}
