package metrics

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/operatortest"
)

// The age is that of the moment at which it is asked for; a cluster that nobody backs up
// has no series.
func TestClusters(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m := newClusters(registry)
	done := time.Unix(1000, 0)
	now := done
	m.now = func() time.Time { return now }
	key := func(name string) types.NamespacedName { return types.NamespacedName{Namespace: "ns", Name: name} }
	is := func(s metav1.ConditionStatus, reason string) *metav1.Condition {
		return &metav1.Condition{Status: s, Reason: reason}
	}
	newest := &v1beta2.ClusterBackupRecord{CompletionTime: metav1.NewTime(done), Size: 2048}
	m.Observe(key("good"), &v1beta2.ClusterBackupStatus{Newest: newest, Failures: 2}, is(metav1.ConditionTrue, v1beta2.ReasonBackedUp), time.Hour)
	m.Observe(key("none"), nil, is(metav1.ConditionFalse, v1beta2.ReasonNoGoodBackup), 0)
	m.Observe(key("gone"), &v1beta2.ClusterBackupStatus{Newest: newest}, is(metav1.ConditionTrue, v1beta2.ReasonBackedUp), 0)
	m.Observe(key("left"), &v1beta2.ClusterBackupStatus{Newest: newest}, is(metav1.ConditionTrue, v1beta2.ReasonBackedUp), 0)
	m.Forget(key("gone"))
	m.Observe(key("left"), nil, nil, 0)
	now = done.Add(90 * time.Second)

	const want = `
# HELP etcd_backup_cluster_age_seconds Seconds since the newest good backup of the EtcdCluster was finished.
# TYPE etcd_backup_cluster_age_seconds gauge
etcd_backup_cluster_age_seconds{cluster="good",namespace="ns"} 90
# HELP etcd_backup_cluster_backed_up Whether the condition BackedUp of the EtcdCluster is True, and the reason of that condition.
# TYPE etcd_backup_cluster_backed_up gauge
etcd_backup_cluster_backed_up{cluster="good",namespace="ns",reason="BackedUp"} 1
etcd_backup_cluster_backed_up{cluster="none",namespace="ns",reason="NoGoodBackup"} 0
# HELP etcd_backup_cluster_failures_total Backups of the EtcdCluster that failed.
# TYPE etcd_backup_cluster_failures_total counter
etcd_backup_cluster_failures_total{cluster="good",namespace="ns"} 2
etcd_backup_cluster_failures_total{cluster="none",namespace="ns"} 0
# HELP etcd_backup_cluster_last_success_timestamp_seconds When the newest good backup of the EtcdCluster was finished, in seconds since 1970.
# TYPE etcd_backup_cluster_last_success_timestamp_seconds gauge
etcd_backup_cluster_last_success_timestamp_seconds{cluster="good",namespace="ns"} 1000
# HELP etcd_backup_cluster_max_age_seconds The spec.backup.maxAge of the EtcdCluster. Absent if it has none.
# TYPE etcd_backup_cluster_max_age_seconds gauge
etcd_backup_cluster_max_age_seconds{cluster="good",namespace="ns"} 3600
# HELP etcd_backup_cluster_size_bytes Size of the newest good backup of the EtcdCluster, as it is stored.
# TYPE etcd_backup_cluster_size_bytes gauge
etcd_backup_cluster_size_bytes{cluster="good",namespace="ns"} 2048
`
	operatortest.WantMetrics(t, registry, want)
}
