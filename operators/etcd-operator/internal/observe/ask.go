package observe

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// asks reports whether members can be asked, and what they say of themselves can matter.
// Of a cluster that is left to a restore only the seed's answer does, once it is handed
// over.
func asks(c *facts.Cluster) bool {
	_, _, offered := c.Fence.Offered()
	return !c.Paused && !c.Deleting && !c.TLS.NoClientCertificate && (c.Fence.By == "" || offered)
}

// ask asks every Pod that has an address what it says of itself.
func (o *Observer) ask(ctx context.Context, c *v1beta2.EtcdCluster, pods []*corev1.Pod, obs *facts.Observation) {
	var endpoints []etcdclient.Endpoint
	for _, p := range pods {
		ended := p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
		if p.Status.PodIP != "" && !ended {
			e := Endpoint(c, p.Name, p.Status.PodIP)
			e.Doubtful = p.DeletionTimestamp != nil || !transition(p.Status.Conditions, corev1.PodReady).IsZero()
			endpoints = append(endpoints, e)
		}
	}
	if len(endpoints) == 0 {
		return
	}
	asking := ctx
	if !isElectionAwaited(c, pods) {
		var cancel context.CancelFunc
		asking, cancel = context.WithTimeout(ctx, leaderlessDeadline)
		defer cancel()
	}
	answers := o.Etcd.Ask(asking, endpoints)
	for i := range obs.Pods {
		if a, ok := answers[obs.Pods[i].Name]; ok {
			obs.Pods[i].Answer = answerOf(c, a)
			if a.Launcher != nil {
				obs.Pods[i].Answer = launcherAnswer(a.Launcher, pods[i], string(c.UID))
			}
			if why := stranger(a, pods[i]); why != "" {
				obs.Pods[i].Answer = facts.Answer{Blocked: why}
				continue
			}
			if q := &obs.Pods[i].Answer.Quota; a.Reached && *q == 0 {
				*q = member.Quota(pods[i])
			}
		}
	}
	o.tryWrite(ctx, endpoints, obs)
}

// leaderlessDeadline bounds the questions to members when no linearizable read can succeed,
// or when nothing depends on one. What a member knows by itself takes milliseconds, or some
// hundred on a busy machine; the rest is for a quorum that is about to elect a leader.
const leaderlessDeadline = 500 * time.Millisecond

// isElectionAwaited reports whether it is worth waiting for a quorum to answer: the members
// that were last reported to vote may be one, judging by the containers that run, and no
// restore waits for the operator to stop. It decides how long to ask, and nothing else.
func isElectionAwaited(c *v1beta2.EtcdCluster, pods []*corev1.Pod) bool {
	if f := Fence(c); f.Asked() != "" {
		return false
	}
	runs := map[string]bool{}
	for _, p := range pods {
		runs[p.Name] = p.DeletionTimestamp == nil && isEtcdRunning(p)
	}
	voters, running := 0, 0
	for _, m := range c.Status.MemberDetails {
		if m.Role != v1beta2.MemberVoter {
			continue
		}
		voters++
		if runs[m.Name] {
			running++
		}
	}
	return running > voters/2 || voters == 0
}

// isEtcdRunning reports whether a Pod's etcd container runs, as far as its kubelet has said.
func isEtcdRunning(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.Name == member.ContainerEtcd && s.State.Running != nil
	})
}
