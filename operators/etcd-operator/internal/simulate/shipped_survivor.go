package simulate

import (
	"encoding/json"
	"reflect"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/survivor"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/survivor/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
)

// This file is what a survivor's seed is to the shipped code: the Pod with its agent, and what
// the status tells of it.

// agentFailure is the reason that the agent of a survivor's seed gives when it has failed.
const agentFailure = "Survivor"

// id is one of etcd, as it is written; 0 if it is none.
func id(s string) uint64 {
	n, _ := strconv.ParseUint(s, 16, 64) // empty is none
	return n
}

// taskOf is what the agent of a Pod is to do; nil if it has none.
func taskOf(p *corev1.Pod) *facts.Recovery {
	t := survivor.TaskOf(p)
	if t == nil {
		return nil
	}
	return &facts.Recovery{
		Survivor: t.Survivor, ClusterID: id(t.ClusterID), MemberID: id(t.MemberID), Committed: t.Committed, Seed: t.Name, Token: t.Token, BeginsAt: t.Revision,
	}
}

// seedStatus turns the status of a Pod's etcd container into that of its agent's, while that has
// not come to its end.
func seedStatus(st *corev1.PodStatus, failed string) {
	etcd := &st.ContainerStatuses[0]
	init := corev1.ContainerStatus{Name: survivor.Container, RestartCount: etcd.RestartCount, State: etcd.State}
	words, _ := json.Marshal(task.Result{Failure: &agent.Failure{Reason: agentFailure, Message: failed}}) // it is only strings
	init.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: string(words)}
	*etcd = corev1.ContainerStatus{Name: etcd.Name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}}
	st.Phase, st.InitContainerStatuses = corev1.PodPending, []corev1.ContainerStatus{init}
}

// keepLatched takes what is latched in a status for the truth, and checks it.
func (w *world) keepLatched(st *v1beta2.ClusterStatus) {
	c := &w.cluster
	was := *c
	c.recovery, c.clusterID = observe.RecoveryOf(st.Recovery), id(st.ClusterID)
	c.bootstrap = facts.Bootstrap{}
	if b := st.Bootstrap; b != nil {
		c.bootstrap = facts.Bootstrap{Member: b.Member, Token: b.Token, Adopted: b.Adopted}
	}
	grows := func(r *facts.Recovery) bool { return r != nil && r.Phase == v1beta2.RecoveryGrowing }
	if s := st.AdoptedSeed; s != nil {
		c.fence.Adopted = *s
	}
	adopted := c.fence.Adopted != was.fence.Adopted
	if !adopted && (c.bootstrap != was.bootstrap || c.clusterID != was.clusterID || st.FencedBy == was.fence.By && !reflect.DeepEqual(st.Recovery, was.status.Recovery)) {
		w.touch("a beginning is latched")
	}
	if st.FencedBy != "" && c.fence.By == "" {
		w.fences++
	}
	c.fence.By = st.FencedBy
	switch begun := c.clusterID != was.clusterID; {
	case adopted:
		w.adopt(action.AdoptSeed{Restore: c.fence.Adopted.Restore, Name: c.fence.Adopted.Pod, UID: c.fence.Adopted.PodUID, ClusterID: c.clusterID})
	case begun && grows(c.recovery) && !grows(was.recovery):
		a := action.AdoptSurvivor{Name: c.bootstrap.Member, ClusterID: c.clusterID, Token: c.bootstrap.Token}
		if p := w.pod(a.Name); p != nil {
			a.UID = p.uid
		}
		w.beginAnew(a)
	case begun:
		w.latch(c.clusterID)
	}
}
