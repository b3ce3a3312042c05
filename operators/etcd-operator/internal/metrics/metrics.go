// Package metrics tells machines what etcd-operator sees and does. All names begin
// with etcd_operator_; those that end in a cluster's name have one series for each
// EtcdCluster, which ends with it.
package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
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
	compared *prometheus.Desc
	differs  *prometheus.Desc

	mu  sync.Mutex
	all map[types.NamespacedName]*state
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
	// ends is when the first of its certificates ends; zero if it has none, or none is known.
	ends time.Time
	// compared is when the members' data was last compared, zero if never, and consistent
	// whether it was the same.
	compared   time.Time
	consistent bool
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
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "etcd_operator_reconcile_duration_seconds",
			Help:    "Duration of a reconcile of an EtcdCluster, in seconds.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 10),
		}),
		clusters: prometheus.NewDesc("etcd_operator_clusters", "Number of EtcdClusters, by phase.", []string{"phase"}, nil),
		members:  prometheus.NewDesc("etcd_operator_members", "Number of members of all EtcdClusters, by state (ready: serving; unready).", []string{"state"}, nil),
		since: prometheus.NewDesc("etcd_operator_cluster_unhealthy_seconds",
			"Seconds since the EtcdCluster was last available with all its members healthy; 0 while it is, absent while it is being deleted.", []string{"namespace", "name"}, nil),
		size:   ofMember("etcd_operator_member_database_bytes", "Size of a member's database file, in bytes."),
		inUse:  ofMember("etcd_operator_member_database_in_use_bytes", "Bytes of a member's database that are in use; defragmentation frees the rest."),
		quota:  ofMember("etcd_operator_member_database_quota_bytes", "Quota of a member's database, in bytes; absent where it is unknown or unlimited."),
		alarms: ofMember("etcd_operator_member_alarm", "1 for each etcd alarm of a member, by kind (NOSPACE, CORRUPT).", "kind"),
		expiry: prometheus.NewDesc("etcd_operator_certificate_expiry_seconds",
			"Seconds until the first certificate of the EtcdCluster expires, CAs included; negative after that. Absent without TLS.", []string{"namespace", "name"}, nil),
		compared: prometheus.NewDesc("etcd_operator_consistency_check_timestamp_seconds",
			"Unix time of the last comparison of the members' data; absent before the first.", []string{"namespace", "name"}, nil),
		differs: prometheus.NewDesc("etcd_operator_data_inconsistent",
			"1 if the last comparison of the members' data found a difference, else 0; absent before the first.", []string{"namespace", "name"}, nil),
		all: map[types.NamespacedName]*state{},
	}
	reg.MustRegister(m.actions, m.stale, m.duration, m)
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
	m.mu.Lock()
	defer m.mu.Unlock()
	st := m.all[key]
	if st == nil {
		st = &state{lastHealthy: time.Now()}
		m.all[key] = st
	}
	st.phase, st.ready, st.unready = s.Phase, len(s.Members.Ready), len(s.Members.Unready)
	st.healthy = meta.IsStatusConditionTrue(s.Conditions, v1beta2.ConditionAvailable) &&
		!meta.IsStatusConditionTrue(s.Conditions, v1beta2.ConditionDegraded)
	if st.healthy {
		st.lastHealthy = time.Now()
	}
	st.deleting = deleting
	st.compared = time.Time{}
	if s.Consistency != nil {
		st.compared, st.consistent = s.Consistency.LastCheckTime.Time, s.Consistency.Result == v1beta2.ResultConsistent
	}
	st.ends = time.Time{}
	if s.TLS != nil && s.TLS.NotAfter != nil {
		st.ends = s.TLS.NotAfter.Time
	}
}

// ofMember describes a metric that has one series for each member of each EtcdCluster.
func ofMember(name, help string, more ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, append([]string{"namespace", "name", "member"}, more...), nil)
}

// Members notes what the members of a cluster have said, of those that were observed: a
// cluster that was not observed has none.
func (m *Metrics) Members(key types.NamespacedName, members []Member) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if st := m.all[key]; st != nil {
		st.of = members
	}
}

// Forget drops a cluster that is gone.
func (m *Metrics) Forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, key)
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
	ch <- m.compared
	ch <- m.differs
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	phases := map[v1beta2.ClusterPhase]int{v1beta2.PhaseCreating: 0, v1beta2.PhaseRunning: 0, v1beta2.PhaseFailed: 0}
	ready, unready := 0, 0
	for key, s := range m.all {
		phases[s.phase]++
		ready += s.ready
		unready += s.unready
		seconds := 0.0
		if !s.healthy {
			seconds = time.Since(s.lastHealthy).Seconds()
		}
		if !s.deleting {
			ch <- prometheus.MustNewConstMetric(m.since, prometheus.GaugeValue, seconds, key.Namespace, key.Name)
		}
		if !s.ends.IsZero() {
			ch <- prometheus.MustNewConstMetric(m.expiry, prometheus.GaugeValue, time.Until(s.ends).Seconds(), key.Namespace, key.Name)
		}
		if !s.compared.IsZero() {
			differs := 1.0
			if s.consistent {
				differs = 0
			}
			ch <- prometheus.MustNewConstMetric(m.compared, prometheus.GaugeValue, float64(s.compared.Unix()), key.Namespace, key.Name)
			ch <- prometheus.MustNewConstMetric(m.differs, prometheus.GaugeValue, differs, key.Namespace, key.Name)
		}
		for _, x := range s.of {
			m.collectMember(ch, key, x)
		}
	}
	for phase, n := range phases {
		ch <- prometheus.MustNewConstMetric(m.clusters, prometheus.GaugeValue, float64(n), string(phase))
	}
	ch <- prometheus.MustNewConstMetric(m.members, prometheus.GaugeValue, float64(ready), "ready")
	ch <- prometheus.MustNewConstMetric(m.members, prometheus.GaugeValue, float64(unready), "unready")
}

// collectMember tells of one member.
func (m *Metrics) collectMember(ch chan<- prometheus.Metric, key types.NamespacedName, x Member) {
	gauge := func(desc *prometheus.Desc, value float64, more ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, append([]string{key.Namespace, key.Name, x.Name}, more...)...)
	}
	gauge(m.size, float64(x.Size))
	gauge(m.inUse, float64(x.InUse))
	if x.Quota > 0 {
		gauge(m.quota, float64(x.Quota))
	}
	for _, kind := range x.Alarms {
		gauge(m.alarms, 1, kind)
	}
}
