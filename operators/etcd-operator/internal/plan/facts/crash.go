package facts

import (
	"fmt"
	"slices"
	"time"
)

// What this file knows of members whose data is broken: told by the words that their etcd
// ends with (see package lastwords), again and again, a moment after its start. Its exit code
// tells nothing (S9): it is the same for a key that fits no certificate, or a bad setting.

// damageExits is how many times in a row etcd must have ended by itself, and damageAge for
// how long its Pod must not have been ready, before its data counts as broken. The fifth
// exit comes some two and a half minutes after the first (the kubelet's pauses are 10 s,
// 20 s, 40 s and 80 s).
const (
	DamageExits = 5
	damageAge   = 2 * time.Minute
)

// slowStart is for how long a container that was started again may still end as those
// before did. One that runs for longer may only be slow.
const slowStart = 30 * time.Second

// IsCrashing reports whether a Pod's etcd ends by itself again and again.
func (v *Objects) IsCrashing(p *Pod) bool {
	requeueAfter := p.Looping || (!p.RunningSince.IsZero() && v.Now.Sub(p.RunningSince) < slowStart)
	exits := p.Restarts - p.ProvenRestarts
	return requeueAfter && p.LastExit.isOwnFailure() && exits >= DamageExits && !p.Finished && p.DeletingSince.IsZero() && p.NodeLostSince.IsZero() && !p.Answer.Waiting &&
		!p.UnreadySince.IsZero() && v.Now.Sub(p.unreadyByKubelet()) >= damageAge
}

// unreadyByKubelet returns since when a Pod is not ready by its kubelet's clock. That is enough for a
// member that crashes: no clock changes how often it has.
func (p *Pod) unreadyByKubelet() time.Time {
	if p.UnreadyDated.IsZero() {
		return p.UnreadySince
	}
	return p.UnreadyDated
}

// IsDamaged reports whether a member's data counts as broken: its etcd crashes in a Pod and
// with an image in which it has served before, and all others are healthy. What has never
// served so may have another ail: a setting, an image, a right that it lacks.
func (v *Losses) IsDamaged(m Member, p *Pod) bool {
	return v.whyDoubted(m, p) == "" && v.IsCrashing(p)
}

// whyDoubted says why it is not known of a member that crashes that its data is broken.
func (v *Losses) whyDoubted(m Member, p *Pod) string {
	others := len(v.Voters)
	if !m.Learner {
		others--
	}
	switch {
	case m.IsUnmanaged():
		return "somebody has changed it with etcdctl, so that its data may be elsewhere"
	case !m.Started:
		return "it has never started"
	case p.ProvenImage != p.image() || p.From != "":
		return "it has not served before in this Pod and with this image"
	case p.LastExit.Damage == "" && !p.Inconsistent:
		return "etcd's last log line is not a known sign of damaged data"
	case v.Cluster.TLS.Problem != "":
		return "its certificates may be the cause: " + v.Cluster.TLS.Message
	case !v.Settled || v.Healthy[m.ID] || len(v.Healthy) < others:
		return "not all other members are healthy"
	case p.Inconsistent && !v.OthersAgree(p):
		return "its data differs from that of another member, and no comparison has shown that all others agree"
	}
	return ""
}

// doubt says of a member that crashes what is known, and what a person may do.
func (v *Losses) doubt(m Member, p *Pod) string {
	if !slices.Contains(v.DeleteIfDamaged, p.Name) {
		v.DeleteIfDamaged = append(v.DeleteIfDamaged, p.Name)
	}
	return fmt.Sprintf("etcd has ended %d times since it last served, last with exit code %d (%s)%s; not replaced, because %s; see kubectl -n %s logs --previous %s; only if you are sure that its data is damaged: %s",
		p.Restarts-p.ProvenRestarts, p.LastExit.Code, p.Trouble, p.LastExit.lastWords(), v.whyDoubted(m, p), v.Cluster.Namespace, p.Name, v.giveUpCommand(p))
}

// giveUpCommand is how a person has a member's data deleted. The PVC comes first: a Pod that is
// recreated between the two would start on it again.
func (v *Objects) giveUpCommand(p *Pod) string {
	kinds := "pod"
	if p.Persistent {
		kinds = "pvc,pod"
	}
	return fmt.Sprintf("kubectl -n %s delete %s %s", v.Cluster.Namespace, kinds, p.Name)
}

// IsUnproven reports whether a member serves, and has been restarted since that was last
// noted on its Pod. Exits are counted from there.
func (v *Members) IsUnproven(m Member, p *Pod) bool {
	return p.Role == Voter && v.Healthy[m.ID] && p.UnreadySince.IsZero() && p.From == "" && p.Restarts != p.ProvenRestarts
}
