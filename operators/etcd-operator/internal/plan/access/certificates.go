package access

import (
	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

// The rules of this file are for clusters whose traffic is to be by TLS. A cluster begins
// when its certificates are there and right, and it is recorded whom its members are to
// trust: Pods are made for that. From then on certificates that go bad end nothing that
// needs none. The worst of it is an operator that has none to show: it asks nobody, as
// if all members were silent, and does no more than give them back their Pods.

// AwaitCertificates waits with the beginning of a cluster, however long that takes.
func AwaitCertificates(v *facts.View) *step.Step {
	t := &v.Cluster.TLS
	if !t.Wanted || v.Cluster.Bootstrap != nil {
		return nil
	}
	switch {
	case t.Problem != "":
		return step.Wait(step.Idle, string(t.Problem), "waiting for valid certificates before the cluster starts: "+t.Message).As(problemOutcome(t.Problem)).UntilCertified()
	case t.Trust == "" || t.NoClientCertificate:
		return step.Wait(step.Shortly, v1beta2.ClusterReasonCertificatesPending, "waiting for certificates before the cluster starts").UntilCertified()
	case v.Cluster.RecordedTrust() != t.Trust && v.IsStatusRejected():
		return step.AwaitRejected(v)
	case v.Cluster.RecordedTrust() != t.Trust:
		return step.Wait(step.AtOnce, v1beta2.ClusterReasonCertificatesPending, "certificates are ready: recording which CAs members trust")
	}
	return nil
}

// AwaitClientCertificate waits while the operator has no client certificate. That nobody answers says nothing then
// (S9): no member is given up, added, changed or restarted, no loss is told, and no
// recovery begins, goes on or is aborted. What is done rests on what Kubernetes says
// alone, by the rules needNoAnswers.
func AwaitClientCertificate(needNoAnswers ...step.Rule) step.Rule {
	return func(v *facts.View) *step.Step {
		if !v.Cluster.NoClientCertificate() {
			return nil
		}
		if s := step.First(v, needNoAnswers...); s != nil {
			return s
		}
		return waitForClientCertificate(v)
	}
}

// OnceBegun tries a rule only when the cluster has begun, and does not begin anew.
func OnceBegun(r step.Rule) step.Rule {
	return func(v *facts.View) *step.Step {
		if v.Cluster.IsBootstrapping() || v.Cluster.IsReseeding() {
			return nil
		}
		return r(v)
	}
}

func waitForClientCertificate(v *facts.View) *step.Step {
	s := step.Wait(step.Idle, v.Cluster.NoClientCertificateReason(), v.Cluster.NoClientCertificateText()).As(problemOutcome(v.Cluster.TLS.Problem))
	if v.Cluster.TLS.Problem == "" {
		return s // CertificatesReady does not report it
	}
	return s.UntilCertified()
}

// problemOutcome is the outcome of waiting for certificates.
func problemOutcome(p facts.CertificateProblem) action.Outcome {
	if p == facts.CertificatesPending {
		return action.InProgress
	}
	return action.NoCertificate
}
