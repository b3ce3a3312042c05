package metrics

import (
	"runtime"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/operatortest"
	"github.com/etcd-operators/etcd-operators/shared/version"
)

func TestMetrics(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m := New(registry)
	at := func(seconds int64) *metav1.Time { return &metav1.Time{Time: time.Unix(1000+seconds, 0)} }
	key := func(name string) types.NamespacedName { return types.NamespacedName{Namespace: "ns", Name: name} }
	for _, name := range []string{"good", "bad", "busy", "gone"} {
		m.Started(key(name))
	}
	good := &v1beta2.RestoreStatus{
		Phase: v1beta2.RestoreComplete, Succeeded: true, StartTime: at(0), HandOffTime: at(6), CompletionTime: at(9),
		Snapshot: &v1beta2.RestoreSnapshot{Size: 2048},
	}
	bad := &v1beta2.RestoreStatus{
		Phase: v1beta2.RestoreFailed, StartTime: at(0), CompletionTime: at(1),
		Failure: &v1beta2.RestoreFailure{Reason: "CorruptSnapshot", Message: "its digest is wrong"},
	}
	busy := &v1beta2.RestoreStatus{
		Phase: v1beta2.RestoreVerifying, StartTime: at(0), WaitingFor: []string{"EtcdRestore other"},
		Conditions: []metav1.Condition{{Type: v1beta2.ConditionComplete, Status: metav1.ConditionFalse, Reason: "AnotherRestore"}},
	}
	m.Changed(key("good"), busy, good)
	m.Changed(key("good"), good, good)
	m.Changed(key("bad"), busy, bad)
	m.Changed(key("bad"), bad, bad)
	m.Observe(key("good"), good, nil, time.Millisecond)
	m.Observe(key("bad"), bad, nil, time.Millisecond)
	m.Observe(key("busy"), busy, &task.Progress{Fetched: 512, Total: 1024}, time.Millisecond)
	m.Forget(key("gone"))

	const want = `
# HELP etcd_restore_attempts_total Verifications of the snapshot that were started, each by a Job or a seed.
# TYPE etcd_restore_attempts_total counter
etcd_restore_attempts_total{name="bad",namespace="ns"} 1
etcd_restore_attempts_total{name="busy",namespace="ns"} 1
etcd_restore_attempts_total{name="good",namespace="ns"} 1
# HELP etcd_restore_condition 1 for each condition of the EtcdRestore, with its status (True or False) and reason.
# TYPE etcd_restore_condition gauge
etcd_restore_condition{condition="Complete",name="busy",namespace="ns",reason="AnotherRestore",status="False"} 1
# HELP etcd_restore_duration_seconds Seconds from the start of the restore until the cluster had its full size.
# TYPE etcd_restore_duration_seconds gauge
etcd_restore_duration_seconds{name="good",namespace="ns"} 9
# HELP etcd_restore_failures_total 1 for the reason for which the EtcdRestore failed.
# TYPE etcd_restore_failures_total counter
etcd_restore_failures_total{name="bad",namespace="ns",reason="CorruptSnapshot"} 1
# HELP etcd_restore_fetched_bytes Bytes of the snapshot that the running agent has fetched.
# TYPE etcd_restore_fetched_bytes gauge
etcd_restore_fetched_bytes{name="busy",namespace="ns"} 512
# HELP etcd_restore_hand_off_seconds Seconds from the start of the restore until the cluster served the restored data.
# TYPE etcd_restore_hand_off_seconds gauge
etcd_restore_hand_off_seconds{name="good",namespace="ns"} 6
# HELP etcd_restore_restores EtcdRestores, by phase.
# TYPE etcd_restore_restores gauge
etcd_restore_restores{phase="Complete"} 1
etcd_restore_restores{phase="Failed"} 1
etcd_restore_restores{phase="Fencing"} 0
etcd_restore_restores{phase="HandedOff"} 0
etcd_restore_restores{phase="Pending"} 0
etcd_restore_restores{phase="RollingBack"} 0
etcd_restore_restores{phase="Seeding"} 0
etcd_restore_restores{phase="Verified"} 0
etcd_restore_restores{phase="Verifying"} 1
# HELP etcd_restore_size_bytes Size of the snapshot, as it is stored.
# TYPE etcd_restore_size_bytes gauge
etcd_restore_size_bytes{name="good",namespace="ns"} 2048
# HELP etcd_restore_successes_total 1 once the restored cluster was handed over and serves, and 0 before.
# TYPE etcd_restore_successes_total counter
etcd_restore_successes_total{name="bad",namespace="ns"} 0
etcd_restore_successes_total{name="busy",namespace="ns"} 0
etcd_restore_successes_total{name="good",namespace="ns"} 1
# HELP etcd_restore_waiting Whether status.waitingFor of the EtcdRestore names something: 1 or 0.
# TYPE etcd_restore_waiting gauge
etcd_restore_waiting{name="bad",namespace="ns"} 0
etcd_restore_waiting{name="busy",namespace="ns"} 1
etcd_restore_waiting{name="good",namespace="ns"} 0
`
	names := []string{
		"etcd_restore_attempts_total", "etcd_restore_duration_seconds", "etcd_restore_failures_total", "etcd_restore_fetched_bytes",
		"etcd_restore_hand_off_seconds", "etcd_restore_restores", "etcd_restore_size_bytes", "etcd_restore_successes_total",
		"etcd_restore_condition", "etcd_restore_waiting",
	}
	operatortest.WantMetrics(t, registry, want, names...)
}

// It tells which release the other metrics come from.
func TestBuildInfo(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	New(registry)
	if value, ok := operatortest.Metric(t, registry, "etcd_restore_build_info", runtime.Version(), version.Number()); !ok || value != 1 {
		t.Errorf("it is %v, %v", value, ok)
	}
}
