package suite

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/e2e/monitoring"
)

// TestAlerts: a real Prometheus collects what the operators and the members tell, of a cluster with
// TLS and of one without. It has answers to all queries of the alerts and dashboards. No alert fires
// while the cluster is well, the right ones do when its majority is lost, and they are over when it
// has come back.
func TestAlerts(t *testing.T) {
	isLong(t)
	t.Parallel()
	s := anOperator(t)
	p := s.prometheus()
	c := s.cluster("etcd", harness.Size(3), harness.Volumes, harness.AutoTLS, harness.Setting("ETCD_METRICS", "extensive"))
	st := allOperators(s)
	c.settles(3, twoMinutes)
	s.isBackedUpAndRestored(c, st.at("backups/etcd.backup"), st.at("copies/etcd.backup"))
	p.has(3, `up{job="etcd",cluster="etcd"} == 1`)
	p.has(1, `up{job="etcd",cluster="copy"} == 1`)
	p.has(2, `up{job="etcd-operator"} == 1`)
	p.has(1, fmt.Sprintf(`etcd_operator_cluster_condition{namespace=%q,name="etcd",condition="Available",status="True"}`, s.ns))
	p.exposesAll()
	p.answersAll(map[string]string{"namespace": s.ns, "cluster": c.Name})
	p.firesNothing()

	before, survivor := c.State().Cluster.Status, c.follower()
	c.losesAllBut(survivor)
	p.fires("EtcdQuorumLost", map[string]string{"namespace": s.ns, "name": "etcd", "severity": "critical"})
	p.fires("EtcdNoLeader", map[string]string{"namespace": s.ns, "cluster": "etcd", "pod": survivor, "severity": "critical"})

	s.kubectl("annotate", "etcd", "etcd", v1beta2.AnnotationRecover+"="+before.ClusterID)
	c.hasBegunAnew(before, survivor)
	p.resolves("EtcdQuorumLost", "EtcdNoLeader")
}

// isBackedUpAndRestored: a cluster's backup is stored, proved and copied, its changes are recorded, and
// another cluster is made of it.
func (s *scene) isBackedUpAndRestored(c *cluster, to, second place) {
	s.t.Helper()
	var twin v1beta2.EtcdBackup
	second.to(&twin)
	made, err := env.CreateBackup(s.ctx, s.view, s.ns, "nightly", to.to, harness.OfCluster(c.Name), harness.Policy(v1beta2.BackupPolicy{BackupIntervalInSecond: 3600}), func(b *v1beta2.EtcdBackup) {
		b.Spec.CopyTo = &v1beta2.BackupCopy{StorageType: twin.Spec.StorageType, S3: twin.Spec.S3}
		b.Spec.Archive = &v1beta2.BackupArchive{}
		b.Spec.Verification = &v1beta2.BackupVerification{Affinity: &corev1.Affinity{}}
	})
	s.must(err)
	b := &backup{Backup: made, s: s, to: to}
	b.becomes("stored", oneMinute, harness.BackupCondition(v1beta2.ConditionComplete, true, ""))
	r := s.restore("copy", harness.AsTemplate(harness.Size(1)), harness.FromBackup(b.Name))
	b.becomes("proved, copied and recorded", twoMinutes, harness.AllOf(
		harness.BackupCondition(v1beta2.ConditionVerified, true, ""), harness.BackupCondition(v1beta2.ConditionCopied, true, ""),
		harness.BackupCondition(v1beta2.ConditionArchiving, true, ""),
	))
	r.completes(twoMinutes)
}

// prometheus is one for the scene.
type prometheus struct {
	*harness.Prometheus
	s *scene
}

// prometheus starts one, with all alerts.
func (s *scene) prometheus() *prometheus {
	s.t.Helper()
	p, err := env.StartPrometheus(s.ctx, s.t.TempDir(), s.ns)
	s.must(err)
	s.t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			s.t.Log(err)
		}
	})
	return &prometheus{p, s}
}

// has: a query soon has so many series.
func (p *prometheus) has(want int, query string) {
	p.s.t.Helper()
	p.becomes(query, func(ctx context.Context) (string, error) {
		n, err := p.Count(ctx, query)
		if n != want {
			return fmt.Sprintf("it has %d series, want %d", n, want), err
		}
		return "", err
	})
}

// notExposed are the metrics that nobody might have exposed while all is well, with the reason.
var notExposed = map[string]string{
	"ALERTS":                                            "no alert is pending",
	"etcd_network_peer_sent_failures_total":             "no message between members has failed",
	"etcd_operator_stale_passes_total":                  "the operator's caches and the API server agree",
	"etcd_operator_member_alarm":                        "there is no alarm",
	"etcd_operator_consistency_check_timestamp_seconds": "data is compared once a day",
	"etcd_operator_data_inconsistent":                   "data is compared once a day",
	"etcd_backup_archive_last_gap_timestamp_seconds":    "the archive has no gap",
	"etcd_backup_verification_due_timestamp_seconds":    "each backup was verified, and none is due by a schedule",
	"etcd_backup_cluster_max_age_seconds":               "no EtcdCluster says how old its backups may be",
	"etcd_restore_fetched_bytes":                        "a snapshot this small is fetched at once",
}

// exposesAll: each metric for which an alert or a dashboard asks is soon there, with the labels by which
// it is selected.
func (p *prometheus) exposesAll() {
	p.s.t.Helper()
	metrics, wanted := map[string]bool{}, map[string]map[string][]string{}
	for who, query := range p.queries(nil) {
		wanted[who] = monitoring.Matched(query)
		for _, name := range monitoring.Metrics(query) {
			metrics[name] = true
		}
	}
	names := slices.Sorted(maps.Keys(metrics))
	p.becomes(fmt.Sprintf("all %d metrics of the alerts and dashboards to be exposed", len(names)), func(ctx context.Context) (string, error) {
		exposed, err := p.Labels(ctx, names)
		var wrong []string
		for _, name := range names {
			if exposed[name] == nil && notExposed[name] == "" {
				wrong = append(wrong, "nobody exposes "+name)
			}
		}
		for who, matched := range wanted {
			for name, labels := range matched {
				for _, label := range labels {
					if exposed[name] != nil && !exposed[name][label] {
						wrong = append(wrong, fmt.Sprintf("%s selects %s by the label %s, which it does not have", who, name, label))
					}
				}
			}
		}
		return listed(wrong), err
	})
}

// notAnswered are the queries that might have no answer while all is well, with the reason. Besides
// them, those that ask for a metric of notExposed, or for a condition that is not there, have none.
var notAnswered = map[string]string{
	"EtcdOperatorDown":                     "etcd-operator runs",
	"EtcdOperatorNotReconciling":           "etcd-operator reconciles",
	"EtcdOperatorActionsFailing":           "no action has failed",
	"EtcdNotBackedUp":                      "all clusters are backed up",
	"EtcdBackupTooOld":                     "all clusters are backed up",
	"EtcdBackupOperatorDown":               "etcd-backup-operator runs",
	"EtcdBackupOperatorNotReconciling":     "etcd-backup-operator reconciles",
	"EtcdRestoreOperatorDown":              "etcd-restore-operator runs",
	"EtcdRestoreOperatorNotReconciling":    "nothing is being restored",
	"etcd-fleet: What is wrong 1":          "nothing is wrong",
	"etcd-fleet: Unhealthy for 1":          "all clusters are healthy",
	"etcd-fleet: Actions 1":                "a counter that is new might not have grown",
	"etcd-fleet: Actions that failed 1":    "no action has failed",
	"etcd-cluster: Requests that failed 1": "no request has failed",
	"etcd-backups: Backups that failed 1":  "no backup has failed",
	"etcd-backups: Verifications 1":        "a counter that is new might not have grown",
	"etcd-backups: Copies 1":               "a counter that is new might not have grown",
}

// answersAll: Prometheus evaluates each alert, and soon has an answer to what it looks at, and to each
// query of the dashboards, with these values of their variables.
func (p *prometheus) answersAll(chosen map[string]string) {
	p.s.t.Helper()
	queries := p.queries(chosen)
	for who := range notAnswered {
		if _, ok := queries[who]; !ok {
			p.s.t.Errorf("there is no query %s", who)
		}
	}
	p.becomes(fmt.Sprintf("all %d queries of the alerts and dashboards to be answered", len(queries)), func(ctx context.Context) (string, error) {
		var wrong []string
		for who, query := range queries {
			n, err := p.Count(ctx, query)
			if err == nil && isAlert(who) {
				query = monitoring.Observed(query)
				n, err = p.Count(ctx, query)
			}
			if err != nil {
				return "", fmt.Errorf("%s: %w", who, err)
			}
			if n == 0 && notAnswered[who] == "" && !isEmptyWhenWell(query) {
				wrong = append(wrong, fmt.Sprintf("%s has no answer: %s", who, query))
			}
		}
		return listed(wrong), nil
	})
}

func isAlert(who string) bool { return strings.HasPrefix(who, "Etcd") }

// isEmptyWhenWell: a query selects a condition, or asks for a metric that is not exposed while all is
// well.
func isEmptyWhenWell(query string) bool {
	return strings.Contains(query, "_condition{condition") ||
		slices.ContainsFunc(monitoring.Metrics(query), func(name string) bool { return notExposed[name] != "" })
}

func listed(all []string) string {
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// queries are those of the alerts, by name, and of the dashboards.
func (p *prometheus) queries(chosen map[string]string) map[string]string {
	p.s.t.Helper()
	alerts, err := monitoring.Alerts(env.Root)
	p.s.must(err)
	all := map[string]string{}
	for name, rule := range alerts {
		all[name] = rule.Expr
	}
	for _, d := range monitoring.Dashboards() {
		maps.Copy(all, d.Queries(func(variable string) string { return chosen[variable] }))
	}
	return all
}

// fires: an alert soon does, with these labels among others.
func (p *prometheus) fires(name string, labels map[string]string) {
	p.s.t.Helper()
	p.becomes("alert "+name+" to fire", func(ctx context.Context) (string, error) {
		firing, err := p.Firing(ctx)
		for _, a := range firing {
			if a.Labels["alertname"] == name && includes(a.Labels, labels) {
				return "", err
			}
		}
		return fmt.Sprintf("what fires: %v", firing), err
	})
}

func includes(all, some map[string]string) bool {
	for k, v := range some {
		if all[k] != v {
			return false
		}
	}
	return true
}

// resolves: these alerts soon fire no longer.
func (p *prometheus) resolves(names ...string) {
	p.s.t.Helper()
	p.becomes(fmt.Sprintf("alerts %v to be resolved", names), func(ctx context.Context) (string, error) {
		firing, err := p.Firing(ctx)
		for _, a := range firing {
			for _, name := range names {
				if a.Labels["alertname"] == name {
					return name + " fires", err
				}
			}
		}
		return "", err
	})
}

// firesNothing: soon no alert is about to fire, and none does for a while, in which each rule is
// evaluated.
func (p *prometheus) firesNothing() {
	p.s.t.Helper()
	p.becomes("no alert is pending", func(ctx context.Context) (string, error) {
		active, err := p.Active(ctx)
		var pending []string
		for _, a := range active {
			pending = append(pending, fmt.Sprint(a))
		}
		return listed(pending), err
	})
	for until := time.Now().Add(15 * time.Second); time.Now().Before(until); {
		firing, err := p.Firing(p.s.ctx)
		p.s.must(err)
		if len(firing) > 0 {
			p.s.t.Fatalf("all is well, and these alerts fire: %v", firing)
		}
		select {
		case <-time.After(time.Second):
		case <-p.s.ctx.Done():
		}
	}
	p.s.tell("no alert fires")
}

func (p *prometheus) becomes(what string, ask func(context.Context) (string, error)) {
	p.s.t.Helper()
	p.s.within(twoMinutes, func(ctx context.Context) error { return harness.Poll(ctx, what, ask) })
	p.s.tell("%s", what)
}
