package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// This file carries decisions out as the real act does: one API call at a time,
// each with its precondition (S11). Anything may happen between two calls.
//
//   - The EtcdCluster is read live before every effect, and must still be as it was
//     observed in what matters: not fenced, not paused, not being deleted, the same
//     generation, bootstrap and cluster id.
//   - The status is written against the resourceVersion that the cache had.
//   - Pods are created only if a live list has the names of the Observation's Pods;
//     a name that exists is refused.
//   - Pods and claims are changed and deleted by uid; a role is set only on a Pod that
//     still has the one that was observed.
//   - Members are changed, and what belongs to no member is deleted, only if a
//     linearizable member list equals the one that was decided on.
//   - A Pod gets another image, or is deleted to be recreated, and etcd a request for a
//     downgrade, only if a live list of the Pods shows all of them as they were observed.
//   - A member is removed only if those who stay answer and are a quorum, all Pods, read live,
//     are as they were observed, its own with the same start permit, and if it does not lead; a
//     claim is deleted only if no Pod has its name, and it is still a member's; a Pod returns
//     only to such.
//   - A member is defragmented only if the Pods and the member list are as they were
//     observed and another one leads; it is written on its Pod first, and the call is made
//     within the deadline of an action.
//   - The PodDisruptionBudget is set first, also when there is no action.
//   - The status is written last, unless a precondition failed.

var (
	errConflict = errors.New("conflict: the object has changed")
	errGone     = errors.New("not found, or another uid")
	errThere    = errors.New("already exists")
	errSkipped  = errors.New("of those that return, another one may still be created")
	errTorn     = errors.New("stands still")
	errRefused  = errors.New("forbidden: exceeded quota")
	errTaken    = errors.New("the volume of that name is nobody's, or another's")
	errNobody   = errors.New("no member answers a linearizable read")
)

// call makes the next API call of what an operator carries out.
func (w *world) call(op *operator) {
	mishap := op.mishap
	if op.mishapIn > 0 {
		mishap = numFaults
		op.mishapIn--
	} else {
		op.mishap = numFaults
	}
	switch mishap {
	case StallOperator:
		op.stalledUntil = w.step + 1 + w.random.below(30)
		w.say("operator %s stands still until step %d", op.id, op.stalledUntil)
		return
	case FailCall:
		w.say("operator %s: its call fails", op.id)
		op.todo = nil
		return
	}
	n := op.todo.next
	if mishap == LateCall {
		if !w.sendLate(op, n) {
			op.mishap, mishap = LateCall, numFaults // the next one
		} else if op.todo, op.since = nil, w.now; w.random.chance(50) {
			w.crashOperator(op, 1+w.random.below(3))
			return
		} else {
			return
		}
	}
	op.todo.torn = op.todo.torn || mishap == TearCall
	more, err := w.effect(op, op.todo, n)
	if errors.Is(err, errTorn) {
		op.stalledUntil = w.step + 1 + w.random.below(5)
		w.say("operator %s has looked at the members and stands still until step %d", op.id, op.stalledUntil)
		w.disturbed++ // what happens meanwhile cannot be known
		return
	}
	op.todo.next++
	if err != nil {
		w.say("operator %s: %s: %v", op.id, action.KindOf(op.todo.decision.Action), err)
	} else if n == 1 {
		w.stats.Actions[action.KindOf(op.todo.decision.Action)]++
	}
	switch mishap {
	case RepeatCall:
		w.say("operator %s: its call is made twice", op.id)
		_, _ = w.effect(op, op.todo, n)
	case LoseReply:
		w.say("operator %s: the reply is lost", op.id)
		err = errUnavailable
	case CrashOperator:
		w.crashOperator(op, 1+w.random.below(10))
		return
	}
	if w.isPassedOver(op, n, err) {
		if !more {
			op.todo, op.woken = nil, true
		}
		return
	}
	if err == nil && more {
		return
	}
	if (err == nil && !op.todo.refused) || errors.Is(err, errTaken) {
		op.rejections = action.Accept(op.rejections, op.todo.decision.Action)
	}
	op.todo = nil
	if !errors.Is(err, errConflict) && !errors.Is(err, errGone) && !errors.Is(err, errTaken) {
		w.report(op)
	}
}

func (w *world) crashOperator(op *operator, steps int) {
	w.say("operator %s crashes", op.id)
	op.relist(w)
	op.deadUntil = w.step + steps
	op.dead = true
}

// effect is call number n of a decision; 0 is the budget. It tells whether there
// are more.
func (w *world) effect(op *operator, t *todo, n int) (more bool, err error) {
	if n == 0 {
		return true, w.setBudget(&t.seen.Cluster, t.decision.Budget)
	}
	n--
	if err := w.permitted(t); err != nil {
		return false, err
	}
	switch a := t.decision.Action.(type) {
	case action.AcknowledgeFence:
		return false, w.writeStatus(op, func(c *etcdCluster) { c.fence.By = a.Restore })
	case action.LiftFence:
		return false, w.writeStatus(op, func(c *etcdCluster) { c.fence.By = "" })
	case action.AdoptSeed:
		return false, w.adoptSeed(op, t, a)
	case action.RecordBootstrap:
		if err := w.noOtherClaims(a); err != nil {
			return false, err
		}
		return false, w.writeStatus(op, func(c *etcdCluster) {
			w.touch("a beginning is recorded")
			c.bootstrap, c.current = a.Bootstrap, a.Version
		})
	case action.LatchClusterID:
		err := w.writeStatus(op, func(c *etcdCluster) {
			w.touch("a cluster id is latched")
			c.clusterID, c.index = a.ClusterID, a.Index
		})
		if err == nil {
			w.latch(a.ClusterID)
		}
		return false, err
	case action.BeginDefragment:
		return false, w.writeStatus(op, func(c *etcdCluster) {
			w.touch("a round is recorded")
			c.begun = a.At.Sub(epoch).Truncate(time.Second)
			c.record(a)
		})
	case action.AnswerLeaderRequest:
		return false, w.writeStatus(op, func(c *etcdCluster) {
			w.touch("a request for another leader is answered")
			c.record(a)
		})
	case action.CompareData:
		w.compareData(op, a)
		return false, nil
	case action.RecordConsistency:
		return false, w.recordConsistency(op, a)
	case action.Compact:
		return w.compact(op, a, n)
	case action.DisarmAlarm:
		return false, w.askEtcd(op, t, a.Members, func(r *run) error { return w.disarmAlarm(t, r, a) })
	case action.Defragment:
		return w.defragment(op, t, a, n)
	case action.RecordSurvivor:
		return false, w.recordSurvivor(op, t, a)
	case action.AdoptSurvivor:
		return false, w.adoptSurvivor(op, t, a)
	case action.EndRecovery:
		return false, w.endRecovery(op, a)
	case action.DropSeed:
		return false, w.dropSurvivorsSeed(a)
	case action.RevokeSurvivorPermit:
		return false, w.patchPod(a.Name, a.UID, func(p *pod) error {
			if !p.survivorPermit {
				return errConflict
			}
			p.survivorPermit = false
			return nil
		})
	case action.RecordVersion:
		return false, w.writeStatus(op, func(c *etcdCluster) {
			w.touch("a version is recorded")
			w.checkRecord(a)
			c.current, c.target, c.index, c.upgradeSize = a.Current, a.Target, a.Index, a.Size
		})
	case action.CreatePods:
		return w.createPods(&t.seen, a, n, t.sent)
	case action.SetRoles:
		return n+1 < len(a.Roles), w.setRole(&t.seen, a.Roles[n])
	case action.GrantStartPermit:
		return false, w.patchPod(a.Name, a.UID, func(p *pod) error {
			asRead := func(q facts.Pod) bool {
				return q.UID == p.uid && samePod(p, &q) && samePermit(p.permit, q.StartPermit)
			}
			if t.sent && !slices.ContainsFunc(t.seen.Pods, asRead) {
				return errConflict // its resourceVersion is another one
			}
			w.checkPermit(p.name, &a.StartPermit)
			p.permit = &a.StartPermit
			return nil
		})
	case action.RevokeStartPermits:
		r := a.Pods[n]
		return n+1 < len(a.Pods), w.patchPod(r.Name, r.UID, func(p *pod) error {
			if p.permit == nil {
				return errConflict
			}
			p.permit = nil
			return nil
		})
	case action.AddLearner:
		return false, w.askEtcd(op, t, a.Members, func(r *run) error { return w.addMember(r, a.Name) })
	case action.Promote:
		return false, w.askEtcd(op, t, a.Members, func(r *run) error {
			before := w.look(r)
			err := w.promoteMember(r, a.ID)
			if err == nil {
				w.checkPromotion(t, before, a)
			}
			return err
		})
	case action.RemoveMember:
		if !t.looked && (!w.canRemove(t, a) || w.hasUnseenClaim(&t.seen, a.Members)) {
			return false, errConflict
		}
		return false, w.changeMembers(op, t, a.Members, func(r *run) error {
			if !t.looked && !w.quorumStays(op, t, a) {
				return errConflict
			}
			before := w.look(r)
			if l := w.leaderOf(r); l != nil && l.disk.data.id == a.ID && w.sees(op, l.node) && !t.looked {
				return errConflict // it leads now (S8)
			}
			w.asked++
			err := w.removeMember(r, a.ID)
			if err == nil {
				w.checkRemoval(t, before, a)
				w.diskLost() // a majority is one of fewer members now
			}
			return err
		})
	case action.TransferLeadership:
		return false, w.askLeader(op, a)
	case action.EnableDowngrade:
		return false, w.enableDowngrade(op, t, a)
	case action.CancelDowngrade:
		return false, w.cancelDowngrade(op, t)
	case action.AdvanceLog:
		return false, w.advanceLog(op, a)
	case action.ChangeImage:
		return false, w.giveImage(t, a)
	case action.RecreatePod:
		return false, w.recreatePod(t, a)
	case action.DeletePod:
		return false, w.deleteByUID(op, t, a)
	case action.DeleteClaim:
		return false, w.deleteClaimByUID(op, t, a)
	case action.GrowClaim:
		return false, w.growClaim(t, a)
	case action.KeepClaims:
		return n+1 < len(a.Claims), w.keepClaim(a.Claims[n], a)
	case action.TakeClaims:
		return n+1 < len(a.Claims), w.takeClaim(a.Claims[n], a.From)
	}
	return false, fmt.Errorf("unknown action %T", t.decision.Action)
}

func isPatch(a action.Action) bool {
	switch a.(type) {
	case action.SetRoles, action.GrantStartPermit, action.RevokeStartPermits:
		return true
	default:
		return false
	}
}

// unchanged reads the EtcdCluster live.
func (w *world) unchanged(seen *facts.Cluster) error {
	if w.cfg.has(NoLiveRead) {
		return nil
	}
	c := &w.cluster
	var b facts.Bootstrap
	if seen.Bootstrap != nil {
		b = *seen.Bootstrap
	}
	if c.fence.Stands() && !w.cfg.has(NoLiveFence) {
		return errConflict
	}
	if c.paused != seen.Paused || c.deleting != seen.Deleting || c.generation != seen.Generation || c.clusterID != seen.ClusterID || c.bootstrap != b || c.recovery != seen.Recovery ||
		cmp.Or(c.current, c.wanted) != seen.Version || c.target != seen.Target {
		return errConflict
	}
	return nil
}

// permitted reads the EtcdCluster live before a call. What is only recorded
// is written against the version that was observed.
func (w *world) permitted(t *todo) error {
	switch a := t.decision.Action.(type) {
	case action.AcknowledgeFence, action.LiftFence, action.AdoptSeed:
		return nil
	case action.SetRoles, action.GrantStartPermit, action.RevokeStartPermits:
		if w.cfg.has(NoLiveReadForPatches) && isPatch(a) {
			return nil
		}
	default:
	}
	switch {
	case t.sent:
		return nil
	case t.looked && w.cluster.fence.Stands() && !w.cfg.has(NoLiveFence):
		return errConflict
	case t.looked:
		return nil
	}
	return w.unchanged(&t.seen.Cluster)
}

// adoptSeed is one write of the status, if the Pod is still the one that was observed.
func (w *world) adoptSeed(op *operator, t *todo, a action.AdoptSeed) error {
	if p := w.pod(a.Name); p == nil || p.uid != a.UID || p.deleting != never {
		return errGone
	}
	if slices.ContainsFunc(w.pods, func(p *pod) bool { return p.name != a.Name && mightServe(p) }) {
		return errThere
	}
	err := w.writeStatus(op, func(c *etcdCluster) {
		c.fence.By, c.fence.Adopted = "", v1beta2.AdoptedSeed{Restore: a.Restore, Pod: a.Name, PodUID: a.UID}
		c.bootstrap, c.clusterID, c.status = facts.Bootstrap{Member: a.Name, Token: a.Restore}, a.ClusterID, &t.decision.Status
		c.current, c.target, c.index, c.upgradeSize = cmp.Or(a.Version, c.current), "", 0, 0
		c.repaired, c.compacted = never, 0
		c.recovery = nil
	})
	if err == nil {
		w.adopt(a)
	}
	return err
}

// mightServe reports whether a Pod is neither a restore's seed nor about to end.
func mightServe(p *pod) bool { return p.snapshot == "" && p.deleting == never }

func (w *world) writeStatus(op *operator, change func(*etcdCluster)) error {
	if op.version != w.cluster.version {
		return errConflict
	}
	change(&w.cluster)
	w.cluster.version++
	return nil
}

// latch makes the birth with a cluster id the cluster.
func (w *world) latch(id uint64) {
	for i := range w.births {
		if w.births[i].cluster == id {
			w.main = i
		}
	}
	w.checkLatch(id)
}

// age is how long ago a moment was; 0 if it has not come.
func (w *world) age(since time.Duration) time.Duration {
	if since == never {
		return 0
	}
	return w.now - since
}
