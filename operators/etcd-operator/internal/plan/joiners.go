package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// joinTogether is for how long after its creation the others wait for a Pod, so
// that all are added before the first of them starts.
const joinTogether = 5 * time.Second

// newJoiners are n Pods with fresh names; none if n is not positive, or if the API server
// refuses them. A name whose Pod was refused comes first, so that its volume is used.
func newJoiners(v *facts.View, n int) []NewPod {
	if n <= 0 || v.JoinersHeldBack() != nil {
		return nil
	}
	var pods []NewPod
	for _, name := range append([]string{v.UnusedName()}, v.FreshNames...) {
		if len(pods) >= n {
			break
		}
		if name == "" {
			continue
		}
		if b := v.Cluster.Bootstrap; b == nil || name != b.Member {
			pods = append(pods, NewPod{Name: name, Role: facts.Joiner, Version: v.NewPodVersion(name)})
		}
	}
	return pods
}

// joinersWanted is how many Pods there are to be of members to come: as many as are
// missing, and one more while one is stranded. That one stays meanwhile: it keeps the
// place on its node from the next one, and may run after all.
func joinersWanted(v *facts.View) int {
	n := v.Missing()
	if n > 0 && slices.ContainsFunc(v.Candidates(), v.IsStranded) {
		n++
	}
	return n
}

// strandedForLong is the oldest Pod that is to join, if all that there may be are stranded:
// it gives way to another one; nil if not.
func strandedForLong(v *facts.View) *facts.Pod {
	var oldest *facts.Pod
	joiners := v.Candidates()
	for _, p := range joiners {
		if !v.IsStranded(p) {
			return nil
		}
		if oldest == nil || p.Created.Before(oldest.Created) {
			oldest = p
		}
	}
	if v.Missing() <= 0 || len(joiners) <= v.Missing() {
		return nil
	}
	return oldest
}

// clearEndedJoiners deletes the Pods of joiners that have ended for good, such as those
// that were evicted, before others are created.
func clearEndedJoiners(v *facts.View) *step {
	if !v.Settled {
		return nil
	}
	for i := range v.Pods {
		p := &v.Pods[i]
		if !p.Finished || p.Role != facts.Joiner || v.IsMember(p.Name) || !p.DeletingSince.IsZero() || v.IsKept(p) {
			continue
		}
		s := do(DeletePod{p.Name, p.UID, v.List}, v1beta2.ClusterReasonDeletingPod, fmt.Sprintf("deleted Pod %s, which ended before it could join", p.Name)).unannounced()
		if !v.IsHeldBack(RejectedAction(s.action)) {
			return s
		}
	}
	return nil
}

// createJoiners makes the Pods of members to come. They are scheduled, addressed
// and waiting before anything is done to the member list.
func createJoiners(v *facts.View) *step {
	if growthWaits(v) || v.OutgrownPods() > 0 {
		return nil
	}
	pods := newJoiners(v, joinersWanted(v)-len(v.Candidates()))
	if len(pods) == 0 {
		return nil
	}
	return do(CreatePods{pods}, v1beta2.ClusterReasonCreatingMembers, created(pods)).unannounced()
}

// growthWaits reports whether a member is being restarted or defragmented and none is
// lost: nobody is added meanwhile.
func growthWaits(v *facts.View) bool {
	return (v.IsRestarting() || isDefragmentingAny(v)) && !slices.ContainsFunc(v.List, v.IsTerminatingOrLost)
}

// pollInterval is how soon to look again at a Pod that is starting.
func pollInterval(v *facts.View, p *facts.Pod) time.Duration {
	switch age := v.Now.Sub(p.Created); {
	case p.Answer.Waiting && p.Answer.Identified && p.Answer.Waited < facts.EmptyFor && p.Role != facts.Joiner:
		return fastPoll // in some seconds it is known that its data is lost
	case age > facts.OldPodAge:
		return slowly
	case p.Trouble != "" || age > facts.NewPodAge:
		return shortly
	}
	return fastPoll
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
