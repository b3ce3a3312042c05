package plan

import (
	"fmt"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// slowToAnswer is after how long an etcd-operator that has not answered is told of as a
// problem. One that runs ends what it has begun within 12 s, and answers then.
const slowToAnswer = time.Minute

// operatorMissing says, when the fence was asked for a minute ago, why it was not
// answered, as far as the EtcdCluster tells, and what to do; nil if it is too early for that, or if
// the EtcdCluster itself says why.
func (v *view) operatorMissing() *step {
	since := v.last.FenceTime
	if since == nil || v.Cluster.Spec.Paused {
		return nil
	}
	due := since.Add(slowToAnswer)
	if v.Now.Before(due) {
		v.wakeAt(due)
		return nil
	}
	reason, message := v.whoIsMissing()
	if s := v.awaitOperator(v1beta2.RestoreFencing, reason, message); s.warn {
		return s // the EtcdCluster says more
	}
	return warn(v1beta2.RestoreFencing, reason, message, "EtcdCluster "+v.name)
}

// whoIsMissing tells four cases apart by what is written in the EtcdCluster's status: it is
// empty until an operator of its scope has looked at it, and the archived operator writes no
// observedGeneration.
func (v *view) whoIsMissing() (reason, message string) {
	st := &v.Cluster.Status
	unseen := st.ObservedGeneration == 0 && st.Phase == v1beta2.PhaseNone && len(st.Conditions) == 0
	switch {
	case unseen && v.clusterwide():
		return v1beta2.RestoreReasonOperatorOtherScope, fmt.Sprintf(
			"no etcd-operator of its scope has ever reconciled EtcdCluster %s: %s; no member was stopped", v.name, v.scopeAdvice())
	case unseen:
		return v1beta2.RestoreReasonOperatorMissing, fmt.Sprintf(
			"no etcd-operator has ever reconciled EtcdCluster %s: %s; no member was stopped", v.name, v.scopeAdvice())
	case st.ObservedGeneration == 0:
		return v1beta2.RestoreReasonOperatorTooOld, fmt.Sprintf(
			"the etcd-operator of EtcdCluster %s is too old for restores, like the archived coreos/etcd-operator: replace its Deployment with that of this release (%s); no member was stopped", v.name, v.install())
	}
	return v1beta2.RestoreReasonOperatorNotAnswering, fmt.Sprintf(
		"etcd-operator has not answered the restore of EtcdCluster %s for a minute: it is not running, or no longer reconciles this EtcdCluster; check it with kubectl get deployment,pods --all-namespaces -l app.kubernetes.io/name=etcd-operator, and %s; no member was stopped", v.name, v.scopeAdvice())
}

// clusterwide reports whether the EtcdCluster is for an etcd-operator with --cluster-wide.
func (v *view) clusterwide() bool {
	return v.Cluster.Annotations[v1beta2.AnnotationScope] == v1beta2.ScopeClusterwide
}

// scopeAdvice says which etcd-operator reconciles the EtcdCluster.
func (v *view) scopeAdvice() string {
	namespace := v.Restore.Namespace
	if v.clusterwide() {
		return fmt.Sprintf("its annotation %s: %s assigns it to an etcd-operator that runs with --cluster-wide, so start one (%s), or remove the annotation if one runs in the namespace %s", v1beta2.AnnotationScope, v1beta2.ScopeClusterwide, v.install(), namespace)
	}
	return fmt.Sprintf("start an etcd-operator that watches the namespace %s (%s), or, if one runs with --cluster-wide, annotate the EtcdCluster with %s: %s", namespace, v.install(), v1beta2.AnnotationScope, v1beta2.ScopeClusterwide)
}

// install is how to install such an etcd-operator.
func (v *view) install() string {
	const deploy = "deploy/etcd-operator"
	switch namespace := v.Restore.Namespace; {
	case v.clusterwide():
		return "kubectl apply -k " + deploy + "/cluster-wide"
	case namespace != "default": // that of the kustomization
		return "apply an overlay of " + deploy + " with namespace: " + namespace
	}
	return "kubectl apply -k " + deploy
}
