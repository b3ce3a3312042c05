package plan

import (
	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/status"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

// Plan decides the next step for one EtcdCluster. It never panics, whatever the
// Observation, and it returns the same Decision for the same Observation.
func Plan(o facts.Observation) Decision {
	v := facts.NewView(o)
	return decide(v, firstStep(v))
}

// Failed is the status if the action that Plan decides on has failed, or if etcd asks to wait with
// it: no condition says that it was carried out.
func Failed(o facts.Observation, failure error, isRefused bool) v1beta2.ClusterStatus {
	v := facts.NewView(o)
	s := firstStep(v)
	s.Reason, s.Message = v1beta2.ClusterReasonActionFailed, failure.Error()
	s.Outcome, s.Brief, s.Explained = action.Rejected, "", ""
	if isRefused {
		s.Reason, s.Message, s.Outcome = v1beta2.ClusterReasonWaitingForEtcd, "waiting until etcd allows it: "+s.Message, action.InProgress
	}
	return status.Of(v, s)
}

func firstStep(v *facts.View) *step.Step {
	s := step.First(v, rules...)
	s.ChildrenHeldBack = step.HeldBackChildren(v, s)
	return s
}

func decide(v *facts.View, s *step.Step) Decision {
	isStatusRejected := v.IsStatusRejected()
	st := status.Of(v, s)
	requeueAfter := step.UntilRetry(v, step.RequeueSooner(v, s.RequeueAfter))
	if latches(v, &st) && !isStatusRejected {
		requeueAfter = min(requeueAfter, step.AtOnce)
	}
	return Decision{
		Action:       s.Action,
		Outcome:      s.Outcome,
		Reason:       s.Reason,
		Message:      s.Message,
		RequeueAfter: requeueAfter,
		SkipChildren: step.SkipsChildren(v, s),
		Budget:       step.Budget(v, s.Action),
		Status:       st,

		Announcement: s.Announcement,
		NamesBackups: s.NamesBackups,

		AwaitsCertificates: s.AwaitsCertificates,
		RemoveByHand:       s.RemoveByHand,
		DeleteEmpty:        v.DeleteEmpty,
		DeleteIfDamaged:    v.DeleteIfDamaged,
		MemberLost:         s.MemberLost,
		PodStuck:           s.PodStuck,

		ChildrenHeldBack: s.ChildrenHeldBack,
	}
}

// latches reports whether a status differs from the last one in what is read again from
// it: nothing tells the operator of what it has written itself.
func latches(v *facts.View, st *v1beta2.ClusterStatus) bool {
	was, is := v1beta2.TLSStatus{}, v1beta2.TLSStatus{}
	if t := v.Cluster.LastStatus.TLS; t != nil {
		was = *t
	}
	if t := st.TLS; t != nil {
		is = *t
	}
	return was.Trust != is.Trust || was.Rotation != is.Rotation ||
		(v.Cluster.LastStatus.QuorumLostSince == nil) != (st.QuorumLostSince == nil)
}
