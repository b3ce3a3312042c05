package status

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/quorum"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

// alarmReason is the reason of the conditions while alarms are raised.
func alarmReason(v *facts.View) string {
	if len(v.AlarmsOf(facts.Corrupt)) > 0 {
		return v1beta2.ClusterReasonCorrupt
	}
	return v1beta2.ClusterReasonNoSpace
}

// readyVoters are the Pods that clients are sent to, by what Kubernetes says.
func readyVoters(v *facts.View) []string {
	var ready []string
	for i := range v.Pods {
		if p := &v.Pods[i]; p.Role == facts.Voter && p.IsReady() {
			ready = append(ready, p.Name)
		}
	}
	return ready
}

// availableByReadiness is the condition Available of a cluster that nobody is asked of.
func availableByReadiness(v *facts.View) metav1.Condition {
	const kind = v1beta2.ConditionAvailable
	if ready := readyVoters(v); len(ready) > 0 {
		return condition(v, kind, true, v1beta2.ClusterReasonServing, fmt.Sprintf("a quorum serves: Pods %s are ready (their probe is a linearizable read); the operator has no usable client certificate", strings.Join(ready, ", ")))
	}
	return condition(v, kind, false, v.Cluster.NoClientCertificateReason(), "no voter's Pod is ready; "+v.Cluster.NoClientCertificateText())
}

// available says whether a quorum serves reads and writes.
func available(v *facts.View, s *step.Step) metav1.Condition {
	const kind = v1beta2.ConditionAvailable
	switch {
	case isUnqueried(v):
		return unqueried(v, kind)
	case v.Cluster.Fence.By != "" && 2*len(readyVoters(v)) > v.Cluster.LastStatus.Size && v.Cluster.ClusterID != 0:
		// They serve until the restore's seed is ready to take their place.
		return condition(v, kind, true, v1beta2.ClusterReasonServing, fmt.Sprintf("a quorum serves: Pods %s are ready (their probe is a linearizable read); lost members are not replaced meanwhile: %s", strings.Join(readyVoters(v), ", "), s.Message))
	case v.Cluster.ClusterID == 0 || v.Cluster.Fence.By != "":
		return condition(v, kind, false, s.Reason, s.Message)
	case v.Cluster.NoClientCertificate():
		return availableByReadiness(v)
	case v.Sure && len(v.Alarms) > 0:
		return condition(v, kind, false, alarmReason(v), v.AlarmAdvice())
	case v.HasQuorum():
		return condition(v, kind, true, v1beta2.ClusterReasonServing, tolerance(v))
	case v.Sure:
		return condition(v, kind, true, v1beta2.ClusterReasonServing, "a quorum serves, though the operator cannot reach all of its members")
	case slices.ContainsFunc(v.Pods, func(p facts.Pod) bool { return p.ServesUnseen() }):
		return condition(v, kind, true, v1beta2.ClusterReasonServing, "a quorum serves; the operator knows no more, since etcd's authentication refuses it")
	}
	return condition(v, kind, false, s.Reason, s.Message)
}

// tolerance says how many more members may fail, counted from those that are healthy now,
// and warns of a size that gains nothing.
func tolerance(v *facts.View) string {
	all, healthy := len(v.Voters), len(v.Healthy)
	who := fmt.Sprintf("%d voters serve", all)
	switch {
	case healthy < all:
		who = fmt.Sprintf("%d of %d voters serve", healthy, all)
	case all == 1:
		who = "1 voter serves"
	}
	msg := fmt.Sprintf("%s reads and writes; %d of them can fail", who, healthy-quorum.Majority(all))
	switch {
	case healthy > quorum.Majority(all):
	case healthy < all:
		msg = who + " reads and writes; the cluster tolerates no failure until more voters are healthy"
	default:
		msg = who + " reads and writes; the cluster tolerates no failure"
	}
	if v.Cluster.Size%2 == 0 {
		msg += fmt.Sprintf("; %d members tolerate no more failures than %d do: use an odd size", v.Cluster.Size, v.Cluster.Size-1)
	}
	return msg
}
