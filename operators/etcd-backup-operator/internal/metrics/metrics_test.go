package metrics

import (
	"runtime"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/operatortest"
	"github.com/etcd-operators/etcd-operators/shared/version"
)

func TestMetrics(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m := New(registry)
	done := time.Unix(1000, 0)
	m.now = func() time.Time { return done.Add(90 * time.Second) }
	good, bad, gone := types.NamespacedName{Namespace: "ns", Name: "good"}, types.NamespacedName{Namespace: "ns", Name: "bad"}, types.NamespacedName{Namespace: "ns", Name: "gone"}
	for _, key := range []types.NamespacedName{good, bad, gone} {
		m.Started(key)
	}
	m.Ended(good, &v1beta2.BackupRecord{Succeeded: true})
	m.Observe(good, &v1beta2.BackupStatus{
		Conditions: []metav1.Condition{{Type: v1beta2.ConditionQuorum, Status: metav1.ConditionTrue, Reason: "SourceHealthy"}},
		Phase:      v1beta2.BackupScheduled, LastSuccessDate: &metav1.Time{Time: done},
		Snapshot:     &v1beta2.BackupSnapshot{Size: 2048, Duration: &metav1.Duration{Duration: 1500 * time.Millisecond}},
		LastCopyTime: &metav1.Time{Time: done.Add(5 * time.Second)},
		Archive:      &v1beta2.ArchiveStatus{Gaps: 2, Gap: &v1beta2.ArchiveGap{Time: &metav1.Time{Time: done.Add(-time.Minute)}}, Revision: 77, RecoveryTime: &metav1.Time{Time: done.Add(80 * time.Second)}},
	}, time.Millisecond)
	m.Ended(bad, &v1beta2.BackupRecord{Reason: "NoSpace"})
	m.Ended(bad, &v1beta2.BackupRecord{Reason: "NoSpace"})
	m.Ended(bad, &v1beta2.BackupRecord{Reason: "AccessDenied"})
	m.Observe(bad, &v1beta2.BackupStatus{Phase: v1beta2.BackupFailed, Conditions: []metav1.Condition{{Type: v1beta2.ConditionQuorum, Status: metav1.ConditionFalse, Reason: "BackupWithoutQuorum"}}}, time.Millisecond)
	m.VerificationDue(good, done.Add(time.Hour))
	m.VerificationDue(bad, time.Time{})
	m.Copied(good, true)
	m.Copied(good, true)
	m.Copied(bad, false)
	m.Forget(gone)

	const want = `
# HELP etcd_backup_age_seconds Seconds since the newest good backup of the EtcdBackup was finished.
# TYPE etcd_backup_age_seconds gauge
etcd_backup_age_seconds{name="good",namespace="ns"} 90
# HELP etcd_backup_archive_gaps_total Gaps of the EtcdBackup's archive, as its status counts them.
# TYPE etcd_backup_archive_gaps_total counter
etcd_backup_archive_gaps_total{name="good",namespace="ns"} 2
# HELP etcd_backup_archive_lag_seconds Seconds since the recovery point of the EtcdBackup's archive: what was written later might not be stored.
# TYPE etcd_backup_archive_lag_seconds gauge
etcd_backup_archive_lag_seconds{name="good",namespace="ns"} 10
# HELP etcd_backup_archive_last_gap_timestamp_seconds When the archiver noticed the last gap of the EtcdBackup's archive, in seconds since 1970.
# TYPE etcd_backup_archive_last_gap_timestamp_seconds gauge
etcd_backup_archive_last_gap_timestamp_seconds{name="good",namespace="ns"} 940
# HELP etcd_backup_archive_last_revision The newest revision up to which the EtcdBackup's archive is stored.
# TYPE etcd_backup_archive_last_revision gauge
etcd_backup_archive_last_revision{name="good",namespace="ns"} 77
# HELP etcd_backup_attempts_total Jobs that were started for the EtcdBackup.
# TYPE etcd_backup_attempts_total counter
etcd_backup_attempts_total{name="bad",namespace="ns"} 1
etcd_backup_attempts_total{name="good",namespace="ns"} 1
# HELP etcd_backup_backups EtcdBackups, by phase.
# TYPE etcd_backup_backups gauge
etcd_backup_backups{phase="Failed"} 1
etcd_backup_backups{phase="Pending"} 0
etcd_backup_backups{phase="Running"} 0
etcd_backup_backups{phase="Scheduled"} 1
etcd_backup_backups{phase="Succeeded"} 0
etcd_backup_backups{phase="Suspended"} 0
# HELP etcd_backup_condition 1 for each condition of the EtcdBackup, with its status (True, False, Unknown) and reason.
# TYPE etcd_backup_condition gauge
etcd_backup_condition{condition="Quorum",name="bad",namespace="ns",reason="BackupWithoutQuorum",status="False"} 1
etcd_backup_condition{condition="Quorum",name="good",namespace="ns",reason="SourceHealthy",status="True"} 1
# HELP etcd_backup_copies_total Copies of backups of the EtcdBackup to spec.copyTo that ended, by result: copied or failed.
# TYPE etcd_backup_copies_total counter
etcd_backup_copies_total{name="bad",namespace="ns",result="failed"} 1
etcd_backup_copies_total{name="good",namespace="ns",result="copied"} 2
# HELP etcd_backup_duration_seconds How long the newest good backup of the EtcdBackup took.
# TYPE etcd_backup_duration_seconds gauge
etcd_backup_duration_seconds{name="good",namespace="ns"} 1.5
# HELP etcd_backup_failures_total Backups of the EtcdBackup that failed, by reason.
# TYPE etcd_backup_failures_total counter
etcd_backup_failures_total{name="bad",namespace="ns",reason="AccessDenied"} 1
etcd_backup_failures_total{name="bad",namespace="ns",reason="NoSpace"} 2
# HELP etcd_backup_last_copied_timestamp_seconds When a backup of the EtcdBackup was last copied to spec.copyTo, in seconds since 1970.
# TYPE etcd_backup_last_copied_timestamp_seconds gauge
etcd_backup_last_copied_timestamp_seconds{name="good",namespace="ns"} 1005
# HELP etcd_backup_last_success_timestamp_seconds When the newest good backup of the EtcdBackup was finished, in seconds since 1970.
# TYPE etcd_backup_last_success_timestamp_seconds gauge
etcd_backup_last_success_timestamp_seconds{name="good",namespace="ns"} 1000
# HELP etcd_backup_quorum Whether the last backup of the EtcdBackup that was stored is of a healthy member with a quorum: 1 or 0.
# TYPE etcd_backup_quorum gauge
etcd_backup_quorum{name="bad",namespace="ns"} 0
etcd_backup_quorum{name="good",namespace="ns"} 1
# HELP etcd_backup_size_bytes Size of the newest good backup of the EtcdBackup, as it is stored.
# TYPE etcd_backup_size_bytes gauge
etcd_backup_size_bytes{name="good",namespace="ns"} 2048
# HELP etcd_backup_successes_total Backups of the EtcdBackup that were stored.
# TYPE etcd_backup_successes_total counter
etcd_backup_successes_total{name="bad",namespace="ns"} 0
etcd_backup_successes_total{name="good",namespace="ns"} 1
# HELP etcd_backup_verification_due_timestamp_seconds From when on the next verification of the EtcdBackup is due, in seconds since 1970. Absent before the first, and if none is to be made.
# TYPE etcd_backup_verification_due_timestamp_seconds gauge
etcd_backup_verification_due_timestamp_seconds{name="good",namespace="ns"} 4600
`
	names := []string{
		"etcd_backup_age_seconds", "etcd_backup_archive_gaps_total", "etcd_backup_archive_lag_seconds", "etcd_backup_archive_last_gap_timestamp_seconds", "etcd_backup_archive_last_revision", "etcd_backup_attempts_total", "etcd_backup_backups", "etcd_backup_condition", "etcd_backup_copies_total", "etcd_backup_last_copied_timestamp_seconds", "etcd_backup_duration_seconds", "etcd_backup_failures_total",
		"etcd_backup_last_success_timestamp_seconds", "etcd_backup_quorum", "etcd_backup_size_bytes", "etcd_backup_successes_total", "etcd_backup_verification_due_timestamp_seconds",
	}
	operatortest.WantMetrics(t, registry, want, names...)
}

// It tells which release the other metrics come from.
func TestBuildInfo(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	New(registry)
	if value, ok := operatortest.Metric(t, registry, "etcd_backup_build_info", runtime.Version(), version.Number()); !ok || value != 1 {
		t.Errorf("it is %v, %v", value, ok)
	}
}
