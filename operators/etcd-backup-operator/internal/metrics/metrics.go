// Package metrics exports to Prometheus what etcd-backup-operator sees and does. All names
// begin with etcd_backup_. Those with the labels namespace and name have one series for
// each EtcdBackup, which ends with it.
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
	// Clusters are those of EtcdClusters.
	Clusters *Clusters

	duration prometheus.Histogram
	backups  *prometheus.Desc

	attempts     *prometheus.Desc
	successes    *prometheus.Desc
	failures     *prometheus.Desc
	lastSuccess  *prometheus.Desc
	age          *prometheus.Desc
	size         *prometheus.Desc
	lastDuration *prometheus.Desc
	quorum       *prometheus.Desc

	archiveLag      *prometheus.Desc
	archiveGaps     *prometheus.Desc
	archiveLastGap  *prometheus.Desc
	archiveRevision *prometheus.Desc

	copies     *prometheus.Desc
	lastCopied *prometheus.Desc

	verifications *prometheus.Desc
	lastVerified  *prometheus.Desc
	due           *prometheus.Desc

	conditions *prometheus.Desc

	// now is the clock.
	now func() time.Time

	*operator.Objects[state]
}

// state is what is known of one EtcdBackup. What is counted is counted from the start
// of this process, as counters are; the rest is from the status.
type state struct {
	phase     v1beta2.BackupPhase
	attempts  float64
	successes float64
	failures  map[string]float64
	// lastSuccess is nil before the first.
	lastSuccess *time.Time
	snapshot    *v1beta2.BackupSnapshot
	// quorum is whether the condition of that name is True; nil if there is none.
	quorum *bool
	// archive is nil if there is none.
	archive *v1beta2.ArchiveStatus
	// copies are counted by result; lastCopied is nil before the first that is stored.
	copies     map[string]float64
	lastCopied *time.Time
	// verifications are counted by result; lastVerified is nil before the first that is good.
	verifications map[string]float64
	lastVerified  *time.Time
	// due is when a verification was due first since then; zero if none was, or is to be.
	due time.Time
	// conditions are those of the status.
	conditions []metav1.Condition
}

// New makes the metrics and registers them.
func New(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		duration: operator.ReconcileDuration("etcd_backup_reconcile_duration_seconds", "How long one reconcile of an EtcdBackup took."),
		backups:  prometheus.NewDesc("etcd_backup_backups", "EtcdBackups, by phase.", []string{"phase"}, nil),

		attempts:     operator.OfObject("etcd_backup_attempts_total", "Jobs that were started for the EtcdBackup."),
		successes:    operator.OfObject("etcd_backup_successes_total", "Backups of the EtcdBackup that were stored."),
		failures:     operator.OfObject("etcd_backup_failures_total", "Backups of the EtcdBackup that failed, by reason.", "reason"),
		lastSuccess:  operator.OfObject("etcd_backup_last_success_timestamp_seconds", "When the newest good backup of the EtcdBackup was finished, in seconds since 1970."),
		age:          operator.OfObject("etcd_backup_age_seconds", "Seconds since the newest good backup of the EtcdBackup was finished."),
		size:         operator.OfObject("etcd_backup_size_bytes", "Size of the newest good backup of the EtcdBackup, as it is stored."),
		lastDuration: operator.OfObject("etcd_backup_duration_seconds", "How long the newest good backup of the EtcdBackup took."),
		quorum:       operator.OfObject("etcd_backup_quorum", "Whether the last backup of the EtcdBackup that was stored is of a healthy member with a quorum: 1 or 0."),

		archiveLag:      operator.OfObject("etcd_backup_archive_lag_seconds", "Seconds since the recovery point of the EtcdBackup's archive: what was written later might not be stored."),
		archiveGaps:     operator.OfObject("etcd_backup_archive_gaps_total", "Gaps of the EtcdBackup's archive, as its status counts them."),
		archiveLastGap:  operator.OfObject("etcd_backup_archive_last_gap_timestamp_seconds", "When the archiver noticed the last gap of the EtcdBackup's archive, in seconds since 1970."),
		archiveRevision: operator.OfObject("etcd_backup_archive_last_revision", "The newest revision up to which the EtcdBackup's archive is stored."),

		copies:     operator.OfObject("etcd_backup_copies_total", "Copies of backups of the EtcdBackup to spec.copyTo that ended, by result: copied or failed.", "result"),
		lastCopied: operator.OfObject("etcd_backup_last_copied_timestamp_seconds", "When a backup of the EtcdBackup was last copied to spec.copyTo, in seconds since 1970."),

		verifications: operator.OfObject("etcd_backup_verifications_total", "Verifications of backups of the EtcdBackup that ended, by result: verified or failed.", "result"),
		lastVerified:  operator.OfObject("etcd_backup_last_verified_timestamp_seconds", "When a backup of the EtcdBackup was last proved by restoring it, in seconds since 1970."),
		due:           operator.OfObject("etcd_backup_verification_due_timestamp_seconds", "From when on the next verification of the EtcdBackup is due, in seconds since 1970. Absent before the first, and if none is to be made."),

		conditions: operator.OfObject("etcd_backup_condition", "1 for each condition of the EtcdBackup, with its status (True, False, Unknown) and reason.", "condition", "status", "reason"),

		now: time.Now,
		Objects: operator.NewObjects(func() *state {
			return &state{failures: map[string]float64{}, copies: map[string]float64{}, verifications: map[string]float64{}}
		}),
	}
	m.Clusters = newClusters(reg)
	reg.MustRegister(m.duration, m,
		operator.BuildInfo("etcd_backup_build_info", "Always 1; its labels are the version of etcd-backup-operator, and that of Go."))
	return m
}

// Started counts a Job that was made.
func (m *Metrics) Started(key types.NamespacedName) {
	m.Note(key, func(s *state) { s.attempts++ })
}

// Ended counts a backup that ended.
func (m *Metrics) Ended(key types.NamespacedName, r *v1beta2.BackupRecord) {
	m.Note(key, func(s *state) {
		if r.Succeeded {
			s.successes++
			return
		}
		s.failures[r.Reason]++
	})
}

// Verified counts a verification that ended.
func (m *Metrics) Verified(key types.NamespacedName, succeeded bool) {
	result := "failed"
	if succeeded {
		result = "verified"
	}
	m.Note(key, func(s *state) { s.verifications[result]++ })
}

// Copied counts a copy of a backup that ended.
func (m *Metrics) Copied(key types.NamespacedName, succeeded bool) {
	result := "failed"
	if succeeded {
		result = "copied"
	}
	m.Note(key, func(s *state) { s.copies[result]++ })
}

// Observe notes the status of an EtcdBackup, and how long its reconcile took.
func (m *Metrics) Observe(key types.NamespacedName, status *v1beta2.BackupStatus, took time.Duration) {
	m.duration.Observe(took.Seconds())
	m.Note(key, func(s *state) {
		s.phase, s.lastSuccess, s.snapshot, s.quorum = status.Phase, nil, status.Snapshot.DeepCopy(), nil
		s.archive, s.lastVerified, s.lastCopied = status.Archive.DeepCopy(), nil, nil
		s.conditions = slices.Clone(status.Conditions)
		if t := status.LastCopyTime; t != nil {
			s.lastCopied = &t.Time
		}
		if st := status.Verification; st != nil && st.LastVerifiedTime != nil {
			s.lastVerified = &st.LastVerifiedTime.Time
		}
		if t := status.LastSuccessDate; t != nil {
			s.lastSuccess = &t.Time
		}
		if c := meta.FindStatusCondition(status.Conditions, v1beta2.ConditionQuorum); c != nil {
			s.quorum = new(c.Status == metav1.ConditionTrue)
		}
	})
}

// VerificationDue notes from when on an EtcdBackup is due to be verified; zero: never.
func (m *Metrics) VerificationDue(key types.NamespacedName, due time.Time) {
	m.Note(key, func(s *state) { s.due = due })
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.backups, m.attempts, m.successes, m.failures, m.lastSuccess, m.age, m.size, m.lastDuration, m.quorum, m.archiveLag, m.archiveGaps, m.archiveLastGap, m.archiveRevision, m.copies, m.lastCopied, m.verifications, m.lastVerified, m.due, m.conditions} {
		ch <- d
	}
}

// phases are exported even if no EtcdBackup has them.
var phases = []v1beta2.BackupPhase{
	v1beta2.BackupPending, v1beta2.BackupRunning, v1beta2.BackupScheduled,
	v1beta2.BackupSuspended, v1beta2.BackupSucceeded, v1beta2.BackupFailed,
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	counts := map[v1beta2.BackupPhase]int{}
	m.Each(func(key types.NamespacedName, s *state) {
		counts[s.phase]++
		m.collect(operator.SeriesOf(ch, key), s)
	})
	operator.ByPhase(ch, m.backups, counts, phases...)
}

// collect sends the series of one EtcdBackup.
func (m *Metrics) collect(send operator.Send, s *state) {
	send.Conditions(m.conditions, s.conditions)
	send(m.attempts, prometheus.CounterValue, s.attempts)
	send(m.successes, prometheus.CounterValue, s.successes)
	for reason, n := range s.failures {
		send(m.failures, prometheus.CounterValue, n, reason)
	}
	for result, n := range s.copies {
		send(m.copies, prometheus.CounterValue, n, result)
	}
	if s.lastCopied != nil {
		send(m.lastCopied, prometheus.GaugeValue, float64(s.lastCopied.Unix()))
	}
	for result, n := range s.verifications {
		send(m.verifications, prometheus.CounterValue, n, result)
	}
	if s.lastVerified != nil {
		send(m.lastVerified, prometheus.GaugeValue, float64(s.lastVerified.Unix()))
	}
	if !s.due.IsZero() {
		send(m.due, prometheus.GaugeValue, float64(s.due.Unix()))
	}
	if s.quorum != nil {
		send(m.quorum, prometheus.GaugeValue, operator.OneIf(*s.quorum))
	}
	if s.lastSuccess != nil {
		send(m.lastSuccess, prometheus.GaugeValue, float64(s.lastSuccess.Unix()))
		send(m.age, prometheus.GaugeValue, max(0, m.now().Sub(*s.lastSuccess).Seconds()))
	}
	if s.snapshot != nil {
		send(m.size, prometheus.GaugeValue, float64(s.snapshot.Size))
	}
	if s.snapshot != nil && s.snapshot.Duration != nil {
		send(m.lastDuration, prometheus.GaugeValue, s.snapshot.Duration.Seconds())
	}
	if a := s.archive; a != nil {
		send(m.archiveGaps, prometheus.CounterValue, float64(a.Gaps))
		send(m.archiveRevision, prometheus.GaugeValue, float64(a.Revision))
		if a.Gap != nil && a.Gap.Time != nil {
			send(m.archiveLastGap, prometheus.GaugeValue, float64(a.Gap.Time.Unix()))
		}
		if a.RecoveryTime != nil {
			send(m.archiveLag, prometheus.GaugeValue, max(0, m.now().Sub(a.RecoveryTime.Time).Seconds()))
		}
	}
}
