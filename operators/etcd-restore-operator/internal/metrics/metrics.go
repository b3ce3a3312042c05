// Package metrics tells machines what etcd-restore-operator sees and does. All names
// begin with etcd_restore_. Those with the labels namespace and name have one series for
// each EtcdRestore, which ends with it.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

// Metrics are the operator's own.
type Metrics struct {
	reconcile prometheus.Histogram
	restores  *prometheus.Desc

	attempts  *prometheus.Desc
	successes *prometheus.Desc
	failures  *prometheus.Desc
	fetched   *prometheus.Desc
	size      *prometheus.Desc
	handOff   *prometheus.Desc
	duration  *prometheus.Desc

	conditions *prometheus.Desc
	waiting    *prometheus.Desc

	*operator.Objects[state]
}

// state is what is known of one EtcdRestore. What is counted is counted from the start
// of this process, as counters are; the rest is from the status.
type state struct {
	status    v1beta2.RestoreStatus
	attempts  float64
	successes float64
	failures  map[string]float64
	// fetched is what the agent that runs has told; nil if none has.
	fetched *int64
}

// New makes the metrics and registers them.
func New(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		reconcile: operator.ReconcileDuration("etcd_restore_reconcile_duration_seconds", "Duration of one reconcile of an EtcdRestore, in seconds."),
		restores:  prometheus.NewDesc("etcd_restore_restores", "EtcdRestores, by phase.", []string{"phase"}, nil),

		attempts:  operator.OfObject("etcd_restore_attempts_total", "Verifications of the snapshot that were started, each by a Job or a seed."),
		successes: operator.OfObject("etcd_restore_successes_total", "1 once the restored cluster was handed over and serves, and 0 before."),
		failures:  operator.OfObject("etcd_restore_failures_total", "1 for the reason for which the EtcdRestore failed.", "reason"),
		fetched:   operator.OfObject("etcd_restore_fetched_bytes", "Bytes of the snapshot that the running agent has fetched."),
		size:      operator.OfObject("etcd_restore_size_bytes", "Size of the snapshot, as it is stored."),
		handOff:   operator.OfObject("etcd_restore_hand_off_seconds", "Seconds from the start of the restore until the cluster served the restored data."),
		duration:  operator.OfObject("etcd_restore_duration_seconds", "Seconds from the start of the restore until the cluster had its full size."),

		conditions: operator.OfObject("etcd_restore_condition", "1 for each condition of the EtcdRestore, with its status (True or False) and reason.", "condition", "status", "reason"),
		waiting:    operator.OfObject("etcd_restore_waiting", "Whether status.waitingFor of the EtcdRestore names something: 1 or 0."),

		Objects: operator.NewObjects(func() *state { return &state{failures: map[string]float64{}} }),
	}
	reg.MustRegister(m.reconcile, m,
		operator.BuildInfo("etcd_restore_build_info", "Always 1; its labels are the version of etcd-restore-operator, and that of Go."))
	return m
}

// Started counts a Job that was made.
func (m *Metrics) Started(key types.NamespacedName) {
	m.Note(key, func(s *state) { s.attempts++ })
}

// Changed counts how a restore ended, if the status that was written newly says so.
func (m *Metrics) Changed(key types.NamespacedName, before, after *v1beta2.RestoreStatus) {
	m.Note(key, func(s *state) {
		if after.Succeeded && !before.Succeeded {
			s.successes++
		}
		if after.Phase == v1beta2.RestoreFailed && before.Phase != v1beta2.RestoreFailed {
			s.failures[reason(after)]++
		}
	})
}

// reason is why a restore failed.
func reason(s *v1beta2.RestoreStatus) string {
	if s.Failure != nil {
		return s.Failure.Reason
	}
	return ""
}

// Observe notes the status of an EtcdRestore, the progress of its agent (nil: none is
// told), and how long its reconcile took.
func (m *Metrics) Observe(key types.NamespacedName, status *v1beta2.RestoreStatus, progress *task.Progress, took time.Duration) {
	m.reconcile.Observe(took.Seconds())
	m.Note(key, func(s *state) {
		s.status, s.fetched = *status.DeepCopy(), nil
		if progress != nil {
			s.fetched = &progress.Fetched
		}
	})
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.restores, m.attempts, m.successes, m.failures, m.fetched, m.size, m.handOff, m.duration, m.conditions, m.waiting} {
		ch <- d
	}
}

// phases are those that are told even if no EtcdRestore has them.
var phases = []v1beta2.RestorePhase{
	v1beta2.RestorePending, v1beta2.RestoreVerifying, v1beta2.RestoreVerified, v1beta2.RestoreFencing, v1beta2.RestoreSeeding,
	v1beta2.RestoreHandedOff, v1beta2.RestoreComplete, v1beta2.RestoreRollingBack, v1beta2.RestoreFailed,
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	counts := map[v1beta2.RestorePhase]int{}
	m.Each(func(key types.NamespacedName, s *state) {
		counts[s.status.Phase]++
		m.collect(operator.SeriesOf(ch, key), s)
	})
	operator.ByPhase(ch, m.restores, counts, phases...)
}

// collect sends the series of one EtcdRestore.
func (m *Metrics) collect(send operator.Send, s *state) {
	took := func(d *prometheus.Desc, until *metav1.Time) {
		if begun := s.status.StartTime; begun != nil && until != nil {
			send(d, prometheus.GaugeValue, max(0, until.Sub(begun.Time).Seconds()))
		}
	}
	send.Conditions(m.conditions, s.status.Conditions)
	send(m.waiting, prometheus.GaugeValue, operator.OneIf(len(s.status.WaitingFor) > 0))
	send(m.attempts, prometheus.CounterValue, s.attempts)
	send(m.successes, prometheus.CounterValue, s.successes)
	for reason, n := range s.failures {
		send(m.failures, prometheus.CounterValue, n, reason)
	}
	if s.fetched != nil {
		send(m.fetched, prometheus.GaugeValue, float64(*s.fetched))
	}
	if s.status.Snapshot != nil {
		send(m.size, prometheus.GaugeValue, float64(s.status.Snapshot.Size))
	}
	took(m.handOff, s.status.HandOffTime)
	if s.status.Phase == v1beta2.RestoreComplete || s.status.Phase == v1beta2.RestoreVerified {
		took(m.duration, s.status.CompletionTime)
	}
}
