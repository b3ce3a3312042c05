package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// newPodAge is for how long after its creation a Pod is expected to make progress
// every moment; a Pod that takes longer is asked less often, and nobody waits for
// it.
const newPodAge = 15 * time.Second

// oldPodAge is the age from which a Pod that does not serve is asked slowly.
const oldPodAge = 3 * time.Minute

// startTime is how long an etcd may take to start without a word about it: until it
// listens, what it does not answer with says nothing.
const startTime = 10 * time.Second

// joinTogether is for how long after its creation the others wait for a Pod, so
// that all are added before the first of them starts.
const joinTogether = 5 * time.Second

// newJoiners are n Pods with fresh names; none if n is not positive, or if the API server
// refuses them. A name whose Pod was refused comes first, so that its volume is used.
func (v *view) newJoiners(n int) []NewPod {
	if n <= 0 || v.joinersHeldBack() != nil {
		return nil
	}
	var pods []NewPod
	for _, name := range append([]string{v.unusedName()}, v.FreshNames...) {
		if len(pods) >= n {
			break
		}
		if name == "" {
			continue
		}
		if b := v.Cluster.Bootstrap; b == nil || name != b.Member {
			pods = append(pods, NewPod{Name: name, Role: Joiner, Version: v.newPodVersion(name)})
		}
	}
	return pods
}

// missing is how many members are to be added, to reach size and to replace those
// that are lost or terminating, or are to be moved.
func (v *view) missing() int {
	staying := 0
	for _, m := range v.list {
		if !v.isTerminatingOrLost(m) {
			staying++
		}
	}
	return v.Cluster.Size + v.surplus() - staying
}

// strandedAge is for how long a joiner's Pod must not have come to run on its node before
// another one is tried elsewhere: longer than images take to be pulled and volumes to be
// attached, as a rule.
const strandedAge = 5 * time.Minute

// isStranded reports whether a Pod that is to join does not come to run on its node: its
// image can't be pulled there, or its containers are not made.
func (v *view) isStranded(p *Pod) bool {
	held := p.Creating || p.Trouble != ""
	return held && p.Node != "" && !p.Answer.Waiting && !p.UnreadySince.IsZero() && v.Now.Sub(p.UnreadySince) >= strandedAge
}

// joinersWanted is how many Pods there are to be of members to come: as many as are
// missing, and one more while one is stranded. That one stays meanwhile: it keeps the
// place on its node from the next one, and may run after all.
func (v *view) joinersWanted() int {
	n := v.missing()
	if n > 0 && slices.ContainsFunc(v.candidates(), v.isStranded) {
		n++
	}
	return n
}

// strandedForLong is the oldest Pod that is to join, if all that there may be are stranded:
// it gives way to another one; nil if not.
func (v *view) strandedForLong() *Pod {
	var oldest *Pod
	joiners := v.candidates()
	for _, p := range joiners {
		if !v.isStranded(p) {
			return nil
		}
		if oldest == nil || p.Created.Before(oldest.Created) {
			oldest = p
		}
	}
	if v.missing() <= 0 || len(joiners) <= v.missing() {
		return nil
	}
	return oldest
}

// clearEndedJoiners deletes the Pods of joiners that have ended for good, such as those
// that were evicted, before others are created.
func clearEndedJoiners(v *view) *step {
	if !v.settled {
		return nil
	}
	for i := range v.Pods {
		p := &v.Pods[i]
		if !p.Finished || p.Role != Joiner || v.isMember(p.Name) || !p.DeletingSince.IsZero() || v.isKept(p) {
			continue
		}
		s := do(DeletePod{p.Name, p.UID, v.list}, v1beta2.ClusterReasonDeletingPod, fmt.Sprintf("deleted Pod %s, which ended before it could join", p.Name)).unannounced()
		if !v.isHeldBack(RejectedAction(s.action)) {
			return s
		}
	}
	return nil
}

// createJoiners makes the Pods of members to come. They are scheduled, addressed
// and waiting before anything is done to the member list.
func createJoiners(v *view) *step {
	if v.growthWaits() || v.outgrownPods() > 0 {
		return nil
	}
	pods := v.newJoiners(v.joinersWanted() - len(v.candidates()))
	if len(pods) == 0 {
		return nil
	}
	return do(CreatePods{pods}, v1beta2.ClusterReasonCreatingMembers, created(pods)).unannounced()
}

// outgrownPods counts the Pods that were to become members and that are to be deleted
// first, since the spec asks for other ones.
func (v *view) outgrownPods() int {
	n := 0
	for i := range v.Pods {
		if p := &v.Pods[i]; p.Role == Joiner && v.hasOldTemplate(p) && !v.isMember(p.Name) && p.DeletingSince.IsZero() {
			n++
		}
	}
	return n
}

// growthWaits reports whether a member is being restarted or defragmented and none is
// lost: nobody is added meanwhile.
func (v *view) growthWaits() bool {
	return (v.isRestarting() || v.isDefragmentingAny()) && !slices.ContainsFunc(v.list, v.isTerminatingOrLost)
}

// pollInterval is how soon to look again at a Pod that is starting.
func (v *view) pollInterval(p *Pod) time.Duration {
	switch age := v.Now.Sub(p.Created); {
	case p.Answer.Waiting && p.Answer.Identified && p.Answer.Waited < emptyFor && p.Role != Joiner:
		return fastPoll // in some seconds it is known that its data is lost
	case age > oldPodAge:
		return slowly
	case p.Trouble != "" || age > newPodAge:
		return shortly
	}
	return fastPoll
}

// progress says in words how far a Pod has come.
func (v *view) progress(p *Pod) string {
	switch {
	case !p.DeletingSince.IsZero():
		return "its Pod is being deleted"
	case p.Trouble != "":
		return p.Trouble
	case p.Unschedulable != "":
		return "its Pod is unschedulable: " + p.Unschedulable
	case p.Node == "":
		return "its Pod is not scheduled yet"
	case !p.NodeLostSince.IsZero():
		return fmt.Sprintf("node %s is not ready; the member is replaced after %s", p.Node, v.Cluster.MemberTimeout)
	case p.Answer.Blocked != "":
		return p.Answer.Blocked
	case p.Answer.Waiting && !p.Addressed:
		return "its address is not published yet"
	case p.Answer.Waiting:
		return "waiting for its start permit"
	case p.Answer.Refused != "":
		return "etcd's authentication refuses the operator"
	case p.Answer.Reached:
		return "it is catching up"
	case p.Creating && v.Now.Sub(p.Created) > oldPodAge:
		return containersMissing(p)
	}
	said := fmt.Sprintf("it does not answer yet on node %s", p.Node)
	if p.Answer.Trouble != "" && !p.RunningSince.IsZero() && v.Now.Sub(p.RunningSince) >= startTime {
		said += ": " + p.Answer.Trouble
	}
	return said
}

// creating says how many Pods are created. They have no names that a reader could look up
// before they exist, and another try would have other ones.
func created(pods []NewPod) string {
	if len(pods) == 1 {
		return "created the Pod of a new member"
	}
	return fmt.Sprintf("created the Pods of %d new members", len(pods))
}

func names(pods []NewPod) string {
	var all []string
	for _, p := range pods {
		all = append(all, p.Name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
