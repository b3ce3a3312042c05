package operator

import (
	"runtime"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/shared/version"
)

// Objects keeps what metrics tell of each object of one kind, until it is forgotten. S is
// what is kept of one; fresh makes it for an object that was not known. It is safe for
// concurrent use.
type Objects[S any] struct {
	fresh func() *S
	mu    sync.Mutex
	all   map[types.NamespacedName]*S
}

// NewObjects makes Objects that know none yet.
func NewObjects[S any](fresh func() *S) *Objects[S] {
	return &Objects[S]{fresh: fresh, all: map[types.NamespacedName]*S{}}
}

// Note changes what is kept of an object.
func (o *Objects[S]) Note(key types.NamespacedName, change func(*S)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all[key] == nil {
		o.all[key] = o.fresh()
	}
	change(o.all[key])
}

// Forget drops an object that is gone, and with it its series.
func (o *Objects[S]) Forget(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.all, key)
}

// Each calls do for each object that is known, one at a time. do must not call o.
func (o *Objects[S]) Each(do func(types.NamespacedName, *S)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, s := range o.all {
		do(key, s)
	}
}

// Send sends one value of a metric. Its labels are namespace and name first, then those whose
// values are given as more.
type Send func(metric *prometheus.Desc, kind prometheus.ValueType, value float64, more ...string)

// SeriesOf sends the series of one object.
func SeriesOf(ch chan<- prometheus.Metric, key types.NamespacedName) Send {
	return func(metric *prometheus.Desc, kind prometheus.ValueType, value float64, more ...string) {
		ch <- prometheus.MustNewConstMetric(metric, kind, value, append([]string{key.Namespace, key.Name}, more...)...)
	}
}

// Conditions sends 1 for each condition of an object. The metric's own labels are condition, status
// and reason.
func (send Send) Conditions(metric *prometheus.Desc, conditions []metav1.Condition) {
	for _, c := range conditions {
		send(metric, prometheus.GaugeValue, 1, c.Type, string(c.Status), c.Reason)
	}
}

// OfObject describes a metric with one series for each object.
func OfObject(name, help string, more ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, append([]string{"namespace", "name"}, more...), nil)
}

// ReconcileDuration is a histogram of how long a reconcile takes.
func ReconcileDuration(name, help string) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 10),
	})
}

// BuildInfo is a gauge that is always 1, and whose labels are the operator's version and that of
// Go: joined with other metrics, it tells which release they come from.
func BuildInfo(name, help string) prometheus.Collector {
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"version", "goversion"})
	info.WithLabelValues(version.Number(), runtime.Version()).Set(1)
	return info
}

// ByPhase sends how many objects are in each of the phases.
func ByPhase[P ~string](ch chan<- prometheus.Metric, metric *prometheus.Desc, counts map[P]int, phases ...P) {
	for _, p := range phases {
		ch <- prometheus.MustNewConstMetric(metric, prometheus.GaugeValue, float64(counts[p]), string(p))
	}
}

// OneIf is 1 for what is true, and 0 for what is not.
func OneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
