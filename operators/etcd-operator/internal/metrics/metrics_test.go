package metrics_test

import (
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/metrics"
	"github.com/etcd-operators/etcd-operators/shared/operatortest"
	"github.com/etcd-operators/etcd-operators/shared/version"
)

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "ns", Name: name}
}

func status(phase v1beta2.ClusterPhase, ready, unready int, available, degraded bool) *v1beta2.ClusterStatus {
	condition := func(kind string, is bool) metav1.Condition {
		c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse}
		if is {
			c.Status = metav1.ConditionTrue
		}
		return c
	}
	return &v1beta2.ClusterStatus{
		Phase:   phase,
		Members: v1beta2.MembersStatus{Ready: make([]string, ready), Unready: make([]string, unready)},
		Conditions: []metav1.Condition{
			condition(v1beta2.ConditionAvailable, available), condition(v1beta2.ConditionDegraded, degraded),
		},
	}
}

func newMetrics() (*metrics.Metrics, *prometheus.Registry) {
	reg := prometheus.NewPedanticRegistry()
	return metrics.New(reg), reg
}

func want(t *testing.T, reg prometheus.Gatherer, text string, names ...string) {
	t.Helper()
	operatortest.WantMetrics(t, reg, text, names...)
}

const clustersHelp = `
# HELP etcd_operator_clusters Number of EtcdClusters, by phase.
# TYPE etcd_operator_clusters gauge
`

const membersHelp = `
# HELP etcd_operator_members Number of members of all EtcdClusters, by state (ready: serving; unready).
# TYPE etcd_operator_members gauge
`

// Series that will be there are there from the beginning, so that an alert on their
// absence or rate holds.
func TestWithoutAnyCluster(t *testing.T) {
	_, reg := newMetrics()
	want(t, reg, clustersHelp+`etcd_operator_clusters{phase="Creating"} 0
etcd_operator_clusters{phase="Failed"} 0
etcd_operator_clusters{phase="Running"} 0
`+membersHelp+`etcd_operator_members{state="ready"} 0
etcd_operator_members{state="unready"} 0
`, "etcd_operator_clusters", "etcd_operator_members", "etcd_operator_cluster_unhealthy_seconds")
}

func TestClustersAndMembersAreCounted(t *testing.T) {
	m, reg := newMetrics()
	m.Observe(key("a"), status(v1beta2.PhaseCreating, 0, 3, false, false), false, time.Second)
	m.Observe(key("a"), status(v1beta2.PhaseRunning, 3, 0, true, false), false, time.Second) // counts once, as it now is
	m.Observe(key("b"), status(v1beta2.PhaseRunning, 2, 1, true, true), false, time.Second)
	m.Observe(key("c"), status(v1beta2.PhaseFailed, 0, 1, false, true), false, time.Second)
	want(t, reg, clustersHelp+`etcd_operator_clusters{phase="Creating"} 0
etcd_operator_clusters{phase="Failed"} 1
etcd_operator_clusters{phase="Running"} 2
`+membersHelp+`etcd_operator_members{state="ready"} 5
etcd_operator_members{state="unready"} 2
`, "etcd_operator_clusters", "etcd_operator_members")
	if got := testutil.CollectAndCount(m, "etcd_operator_cluster_unhealthy_seconds"); got != 3 {
		t.Errorf("%d clusters tell since when they are unhealthy, want 3", got)
	}

	m.Forget(key("b"))
	m.Forget(key("c"))
	m.Forget(key("c"))
	want(t, reg, clustersHelp+`etcd_operator_clusters{phase="Creating"} 0
etcd_operator_clusters{phase="Failed"} 0
etcd_operator_clusters{phase="Running"} 1
`+membersHelp+`etcd_operator_members{state="ready"} 3
etcd_operator_members{state="unready"} 0
`+`
# HELP etcd_operator_cluster_unhealthy_seconds Seconds since the EtcdCluster was last available with all its members healthy; 0 while it is, absent while it is being deleted.
# TYPE etcd_operator_cluster_unhealthy_seconds gauge
etcd_operator_cluster_unhealthy_seconds{name="a",namespace="ns"} 0
`, "etcd_operator_clusters", "etcd_operator_members", "etcd_operator_cluster_unhealthy_seconds")
}

// A cluster that is being deleted, and waits for a finalizer, is no cluster that a person must
// make healthy. Another one of its name is.
func TestDeletedClustersAreNotUnhealthy(t *testing.T) {
	m, _ := newMetrics()
	for _, deleting := range []bool{false, true, false} {
		m.Observe(key("a"), status(v1beta2.PhaseRunning, 0, 3, false, true), deleting, 0)
		if got := testutil.CollectAndCount(m, "etcd_operator_cluster_unhealthy_seconds"); (got == 0) != deleting {
			t.Errorf("%d clusters tell since when they are unhealthy; deleting: %t", got, deleting)
		}
	}
}

// How long certificates still last is told of clusters that have any.
func TestCertificateExpiry(t *testing.T) {
	m, reg := newMetrics()
	plain, secure := status(v1beta2.PhaseRunning, 3, 0, true, false), status(v1beta2.PhaseRunning, 3, 0, true, false)
	begin, end := metav1.NewTime(time.Now().Add(-2*time.Hour)), metav1.NewTime(time.Now().Add(time.Hour))
	secure.TLS = &v1beta2.TLSStatus{Certificate: &v1beta2.Validity{NotBefore: begin, NotAfter: end}}
	m.Observe(key("a"), plain, false, 0)
	m.Observe(key("b"), secure, false, 0)
	told := func(metric string) map[string]float64 {
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]float64{}
		for _, f := range families {
			if f.GetName() != metric {
				continue
			}
			for _, x := range f.GetMetric() {
				all[x.GetLabel()[1].GetValue()+" "+x.GetLabel()[0].GetValue()] = x.GetGauge().GetValue()
			}
		}
		return all
	}
	const expiry, lifetime = "etcd_operator_certificate_expiry_seconds", "etcd_operator_certificate_lifetime_seconds"
	if got := told(lifetime); len(got) != 1 || math.Abs(got["b leaf"]-3*3600) > 1 {
		t.Errorf("they are valid for %v seconds in all, want three hours for b alone", got)
	}
	if got := told(expiry); len(got) != 1 || got["b leaf"] > 3600 || got["b leaf"] < 3500 {
		t.Errorf("they last for %v seconds, want an hour for b alone", got)
	}
	secure.TLS.Certificate = nil
	m.Observe(key("b"), secure, false, 0)
	if got := told(expiry); len(got) > 0 {
		t.Errorf("nothing is known of them, and they last for %v seconds", got)
	}
}

// The time runs from when it was last healthy, or first seen, and not anew with every
// look at it.
func TestUnhealthySeconds(t *testing.T) {
	seconds := func(reg *prometheus.Registry) float64 {
		t.Helper()
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == "etcd_operator_cluster_unhealthy_seconds" {
				return f.GetMetric()[0].GetGauge().GetValue()
			}
		}
		t.Fatal("there is no etcd_operator_cluster_unhealthy_seconds")
		return 0
	}
	for name, bad := range map[string]*v1beta2.ClusterStatus{
		"not available":           status(v1beta2.PhaseRunning, 1, 2, false, true),
		"degraded":                status(v1beta2.PhaseRunning, 2, 1, true, true),
		"not available, it seems": status(v1beta2.PhaseCreating, 0, 3, false, false),
		"says nothing":            {},
	} {
		m, reg := newMetrics()
		m.Observe(key("a"), bad, false, 0)
		time.Sleep(20 * time.Millisecond)
		m.Observe(key("a"), bad, false, 0)
		if got := seconds(reg); got < 0.02 {
			t.Errorf("%s: unhealthy for %g s, want at least 0.02", name, got)
		}
		m.Observe(key("a"), status(v1beta2.PhaseRunning, 3, 0, true, false), false, 0)
		if got := seconds(reg); got != 0 {
			t.Errorf("%s, and then healthy: unhealthy for %g s, want 0", name, got)
		}
	}
}

func TestActionsAndDurations(t *testing.T) {
	m, reg := newMetrics()
	m.Acted("AddLearner", "ok")
	m.Acted("AddLearner", "ok")
	m.Acted("AddLearner", "refused")
	m.Observe(key("a"), &v1beta2.ClusterStatus{}, false, 3*time.Millisecond)
	want(t, reg, `
# HELP etcd_operator_actions_total Actions, by kind and result (ok; stale: not carried out, because the cluster had changed; refused: etcd asked to wait; error).
# TYPE etcd_operator_actions_total counter
etcd_operator_actions_total{action="AddLearner",result="ok"} 2
etcd_operator_actions_total{action="AddLearner",result="refused"} 1
`, "etcd_operator_actions_total")
	if got, err := testutil.GatherAndCount(reg, "etcd_operator_reconcile_duration_seconds"); err != nil || got != 1 {
		t.Errorf("%d histograms of durations, %v, want 1", got, err)
	}
}

// The rest of what Prometheus asks for is in [operatortest.WantMetrics].
func TestNamesBeginWithTheOperators(t *testing.T) {
	m, reg := newMetrics()
	m.Acted("AddLearner", "ok")
	m.Observe(key("a"), status(v1beta2.PhaseRunning, 3, 0, true, false), false, time.Second)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "etcd_operator_") {
			t.Errorf("%s does not begin with etcd_operator_", f.GetName())
		}
	}
}

// Each condition has one series, which goes when it or its cluster goes, and when nobody expects
// the cluster to be healthy any more.
func TestConditions(t *testing.T) {
	m, reg := newMetrics()
	const help = `
# HELP etcd_operator_cluster_condition 1 for each condition of the EtcdCluster, with its status (True, False, Unknown) and reason; absent while it is being deleted.
# TYPE etcd_operator_cluster_condition gauge
`
	lost := &v1beta2.ClusterStatus{Conditions: []metav1.Condition{
		{Type: v1beta2.ConditionAvailable, Status: metav1.ConditionFalse, Reason: "QuorumLost"},
		{Type: v1beta2.ConditionPaused, Status: metav1.ConditionFalse, Reason: "NotPaused"},
	}}
	m.Observe(key("a"), lost, false, 0)
	want(t, reg, help+`etcd_operator_cluster_condition{condition="Available",name="a",namespace="ns",reason="QuorumLost",status="False"} 1
etcd_operator_cluster_condition{condition="Paused",name="a",namespace="ns",reason="NotPaused",status="False"} 1
`, "etcd_operator_cluster_condition")
	lost.Conditions = []metav1.Condition{{Type: v1beta2.ConditionAvailable, Status: metav1.ConditionTrue, Reason: "Serving"}}
	m.Observe(key("a"), lost, false, 0)
	want(t, reg, help+`etcd_operator_cluster_condition{condition="Available",name="a",namespace="ns",reason="Serving",status="True"} 1
`, "etcd_operator_cluster_condition")
	m.Observe(key("a"), lost, true, 0)
	want(t, reg, "", "etcd_operator_cluster_condition")
	m.Observe(key("a"), lost, false, 0)
	m.Forget(key("a"))
	want(t, reg, "", "etcd_operator_cluster_condition")
}

// What members say of their databases is there while they are observed, and no longer.
func TestDatabases(t *testing.T) {
	m, reg := newMetrics()
	names := []string{"etcd_operator_member_database_bytes", "etcd_operator_member_database_in_use_bytes", "etcd_operator_member_database_quota_bytes", "etcd_operator_member_alarm"}
	m.Observe(key("a"), status(v1beta2.PhaseRunning, 2, 0, true, false), false, time.Second)
	m.Members(key("a"), []metrics.Member{
		{Name: "a-1", Size: 300, InUse: 200, Quota: 1000, Alarms: []string{"NOSPACE"}},
		{Name: "a-2", Size: 400, InUse: 400},
	})
	want(t, reg, `
# HELP etcd_operator_member_alarm 1 for each etcd alarm of a member, by kind (NOSPACE, CORRUPT).
# TYPE etcd_operator_member_alarm gauge
etcd_operator_member_alarm{kind="NOSPACE",member="a-1",name="a",namespace="ns"} 1
# HELP etcd_operator_member_database_bytes Size of a member's database file, in bytes.
# TYPE etcd_operator_member_database_bytes gauge
etcd_operator_member_database_bytes{member="a-1",name="a",namespace="ns"} 300
etcd_operator_member_database_bytes{member="a-2",name="a",namespace="ns"} 400
# HELP etcd_operator_member_database_in_use_bytes Bytes of a member's database that are in use; defragmentation frees the rest.
# TYPE etcd_operator_member_database_in_use_bytes gauge
etcd_operator_member_database_in_use_bytes{member="a-1",name="a",namespace="ns"} 200
etcd_operator_member_database_in_use_bytes{member="a-2",name="a",namespace="ns"} 400
# HELP etcd_operator_member_database_quota_bytes Quota of a member's database, in bytes; absent where it is unknown or unlimited.
# TYPE etcd_operator_member_database_quota_bytes gauge
etcd_operator_member_database_quota_bytes{member="a-1",name="a",namespace="ns"} 1000
`, names...)
	m.Members(key("a"), nil)
	want(t, reg, "", names...)
}

// A cluster that is gone has no series of its stale passes either.
func TestStalePassesAreCounted(t *testing.T) {
	m, reg := newMetrics()
	m.Stale(key("a"))
	m.Stale(key("a"))
	m.Stale(key("b"))
	m.Forget(key("b"))
	want(t, reg, `# HELP etcd_operator_stale_passes_total Reconciles that did nothing because the operator's caches and the API server have disagreed for more than a few seconds; the condition Progressing says about what.
# TYPE etcd_operator_stale_passes_total counter
etcd_operator_stale_passes_total{name="a",namespace="`+key("a").Namespace+`"} 2
`, "etcd_operator_stale_passes_total")
}

// It tells which release the other metrics come from.
func TestBuildInfo(t *testing.T) {
	_, registry := newMetrics()
	if value, ok := operatortest.Metric(t, registry, "etcd_operator_build_info", runtime.Version(), version.Number()); !ok || value != 1 {
		t.Errorf("it is %v, %v", value, ok)
	}
}

// When data is to be compared next is told while it is to be.
func TestComparisonDue(t *testing.T) {
	m, reg := newMetrics()
	for _, name := range []string{"due", "never", "deleted"} {
		m.Observe(key(name), status(v1beta2.PhaseRunning, 3, 0, true, false), name == "deleted", 0)
		m.ComparisonDue(key(name), time.Unix(4600, 0))
	}
	m.ComparisonDue(key("never"), time.Time{})
	operatortest.WantMetrics(t, reg, `
# HELP etcd_operator_consistency_check_due_timestamp_seconds Unix time from which on the next comparison of the members' data is due; absent if none is to be made.
# TYPE etcd_operator_consistency_check_due_timestamp_seconds gauge
etcd_operator_consistency_check_due_timestamp_seconds{name="due",namespace="ns"} 4600
`, "etcd_operator_consistency_check_due_timestamp_seconds")
}
