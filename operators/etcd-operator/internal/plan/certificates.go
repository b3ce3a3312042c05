package plan

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

// The rules of this file are for clusters whose traffic is to be by TLS. A cluster begins
// when its certificates are there and right, and it is recorded whom its members are to
// trust: Pods are made for that. From then on certificates that go bad end nothing that
// needs none. The worst of it is an operator that has none to show: it asks nobody, as
// if all members were silent, and does no more than give them back their Pods.

// awaitCertificates waits with the beginning of a cluster, however long that takes.
func awaitCertificates(v *facts.View) *step.Step {
	t := &v.Cluster.TLS
	if !t.Wanted || v.Cluster.Bootstrap != nil {
		return nil
	}
	switch {
	case t.Problem != "":
		return step.Wait(step.Idle, string(t.Problem), "waiting for valid certificates before the cluster starts: "+t.Message).As(problemOutcome(t.Problem)).UntilCertified()
	case t.Trust == "" || t.NoClientCertificate:
		return step.Wait(step.Shortly, v1beta2.ClusterReasonCertificatesPending, "waiting for certificates before the cluster starts").UntilCertified()
	case v.Cluster.RecordedTrust() != t.Trust:
		return step.Wait(step.AtOnce, v1beta2.ClusterReasonCertificatesPending, "certificates are ready: recording which CAs members trust")
	}
	return nil
}

// awaitClientCertificate waits while the operator has no client certificate. That nobody answers says nothing then
// (S9): no member is given up, added, changed or restarted, no loss is told, and no
// recovery begins, goes on or is aborted. What is done rests on what Kubernetes says
// alone, by the rules needNoAnswers.
func awaitClientCertificate(needNoAnswers ...step.Rule) step.Rule {
	return func(v *facts.View) *step.Step {
		if !v.Cluster.NoClientCertificate() {
			return nil
		}
		for _, r := range needNoAnswers {
			if s := r(v); s != nil {
				return s
			}
		}
		return waitForClientCertificate(v)
	}
}

// onceBegun tries a rule only when the cluster has begun, and does not begin anew.
func onceBegun(r step.Rule) step.Rule {
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

// unfitToStart says why a member that is restarted may not come back; empty if nothing is
// known to be in its way. One whose Secret is gone runs on, and starts no more.
func unfitToStart(v *facts.View) string {
	if t := &v.Cluster.TLS; t.Problem == facts.CertificatesMissing || t.Problem == facts.CertificatesInvalid {
		return t.Message
	}
	return ""
}

// availableByReadiness is the condition Available of a cluster that nobody is asked of.
func availableByReadiness(v *facts.View) metav1.Condition {
	const kind = v1beta2.ConditionAvailable
	if ready := readyVoters(v); len(ready) > 0 {
		return condition(v, kind, true, v1beta2.ClusterReasonServing, fmt.Sprintf("a quorum serves: Pods %s are ready (their probe is a linearizable read); the operator has no usable client certificate", strings.Join(ready, ", ")))
	}
	return condition(v, kind, false, v.Cluster.NoClientCertificateReason(), "no voter's Pod is ready; "+v.Cluster.NoClientCertificateText())
}

// certificates is the condition of those that the spec asks for; nil if it asks for none.
func certificates(v *facts.View) *metav1.Condition {
	const kind = v1beta2.ConditionCertificatesReady
	t := &v.Cluster.TLS
	var c metav1.Condition
	switch {
	case !t.Wanted:
		return nil
	case t.Problem != "":
		c = condition(v, kind, false, string(t.Problem), t.Message)
	case t.IsPending():
		c = condition(v, kind, false, v1beta2.ClusterReasonCertificatesPending, "checking certificates")
	case t.Rotation != "":
		c = condition(v, kind, true, string(t.Rotation), rotationStory(v))
	default:
		c = condition(v, kind, true, v1beta2.ClusterReasonCertificatesValid, "all certificates are valid")
	}
	return &c
}

// rotationStory says how far the replacement of a CA is.
func rotationStory(v *facts.View) string {
	switch v.Cluster.TLS.Rotation {
	case v1beta2.CATrustingBoth:
		return "CA rotation: " + trusting(v) + " trust both CAs; members restart one at a time"
	case v1beta2.CAReissuing:
		return "CA rotation: all certificates are signed by the new CA; the old CA is trusted until clients have loaded theirs"
	case v1beta2.CADroppingOld:
		return "CA rotation: " + trusting(v) + " trust only the new CA; members restart one at a time"
	}
	return "CA rotation is in progress"
}

// trusting counts the Pods that were made for the CAs of today.
func trusting(v *facts.View) string {
	n := 0
	for i := range v.Pods {
		if p := &v.Pods[i]; !v.HasOldTemplate(p) && v.Cluster.RecordedTrust() == v.Cluster.TLS.Trust {
			n++
		}
	}
	return fmt.Sprintf("%d of %d Pods", n, len(v.Pods))
}

// tlsStatus is what the status tells of certificates: whom to trust is kept while it is
// not known.
func tlsStatus(v *facts.View) *v1beta2.TLSStatus {
	t := &v.Cluster.TLS
	if !t.Wanted {
		return nil
	}
	st := &v1beta2.TLSStatus{Trust: cmp.Or(t.Trust, v.Cluster.RecordedTrust()), Rotation: t.Rotation, Pending: t.IsPending()}
	if !t.NotAfter.IsZero() {
		end := metav1.NewTime(t.NotAfter.Truncate(time.Second))
		st.NotAfter = &end
	}
	return st
}
