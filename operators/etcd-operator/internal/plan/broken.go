package plan

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
	damageExits = 5
	damageAge   = 2 * time.Minute
)

// slowStart is for how long a container that was started again may still end as those
// before did. One that runs for longer may only be slow.
const slowStart = 30 * time.Second

// isOwnFailure reports whether a process ended by itself, with an error. One that was killed, by a
// signal or for want of memory, says nothing of its data.
func (e Exit) isOwnFailure() bool {
	return e.Reason != "OOMKilled" && e.Code > 0 && e.Code < 128
}

// isCrashing reports whether a Pod's etcd ends by itself again and again.
func (v *view) isCrashing(p *Pod) bool {
	requeueAfter := p.Looping || (!p.RunningSince.IsZero() && v.Now.Sub(p.RunningSince) < slowStart)
	exits := p.Restarts - p.ProvenRestarts
	return requeueAfter && p.LastExit.isOwnFailure() && exits >= damageExits && !p.Finished && p.DeletingSince.IsZero() && p.NodeLostSince.IsZero() && !p.Answer.Waiting &&
		!p.UnreadySince.IsZero() && v.Now.Sub(p.UnreadySince) >= damageAge
}

// isDamaged reports whether a member's data counts as broken: its etcd crashes in a Pod and
// with an image in which it has served before, and all others are healthy. What has never
// served so may have another ail: a setting, an image, a right that it lacks.
func (v *view) isDamaged(m Member, p *Pod) bool {
	return v.whyDoubted(m, p) == "" && v.isCrashing(p)
}

// crowdsOut reports whether a member whose data is broken most likely has the place that
// its replacement waits for: that has not been scheduled for the member timeout. The
// others can do without either as well as with a member that is down.
func (v *view) crowdsOut(m Member, p *Pod) bool {
	return v.isDamaged(m, p) && slices.ContainsFunc(v.candidates(), func(j *Pod) bool { return j.Node == "" && j.Unschedulable != "" && v.isExpired(j.Created) })
}

// whyDoubted says why it is not known of a member that crashes that its data is broken.
func (v *view) whyDoubted(m Member, p *Pod) string {
	others := len(v.voters)
	if !m.Learner {
		others--
	}
	switch {
	case !m.Started:
		return "it has never started"
	case p.ProvenImage != p.image() || p.From != "":
		return "it has not served before in this Pod and with this image"
	case p.LastExit.Damage == "" && !p.Inconsistent:
		return "etcd's last log line is not a known sign of damaged data"
	case v.Cluster.TLS.Problem != "":
		return "its certificates may be the cause: " + v.Cluster.TLS.Message
	case !v.settled || v.healthy[m.ID] || len(v.healthy) < others:
		return "not all other members are healthy"
	case p.Inconsistent && !v.othersAgree(p):
		return "its data differs from that of another member, and no comparison has shown that all others agree"
	}
	return ""
}

// doubt says of a member that crashes what is known, and what a person may do.
func (v *view) doubt(m Member, p *Pod) string {
	if !slices.Contains(v.deleteIfDamaged, p.Name) {
		v.deleteIfDamaged = append(v.deleteIfDamaged, p.Name)
	}
	return fmt.Sprintf("etcd has ended %d times since it last served, last with exit code %d (%s)%s; not replaced, because %s; see kubectl -n %s logs --previous %s; only if you are sure that its data is damaged: %s",
		p.Restarts-p.ProvenRestarts, p.LastExit.Code, p.Trouble, p.LastExit.lastWords(), v.whyDoubted(m, p), v.Cluster.Namespace, p.Name, v.giveUpCommand(p))
}

// giveUpCommand is how a person has a member's data deleted. The PVC comes first: a Pod that is
// recreated between the two would start on it again.
func (v *view) giveUpCommand(p *Pod) string {
	kinds := "pod"
	if p.Persistent {
		kinds = "pvc,pod"
	}
	return fmt.Sprintf("kubectl -n %s delete %s %s", v.Cluster.Namespace, kinds, p.Name)
}

// lastWords are those of a process, as they continue a sentence about its end.
func (e Exit) lastWords() string {
	switch {
	case e.Damage != "":
		return ": " + e.Damage
	case e.Words != "":
		return fmt.Sprintf(": it said %q", e.Words)
	}
	return ""
}

// image is the image that the operator asked for.
func (p *Pod) image() string { return p.Repository + ":v" + p.Version }

// isUnproven reports whether a member serves, and has been restarted since that was last
// noted on its Pod. Exits are counted from there.
func (v *view) isUnproven(m Member, p *Pod) bool {
	return p.Role == Voter && v.healthy[m.ID] && p.UnreadySince.IsZero() && p.From == "" && p.Restarts != p.ProvenRestarts
}

// volumeLost reports whether a Pod can't run any more since its volume is gone from under
// its claim. For the member timeout it may come back: a person can make the
// PersistentVolume again.
func (v *view) volumeLost(p *Pod) bool {
	c := v.claims[p.Name]
	return p.Persistent && c != nil && c.Lost && v.isExpired(p.UnreadySince)
}

// containersMissing says of a Pod whose containers are not made what may be the matter: a volume that
// can't be mounted is not lost as far as anyone knows, and is waited for.
func containersMissing(p *Pod) string {
	return fmt.Sprintf("its containers are not created on node %s, as when its volume cannot be mounted: see the events of Pod %s; if the volume is lost, delete the Pod and its PVC",
		p.Node, p.Name)
}
