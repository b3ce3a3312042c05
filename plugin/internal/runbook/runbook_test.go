package runbook

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func condition(kind string, status metav1.ConditionStatus, reason, message string, ago time.Duration) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(now.Add(-ago))}
}

func cluster(conditions ...metav1.Condition) *v1beta2.EtcdCluster {
	return &v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "example"},
		Status:     v1beta2.ClusterStatus{Phase: v1beta2.PhaseRunning, Conditions: conditions},
	}
}

func TestDiagnose(t *testing.T) {
	serving := condition("Available", metav1.ConditionTrue, "Serving", "", time.Hour)
	for name, row := range map[string]struct {
		reason string
		seen   Seen
		want   []string
	}{
		"healthy": {reason: "nothing is wrong", seen: Seen{Cluster: cluster(serving,
			condition("Degraded", metav1.ConditionFalse, "AllHealthy", "", 0), condition("Paused", metav1.ConditionFalse, "NotPaused", "", 0))}},
		"quorum lost, and not backed up": {
			reason: "each runbook is told, and the worse first",
			seen: Seen{Cluster: cluster(
				condition("Paused", metav1.ConditionTrue, "Paused", "paused", 0),
				condition("Available", metav1.ConditionFalse, "QuorumLost", "restore a backup", 0),
				condition("BackedUp", metav1.ConditionFalse, "NoGoodBackup", "none", 0))},
			want: []string{"quorum-lost", "backed-up", "paused"},
		},
		"an upgrade that has just begun": {reason: "it needs its time", seen: Seen{Cluster: cluster(serving, condition("Upgrading", metav1.ConditionTrue, "Upgrading", "1 of 3", time.Minute))}},
		"an upgrade for an hour":         {reason: "it does not advance", seen: Seen{Cluster: cluster(serving, condition("Upgrading", metav1.ConditionTrue, "Upgrading", "1 of 3", time.Hour))}, want: []string{"upgrade-stuck"}},
		"two conditions with one runbook": {reason: "it is told once", seen: Seen{Cluster: cluster(serving,
			condition("NameConflict", metav1.ConditionTrue, "NameConflict", "", 0), condition("OrphanedPods", metav1.ConditionTrue, "OrphanedPods", "", 0))}, want: []string{"name-conflict"}},
		"no operator": {reason: "nobody has written a status", seen: Seen{Cluster: &v1beta2.EtcdCluster{}}, want: []string{"operator-not-ready"}},
		"a backup that waits": {reason: "its cluster is not ready", seen: Seen{Cluster: cluster(serving), Backups: []v1beta2.EtcdBackup{{
			ObjectMeta: metav1.ObjectMeta{Name: "b", CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))},
			Status:     v1beta2.BackupStatus{Phase: v1beta2.BackupPending, Conditions: []metav1.Condition{condition("Complete", metav1.ConditionFalse, "ClusterNotReady", "no ready member", time.Hour)}},
		}}}, want: []string{"backup-waiting"}},
		"a backup and a restore that failed": {reason: "each object has its runbook", seen: Seen{Cluster: cluster(serving),
			Backups:  []v1beta2.EtcdBackup{{Status: v1beta2.BackupStatus{Phase: v1beta2.BackupFailed, Conditions: []metav1.Condition{condition("Failed", metav1.ConditionTrue, "JobFailed", "", 0), condition("Verified", metav1.ConditionFalse, "X", "", 0)}}}},
			Restores: []v1beta2.EtcdRestore{{Status: v1beta2.RestoreStatus{Phase: v1beta2.RestoreFailed, Conditions: []metav1.Condition{condition("Failed", metav1.ConditionTrue, "HashMismatch", "", 0)}}}},
		}, want: []string{"verification-failed", "backup-failed", "restore-failed"}},
		"an archive that records nothing": {reason: "changes are lost with the cluster", seen: Seen{Cluster: cluster(serving), Backups: []v1beta2.EtcdBackup{{
			Status: v1beta2.BackupStatus{Phase: v1beta2.BackupScheduled, Conditions: []metav1.Condition{condition("Archiving", metav1.ConditionFalse, "StoreUnreachable", "", time.Hour)}},
		}}}, want: []string{"archive"}},
		"an archive that has just begun": {reason: "its Pod starts", seen: Seen{Cluster: cluster(serving), Backups: []v1beta2.EtcdBackup{{
			Status: v1beta2.BackupStatus{Phase: v1beta2.BackupScheduled, Conditions: []metav1.Condition{condition("Archiving", metav1.ConditionFalse, "AgentRunning", "", time.Minute)}},
		}}}},
		"a restore that waits, and one that is done": {reason: "only the first is told", seen: Seen{Cluster: cluster(serving), Restores: []v1beta2.EtcdRestore{
			{Status: v1beta2.RestoreStatus{Phase: v1beta2.RestoreVerifying}}, {Status: v1beta2.RestoreStatus{Phase: v1beta2.RestoreComplete}},
		}}, want: []string{"restore-waiting"}},
		"an operator that is not ready": {reason: "its Pod says so", seen: Seen{Cluster: cluster(serving), Operators: []corev1.Pod{{}}}, want: []string{"operator-not-ready"}},
	} {
		row.seen.Now = now
		var got []string
		for _, f := range Diagnose(row.seen) {
			got = append(got, f.Runbook)
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, row.reason, diff)
		}
	}
}

// A condition that only refers to another is told in that one's words.
func TestReferredMessage(t *testing.T) {
	found := Diagnose(Seen{Now: now, Cluster: cluster(
		condition("Available", metav1.ConditionFalse, "NoSpace", "delete keys", 0),
		condition("Degraded", metav1.ConditionTrue, "PodRejected", "no quota; the condition Available says what to do", 0))})
	for _, f := range found {
		if f.Message != "delete keys" {
			t.Errorf("%s: %q", f.Runbook, f.Message)
		}
	}
}

// Each runbook is one that is there, and each that is there is told by some condition.
func TestEachRunbook(t *testing.T) {
	named := map[string]bool{
		"operator-not-ready": true, "backup-waiting": true, "restore-waiting": true,
		"wrong-keys-deleted": true, // no condition shows it: somebody has to say that keys are missing
	}
	for _, f := range allWrong().told() {
		named[f.Runbook] = true
	}
	for _, fits := range [][]fit{clusterFits, backupFits, restoreFits} {
		for _, f := range fits {
			named[f.runbook] = true
		}
	}
	pages, err := filepath.Glob("../../../docs/runbooks/*.md")
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d runbooks: %v", len(pages), err)
	}
	for _, page := range pages {
		name := strings.TrimSuffix(filepath.Base(page), ".md")
		if !named[name] && name != "_index" {
			t.Errorf("kubectl etcd diagnose never leads to %s", page)
		}
		delete(named, name)
	}
	for name := range named {
		t.Errorf("there is no runbook %s", name)
	}
}

// What the index says of a condition and its reasons is what diagnose says.
func TestIndexAgrees(t *testing.T) {
	index, err := os.ReadFile("../../../docs/runbooks/_index.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, fits := range [][]fit{clusterFits, backupFits} {
		for _, f := range fits {
			if !strings.Contains(string(index), f.runbook+".md") || !strings.Contains(string(index), f.condition) {
				t.Errorf("docs/runbooks/_index.md does not lead from %s to %s", f.condition, f.runbook)
			}
		}
	}
}
