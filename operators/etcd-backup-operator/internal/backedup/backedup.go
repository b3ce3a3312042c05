// Package backedup decides what an EtcdCluster's status says of its backups: which is the
// newest good one, how many have failed, and the condition BackedUp. It holds no clock, no
// I/O and no client.
//
// EtcdBackups come and go, those of a CronJob within minutes. What they have reported is
// remembered in the field backup of the EtcdCluster's status, from which the next look goes
// on; the condition and the metrics follow from it.
package backedup

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

// Verdict is what the status of a cluster is to tell.
type Verdict struct {
	// Status is what is remembered; nil for nothing.
	Status *v1beta2.ClusterBackupStatus
	// Condition is BackedUp, without its time; nil if there is nothing to tell: no
	// EtcdBackup is or was of the cluster, and spec.backup.maxAge is not set.
	Condition *metav1.Condition
	// TooOld is true while the newest good backup is older than spec.backup.maxAge allows.
	TooOld bool
	// RequeueAfter is after how long time alone changes the Condition; 0: never.
	RequeueAfter time.Duration
}

// Judge looks at a cluster and at the EtcdBackups of its namespace at the moment now. It
// changes neither.
func Judge(now time.Time, c *v1beta2.EtcdCluster, backups []v1beta2.EtcdBackup) Verdict {
	status := &v1beta2.ClusterBackupStatus{}
	if c.Status.Backup != nil {
		status = c.Status.Backup.DeepCopy()
	}
	concerned := 0
	var failed []v1beta2.ClusterBackupFailure
	for i := range backups {
		b := &backups[i]
		if !Concerns(b, c) {
			continue
		}
		concerned++
		status.Newest = newest(c, b, status.Newest)
		failed = append(failed, failures(b, status.LastFailure)...)
	}
	count(status, failed)
	v := Verdict{Status: status}
	if *status == (v1beta2.ClusterBackupStatus{}) {
		v.Status = nil
	}
	if v.Status == nil && concerned == 0 && c.Spec.BackupMaxAge() == 0 {
		return v
	}
	v.TooOld = isTooOld(now, c, status.Newest)
	v.Condition, v.RequeueAfter = condition(now, c, status)
	return v
}

// Concerns reports whether an EtcdBackup is of the cluster: it names it, or has stored a
// snapshot of its cluster id. Both are of one namespace.
func Concerns(b *v1beta2.EtcdBackup, c *v1beta2.EtcdCluster) bool {
	if b.Namespace != c.Namespace {
		return false
	}
	if b.Spec.ClusterRef != nil {
		return b.Spec.ClusterRef.Name == c.Name
	}
	return c.Status.ClusterID != "" && slices.Contains(ClusterIDs(b), c.Status.ClusterID)
}

// ClusterIDs are those of the clusters that an EtcdBackup has stored snapshots of.
func ClusterIDs(b *v1beta2.EtcdBackup) []string {
	var all []string
	for i := range b.Status.History {
		if id := b.Status.History[i].ClusterID; id != "" && !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	return all
}

// isGood is true for a snapshot that is stored and has all that was acknowledged before it.
func isGood(r *v1beta2.BackupRecord) bool {
	return r.Succeeded && r.CompletionTime != nil && r.Unhealthy == "" && (r.Quorum == nil || *r.Quorum)
}

// isOf is true for a snapshot of the data that the cluster has now: a restore gives it
// another cluster id.
func isOf(c *v1beta2.EtcdCluster, clusterID string) bool {
	return c.Status.ClusterID == "" || clusterID == "" || clusterID == c.Status.ClusterID
}

// newest is the newest good backup of those of b and the one that is known.
func newest(c *v1beta2.EtcdCluster, b *v1beta2.EtcdBackup, known *v1beta2.ClusterBackupRecord) *v1beta2.ClusterBackupRecord {
	for i := range b.Status.History {
		r := &b.Status.History[i]
		if !isGood(r) || !isOf(c, r.ClusterID) {
			continue
		}
		if known != nil && isOf(c, known.ClusterID) && !r.CompletionTime.After(known.CompletionTime.Time) {
			continue
		}
		known = &v1beta2.ClusterBackupRecord{
			Backup: b.Name, Location: r.Location, CompletionTime: *r.CompletionTime,
			Size: r.Size, SHA256: r.SHA256, Revision: r.Revision, ClusterID: r.ClusterID,
		}
	}
	return known
}

// failures are the backups of b that failed after the last one that is counted. One that is
// reported later than one that ended after it is not counted: that they are counted at most
// once matters more.
func failures(b *v1beta2.EtcdBackup, last *v1beta2.ClusterBackupFailure) []v1beta2.ClusterBackupFailure {
	var all []v1beta2.ClusterBackupFailure
	for i := range b.Status.History {
		r := &b.Status.History[i]
		if r.Succeeded || r.CompletionTime == nil {
			continue
		}
		f := v1beta2.ClusterBackupFailure{Backup: b.Name, Job: r.Name, CompletionTime: *r.CompletionTime, Reason: r.Reason}
		if last == nil || compare(f, *last) > 0 {
			all = append(all, f)
		}
	}
	return all
}

// compare orders failures by their time; of those of one second, by their names.
func compare(a, b v1beta2.ClusterBackupFailure) int {
	return cmp.Or(a.CompletionTime.Truncate(time.Second).Compare(b.CompletionTime.Truncate(time.Second)), cmp.Compare(a.Job, b.Job))
}

func count(status *v1beta2.ClusterBackupStatus, failed []v1beta2.ClusterBackupFailure) {
	if len(failed) == 0 {
		return
	}
	last := slices.MaxFunc(failed, compare)
	status.Failures += int64(len(failed))
	status.LastFailure = &last
}

// isTooOld is true for a good backup of the cluster that is older than its spec allows.
func isTooOld(now time.Time, c *v1beta2.EtcdCluster, n *v1beta2.ClusterBackupRecord) bool {
	maxAge := c.Spec.BackupMaxAge()
	return maxAge > 0 && n != nil && isOf(c, n.ClusterID) && !now.Before(n.CompletionTime.Add(maxAge))
}

// condition is BackedUp. It changes with what it tells of, and once when the newest good
// backup becomes too old; its age is a metric.
func condition(now time.Time, c *v1beta2.EtcdCluster, status *v1beta2.ClusterBackupStatus) (tells *metav1.Condition, requeueAfter time.Duration) {
	tells = &metav1.Condition{Type: v1beta2.ConditionBackedUp, Status: metav1.ConditionFalse, ObservedGeneration: c.Generation}
	n, maxAge := status.Newest, c.Spec.BackupMaxAge()
	switch {
	case n == nil:
		tells.Reason = v1beta2.ReasonNoGoodBackup
		tells.Message = fmt.Sprintf("no good backup of this cluster is known: create an EtcdBackup with spec.clusterRef.name: %s", c.Name)
	case !isOf(c, n.ClusterID):
		tells.Reason = v1beta2.ReasonNoGoodBackup
		tells.Message = fmt.Sprintf("no good backup of cluster ID %s is known: create an EtcdBackup; the newest one is of the earlier cluster ID %s: %s", c.Status.ClusterID, n.ClusterID, describe(n))
	case isTooOld(now, c, n):
		tells.Reason = v1beta2.ReasonBackupTooOld
		tells.Message = fmt.Sprintf("newest good backup is older than spec.backup.maxAge (%s): %s; check why EtcdBackups fail or are missing", maxAge, describe(n))
	default:
		tells.Status, tells.Reason, tells.Message = metav1.ConditionTrue, v1beta2.ReasonBackedUp, "newest good backup: "+describe(n)
		if maxAge > 0 {
			requeueAfter = max(n.CompletionTime.Add(maxAge).Sub(now), time.Millisecond)
		}
	}
	if f := status.LastFailure; f != nil && (n == nil || f.CompletionTime.After(n.CompletionTime.Time)) {
		tells.Message += fmt.Sprintf("; EtcdBackup %s failed at %s: %s", f.Backup, conditiontext.Time(f.CompletionTime.Time), f.Reason)
	}
	tells.Message = conditiontext.Clip(tells.Message)
	return tells, requeueAfter
}

func describe(n *v1beta2.ClusterBackupRecord) string {
	return fmt.Sprintf("%s, %s, revision %d, finished at %s by EtcdBackup %s",
		n.Location, v1beta2.ReadableSize(n.Size), n.Revision, conditiontext.Time(n.CompletionTime.Time), n.Backup)
}
