package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

// Clusters are the metrics of EtcdClusters, whichever EtcdBackups back them up. They are
// what the EtcdClusters' statuses remember, so they outlive EtcdBackups and this process.
type Clusters struct {
	backedUp    *prometheus.Desc
	failures    *prometheus.Desc
	lastSuccess *prometheus.Desc
	age         *prometheus.Desc
	maxAge      *prometheus.Desc
	size        *prometheus.Desc

	// now is the clock.
	now func() time.Time

	*operator.Objects[cluster]
}

// cluster is what is known of one EtcdCluster.
type cluster struct {
	backedUp bool
	reason   string
	// maxAge is how old its newest good backup may be; 0 if it does not say.
	maxAge time.Duration
	status v1beta2.ClusterBackupStatus
}

func newClusters(reg prometheus.Registerer) *Clusters {
	each := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append([]string{"namespace", "cluster"}, more...), nil)
	}
	m := &Clusters{
		backedUp:    each("etcd_backup_cluster_backed_up", "Whether the condition BackedUp of the EtcdCluster is True, and the reason of that condition.", "reason"),
		failures:    each("etcd_backup_cluster_failures_total", "Backups of the EtcdCluster that failed."),
		lastSuccess: each("etcd_backup_cluster_last_success_timestamp_seconds", "When the newest good backup of the EtcdCluster was finished, in seconds since 1970."),
		age:         each("etcd_backup_cluster_age_seconds", "Seconds since the newest good backup of the EtcdCluster was finished."),
		maxAge:      each("etcd_backup_cluster_max_age_seconds", "The spec.backup.maxAge of the EtcdCluster. Absent if it has none."),
		size:        each("etcd_backup_cluster_size_bytes", "Size of the newest good backup of the EtcdCluster, as it is stored."),
		now:         time.Now,
		Objects:     operator.NewObjects(func() *cluster { return &cluster{} }),
	}
	reg.MustRegister(m)
	return m
}

// Observe notes the state of the backups of an EtcdCluster, and how old its newest good one may be (0:
// it does not say). Without a condition it has no series.
func (m *Clusters) Observe(key types.NamespacedName, status *v1beta2.ClusterBackupStatus, condition *metav1.Condition, maxAge time.Duration) {
	if condition == nil {
		m.Forget(key)
		return
	}
	c := cluster{backedUp: condition.Status == metav1.ConditionTrue, reason: condition.Reason, maxAge: maxAge}
	if status != nil {
		c.status = *status.DeepCopy()
	}
	m.Note(key, func(all *cluster) { *all = c })
}

// Describe implements prometheus.Collector.
func (m *Clusters) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.backedUp, m.failures, m.lastSuccess, m.age, m.maxAge, m.size} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *Clusters) Collect(ch chan<- prometheus.Metric) {
	m.Each(func(key types.NamespacedName, c *cluster) {
		send := operator.SeriesOf(ch, key)
		send(m.backedUp, prometheus.GaugeValue, operator.OneIf(c.backedUp), c.reason)
		if c.maxAge > 0 {
			send(m.maxAge, prometheus.GaugeValue, c.maxAge.Seconds())
		}
		send(m.failures, prometheus.CounterValue, float64(c.status.Failures))
		if n := c.status.Newest; n != nil {
			send(m.lastSuccess, prometheus.GaugeValue, float64(n.CompletionTime.Unix()))
			send(m.age, prometheus.GaugeValue, max(0, m.now().Sub(n.CompletionTime.Time).Seconds()))
			send(m.size, prometheus.GaugeValue, float64(n.Size))
		}
	})
}
