package plan

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/creator"
)

// toVolume has backups copied to a PVC.
func toVolume(s *v1beta2.BackupSpec) {
	s.CopyTo = &v1beta2.BackupCopy{StorageType: v1beta2.StoragePVC, PVC: &v1beta2.PVCSource{ClaimName: "copies", Path: "etcd"}}
}

// copied is a backup of every hour to S3, and from there to Google, which was stored once. Its Job
// of the copy is not there.
func copied(changes ...change) Observation {
	at := metav1.NewTime(born)
	all := []change{
		every(time.Hour),
		spec(func(s *v1beta2.BackupSpec) {
			s.CopyTo = &v1beta2.BackupCopy{StorageType: v1beta2.StorageGCS, GCS: &v1beta2.GCSSource{Path: "elsewhere/etcd", GCPSecret: "google"}}
		}),
		status(func(s *v1beta2.BackupStatus) {
			s.Phase, s.Clock, s.LastScheduleTime = v1beta2.BackupScheduled, &v1beta2.BackupClock{Schedule: "every 1h0m0s", After: at}, &at
			s.History = []v1beta2.BackupRecord{{Name: "j", ScheduledTime: &at, CompletionTime: &at, Succeeded: true, Revision: 60, Location: "s3://mybucket/etcd.backup_v60", ClusterID: "c0", Quorum: new(true)}}
		}),
		after(time.Minute),
	}
	return observe(append(all, changes...)...)
}

// copying has the Job of the copy, which runs unless it is changed.
func copying(changes ...func(*Copier)) change {
	return func(s *scene) {
		c := &Copier{Job: Job{Name: CopierName(s.Backup), UID: "copier", Scheduled: born, Created: born, Running: true}, Backup: "j"}
		for _, f := range changes {
			f(c)
		}
		if c.Hash == "" {
			c.Hash = newView(s.Observation).startCopy(nil).Hash
		}
		s.Copier = c
	}
}

// copyEnded has the Job of the copy ended with a report; nil: with none.
func copyEnded(r *task.Result) func(*Copier) {
	return func(c *Copier) {
		c.Running, c.Finished, c.Result = false, born.Add(30*time.Second), r
		c.Failed = r == nil || r.Failure != nil
	}
}

// isCopied has the end of the copy in the status.
func isCopied(s *scene) {
	at := metav1.NewTime(born.Add(30 * time.Second))
	s.Backup.Status.History[0].Copy = &v1beta2.CopyRecord{Location: "gcs://elsewhere/etcd_v60", CompletionTime: &at}
	s.Backup.Status.LastCopyTime = &at
}

func TestCopies(t *testing.T) {
	const (
		none = "Unknown NotCopied"
		good = "True BackupCopied"
		bad  = "False CopyFailed"
	)
	refused := &task.Result{Failure: &agent.Failure{Reason: "AccessDenied", Message: "the bucket is another's", Permanent: true}, Finished: born.Add(20 * time.Second)}
	passing := &task.Result{Failure: &agent.Failure{Reason: "Unreachable", Message: "no route to host"}, Finished: born.Add(20 * time.Second)}
	done := &task.Result{Location: "gcs://elsewhere/etcd_v60", Finished: born.Add(20 * time.Second)}
	partly := &task.Result{Location: "gcs://elsewhere/etcd_v60", Finished: born.Add(20 * time.Second), Failure: &agent.Failure{Reason: "AccessDenied", Message: "cannot delete", Permanent: true}}
	newer := status(func(s *v1beta2.BackupStatus) {
		at := metav1.NewTime(born.Add(40 * time.Second))
		s.History = append([]v1beta2.BackupRecord{{Name: "k", ScheduledTime: &at, CompletionTime: &at, Succeeded: true, Location: "s3://mybucket/etcd.backup_v70"}}, s.History...)
	})
	once := spec(func(s *v1beta2.BackupSpec) { s.BackupPolicy = nil })
	for name, c := range map[string]struct {
		reason    string
		changes   []change
		action    string
		condition string
		says      string
		events    string
	}{
		"a backup is stored":      {reason: "it is copied", action: "StartCopy", condition: none},
		"nothing is stored":       {reason: "there is nothing to copy", changes: []change{status(func(s *v1beta2.BackupStatus) { s.History = nil })}, condition: none, says: "no backup was copied yet"},
		"its record is new":       {reason: "it is written first", changes: []change{status(func(s *v1beta2.BackupStatus) { s.History = nil }), started(0, reported)}, condition: none},
		"it is copied":            {reason: "nothing to do", changes: []change{isCopied}, condition: good, says: "backup copied to gcs://elsewhere/etcd_v60"},
		"and its Job is there":    {reason: "for its log", changes: []change{isCopied, copying(copyEnded(done))}, condition: good},
		"the next is stored":      {reason: "the Job makes room", changes: []change{isCopied, newer, copying(copyEnded(done))}, action: "DeleteJob", condition: good},
		"while one is copied":     {reason: "one after another", changes: []change{newer, copying()}, condition: none},
		"the Job runs":            {reason: "it takes a while", changes: []change{copying()}, condition: none},
		"it was copied":           {reason: "that is recorded", changes: []change{copying(copyEnded(done))}, condition: good, events: "BackupCopied"},
		"it was refused":          {reason: "the backup is not", changes: []change{copying(copyEnded(refused))}, condition: bad, says: "backup j is stored, but not copied (AccessDenied): the bucket is another's; the next backup copies what is missing", events: "!CopyFailed"},
		"it was refused once":     {reason: "no other follows", changes: []change{once, copying(copyEnded(refused))}, condition: bad, says: "the copy is not retried: fix the cause, then create another EtcdBackup", events: "!CopyFailed"},
		"old ones could not go":   {reason: "it is there", changes: []change{copying(copyEnded(partly))}, condition: bad, says: "backup copied to gcs://elsewhere/etcd_v60, but the rest of the work there failed (AccessDenied): cannot delete", events: "!CopyFailed"},
		"it is tried again":       {reason: "that is told", changes: []change{copying(func(c *Copier) { c.Result = passing })}, condition: bad, says: "copy of backup j failed (Unreachable): no route to host; Job b-"},
		"all tries failed":        {reason: "the next backup is another try", changes: []change{copying(copyEnded(passing))}, condition: bad, says: "no route to host; the next backup", events: "!CopyFailed"},
		"it ran out of memory":    {reason: "the Pod's end says so", changes: []change{copying(copyEnded(nil), func(c *Copier) { c.FailReason, c.FailMessage = "OOMKilled", "the Pod ran out of memory" })}, condition: bad, says: "(OOMKilled): the Pod ran out of memory", events: "!CopyFailed"},
		"nobody knows why":        {reason: "its Pod is gone", changes: []change{copying(copyEnded(nil))}, condition: bad, says: "failed without a report", events: "!CopyFailed"},
		"nobody knows whether":    {reason: "its Pod is gone", changes: []change{copying(copyEnded(nil), func(c *Copier) { c.Failed = false })}, condition: bad, says: "(CopyResultLost): result unknown", events: "!CopyFailed"},
		"its report is late":      {reason: "it is waited for", changes: []change{copying(copyEnded(nil), func(c *Copier) { c.Finished = born.Add(time.Minute) })}, condition: none},
		"its node is lost":        {reason: "nobody waits for ever", changes: []change{copying(func(c *Copier) { c.Deadline, c.HangReason, c.HangMessage = born, "NodeLost", "the node is lost" })}, condition: bad, says: "(NodeLost): the node is lost", events: "!CopyFailed"},
		"its Pod does not start":  {reason: "a person can fix it", changes: []change{copying(func(c *Copier) { c.Waiting = "no such Secret" })}, condition: "False PodNotStarting", says: "no such Secret"},
		"the quota is used up":    {reason: "it is tried again", changes: []change{func(s *scene) { s.Refused = "exceeded quota" }}, condition: "False StartRefused", says: "exceeded quota"},
		"the spec was corrected":  {reason: "it would fail on", changes: []change{copying(func(c *Copier) { c.Hash = "another" })}, action: "DeleteJob", condition: none},
		"and it is being deleted": {reason: "two would write the same", changes: []change{copying(func(c *Copier) { c.Hash, c.Deleting = "another", true })}, condition: none},
		"what was stopped":        {reason: "is no failure", changes: []change{copying(copyEnded(refused), func(c *Copier) { c.Deleting = true })}, condition: none},
		"suspended":               {reason: "so the user wants", changes: []change{suspend}, condition: none},
		"one-shot":                {reason: "it is copied when it has ended", changes: []change{once}, action: "StartCopy", condition: none},
		"it is where the backup is": {reason: "it would replace it", changes: []change{spec(func(s *v1beta2.BackupSpec) {
			s.CopyTo = &v1beta2.BackupCopy{StorageType: v1beta2.StorageS3, S3: s.S3}
		}), copying()}, action: "DeleteJob", condition: "False CopyIsSource", says: "spec.copyTo is where the backup itself is stored", events: "!CopyIsSource"},
		"rights are not checked": {reason: "the volume might be another's", changes: []change{spec(toVolume), once, creators(creator.Check{Missing: "there is no policy"})}, condition: "False CreatorNotChecked", says: "it uses PVC copies"},
		"rights are not known":   {reason: "nobody could ask", changes: []change{spec(toVolume), once, creators(creator.Check{Unknown: "timeout"})}, condition: none},
		"the archive is not copied": {reason: "it is recorded", changes: []change{isCopied, func(s *scene) {
			o := archived()
			s.Backup.Spec.Archive, s.Backup.Status.Archive, s.Archiver = o.Backup.Spec.Archive, o.Backup.Status.Archive, o.Archiver
			s.Archiver.Hash = newView(s.Observation).startArchiver().Hash
			s.Archiver.Progress.Copy = &task.CopyProgress{Revision: 65, Failure: &agent.Failure{Reason: "AccessDenied", Message: "the bucket is another's"}}
		}}, condition: bad, says: "the archive is recorded, but not copied (AccessDenied)", events: "!CopyFailed"},
	} {
		t.Run(name, func(t *testing.T) {
			o := copied(c.changes...)
			d := noted(o)
			for _, broken := range oracle(o, d) {
				t.Error(broken)
			}
			action := ""
			if d.Action != nil {
				action = d.Action.Kind()
			}
			var events []string
			for _, e := range d.Events {
				if mark := map[bool]string{true: "!"}[e.Warning]; strings.Contains(e.Reason, "Cop") {
					events = append(events, mark+e.Reason)
				}
			}
			got := meta.FindStatusCondition(d.Status.Conditions, v1beta2.ConditionCopied)
			if got == nil {
				t.Fatalf("conditions %+v", d.Status.Conditions)
			}
			if action != c.action || string(got.Status)+" "+got.Reason != c.condition || !strings.Contains(got.Message, c.says) || strings.Join(events, " ") != c.events {
				t.Errorf("%s: %s, %s %s %q, events %v", c.reason, action, got.Status, got.Reason, got.Message, events)
			}
			if complete := find(t, d.Status.Conditions, v1beta2.ConditionComplete); len(o.Backup.Status.History) > 0 && complete.Status != metav1.ConditionTrue && c.condition != "False CopyIsSource" {
				t.Errorf("the backup itself is not complete: %+v", complete)
			}
			if o.Backup.Status = d.Status; len(noted(o).Events) > 0 && c.events != "!CopyIsSource" {
				t.Errorf("it tells the same once more: %+v", noted(o).Events)
			}
		})
	}
}

// What is recorded of a copy, and what its Job is told.
func TestCopyIsRecorded(t *testing.T) {
	d := noted(copied())
	start, ok := d.Action.(StartCopy)
	if !ok || start.Backup.Name != "j" || start.Backup.Location == "" || start.Name != CopierName(observe().Backup) {
		t.Fatalf("it starts %+v", d.Action)
	}
	finished := born.Add(20 * time.Second)
	d = noted(copied(copying(copyEnded(&task.Result{Location: "gcs://elsewhere/etcd_v60", Finished: finished}))))
	if c := d.Copied; c == nil || c.Name != "j" || c.Copy.Location != "gcs://elsewhere/etcd_v60" || !c.Copy.CompletionTime.Time.Equal(finished) || c.Copy.Failure != nil {
		t.Errorf("it records %+v", c)
	}
	if s := d.Status; s.History[0].Copy == nil || !s.LastCopyTime.Time.Equal(finished) || len(d.Recorded) > 0 {
		t.Errorf("the status is %+v", s)
	}
}

// Without spec.copyTo a Job that is left is stopped, and nothing is told of copies.
func TestCopyRemoved(t *testing.T) {
	d := noted(copied(isCopied, copying(), spec(func(s *v1beta2.BackupSpec) { s.CopyTo = nil })))
	if stop, ok := d.Action.(DeleteJob); !ok || stop.UID != "copier" || d.Status.LastCopyTime != nil || meta.FindStatusCondition(d.Status.Conditions, v1beta2.ConditionCopied) != nil {
		t.Errorf("%+v, %+v", d.Action, d.Status)
	}
}

// An EtcdBackup that is deleted after a while stays until it is copied: its Job would go with it.
func TestCopyBeforeExpiry(t *testing.T) {
	expires := spec(func(s *v1beta2.BackupSpec) { s.BackupPolicy, s.TTLSecondsAfterFinished = nil, new(int32(1)) })
	done := copyEnded(&task.Result{Location: "gcs://elsewhere/etcd_v60", Finished: born.Add(20 * time.Second)})
	for name, c := range map[string]struct {
		change change
		want   string
	}{
		"it is to be copied":     {func(*scene) {}, "StartCopy"},
		"it is being copied":     {copying(), ""},
		"the end is not written": {copying(done), ""},
		"it is copied":           {func(s *scene) { isCopied(s); copying(done)(s) }, "DeleteBackup"},
		"it cannot be copied":    {spec(func(s *v1beta2.BackupSpec) { s.CopyTo.StorageType = "Tape" }), "DeleteBackup"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if d := noted(copied(expires, c.change)); d.Action != nil {
				got = d.Action.Kind()
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// The hash of a Job that copies follows what its Pod is built from, and nothing else.
func TestCopierHash(t *testing.T) {
	hash := func(changes ...change) string { return newView(copied(changes...)).startCopy(nil).Hash }
	was := hash()
	for name, c := range map[string]change{
		"the first place":  spec(func(s *v1beta2.BackupSpec) { s.S3.Path += "x" }),
		"the second place": spec(func(s *v1beta2.BackupSpec) { s.CopyTo.GCS.Path += "x" }),
		"the retention":    policy(func(p *v1beta2.BackupPolicy) { p.MaxBackups = 3 }),
		"the Pod":          spec(func(s *v1beta2.BackupSpec) { s.Pod = &v1beta2.AgentPod{PriorityClassName: "high"} }),
		"the archive":      spec(func(s *v1beta2.BackupSpec) { s.Archive = &v1beta2.BackupArchive{} }),
		"the image":        func(s *scene) { s.Image = "newer" },
	} {
		if hash(c) == was {
			t.Errorf("%s is not in it", name)
		}
	}
	for name, c := range map[string]change{
		"the schedule": every(time.Minute),
		"the members":  spec(func(s *v1beta2.BackupSpec) { s.EtcdEndpoints = []string{"http://b:2379"} }),
		"the time":     func(s *scene) { s.Now = s.Now.Add(time.Hour) },
	} {
		if hash(c) != was {
			t.Errorf("%s is in it", name)
		}
	}
}
