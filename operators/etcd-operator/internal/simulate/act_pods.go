package simulate

import (
	"errors"
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// This file is what an operator does to Pods, volumes and the budget; see act.go.

// setBudget brings the PodDisruptionBudget to what it is to be.
func (w *world) setBudget(seen *facts.Cluster, budget int) error {
	if budget == facts.KeepBudget || budget == w.budget {
		return nil
	}
	if err := w.unchanged(seen); err != nil {
		return err
	}
	w.touch("the PodDisruptionBudget is changed")
	w.budget = budget
	return nil
}

func (w *world) createPods(seen *facts.Observation, a action.CreatePods, n int, sent bool) (more bool, err error) {
	pods := a.Pods
	if n == 0 && !w.cfg.has(NoLiveNames) && !sent {
		isNew := slices.ContainsFunc(pods, func(p action.NewPod) bool { return p.Role != facts.Returning })
		if !slices.EqualFunc(w.ownPods(), seen.Pods, func(a *pod, b facts.Pod) bool { return a.name == b.Name }) || (isNew && w.hasUnseenClaim(seen, toldMembers(seen))) {
			return false, errConflict
		}
	}
	np := pods[n/2]
	more = n+1 < 2*len(pods)
	if np.Role == facts.Returning && !sent && !w.isMembers(w.claim(np.Name)) {
		return more, errSkipped
	}
	if n%2 == 0 {
		if c := w.claim(np.Name); c != nil && np.Role == facts.Joiner && !w.isMembers(c) {
			return false, errTaken
		}
		if w.cfg.Persistent && np.Role != facts.Returning && w.claim(np.Name) == nil && w.during(RefuseClaims) {
			return false, errRefused
		}
		if w.cfg.Persistent && np.Role != facts.Returning && w.claim(np.Name) == nil {
			w.touch("a volume is made")
			w.createClaim(np.Name)
			if np.Recovery != nil {
				w.claim(np.Name).reseed = np.Recovery.Token
			}
		}
		return true, nil
	}
	switch isThere := w.pod(np.Name) != nil; {
	case isThere && np.Role == facts.Returning:
		return more, errSkipped
	case isThere:
		return false, errThere
	}
	if w.during(RefusePods) {
		return more && np.Role == facts.Returning, errRefused
	}
	w.touch("a Pod is made")
	w.checkCreate(&np)
	w.checkCertified(&seen.Cluster, np.Name)
	learners := w.cfg.Learners
	if np.Role == facts.Joiner {
		learners, w.learners = w.learners, learners
	}
	w.createPod(&pod{
		name: np.Name, role: np.Role, permit: np.StartPermit, persistent: w.cfg.Persistent,
		version: np.Version, repository: w.cluster.repository, template: seen.Cluster.Template, trust: trustOf(&seen.Cluster.LastStatus), learners: learners,
		recovery: np.Recovery, survivorPermit: np.Recovery != nil,
	})
	return more, nil
}

// isPassedOver reports whether call number n of a decision made nothing of one Pod, so that the next
// one is tried, and notes it.
func (w *world) isPassedOver(op *operator, n int, err error) bool {
	if errors.Is(err, errRefused) {
		w.remember(op, n)
	}
	is := errors.Is(err, errRefused) || errors.Is(err, errSkipped)
	op.todo.refused = op.todo.refused || is
	return is
}

// remember notes that the API server has refused call number n of a decision, which was to
// make a Pod or its volume.
func (w *world) remember(op *operator, n int) {
	pods := op.todo.decision.Action.(action.CreatePods).Pods
	p, volume := pods[(n-1)/2], (n-1)%2 == 0
	r := action.RejectedPod(p, volume)
	r.Words, r.Generation = errRefused.Error(), op.todo.seen.Cluster.Generation
	op.rejections, _ = facts.Reject(op.rejections, r, epoch.Add(w.now))
	if !volume && w.claim(p.Name) != nil && p.Role != facts.Returning {
		w.checkOrphans(op, p.Name)
	}
}

func (w *world) setRole(seen *facts.Observation, r action.PodRole) error {
	return w.patchPod(r.Name, r.UID, func(p *pod) error {
		if !slices.ContainsFunc(seen.Pods, func(q facts.Pod) bool { return q.Name == r.Name && q.Role == p.role }) {
			return errConflict
		}
		w.checkRole(p, r.Role)
		p.role, p.roleAt = r.Role, w.now
		if i := slices.IndexFunc(seen.Pods, func(q facts.Pod) bool { return q.Name == r.Name }); r.Role == facts.Voter {
			q := &seen.Pods[i]
			p.provenRestarts, p.provenImage = q.Restarts, q.Repository+":v"+q.Version
		}
		return nil
	})
}

func (w *world) patchPod(name, uid string, change func(*pod) error) error {
	p := w.pod(name)
	if p == nil || (p.uid != uid && !w.cfg.has(NoUID)) {
		return errGone
	}
	w.touch("a Pod is changed")
	return change(p)
}

// canRemove reads the Pods live: all are as they were observed, and the member's has the
// start permit that it had, and was not placed since.
func (w *world) canRemove(t *todo, a action.RemoveMember) bool {
	if w.cfg.has(NoLivePod) {
		return true
	}
	p := w.pod(a.Name)
	if !w.samePods(&t.seen) || (p == nil) != (a.Pod == nil) {
		return false
	}
	return p == nil || (samePermit(p.permit, a.Pod.StartPermit) && (p.node < 0 || a.Pod.Node != ""))
}

// samePermit reports whether two start permits, of which there may be none, are the same.
func samePermit(a, b *facts.StartPermit) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Attempt == b.Attempt
}

// isMembers reports whether a volume, read live, is one that a member may have.
func (w *world) isMembers(c *claim) bool {
	return c != nil && c.retired == "" && !c.deleting && c.owner == w.cluster.number
}

// ownPods are the live Pods of this EtcdCluster. Those that an earlier one of its name has left are in
// nobody's list: that one of them has a name is found when a Pod of that name is created.
func (w *world) ownPods() []*pod {
	return slices.DeleteFunc(slices.Clone(w.pods), func(p *pod) bool { return p.owner != w.cluster.number })
}

// hasUnseenClaim reports whether there is a claim that was not observed, of one of the members, as
// those who were asked or the status tell them, or of a Pod that was.
func (w *world) hasUnseenClaim(seen *facts.Observation, members []facts.Member) bool {
	return slices.ContainsFunc(w.claims, func(c *claim) bool {
		isKnown := slices.ContainsFunc(members, func(m facts.Member) bool { return m.Name == c.name }) ||
			slices.ContainsFunc(seen.Pods, func(p facts.Pod) bool { return p.Name == c.name }) ||
			slices.ContainsFunc(seen.Cluster.LastStatus.MemberDetails, func(d v1beta2.MemberDetail) bool {
				return d.Name == c.name && (!d.Unmanaged || member.IsName(clusterName, d.Name))
			})
		return isKnown && w.isMembers(c) && !slices.ContainsFunc(seen.Claims, func(o facts.Claim) bool { return o.Name == c.name })
	})
}

// toldMembers are the members that those who were asked have told.
func toldMembers(seen *facts.Observation) (all []facts.Member) {
	for i := range seen.Pods {
		if a := &seen.Pods[i].Answer; a.ClusterID == seen.Cluster.ClusterID {
			all = append(all, a.Members...)
		}
	}
	return all
}

func (w *world) deleteByUID(op *operator, t *todo, a action.DeletePod) error {
	p := w.pod(a.Name)
	if p == nil || (p.uid != a.UID && !w.cfg.has(NoUID)) {
		return errGone
	}
	do := func(*run) error {
		w.touch("a Pod is deleted")
		w.checkPodDeletion(t, p, len(a.Members) > 0)
		w.checkKept(p)
		w.deletePod(p)
		return nil
	}
	if len(a.Members) == 0 {
		return do(nil)
	}
	return w.changeMembers(op, t, a.Members, do)
}

func (w *world) deleteClaimByUID(op *operator, t *todo, a action.DeleteClaim) error {
	c := w.claim(a.Name)
	if c == nil || (c.uid != a.UID && !w.cfg.has(NoUID)) {
		return errGone
	}
	if w.pod(a.Name) != nil || !w.isMembers(c) {
		return errConflict
	}
	return w.changeMembers(op, t, a.Members, func(*run) error {
		w.checkClaimDeletion(c, t)
		w.checkOldData(c.name, c.disk)
		w.deleteClaim(c)
		return nil
	})
}
