package screen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// ClusterTable shows clusters, as kubectl get does, and how old their newest backup is.
func ClusterTable(clusters []v1beta2.EtcdCluster, namespaced bool, now time.Time) *Table {
	t := &Table{Columns: []string{"Name", "Ready", "Version", "Available", "Health", "Progress", "Backup", "Age", "+Leader", "+Cluster ID"}}
	if namespaced {
		t.Columns = append([]string{"Namespace"}, t.Columns...)
	}
	for _, c := range clusters {
		status := func(kind string) string {
			if x := meta.FindStatusCondition(c.Status.Conditions, kind); x != nil {
				return string(x.Status)
			}
			return ""
		}
		reason := func(kind string) string {
			if x := meta.FindStatusCondition(c.Status.Conditions, kind); x != nil {
				return x.Reason
			}
			return ""
		}
		backup := "none"
		if b := c.Status.Backup; b != nil && b.Newest != nil {
			backup = Age(now, b.Newest.CompletionTime.Time) + " ago"
		}
		row := []string{
			c.Name, cmp.Or(c.Status.ReadyMembers, fmt.Sprintf("0/%d", c.Spec.Size)), version(&c), status(v1beta2.ConditionAvailable),
			reason(v1beta2.ConditionDegraded), reason(v1beta2.ConditionProgressing), backup, Age(now, c.CreationTimestamp.Time), c.Status.Leader, c.Status.ClusterID,
		}
		if namespaced {
			row = append([]string{c.Namespace}, row...)
		}
		t.Add(row...)
	}
	return t
}

func version(c *v1beta2.EtcdCluster) string {
	if c.Status.TargetVersion == "" {
		return c.Status.CurrentVersion
	}
	return c.Status.CurrentVersion + " -> " + c.Status.TargetVersion
}

// EventTime is when an event was last seen.
func EventTime(e corev1.Event) time.Time {
	switch {
	case e.Series != nil && !e.Series.LastObservedTime.IsZero():
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}

// EventTable shows events.
func EventTable(events []corev1.Event, now time.Time) *Table {
	t := &Table{Columns: []string{"Age", "Type", "Reason", "Object", "Message", "+Count"}}
	for _, e := range events {
		count := max(e.Count, 1)
		if e.Series != nil {
			count = e.Series.Count
		}
		t.Add(Age(now, EventTime(e)), e.Type, e.Reason, strings.ToLower(e.InvolvedObject.Kind)+"/"+e.InvolvedObject.Name, e.Message, fmt.Sprint(count))
	}
	return t
}

// BackupEntry is a backup that an EtcdBackup has made, or failed to make.
type BackupEntry struct {
	// Backup is the EtcdBackup, Cluster what it backs up, and Entry its name in status.history.
	Backup  string `json:"backup"`
	Cluster string `json:"cluster,omitempty"`
	v1beta2.BackupRecord
}

// BackupEntries are those of EtcdBackups, the newest first. Source tells the cluster of one.
func BackupEntries(backups []v1beta2.EtcdBackup, source func(*v1beta2.EtcdBackup) string) []BackupEntry {
	entries := []BackupEntry{}
	for i := range backups {
		for _, r := range backups[i].Status.History {
			entries = append(entries, BackupEntry{Backup: backups[i].Name, Cluster: source(&backups[i]), BackupRecord: r})
		}
	}
	slices.SortStableFunc(entries, func(x, y BackupEntry) int { return ended(y).Compare(ended(x)) })
	return entries
}

func ended(e BackupEntry) time.Time {
	if e.CompletionTime == nil {
		return time.Time{}
	}
	return e.CompletionTime.Time
}

// BackupTable shows backups.
func BackupTable(entries []BackupEntry, now time.Time) *Table {
	t := &Table{Columns: []string{"Backup", "Entry", "Cluster", "Age", "Result", "Revisions", "Size", "Verified", "+Location", "+Message"}}
	for _, e := range entries {
		result := "stored"
		switch {
		case !e.Succeeded:
			result = cmp.Or(e.Reason, "failed")
		case e.Quorum != nil && !*e.Quorum:
			result = "stored, without a quorum"
		case e.Unhealthy != "":
			result = "stored, of an unhealthy member"
		}
		row := []string{e.Backup, e.Name, e.Cluster, Age(now, ended(e)), result, "", "", "", e.Location, e.Message}
		if e.Succeeded {
			row[5], row[6] = fmt.Sprint(e.Revision), Bytes(e.Size)
			if e.OldestRevision > 0 {
				row[5] = fmt.Sprintf("%d to %d", e.OldestRevision, e.Revision)
			}
		}
		if v := e.Verification; v != nil {
			row[7] = cmp.Or(v.Reason, "yes")
		}
		t.Add(row...)
	}
	return t
}
