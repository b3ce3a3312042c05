package simulate

import (
	"slices"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
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
	case t.Problem == plan.CertificatesMissing || t.Problem == plan.CertificatesInvalid:
		switch k.d.Action.(type) {
		case plan.RecreatePod, plan.ChangeImage:
			if p := k.pod(touched(k.d.Action)); p != nil && p.Answer.Read {
				return violation("S6", "%s is restarted, and may not start again for want of a certificate", p.Name)
			}
		default:
		}
	}
	return nil
}

// touched is the name of the Pod that is restarted.
func touched(a plan.Action) string {
	switch x := a.(type) {
	case plan.RecreatePod:
		return x.Name
	case plan.ChangeImage:
		return x.Name
	default:
		return ""
	}
}

// isWithoutAnswers reports whether an action needs no word of any member.
func (k *check) isWithoutAnswers() bool {
	switch a := k.d.Action.(type) {
	case plan.KeepClaims:
		return true
	case plan.RevokeStartPermits:
		return !slices.ContainsFunc(a.Pods, func(r plan.PodRef) bool {
			p := k.pod(r.Name)
			return p == nil || p.StartPermit == nil || !p.StartPermit.New
		})
	case plan.DeletePod:
		p := k.pod(a.Name)
		onVolume := slices.ContainsFunc(k.o.Claims, func(c plan.Claim) bool { return c.Name == a.Name })
		return p != nil && p.Finished && p.Persistent && onVolume
	case plan.CreatePods:
		return !slices.ContainsFunc(a.Pods, func(p plan.NewPod) bool { return p.Role != plan.Returning })
	case plan.SetRoles:
		return !slices.ContainsFunc(a.Roles, func(r plan.PodRole) bool { return r.Role != plan.Voter || !k.readyUnseen(k.pod(r.Name)) })
	default:
		return false
	}
}

// readyUnseen reports whether a Pod is one of the latched cluster's voters although nobody
// was asked: it was when that could be told last, and is ready, as by a linearizable read.
func (k *check) readyUnseen(p *plan.Pod) bool {
	return p != nil && k.o.Cluster.TLS.Wanted && k.o.Cluster.TLS.NoClientCertificate && k.o.Cluster.ClusterID != 0 && (p.Role == plan.Returning || p.Role == plan.Restarting) &&
		p.UnreadySince.IsZero() && p.DeletingSince.IsZero() && !p.Finished && k.isReportedVoter(p.Name)
}

// tellsNothing checks what an operator says that asks nobody: no loss.
func tellsNothing(o *plan.Observation, d *plan.Decision) *Violation {
	if t := &o.Cluster.TLS; t.Wanted && t.NoClientCertificate && (d.Outcome == plan.QuorumLost || d.Status.QuorumLostSince != nil) {
		return violation("S9", "tells of a loss although it asks nobody, for want of a certificate")
	}
	return nil
}
