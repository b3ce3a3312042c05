// Package metrics tells machines what etcd-operator sees and does. All names begin
// with etcd_operator_; those that end in a cluster's name have one series for each
// EtcdCluster, which ends with it.
package metrics

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

// Metrics are the operator's own.
type Metrics struct {
	actions  *prometheus.CounterVec
	stale    *prometheus.CounterVec
	duration prometheus.Histogram
	clusters *prometheus.Desc
	members  *prometheus.Desc
	since    *prometheus.Desc
	size     *prometheus.Desc
	inUse    *prometheus.Desc
	quota    *prometheus.Desc
	alarms   *prometheus.Desc
	expiry   *prometheus.Desc
	lifetime *prometheus.Desc
	compared *prometheus.Desc
	due      *prometheus.Desc
	differs  *prometheus.Desc
	states   *prometheus.Desc

	*operator.Objects[state]
}

// state is what was last seen of one EtcdCluster.
type state struct {
	phase   v1beta2.ClusterPhase
	ready   int
	unready int
	// healthy is whether it was available and not degraded, lastHealthy when it
	// last was (or when it was first seen).
	healthy     bool
	lastHealthy time.Time
	// deleting is whether nobody expects it to be healthy any more.
	deleting bool
	// certificates are those that end first, by kind; nil if it has none, or none is known.
	certificates map[string]*v1beta2.Validity
	// compared is when the members' data was last compared, zero if never, and consistent
	// whether it was the same.
	compared time.Time
	// due is when it is due to be compared next, zero if never.
	due        time.Time
	consistent bool
	// conditions are those of its status.
	conditions []metav1.Condition
	// of are the members that answered last.
	of []Member
}

// Member is what is told of one member.
type Member struct {
	Name string
	// Size is what its database takes on its disk, InUse what of that is in use, Quota what
	// it may grow to; in bytes. Quota is 0 if it is not known, or if there is none.
	Size, InUse, Quota int64
	// Alarms are the kinds of alarms that are about it.
	Alarms []string
}

// New makes the metrics and registers them.
func New(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		actions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "etcd_operator_actions_total",
			Help: "Actions, by kind and result (ok; stale: not carried out, because the cluster had changed; refused: etcd asked to wait; error).",
		}, []string{"action", "result"}),
		stale: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "etcd_operator_stale_passes_total",
			Help: "Reconciles that did nothing because the operator's caches and the API server have disagreed for more than a few seconds; the condition Progressing says about what.",
		}, []string{"namespace", "name"}),
		duration: operator.ReconcileDuration("etcd_operator_reconcile_duration_seconds", "Duration of a reconcile of an EtcdCluster, in seconds."),
		clusters: prometheus.NewDesc("etcd_operator_clusters", "Number of EtcdClusters, by phase.", []string{"phase"}, nil),
		members:  prometheus.NewDesc("etcd_operator_members", "Number of members of all EtcdClusters, by state (ready: serving; unready).", []string{"state"}, nil),
		since: operator.OfObject("etcd_operator_cluster_unhealthy_seconds",
			"Seconds since the EtcdCluster was last available with all its members healthy; 0 while it is, absent while it is being deleted."),
		size:   operator.OfObject("etcd_operator_member_database_bytes", "Size of a member's database file, in bytes.", "member"),
		inUse:  operator.OfObject("etcd_operator_member_database_in_use_bytes", "Bytes of a member's database that are in use; defragmentation frees the rest.", "member"),
		quota:  operator.OfObject("etcd_operator_member_database_quota_bytes", "Quota of a member's database, in bytes; absent where it is unknown or unlimited.", "member"),
		alarms: operator.OfObject("etcd_operator_member_alarm", "1 for each etcd alarm of a member, by kind (NOSPACE, CORRUPT).", "member", "kind"),
		expiry: operator.OfObject("etcd_operator_certificate_expiry_seconds",
			"Seconds until the first certificate of the EtcdCluster expires (kind leaf), and the first CA that has signed one (kind ca); negative after that. Absent without TLS.", "kind"),
		lifetime: operator.OfObject("etcd_operator_certificate_lifetime_seconds",
			"Total validity, in seconds, of the certificate that etcd_operator_certificate_expiry_seconds refers to. Absent without TLS.", "kind"),
		compared: operator.OfObject("etcd_operator_consistency_check_timestamp_seconds",
			"Unix time of the last comparison of the members' data; absent before the first."),
		due: operator.OfObject("etcd_operator_consistency_check_due_timestamp_seconds",
			"Unix time from which on the next comparison of the members' data is due; absent if none is to be made."),
		differs: operator.OfObject("etcd_operator_data_inconsistent",
			"1 if the last comparison of the members' data found a difference, else 0; absent before the first."),
		states: operator.OfObject("etcd_operator_cluster_condition",
			"1 for each condition of the EtcdCluster, with its status (True, False, Unknown) and reason; absent while it is being deleted.",
			"condition", "status", "reason"),
		Objects: operator.NewObjects(func() *state { return &state{lastHealthy: time.Now()} }),
	}
	reg.MustRegister(m.actions, m.stale, m.duration, m,
		operator.BuildInfo("etcd_operator_build_info", "Always 1; its labels are the version of etcd-operator, and that of Go."))
	return m
}

// Acted counts one action.
func (m *Metrics) Acted(action, result string) { m.actions.WithLabelValues(action, result).Inc() }

// Stale counts one reconcile that did nothing because the observation stays stale.
func (m *Metrics) Stale(key types.NamespacedName) {
	m.stale.WithLabelValues(key.Namespace, key.Name).Inc()
}

// Observe notes the status of a cluster, whether it is being deleted, and how long its reconcile
// took.
func (m *Metrics) Observe(key types.NamespacedName, s *v1beta2.ClusterStatus, deleting bool, took time.Duration) {
	m.duration.Observe(took.Seconds())
	m.Note(key, func(st *state) {
		st.phase, st.ready, st.unready = s.Phase, len(s.Members.Ready), len(s.Members.Unready)
		st.healthy = meta.IsStatusConditionTrue(s.Conditions, v1beta2.ConditionAvailable) &&
			!meta.IsStatusConditionTrue(s.Conditions, v1beta2.ConditionDegraded)
		if st.healthy {
			st.lastHealthy = time.Now()
		}
		st.deleting, st.conditions = deleting, slices.Clone(s.Conditions)
		st.compared = time.Time{}
		if s.Consistency != nil {
			st.compared, st.consistent = s.Consistency.LastCheckTime.Time, s.Consistency.Result == v1beta2.ResultConsistent
		}
		st.certificates = nil
		if s.TLS != nil {
			st.certificates = map[string]*v1beta2.Validity{"leaf": s.TLS.Certificate.DeepCopy(), "ca": s.TLS.CA.DeepCopy()}
		}
	})
}

// ComparisonDue notes from when on the members' data is due to be compared; zero: never.
func (m *Metrics) ComparisonDue(key types.NamespacedName, due time.Time) {
	m.Note(key, func(st *state) { st.due = due })
}

// Members notes what the members of a cluster have said that was just observed.
func (m *Metrics) Members(key types.NamespacedName, members []Member) {
	m.Note(key, func(st *state) { st.of = members })
}

// Forget drops a cluster that is gone.
func (m *Metrics) Forget(key types.NamespacedName) {
	m.Objects.Forget(key)
	m.stale.DeleteLabelValues(key.Namespace, key.Name)
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- m.clusters
	ch <- m.members
	ch <- m.since
	ch <- m.size
	ch <- m.inUse
	ch <- m.quota
	ch <- m.alarms
	ch <- m.expiry
	ch <- m.lifetime
	ch <- m.compared
	ch <- m.due
	ch <- m.differs
	ch <- m.states
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	phases := map[v1beta2.ClusterPhase]int{}
	ready, unready := 0, 0
	m.Each(func(key types.NamespacedName, s *state) {
		phases[s.phase]++
		ready += s.ready
		unready += s.unready
		m.collect(operator.SeriesOf(ch, key), s)
	})
	operator.ByPhase(ch, m.clusters, phases, v1beta2.PhaseCreating, v1beta2.PhaseRunning, v1beta2.PhaseFailed)
	ch <- prometheus.MustNewConstMetric(m.members, prometheus.GaugeValue, float64(ready), "ready")
	ch <- prometheus.MustNewConstMetric(m.members, prometheus.GaugeValue, float64(unready), "unready")
}

// collect sends the series of one cluster, and of its members.
func (m *Metrics) collect(send operator.Send, s *state) {
	gauge := func(metric *prometheus.Desc, value float64, more ...string) {
		send(metric, prometheus.GaugeValue, value, more...)
	}
	if !s.deleting {
		seconds := 0.0
		if !s.healthy {
			seconds = time.Since(s.lastHealthy).Seconds()
		}
		gauge(m.since, seconds)
		send.Conditions(m.states, s.conditions)
	}
	for kind, v := range s.certificates {
		if v != nil {
			gauge(m.expiry, time.Until(v.NotAfter.Time).Seconds(), kind)
			gauge(m.lifetime, v.NotAfter.Sub(v.NotBefore.Time).Seconds(), kind)
		}
	}
	if !s.due.IsZero() && !s.deleting {
		gauge(m.due, float64(s.due.Unix()))
	}
	if !s.compared.IsZero() {
		gauge(m.compared, float64(s.compared.Unix()))
		gauge(m.differs, operator.OneIf(!s.consistent))
	}
	for _, x := range s.of {
		gauge(m.size, float64(x.Size), x.Name)
		gauge(m.inUse, float64(x.InUse), x.Name)
		if x.Quota > 0 {
			gauge(m.quota, float64(x.Quota), x.Name)
		}
		for _, kind := range x.Alarms {
			gauge(m.alarms, 1, x.Name, kind)
		}
	}
}
