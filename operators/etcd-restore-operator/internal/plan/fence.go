package plan

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// slowToStop is after how long a Pod that does not end is told of as a problem. One that
// somebody else had stopped already may take its 30 s (shared/member).
const slowToStop = 40 * time.Second

// endRunning is what gets a restore on whose Pods do not end.
const endRunning = "repair the node, or taint it with node.kubernetes.io/out-of-service if it is off, or set spec.acceptRunningOldMembers: true"

// takeTurn lets restores of one cluster work one after the other: the one that was
// created first, unless another has asked for the cluster already.
func takeTurn(v *view) *step {
	asked := v.there && (v.mark == v.uid || v.by == v.uid) && v.uid != ""
	if asked {
		return nil
	}
	if v.there && v.isClaimed() {
		return v.yield(cmp.Or(v.by, v.mark))
	}
	for _, o := range v.Others {
		if o.Before {
			return v.yield(o.UID)
		}
	}
	return nil
}

// isClaimed reports whether the EtcdCluster is fenced, or a fence is asked for that may be
// acknowledged.
func (v *view) isClaimed() bool {
	return v.by != "" || v.mark != "" && v.mark != v.lifted && v.mark != v.adoptedBy
}

// yield waits for another restore of the same cluster.
func (v *view) yield(uid string) *step {
	for _, o := range v.Others {
		if o.UID == uid {
			return warn(v1beta2.RestorePending, v1beta2.RestoreReasonAnotherRestore, fmt.Sprintf(
				"waiting for EtcdRestore %s, which restores EtcdCluster %s: this one begins when that one completes or fails; delete that one to begin now", o.Name, v.name), "EtcdRestore "+o.Name)
		}
	}
	return warn(v1beta2.RestorePending, v1beta2.RestoreReasonAnotherRestore, fmt.Sprintf(
		"EtcdCluster %s is fenced by another EtcdRestore, with uid %s: this one begins when that one completes or fails; to find it: kubectl -n %s get etcdrs -o custom-columns=NAME:.metadata.name,UID:.metadata.uid; if no EtcdRestore has that uid, follow the runbook restore-waiting before you set the annotation %s of the EtcdCluster to it",
		v.name, conditiontext.Clip(uid), v.Restore.Namespace, v1beta2.AnnotationFenceLifted), "EtcdRestore of uid "+conditiontext.Clip(uid))
}

// addFinalizer comes before all that a rollback has to undo.
func addFinalizer(v *view) *step {
	if v.held {
		return nil
	}
	return do(v1beta2.RestoreFencing, AddFinalizer{}, v1beta2.RestoreReasonFencing, fmt.Sprintf("preparing to fence EtcdCluster %s; deleting this EtcdRestore rolls it back from now on", v.name)).quietly()
}

// askFence asks etcd-operator to suspend its reconciliation of the cluster.
func askFence(v *view) *step {
	switch {
	case v.fenced:
		return nil
	case v.lifted == v.uid:
		return v.fail(v1beta2.RestoreReasonFenceLifted, fmt.Sprintf("someone else lifted the fence of EtcdCluster %s (annotation %s): create another EtcdRestore", v.name, v1beta2.AnnotationFenceLifted))
	case v.mark != v.uid:
		return do(v1beta2.RestoreFencing, AskFence{}, v1beta2.RestoreReasonFencing, fmt.Sprintf("asked etcd-operator to suspend its reconciliation of EtcdCluster %s", v.name))
	}
	return nil
}

// awaitFence waits until etcd-operator has suspended its reconciliation.
func awaitFence(v *view) *step {
	if v.fenced {
		return nil
	}
	if s := v.operatorMissing(); s != nil {
		return s
	}
	return v.awaitOperator(v1beta2.RestoreFencing, v1beta2.RestoreReasonFencing, fmt.Sprintf("waiting for etcd-operator to suspend its reconciliation of EtcdCluster %s once its current step is done", v.name))
}

// awaitOperator waits for etcd-operator's half of the contract, and says what may be in
// its way.
func (v *view) awaitOperator(phase v1beta2.RestorePhase, reason, message string) *step {
	object := "EtcdCluster " + v.name
	if v.Cluster.Spec.Paused {
		return warn(phase, v1beta2.RestoreReasonClusterPaused, fmt.Sprintf("EtcdCluster %s is paused, so etcd-operator does not act on it: set its spec.paused to false to continue the restore", v.name), object)
	}
	for _, c := range v.Cluster.Status.Conditions {
		conflict := c.Type == v1beta2.ConditionNameConflict && c.Status == metav1.ConditionTrue
		if conflict {
			return warn(phase, conditiontext.Reason(c.Reason, v1beta2.ClusterReasonNameConflict), fmt.Sprintf("etcd-operator does not manage EtcdCluster %s: %s", v.name, conditiontext.Clip(c.Message)), object)
		}
		if c.Type == v1beta2.ConditionCertificatesReady && c.Status == metav1.ConditionFalse && !v.issuesCertificates() {
			return warn(phase, conditiontext.Reason(c.Reason, v1beta2.ConditionCertificatesReady), fmt.Sprintf("waiting for valid certificates of EtcdCluster %s: %s", v.name, conditiontext.Clip(c.Message)), object)
		}
	}
	return wait(phase, reason, message, object)
}

// stopPods stops the old members, and whatever else etcd-operator has begun.
func stopPods(v *view) *step {
	var pods []Ref
	var names []string
	for _, p := range v.old {
		if p.Deleting.IsZero() {
			pods, names = append(pods, Ref{p.Name, p.UID}), append(names, p.Name)
		}
	}
	if len(pods) == 0 {
		return nil
	}
	message := fmt.Sprintf("stopping the old members: %s", list(names))
	if !v.persistent() {
		message += "; they have no volumes, so their data is lost"
	}
	stop := StopPods{Pods: pods}
	if v.seed != nil && v.seed.Permit == PermitToPrepare && v.seed.Deleting.IsZero() {
		stop.Seed = Ref{v.seed.Name, v.seed.UID}
	}
	s := do(v.stopping(), stop, v1beta2.RestoreReasonStoppingMembers, message)
	s.waitingFor = v.oldNames()
	return s
}

// oldNames are the Pods that must go.
func (v *view) oldNames() []string {
	var names []string
	for _, p := range v.old {
		names = append(names, "Pod "+p.Name)
	}
	return names
}

// retireClaims relabels the old members' volumes, so that they do not count as those of
// members until the restore has succeeded, or has returned them.
func retireClaims(v *view) *step {
	if len(v.members) == 0 {
		return nil
	}
	s := do(v.stopping(), RetireClaims{v.members}, v1beta2.RestoreReasonKeepingVolumes, fmt.Sprintf("the old members' volumes are kept until the restored cluster has its size: %s", list(refNames(v.members))))
	s.waitingFor = v.oldNames()
	return s
}

func refNames(refs []Ref) []string {
	var names []string
	for _, r := range refs {
		names = append(names, r.Name)
	}
	return names
}

// awaitPods waits until no old member can serve clients: until each Pod's node reports that
// it has stopped it, or it is deleted, which says the same. In between the node takes the
// Pod's volumes and network away, for which clients need not wait.
func awaitPods(v *view) *step {
	if v.spec.AcceptRunningOldMembers {
		return nil
	}
	slow := false
	var names []string
	for _, p := range v.old {
		if p.Stopped {
			continue
		}
		names = append(names, p.place())
		due := p.Deleting.Add(slowToStop)
		slow = slow || !v.Now.Before(due)
		v.wakeAt(due)
	}
	switch {
	case len(names) == 0:
		return nil
	case !slow:
		return wait(v.stopping(), v1beta2.RestoreReasonStoppingMembers, fmt.Sprintf("waiting for the old members to stop: %s", list(names)), v.oldNames()...)
	}
	return warn(v.stopping(), v1beta2.RestoreReasonOldMembersRunning, fmt.Sprintf(
		"old members do not stop, and could still serve clients beside the restored cluster: %s; %s", list(names), endRunning), v.oldNames()...)
}

// place is a Pod with its node, if it has one.
func (p *Pod) place() string {
	if p.Node == "" {
		return p.Name
	}
	return p.Name + " on node " + p.Node
}

// awaitVersion waits until etcd-operator has reported which version the seed has to run: it
// might never have looked at the cluster before. It makes no seed of a version that etcd-operator
// would not run.
func awaitVersion(v *view) *step {
	switch version := v.version(); {
	case version != "" && (v.seed != nil || etcdversion.Supported(version)):
		return nil
	case version != "":
		return warn(v1beta2.RestoreFencing, v1beta2.RestoreReasonVersionUnsupported, fmt.Sprintf("etcd %s is not supported; set spec.version of EtcdCluster %s to %s or later, such as %s",
			conditiontext.Clip(version), v.name, etcdversion.OldestSupported, etcdversion.Newest()), "EtcdCluster "+v.name)
	}
	return v.awaitOperator(v1beta2.RestoreFencing, v1beta2.RestoreReasonVersionPending, fmt.Sprintf("waiting for etcd-operator to report the etcd version of EtcdCluster %s", v.name))
}
