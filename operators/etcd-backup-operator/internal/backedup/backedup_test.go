package backedup

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

const (
	id      = "00000000000000c1"
	earlier = "00000000000000c0"
)

var born = time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)

func at(minutes int) metav1.Time {
	return metav1.NewTime(born.Add(time.Duration(minutes) * time.Minute))
}

// cluster is the EtcdCluster c, with changes.
func cluster(changes ...func(*v1beta2.EtcdCluster)) *v1beta2.EtcdCluster {
	c := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "ns", Generation: 3}}
	c.Status.ClusterID = id
	for _, change := range changes {
		change(c)
	}
	return c
}

func maxAge(d time.Duration) func(*v1beta2.EtcdCluster) {
	return func(c *v1beta2.EtcdCluster) {
		c.Spec.Backup = &v1beta2.ClusterBackup{MaxAge: &metav1.Duration{Duration: d}}
	}
}

// remembered is what an earlier look has left in the status.
func remembered(s v1beta2.ClusterBackupStatus) func(*v1beta2.EtcdCluster) {
	return func(c *v1beta2.EtcdCluster) { c.Status.Backup = &s }
}

// backup is an EtcdBackup of c by its name, with records.
func backup(name string, history ...v1beta2.BackupRecord) v1beta2.EtcdBackup {
	b := v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"}}
	b.Spec.ClusterRef = &v1beta2.ClusterReference{Name: "c"}
	b.Status.History = history
	return b
}

func byEndpoints(b v1beta2.EtcdBackup) v1beta2.EtcdBackup {
	b.Spec.ClusterRef, b.Spec.EtcdEndpoints = nil, []string{"http://c-client:2379"}
	return b
}

// good is a backup that ended after so many minutes.
func good(minutes int, changes ...func(*v1beta2.BackupRecord)) v1beta2.BackupRecord {
	r := v1beta2.BackupRecord{
		Name: fmt.Sprintf("job-%d", minutes), Succeeded: true, CompletionTime: new(at(minutes)),
		Location: fmt.Sprintf("s3://b/%d", minutes), Size: 2048, Revision: int64(minutes), ClusterID: id,
	}
	for _, change := range changes {
		change(&r)
	}
	return r
}

func failed(minutes int) v1beta2.BackupRecord {
	return v1beta2.BackupRecord{Name: fmt.Sprintf("job-%d", minutes), CompletionTime: new(at(minutes)), Reason: "NoSpace"}
}

func known(minutes int, clusterID string) *v1beta2.ClusterBackupRecord {
	return &v1beta2.ClusterBackupRecord{
		Backup: "gone", Location: fmt.Sprintf("s3://b/%d", minutes), CompletionTime: at(minutes), Size: 2048, Revision: int64(minutes), ClusterID: clusterID,
	}
}

func TestJudge(t *testing.T) {
	withoutQuorum := func(r *v1beta2.BackupRecord) { r.Quorum = new(bool) }
	rows := map[string]struct {
		reason   string
		c        *v1beta2.EtcdCluster
		backups  []v1beta2.EtcdBackup
		now      int
		newest   string // its location
		failures int64
		told     string // status and reason of the condition
		says     string
		again    time.Duration
	}{
		"nobody backs it up": {reason: "that is nobody's business", c: cluster()},
		"nobody backs it up, and somebody wants that": {
			reason: "maxAge asks for backups", c: cluster(maxAge(time.Hour)), told: "False NoGoodBackup", says: "create an EtcdBackup with spec.clusterRef.name: c",
		},
		"none yet": {reason: "it runs", c: cluster(), backups: []v1beta2.EtcdBackup{backup("x")}, told: "False NoGoodBackup"},
		"one": {
			reason: "where it lies, and of when", c: cluster(), backups: []v1beta2.EtcdBackup{backup("x", good(5))}, now: 60,
			newest: "s3://b/5", told: "True BackedUp", says: "s3://b/5, 2.0 KiB, revision 5, finished at 2026-01-01T10:05:00Z by EtcdBackup x",
		},
		"the newest of several": {
			reason: "whoever made it", c: cluster(), backups: []v1beta2.EtcdBackup{backup("x", good(5)), backup("y", good(9), good(1)), backup("z", good(7))},
			newest: "s3://b/9", told: "True BackedUp",
		},
		"made by endpoints": {
			reason: "it is known by its cluster id", c: cluster(), backups: []v1beta2.EtcdBackup{byEndpoints(backup("x", failed(9), good(5)))},
			newest: "s3://b/5", failures: 1, told: "True BackedUp",
		},
		"of other endpoints": {
			reason: "its id is another", c: cluster(),
			backups: []v1beta2.EtcdBackup{byEndpoints(backup("x", failed(9), good(5, func(r *v1beta2.BackupRecord) { r.ClusterID = "other" })))},
		},
		"of another namespace": {
			reason: "who may write there has no say here", c: cluster(),
			backups: []v1beta2.EtcdBackup{func() v1beta2.EtcdBackup { b := byEndpoints(backup("x", good(5))); b.Namespace = "other"; return b }()},
		},
		"of another cluster": {
			reason: "it names that", c: cluster(),
			backups: []v1beta2.EtcdBackup{func() v1beta2.EtcdBackup { b := backup("x", good(5)); b.Spec.ClusterRef.Name = "d"; return b }()},
		},
		"the CronJob's are gone": {
			reason: "what they told is remembered", c: cluster(remembered(v1beta2.ClusterBackupStatus{Newest: known(5, id), Failures: 2})), now: 500,
			newest: "s3://b/5", failures: 2, told: "True BackedUp", says: "by EtcdBackup gone",
		},
		"an older one beside what is remembered": {
			reason: "the newest counts", c: cluster(remembered(v1beta2.ClusterBackupStatus{Newest: known(5, id)})), backups: []v1beta2.EtcdBackup{backup("x", good(3))},
			newest: "s3://b/5", told: "True BackedUp",
		},
		"without a quorum": {
			reason: "it may lack what was acknowledged", c: cluster(), backups: []v1beta2.EtcdBackup{backup("x", good(9, withoutQuorum), good(5))},
			newest: "s3://b/5", told: "True BackedUp",
		},
		"of a corrupt member": {
			reason: "its data differs", c: cluster(),
			backups: []v1beta2.EtcdBackup{backup("x", good(9, func(r *v1beta2.BackupRecord) { r.Unhealthy = "CORRUPT" }))}, told: "False NoGoodBackup",
		},
		"before a restore": {
			reason: "the cluster has other data now", c: cluster(remembered(v1beta2.ClusterBackupStatus{Newest: known(5, earlier)})),
			newest: "s3://b/5", told: "False NoGoodBackup", says: "the newest one is of the earlier cluster ID " + earlier,
		},
		"after a restore": {
			reason: "the first one of the new data counts", c: cluster(remembered(v1beta2.ClusterBackupStatus{Newest: known(50, earlier)})),
			backups: []v1beta2.EtcdBackup{backup("x", good(9))}, newest: "s3://b/9", told: "True BackedUp",
		},
		"failed": {
			reason: "there is none", c: cluster(), backups: []v1beta2.EtcdBackup{backup("x", failed(5))},
			failures: 1, told: "False NoGoodBackup", says: "EtcdBackup x failed at 2026-01-01T10:05:00Z: NoSpace",
		},
		"failed since": {
			reason: "the last good one is still there", c: cluster(), backups: []v1beta2.EtcdBackup{backup("x", failed(9), failed(7), good(5))},
			newest: "s3://b/5", failures: 2, told: "True BackedUp", says: "failed at 2026-01-01T10:09:00Z",
		},
		"failures are counted once": {
			reason: "those up to the last one are counted",
			c: cluster(remembered(v1beta2.ClusterBackupStatus{
				Failures: 7, LastFailure: &v1beta2.ClusterBackupFailure{Backup: "x", Job: "job-7", CompletionTime: at(7)},
			})),
			backups: []v1beta2.EtcdBackup{backup("x", failed(9), failed(7), failed(2))}, failures: 8, told: "False NoGoodBackup",
		},
		"young enough": {
			reason: "it becomes too old by itself", c: cluster(maxAge(time.Hour)), backups: []v1beta2.EtcdBackup{backup("x", good(5))}, now: 64,
			newest: "s3://b/5", told: "True BackedUp", again: time.Minute,
		},
		"too old": {
			reason: "by maxAge", c: cluster(maxAge(time.Hour)), backups: []v1beta2.EtcdBackup{backup("x", good(5))}, now: 65,
			newest: "s3://b/5", told: "False BackupTooOld", says: "older than spec.backup.maxAge (1h0m0s): s3://b/5",
		},
		"not formed yet": {
			reason: "which id it will have is not known", c: cluster(func(c *v1beta2.EtcdCluster) { c.Status.ClusterID = "" }),
			backups: []v1beta2.EtcdBackup{backup("x", good(5)), byEndpoints(backup("y", good(9)))}, newest: "s3://b/5", told: "True BackedUp",
		},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			before := r.c.DeepCopy()
			v := Judge(at(r.now).Time, r.c, r.backups)
			if c := v.Condition; c != nil {
				messages.Note(c.Type+"="+string(c.Status)+" "+c.Reason, c.Message)
			}
			var newest, told, says string
			var failures int64
			if v.Status != nil {
				failures = v.Status.Failures
			}
			if v.Status != nil && v.Status.Newest != nil {
				newest = v.Status.Newest.Location
			}
			if c := v.Condition; c != nil {
				told, says = string(c.Status)+" "+c.Reason, c.Message
			}
			if newest != r.newest || failures != r.failures || told != r.told || !strings.Contains(says, r.says) || v.RequeueAfter != r.again {
				t.Errorf("%s: newest %q, %d failures, %q: %q, again after %s; want %q, %d, %q: …%s…, %s",
					r.reason, newest, failures, told, says, v.RequeueAfter, r.newest, r.failures, r.told, r.says, r.again)
			}
			if want := r.told == "False BackupTooOld"; v.TooOld != want {
				t.Errorf("%s: TooOld is %v, not %v", r.reason, v.TooOld, want)
			}
			if diff := cmp.Diff(before, r.c); diff != "" {
				t.Errorf("Judge changed what it was given:\n%s", diff)
			}
			// What it says is stable: a second look at what was written has nothing to add.
			written := r.c.DeepCopy()
			written.Status.Backup = v.Status
			if diff := cmp.Diff(v, Judge(at(r.now).Time, written, r.backups)); diff != "" {
				t.Errorf("the second look differs:\n%s", diff)
			}
			// Nor does it once the EtcdBackups are gone.
			if v.Status != nil {
				if diff := cmp.Diff(v.Condition, Judge(at(r.now).Time, written, nil).Condition); diff != "" {
					t.Errorf("without the EtcdBackups it differs:\n%s", diff)
				}
			}
		})
	}
}
