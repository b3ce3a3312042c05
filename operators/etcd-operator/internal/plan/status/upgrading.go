package status

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// downgradeProgress says what members that go down a minor wait for; empty if for nothing.
func downgradeProgress(v *facts.View) string {
	if !v.Cluster.IsDowngrading() {
		return ""
	}
	to, told := etcdversion.Parse(v.Cluster.Target), v.ClusterVersion()
	if told.CompareMinor(to) > 0 {
		return fmt.Sprintf("; waiting for etcd to lower its cluster version from %s to %s", told, to)
	}
	if m := v.NextToRestart(); m != nil {
		if why := v.ImageDowngradeBlocker(v.PodOf[m.Name]); why != "" {
			return fmt.Sprintf("; %s: %s", m.Name, why)
		}
	}
	return ""
}

// isUpgradingAny reports whether some member is to get another image, or is being restarted
// with it.
func isUpgradingAny(v *facts.View) bool {
	return slices.ContainsFunc(v.Voters, func(m facts.Member) bool {
		p := v.PodOf[m.Name]
		return p != nil && (v.HasOldImage(p) || p.From != "" || (p.Role == facts.Restarting && !v.HasOldTemplate(p)))
	})
}

// pendingUpgrade is the condition Upgrading of a cluster that is to move to another
// version, and of which no member has been told so yet; nil if there is none.
func pendingUpgrade(v *facts.View, s *step.Step) *metav1.Condition {
	c := &v.Cluster
	next, refusal := etcdversion.Next(c.Version, c.WantedVersion)
	if c.ClusterID == 0 || c.Deleting || c.Target != "" || refusal != "" || next == c.Version {
		return nil
	}
	reason, message := v1beta2.ClusterReasonUpgradePending, fmt.Sprintf("waiting to upgrade from etcd %s to %s: see the condition Progressing", c.Version, next)
	if s.Explained == v1beta2.ConditionUpgrading {
		reason, message = s.Reason, s.Message
	}
	pending := condition(v, v1beta2.ConditionUpgrading, true, reason, message)
	return &pending
}

func upgrading(v *facts.View, s *step.Step) metav1.Condition {
	const kind = v1beta2.ConditionUpgrading
	c := &v.Cluster
	refusal := ""
	if c.Bootstrap != nil {
		refusal = v.Refusal()
	}
	pending := pendingUpgrade(v, s)
	switch {
	case startsUpgrade(v, s):
		return condition(v, kind, true, v1beta2.ClusterReasonUpgrading, s.Message)
	case pending != nil:
		return *pending
	case c.Target != "" && refusal != "":
		return condition(v, kind, true, v1beta2.ClusterReasonVersionRefused, fmt.Sprintf("%s members run %s; %s", v.Upgraded(), v.Cluster.Image(), refusal))
	case c.Target != "" || isUpgradingAny(v):
		return condition(v, kind, true, v1beta2.ClusterReasonUpgrading, fmt.Sprintf("%s members run %s%s", v.Upgraded(), v.Cluster.Image(), cmp.Or(restartTrouble(v), downgradeProgress(v))))
	case refusal != "":
		return condition(v, kind, false, v1beta2.ClusterReasonVersionRefused, refusal)
	}
	if c.ClusterID == 0 {
		return condition(v, kind, false, v1beta2.ClusterReasonCreating, fmt.Sprintf("no member serves yet; starting with etcd %s", c.Version))
	}
	return condition(v, kind, false, v1beta2.ClusterReasonAtVersion, "the version is "+c.Version)
}

// restartTrouble says of the members that are being restarted why they do not run, in the
// kubelet's words.
func restartTrouble(v *facts.View) string {
	var said string
	for _, m := range v.Voters {
		if p := v.PodOf[m.Name]; p != nil && p.IsRestarting() && p.Trouble != "" {
			said += fmt.Sprintf("; %s: %s", m.Name, p.Trouble)
		}
	}
	if said != "" {
		said += "; set spec.version (or spec.repository) to what ran before"
	}
	return said
}

// startsUpgrade reports whether a step latches the version to move to.
func startsUpgrade(v *facts.View, s *step.Step) bool {
	record, ok := s.Action.(action.RecordVersion)
	return ok && v.Cluster.Target == "" && record.Target != ""
}

// grownVolumes counts the volumes that have the storage that is wanted: "2 of 3".
func grownVolumes(v *facts.View) string {
	n, all := 0, 0
	for _, m := range v.List {
		if c := v.ClaimOf[m.Name]; c != nil {
			all++
			if c.Capacity >= v.Cluster.Storage {
				n++
			}
		}
	}
	return fmt.Sprintf("%d of %d", n, all)
}
