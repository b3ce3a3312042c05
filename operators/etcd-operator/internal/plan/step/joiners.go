package step

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// NewJoiners are n Pods with fresh names; none if n is not positive, or if the API server
// refuses them. A name whose Pod was refused comes first, so that its volume is used.
func NewJoiners(v *facts.View, n int) []action.NewPod {
	if n <= 0 || v.JoinersHeldBack() != nil {
		return nil
	}
	var pods []action.NewPod
	for _, name := range append([]string{v.UnusedName()}, v.FreshNames...) {
		if len(pods) >= n {
			break
		}
		if name == "" {
			continue
		}
		if b := v.Cluster.Bootstrap; b == nil || name != b.Member {
			pods = append(pods, action.NewPod{Name: name, Role: facts.Joiner, Version: v.NewPodVersion(name)})
		}
	}
	return pods
}

// Created says how many Pods are created. They have no names that a reader could look up
// before they exist, and another try would have other ones.
func Created(pods []action.NewPod) string {
	if len(pods) == 1 {
		return "created the Pod of a new member"
	}
	return fmt.Sprintf("created the Pods of %d new members", len(pods))
}

// Names are those of Pods to be made, sorted.
func Names(pods []action.NewPod) string {
	var all []string
	for _, p := range pods {
		all = append(all, p.Name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// Yield deletes a Pod, if there is one on a node that has no data or, in the last
// resort, has no vote and keeps its data on its volume, in favour of a voter's Pod
// that can't be scheduled. One that is not to become a member any more goes first.
func Yield(v *facts.View, p *facts.Pod) *Step {
	voteless := func(v *facts.View, j *facts.Pod) bool {
		mayVote := j.Role == facts.Voter || (j.Answer.Reached && !j.Answer.Learner) || j.Answer.Refused != ""
		return !mayVote && v.OnVolume(j) && !slices.ContainsFunc(v.KnownVoters(), func(m facts.Member) bool { return m.Name == j.Name })
	}
	return yield(v, p, "voter "+p.Name, isOutdated, isEmpty, voteless)
}

// YieldEmpty does so only with a Pod that has no data, and in favour of one that may be a voter's.
func YieldEmpty(v *facts.View, p *facts.Pod) *Step {
	return yield(v, p, fmt.Sprintf("Pod %s, whose member may be a voter", p.Name), isOutdated, isEmpty)
}

// YieldNode does so with the Pod of a joiner on that node.
func YieldNode(v *facts.View, p *facts.Pod, node string) *Step {
	return yield(v, p, "voter "+p.Name, func(v *facts.View, j *facts.Pod) bool { return j.Node == node && v.IsUnstarted(j) })
}

func isOutdated(v *facts.View, j *facts.Pod) bool { return v.IsUnstarted(j) && !v.IsCandidate(j) }

func isEmpty(v *facts.View, j *facts.Pod) bool {
	return v.IsCandidate(j) || (j.Answer.Waiting && v.OnVolume(j))
}

// isMakingRoom reports whether a Pod is about to leave its node. Pods give way one at a time: the room of this one
// might be enough. A Pod that does not end within OldPodAge is not waited for.
func isMakingRoom(v *facts.View) bool {
	return slices.ContainsFunc(v.Pods, func(p facts.Pod) bool {
		return p.Node != "" && !p.DeletingSince.IsZero() && p.NodeLostSince.IsZero() && v.Now.Sub(p.DeletingSince) < facts.OldPodAge
	})
}

// yield deletes a Pod that gives way to the unschedulable Pod p. It tries the reasons one after the other, each on
// all Pods. inFavour describes p. A returning Pod that is younger than p took its place while p was waiting, so p
// might not fit there. It gives way only after OldPodAge: otherwise, it would be deleted again as soon as it was
// recreated.
func yield(v *facts.View, p *facts.Pod, inFavour string, givesWay ...func(*facts.View, *facts.Pod) bool) *Step {
	if p.Unschedulable == "" || v.PVCMissing(p) || p.Node != "" || !p.DeletingSince.IsZero() || isMakingRoom(v) {
		return nil
	}
	for _, gives := range givesWay {
		for i := range v.Pods {
			j := &v.Pods[i]
			isRecent := j.Role == facts.Returning && j.Created.After(p.Created) && v.Now.Sub(j.ExistsSince()) < facts.OldPodAge
			if j.Node != "" && j.Name != p.Name && j.DeletingSince.IsZero() && !isRecent && gives(v, j) {
				s := Do(action.DeletePod{Name: j.Name, UID: j.UID}, v1beta2.ClusterReasonMakingRoom, fmt.Sprintf("deleted Pod %s to make room for unschedulable %s", j.Name, inFavour))
				if s = Try(v, s); s != nil {
					return s
				}
			}
		}
	}
	return nil
}
