package plan

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
)

// confirmed is a Job whose agent has told of a quorum, or of none.
func confirmed(quorum bool) func(*Job) {
	return func(j *Job) {
		reported(j)
		j.Result.Quorum = &quorum
	}
}

// sick is a Job whose source was not healthy.
func sick(j *Job) {
	confirmed(true)(j)
	j.Result.Unhealthy = "a CORRUPT alarm says that its data differs from that of other members"
}

// What was not confirmed by a quorum is stored, and told of in every place where users,
// administrators and machines look.
func TestDoubtfulBackups(t *testing.T) {
	good := &v1beta2.BackupSnapshot{Location: "s3://mybucket/good", Revision: 7, Quorum: new(true)}
	for name, row := range map[string]struct {
		reason string
		job    func(*Job)
		last   *v1beta2.BackupSnapshot
		is     metav1.ConditionStatus
		why    string
		events []string
		newest int64 // revision of the newest good backup
	}{
		"good":             {"it is the newest", confirmed(true), good, "True", "SourceHealthy", []string{"BackupSucceeded"}, 42},
		"no quorum":        {"a good one stays the newest", confirmed(false), good, "False", "BackupWithoutQuorum", []string{"BackupSucceeded", "BackupWithoutQuorum"}, 7},
		"unhealthy":        {"a good one stays the newest", sick, good, "False", "BackupOfUnhealthyMember", []string{"BackupSucceeded", "BackupOfUnhealthyMember"}, 7},
		"the first":        {"it is all there is", confirmed(false), nil, "False", "BackupWithoutQuorum", []string{"BackupSucceeded", "BackupWithoutQuorum"}, 42},
		"again no quorum":  {"the later of two that are alike", confirmed(false), &v1beta2.BackupSnapshot{Revision: 7, Quorum: new(false)}, "False", "BackupWithoutQuorum", []string{"BackupSucceeded", "BackupWithoutQuorum"}, 42},
		"an older agent's": {"what it did not ask, it does not tell", reported, good, "", "", []string{"BackupSucceeded"}, 42},
		"after an older":   {"one that does not tell counts as good", confirmed(false), &v1beta2.BackupSnapshot{Revision: 7}, "False", "BackupWithoutQuorum", []string{"BackupSucceeded", "BackupWithoutQuorum"}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			d := noted(observe(every(time.Hour), counted("every 1h0m0s", 0), started(0, row.job), after(time.Minute),
				status(func(s *v1beta2.BackupStatus) { s.Snapshot = row.last })))
			if len(d.Recorded) != 1 || !d.Recorded[0].Succeeded || !d.Status.Succeeded {
				t.Fatalf("recorded are %+v", d.Recorded)
			}
			if got := d.Status.Snapshot; got == nil || got.Revision != row.newest {
				t.Errorf("the newest good backup is %+v, want revision %d: %s", got, row.newest, row.reason)
			}
			var is metav1.ConditionStatus
			var why string
			for _, c := range d.Status.Conditions {
				if c.Type == v1beta2.ConditionQuorum {
					is, why = c.Status, c.Reason
				}
			}
			if is != row.is || why != row.why {
				t.Errorf("condition Quorum is %s %s, want %s %s", is, why, row.is, row.why)
			}
			var events []string
			for _, e := range d.Events {
				events = append(events, e.Reason)
			}
			if strings.Join(events, " ") != strings.Join(row.events, " ") {
				t.Errorf("events %v, want %v", events, row.events)
			}
		})
	}
}

// That a snapshot is empty, or of an etcd that can't be restored, is said when it is made.
func TestNotes(t *testing.T) {
	j := func(j *Job) {
		confirmed(true)(j)
		j.Result.Notes = []task.Note{{Reason: v1beta2.ReasonSourceEmpty, Message: "nothing was ever written"}, {Reason: v1beta2.ReasonSourceTooOld, Message: "etcd 3.4"}}
		j.Result.Spared = 3
	}
	d := noted(observe(job(0, j), status(func(s *v1beta2.BackupStatus) {
		s.Phase, s.Active = v1beta2.BackupRunning, []v1beta2.ActiveBackup{{Name: name(0), ScheduledTime: *timeAt(0)}}
	}), after(time.Minute)))
	told := map[string]bool{}
	for _, e := range d.Events {
		told[e.Reason] = e.Warning
	}
	if !told[v1beta2.ReasonSourceEmpty] || !told[v1beta2.ReasonSourceTooOld] {
		t.Errorf("events are %+v", d.Events)
	}
	for _, words := range []string{"nothing was ever written", "etcd 3.4", "kept 3 older backups", "overwritePolicy"} {
		if !strings.Contains(d.Status.Conditions[0].Message, words) || !strings.Contains(d.Status.History[0].Message, words) {
			t.Errorf("%q is not said: %+v", words, d.Status.Conditions[0])
		}
	}
}

// Without a quorum no member is ready: those that are not are asked. Those of a cluster that
// has yet to form are not.
func TestMembersWithoutAQuorumAreASource(t *testing.T) {
	for name, lost := range map[string]*metav1.Time{"quorum lost": timeAt(0), "never had one": nil} {
		t.Run(name, func(t *testing.T) {
			start, ok := noted(observe(cluster(func(c *v1beta2.EtcdCluster) {
				c.Status.Members.Ready, c.Status.Members.Unready, c.Status.QuorumLostSince = nil, []string{"c-1", "c-2"}, lost
			}))).Action.(StartJob)
			if ok != (lost != nil) || ok && len(start.Endpoints) != 2 {
				t.Errorf("got %+v", start)
			}
		})
	}
}
