// Package runbook says which of the runbooks in docs/runbooks fit what Kubernetes tells of a
// cluster, its backups and its restores, and what its members tell. It is a pure function: the
// conditions decide, as they do in the runbooks' own index, and then what etcd says.
package runbook

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/plugin/internal/kube"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

// Site is where the runbooks are read.
const Site = "https://github.com/etcd-operators/etcd-operators/blob/main/docs/runbooks/"

// Risk is whether data can be lost, as the runbook's own section says.
type Risk string

// The risks.
const (
	RiskYes    Risk = "yes"
	RiskNotYet Risk = "not yet"
	RiskNo     Risk = "no"
)

// order is that in which findings are shown: what can lose data comes first.
var order = map[Risk]int{RiskYes: 0, RiskNotYet: 1, RiskNo: 2}

// Finding is a runbook that fits.
type Finding struct {
	// Object is the kind and name of what has the condition, such as EtcdCluster example.
	Object string `json:"object"`
	// Condition is its type and status, such as Available=False; or what etcd itself tells in a
	// few words, such as alarm NOSPACE.
	Condition string `json:"condition"`
	Reason    string `json:"reason,omitempty"`
	// Message is the condition's own: what, why, and what to do.
	Message string `json:"message,omitempty"`
	// Runbook is the name of the page.
	Runbook string `json:"runbook"`
	// DataAtRisk is yes, not yet or no.
	DataAtRisk Risk `json:"dataAtRisk"`
}

// URL is where the runbook is read.
func (f Finding) URL() string { return Site + f.Runbook + ".md" }

// Seen is what is known.
type Seen struct {
	Cluster  *v1beta2.EtcdCluster
	Backups  []v1beta2.EtcdBackup
	Restores []v1beta2.EtcdRestore
	// Operators are the Pods of the operators that serve the namespace; none if they could not be listed.
	Operators []corev1.Pod
	Now       time.Time

	// Answers are the members' own, by their names; none if they were not asked.
	Answers map[string]etcdclient.Answer
	// Slow is what an alert is about of a member's disk and network, by its name. None if all are
	// fast, or were not measured.
	Slow map[string][]string
	// Differs says whose data differs; empty if none does, or it was not compared.
	Differs string
}

// slow is after what time an upgrade, a restore or a backup that waits is told: well beyond what
// one takes whose images are pulled.
const slow = 10 * time.Minute

// fit says which runbook belongs to a condition.
type fit struct {
	condition string
	status    metav1.ConditionStatus
	// reasons are those that it is about; none for any.
	reasons []string
	runbook string
	risk    Risk
	// after is how long the condition must have lasted.
	after time.Duration
}

// clusterFits are the rows of docs/runbooks/_index.md, and the reasons below that table.
var clusterFits = []fit{
	{condition: v1beta2.ConditionAvailable, status: metav1.ConditionFalse, reasons: []string{v1beta2.ClusterReasonQuorumLost}, runbook: "quorum-lost", risk: RiskYes},
	{condition: v1beta2.ConditionAvailable, status: metav1.ConditionFalse, reasons: []string{v1beta2.ClusterReasonNoQuorum}, runbook: "no-quorum", risk: RiskNotYet},
	{condition: v1beta2.ConditionAvailable, status: metav1.ConditionFalse, reasons: []string{v1beta2.ClusterReasonClusterExisted, v1beta2.ClusterReasonAdoptingVolumes}, runbook: "cluster-existed", risk: RiskNo},
	{condition: v1beta2.ConditionAvailable, status: metav1.ConditionFalse, reasons: []string{v1beta2.ClusterReasonNoSpace}, runbook: "no-space", risk: RiskNo},
	{condition: v1beta2.ConditionAvailable, status: metav1.ConditionFalse, reasons: []string{v1beta2.ClusterReasonCorrupt}, runbook: "corrupt", risk: RiskYes},
	{condition: v1beta2.ConditionConsistent, status: metav1.ConditionFalse, runbook: "inconsistent", risk: RiskYes},
	{condition: v1beta2.ConditionDegraded, status: metav1.ConditionTrue, reasons: []string{v1beta2.ClusterReasonMembersUnhealthy, v1beta2.ClusterReasonJoinersUnhealthy, v1beta2.ClusterReasonImageNotPulled}, runbook: "degraded", risk: RiskNotYet},
	{condition: v1beta2.ConditionDegraded, status: metav1.ConditionTrue, reasons: []string{v1beta2.ClusterReasonSeedUnhealthy}, runbook: "seed-unhealthy", risk: RiskNo},
	{condition: v1beta2.ConditionDegraded, status: metav1.ConditionTrue, reasons: []string{
		v1beta2.ClusterReasonPodRejected, v1beta2.ClusterReasonVolumeRejected, v1beta2.ClusterReasonServiceRejected,
		v1beta2.ClusterReasonPodDisruptionBudgetRejected, v1beta2.ClusterReasonActionRejected,
	}, runbook: "rejected", risk: RiskNo},
	{condition: v1beta2.ConditionCertificatesReady, status: metav1.ConditionFalse, reasons: []string{v1beta2.ClusterReasonCertificatesMissing, v1beta2.ClusterReasonCertificatesUnreadable, v1beta2.ClusterReasonCertificatesInvalid}, runbook: "certificates", risk: RiskNo},
	{condition: v1beta2.ConditionCertificatesReady, status: metav1.ConditionFalse, reasons: []string{v1beta2.ClusterReasonCertificatesPending}, runbook: "certificates", risk: RiskNo, after: slow},
	{condition: v1beta2.ConditionCredentialsMissing, status: metav1.ConditionTrue, runbook: "credentials", risk: RiskNo},
	{condition: v1beta2.ConditionCredentialsInvalid, status: metav1.ConditionTrue, runbook: "credentials", risk: RiskNo},
	{condition: v1beta2.ConditionSpaceLow, status: metav1.ConditionTrue, runbook: "space-low", risk: RiskNo},
	{condition: v1beta2.ConditionKnownVulnerability, status: metav1.ConditionTrue, runbook: "known-vulnerability", risk: RiskNotYet},
	{condition: v1beta2.ConditionVersionUnsupported, status: metav1.ConditionTrue, runbook: "version-refused", risk: RiskNo},
	{condition: v1beta2.ConditionUpgrading, status: metav1.ConditionFalse, reasons: []string{v1beta2.ClusterReasonVersionRefused}, runbook: "version-refused", risk: RiskNo},
	{condition: v1beta2.ConditionUpgrading, status: metav1.ConditionTrue, reasons: []string{v1beta2.ClusterReasonVersionRefused}, runbook: "version-refused", risk: RiskNo},
	{condition: v1beta2.ConditionUpgrading, status: metav1.ConditionTrue, reasons: []string{v1beta2.ClusterReasonWaitingForSnapshot}, runbook: "upgrade-stuck", risk: RiskNo},
	{condition: v1beta2.ConditionUpgrading, status: metav1.ConditionTrue, reasons: []string{v1beta2.ClusterReasonUpgrading, v1beta2.ClusterReasonUpgradePending}, runbook: "upgrade-stuck", risk: RiskNo, after: slow},
	{condition: v1beta2.ConditionStorageResizing, status: metav1.ConditionFalse, reasons: []string{v1beta2.ClusterReasonExpansionRefused}, runbook: "volume-growth", risk: RiskNo},
	{condition: v1beta2.ConditionNameConflict, status: metav1.ConditionTrue, runbook: "name-conflict", risk: RiskNo},
	{condition: v1beta2.ConditionOrphanedPods, status: metav1.ConditionTrue, runbook: "name-conflict", risk: RiskNo},
	{condition: v1beta2.ConditionProgressing, status: metav1.ConditionFalse, reasons: []string{v1beta2.ClusterReasonLegacyMembers}, runbook: "name-conflict", risk: RiskNo},
	{condition: v1beta2.ConditionUnmanagedMembers, status: metav1.ConditionTrue, runbook: "unmanaged-members", risk: RiskNo},
	{condition: v1beta2.ConditionProgressing, status: metav1.ConditionFalse, reasons: []string{v1beta2.ClusterReasonObservationStale}, runbook: "observation-stale", risk: RiskNo},
	{condition: v1beta2.ConditionProgressing, status: metav1.ConditionFalse, reasons: []string{v1beta2.ClusterReasonFenced}, runbook: "restore-waiting", risk: RiskNo, after: slow},
	{condition: v1beta2.ConditionPaused, status: metav1.ConditionTrue, runbook: "paused", risk: RiskNotYet},
	{condition: v1beta2.ConditionBackedUp, status: metav1.ConditionFalse, runbook: "backed-up", risk: RiskYes},
}

// backupFits and restoreFits are the second table of docs/runbooks/_index.md.
var (
	backupFits = []fit{
		{condition: v1beta2.ConditionFailed, status: metav1.ConditionTrue, runbook: "backup-failed", risk: RiskNotYet},
		{condition: v1beta2.ConditionQuorum, status: metav1.ConditionFalse, runbook: "backup-without-quorum", risk: RiskNotYet},
		{condition: v1beta2.ConditionVerified, status: metav1.ConditionFalse, runbook: "verification-failed", risk: RiskYes},
		{condition: v1beta2.ConditionArchiving, status: metav1.ConditionFalse, runbook: "archive", risk: RiskNotYet, after: slow},
	}
	restoreFits = []fit{
		{condition: v1beta2.ConditionFailed, status: metav1.ConditionTrue, runbook: "restore-failed", risk: RiskNo},
	}
)

// Diagnose returns the runbooks that fit, those first about data that can be lost. Of two
// findings about an object with the same runbook the first is told, and a condition before etcd.
func Diagnose(s Seen) []Finding {
	c := s.Cluster
	found := s.match("EtcdCluster "+c.Name, c.Status.Conditions, clusterFits)
	if c.Status.Phase == v1beta2.PhaseNone && len(c.Status.Conditions) == 0 {
		found = append(found, Finding{
			Object: "EtcdCluster " + c.Name, Condition: "no status", Runbook: "operator-not-ready", DataAtRisk: RiskNotYet,
			Message: Unseen("EtcdCluster", c),
		})
	}
	for i := range s.Backups {
		b := &s.Backups[i]
		matched := s.match("EtcdBackup "+b.Name, b.Status.Conditions, backupFits)
		if len(matched) == 0 && s.waits(b.Status.Phase == v1beta2.BackupNone || b.Status.Phase == v1beta2.BackupPending, b.CreationTimestamp, b.Status.Conditions) {
			matched = []Finding{s.waiting("EtcdBackup "+b.Name, b.Status.Conditions, "backup-waiting")}
		}
		found = append(found, matched...)
	}
	for i := range s.Restores {
		r := &s.Restores[i]
		matched := s.match("EtcdRestore "+r.Name, r.Status.Conditions, restoreFits)
		if len(matched) == 0 && s.waits(restoreWaits(r), r.CreationTimestamp, r.Status.Conditions) {
			matched = []Finding{s.waiting("EtcdRestore "+r.Name, r.Status.Conditions, "restore-waiting")}
		}
		found = append(found, matched...)
	}
	for i := range s.Operators {
		if p := &s.Operators[i]; !kube.IsReady(p) && s.Now.Sub(p.CreationTimestamp.Time) > time.Minute {
			found = append(found, Finding{
				Object: "Pod " + p.Name, Condition: "Ready=False", Runbook: "operator-not-ready", DataAtRisk: RiskNo,
				Message: fmt.Sprintf("an operator's Pod is not ready in namespace %s: its events and its log say why", p.Namespace),
			})
		}
	}
	found = append(found, s.told()...)
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(order[a.DataAtRisk], order[b.DataAtRisk]) })
	told := map[string]bool{}
	return slices.DeleteFunc(found, func(f Finding) bool {
		key := f.Object + " " + f.Runbook
		again := told[key]
		told[key] = true
		return again
	})
}

// Unseen says that no operator has looked at an object of a kind, and what to check.
func Unseen(kind string, o metav1.Object) string {
	operator := kube.Operator(kind)
	if o.GetAnnotations()[v1beta2.AnnotationScope] == v1beta2.ScopeClusterwide {
		return fmt.Sprintf("no operator has looked at %s %s: start an %s with --cluster-wide, or remove the annotation %s of the %s if one runs for namespace %s",
			kind, o.GetName(), operator, v1beta2.AnnotationScope, kind, o.GetNamespace())
	}
	return fmt.Sprintf("no operator has looked at %s %s: start an %s for namespace %s, or annotate the %s with %s: %s if one runs with --cluster-wide",
		kind, o.GetName(), operator, o.GetNamespace(), kind, v1beta2.AnnotationScope, v1beta2.ScopeClusterwide)
}

// match are the findings of an object's conditions.
func (s Seen) match(object string, conditions []metav1.Condition, fits []fit) []Finding {
	var found []Finding
	for _, f := range fits {
		c := meta.FindStatusCondition(conditions, f.condition)
		if c == nil || c.Status != f.status || len(f.reasons) > 0 && !slices.Contains(f.reasons, c.Reason) || s.Now.Sub(c.LastTransitionTime.Time) < f.after {
			continue
		}
		found = append(found, Finding{
			Object: object, Condition: c.Type + "=" + string(c.Status), Reason: c.Reason, Message: explained(conditions, c),
			Runbook: f.runbook, DataAtRisk: f.risk,
		})
	}
	return found
}

// explained is a condition's message, or that of the condition to which it refers.
func explained(conditions []metav1.Condition, c *metav1.Condition) string {
	for _, other := range conditions {
		if other.Type != c.Type && strings.Contains(c.Message, "the condition "+other.Type+" says") {
			return other.Message
		}
	}
	return c.Message
}

// waits tells whether an object has waited for longer than one does whose Pod starts.
func (s Seen) waits(is bool, since metav1.Time, conditions []metav1.Condition) bool {
	if c := meta.FindStatusCondition(conditions, v1beta2.ConditionComplete); c != nil && c.LastTransitionTime.After(since.Time) {
		since = c.LastTransitionTime
	}
	return is && s.Now.Sub(since.Time) > slow
}

func (s Seen) waiting(object string, conditions []metav1.Condition, page string) Finding {
	f := Finding{Object: object, Condition: "no status", Runbook: page, DataAtRisk: RiskNo, Message: "no operator has looked at it: start one for its namespace"}
	if c := meta.FindStatusCondition(conditions, v1beta2.ConditionComplete); c != nil {
		f.Condition, f.Reason, f.Message = c.Type+"="+string(c.Status), c.Reason, c.Message
	}
	return f
}

// restoreWaits reports whether a restore has neither ended nor handed its cluster over.
func restoreWaits(r *v1beta2.EtcdRestore) bool {
	switch r.Status.Phase {
	case v1beta2.RestoreNone, v1beta2.RestorePending, v1beta2.RestoreVerifying, v1beta2.RestoreFencing, v1beta2.RestoreSeeding, v1beta2.RestoreRollingBack:
		return true
	case v1beta2.RestoreHandedOff, v1beta2.RestoreComplete, v1beta2.RestoreVerified, v1beta2.RestoreFailed:
	}
	return false
}
