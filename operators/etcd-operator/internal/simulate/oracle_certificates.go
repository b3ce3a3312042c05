package simulate

import (
	"slices"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// What the oracle asks of clusters whose traffic is to be by TLS. Actions on fences are not
// among what it is asked about.

// certificates checks that a cluster begins with its certificates, and that an operator
// that has none to show takes silence for nothing (S9).
func (k *check) certificates() *Violation {
	c := &k.o.Cluster
	t := &c.TLS
	switch {
	case !t.Wanted || k.d.Action == nil:
		return nil
	case c.Bootstrap == nil:
		last := c.LastStatus.TLS
		if t.Problem != "" || t.NoClientCertificate || t.Trust == "" || last == nil || last.Trust != t.Trust {
			return violation(certified, "acts on a cluster that has not begun, and whose certificates are not there, right and recorded")
		}
		return nil
	case t.NoClientCertificate && !k.isWithoutAnswers():
		return violation("S9", "acts although it asks nobody, for want of a certificate")
	case t.Problem == facts.CertificatesMissing || t.Problem == facts.CertificatesInvalid:
		switch k.d.Action.(type) {
		case action.RecreatePod, action.ChangeImage:
			if p := k.pod(touched(k.d.Action)); p != nil && p.Answer.Read {
				return violation("S6", "%s is restarted, and may not start again for want of a certificate", p.Name)
			}
		default:
		}
	}
	return nil
}

// touched is the name of the Pod that is restarted.
func touched(a action.Action) string {
	switch x := a.(type) {
	case action.RecreatePod:
		return x.Name
	case action.ChangeImage:
		return x.Name
	default:
		return ""
	}
}

// isWithoutAnswers reports whether an action needs no word of any member.
func (k *check) isWithoutAnswers() bool {
	switch a := k.d.Action.(type) {
	case action.KeepClaims:
		return true
	case action.RevokeStartPermits:
		return !slices.ContainsFunc(a.Pods, func(r action.PodRef) bool {
			p := k.pod(r.Name)
			return p == nil || p.StartPermit == nil || !p.StartPermit.New
		})
	case action.DeletePod:
		p := k.pod(a.Name)
		onVolume := slices.ContainsFunc(k.o.Claims, func(c facts.Claim) bool { return c.Name == a.Name })
		return p != nil && p.Finished && p.Persistent && onVolume
	case action.CreatePods:
		return !slices.ContainsFunc(a.Pods, func(p action.NewPod) bool { return p.Role != facts.Returning })
	case action.SetRoles:
		return !slices.ContainsFunc(a.Roles, func(r action.PodRole) bool { return r.Role != facts.Voter || !k.readyUnseen(k.pod(r.Name)) })
	default:
		return false
	}
}

// readyUnseen reports whether a Pod is one of the latched cluster's voters although nobody
// was asked: it was when that could be told last, and is ready, as by a linearizable read.
func (k *check) readyUnseen(p *facts.Pod) bool {
	return p != nil && k.o.Cluster.TLS.Wanted && k.o.Cluster.TLS.NoClientCertificate && k.o.Cluster.ClusterID != 0 && (p.Role == facts.Returning || p.Role == facts.Restarting) &&
		p.UnreadySince.IsZero() && p.DeletingSince.IsZero() && !p.Finished && k.isReportedVoter(p.Name)
}

// tellsNothing checks what an operator says that asks nobody: no loss.
func tellsNothing(o *facts.Observation, d *plan.Decision) *Violation {
	if t := &o.Cluster.TLS; t.Wanted && t.NoClientCertificate && (d.Outcome == action.QuorumLost || d.Status.QuorumLostSince != nil) {
		return violation("S9", "tells of a loss although it asks nobody, for want of a certificate")
	}
	return nil
}
