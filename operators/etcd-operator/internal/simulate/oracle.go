package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// maxLag is N of docs/design/invariants.md: how many log entries behind the leader a member
// counts as caught up. It is etcd's SnapshotCatchUpEntries.
const maxLag = 5000

// Violation is an invariant that a Decision breaks.
type Violation struct {
	Invariant, Message string
	// Kind is the message without its names and numbers.
	Kind string
}

func violation(invariant, format string, args ...any) *Violation {
	return &Violation{invariant, fmt.Sprintf(format, args...), format}
}

// camelCase reports whether a reason is one that conditions may have.
func camelCase(s string) bool {
	for i, r := range s {
		upper, lower, digit := r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z', r >= '0' && r <= '9'
		if !upper && (i == 0 || !lower && !digit) {
			return false
		}
	}
	return s != ""
}

// CheckDecision checks a Decision against the Observation that it was made on: what
// S1 to S13 demand as far as an operator can know. It is written from
// docs/design/invariants.md, apart from the planner, and says nil if all is well. The
// Observation may be anything, also what no world would show.
func CheckDecision(o facts.Observation, d plan.Decision) *Violation {
	switch {
	case d.RequeueAfter <= 0:
		return violation("Decision", "looks again after %s", d.RequeueAfter)
	case !camelCase(d.Reason):
		return violation("Decision", "reason %q is not CamelCase", d.Reason)
	case d.Message == "":
		return violation("Decision", "no message")
	}
	for _, c := range d.Status.Conditions {
		if !camelCase(c.Reason) || !camelCase(c.Type) || c.Status == "" {
			return violation("Decision", "condition %s=%s with reason %q", c.Type, c.Status, c.Reason)
		}
	}
	c := &o.Cluster
	if c.Fence.By != "" && !d.SkipChildren {
		return violation("S12", "would touch Services although the cluster is fenced")
	}
	if v := tellsNothing(&o, &d); v != nil {
		return v
	}
	k := check{o: o, d: d}
	if v := k.tellsOfSpace(); v != nil {
		return v
	}
	if d.Action == nil {
		return nil
	}
	switch {
	case c.Paused || c.Deleting:
		return violation("S12", "acts while paused or deleting")
	case len(o.Conflicts) > 0:
		return violation("S12", "acts although names belong to others")
	}
	if v := k.rejectedJustNow(); v != nil {
		return v
	}
	switch a := d.Action.(type) {
	case action.AcknowledgeFence:
		return k.acknowledge(a)
	case action.LiftFence:
		return k.lift(a)
	case action.AdoptSeed:
		return k.adopt(a)
	default:
		return k.whileUnfenced()
	}
}

// whileUnfenced checks an action that is taken only while no restore holds the cluster.
func (k *check) whileUnfenced() *Violation {
	o, c := &k.o, &k.o.Cluster
	switch {
	case c.Fence.By != "" || k.asked():
		return violation("S12", "acts although fenced")
	case len(o.LegacyPods) > 0:
		return violation("S12", "acts although there are Pods of the archived operator")
	case c.Existed != "" && c.Bootstrap == nil && c.ClusterID == 0 && !k.adopts():
		return violation("S1", "acts although a cluster existed")
	}
	if v := k.certificates(); v != nil {
		return v
	}
	if v := k.permitsToBegin(); v != nil {
		return v
	}
	switch a := k.d.Action.(type) {
	case action.AcknowledgeFence, action.LiftFence, action.AdoptSeed:
		return violation("Decision", "%s is no action of an unfenced cluster", action.KindOf(a))
	case action.GrowClaim:
		return k.growClaim(a)
	case action.KeepClaims:
		return k.keepClaims(a)
	case action.TakeClaims:
		return k.takeClaims(a)
	case action.RecordBootstrap:
		return k.recordBootstrap(a)
	case action.LatchClusterID:
		return k.latch(a)
	case action.RecordSurvivor:
		return k.recordSurvivor(a)
	case action.AdoptSurvivor:
		return k.adoptSurvivor(a)
	case action.RevokeSurvivorPermit:
		return k.revokeSurvivorPermit(a)
	case action.DropSeed:
		return k.dropSeed(a)
	case action.EndRecovery:
		return k.endRecovery(a)
	case action.RecordVersion:
		return k.recordVersion(a)
	case action.DisarmAlarm:
		return k.disarmAlarm(a)
	case action.Compact:
		return k.compact(a)
	case action.CompareData:
		return k.compareData(a)
	case action.RecordConsistency:
		return k.recordConsistency(a)
	case action.BeginDefragment:
		return k.beginDefragment(a)
	case action.AnswerLeaderRequest:
		return k.answerLeaderRequest(a)
	case action.Defragment:
		return k.defragment(a)
	case action.EnableDowngrade:
		return k.enableDowngrade(a)
	case action.CancelDowngrade:
		return k.cancelDowngrade()
	case action.AdvanceLog:
		return k.advanceLog(a)
	case action.ChangeImage:
		return k.changeImage(a)
	case action.RecreatePod:
		return k.recreatePod(a)
	case action.CreatePods:
		return k.createPods(a)
	case action.SetRoles:
		return k.setRoles(a)
	case action.GrantStartPermit:
		return k.grantStartPermit(a)
	case action.RevokeStartPermits:
		return k.revokeStartPermits(a)
	case action.AddLearner:
		return k.addLearner(a)
	case action.Promote:
		return k.promote(a)
	case action.RemoveMember:
		return k.removeMember(a)
	case action.TransferLeadership:
		return k.transferLeadership(a)
	case action.DeletePod:
		return k.deletePod(a)
	case action.DeleteClaim:
		return k.deleteClaim(a)
	}
	return violation("Decision", "unknown action %T", k.d.Action)
}

// rejectedJustNow checks that a rejected effect is not tried again before its time, unless the spec was edited
// since then. It also checks that no action that needs the effect is decided.
func (k *check) rejectedJustNow() *Violation {
	isHeldBack := func(r facts.Rejection) bool {
		return r.Generation == k.o.Cluster.Generation && k.o.Now.Before(r.Until)
	}
	for _, r := range k.o.Rejections {
		if isHeldBack(r) && k.isWantedChild(r.Kind) && k.needs(&r) {
			return violation("Rejected", "%s is done, though it needs %s %s, which was rejected just now", action.KindOf(k.d.Action), r.Kind, r.Name)
		}
		if isHeldBack(r) && slices.ContainsFunc(action.Effects(k.d.Action), r.SameEffect) {
			return violation("Rejected", "%s %s is tried, and was rejected just now", r.Kind, r.Name)
		}
	}
	return nil
}

// needs reports whether the decision relies on a rejected child.
func (k *check) needs(r *facts.Rejection) bool {
	switch a := k.d.Action.(type) {
	case action.Promote, action.RecreatePod:
		return r.LacksBudget()
	case action.CreatePods:
		isNew := func(p action.NewPod) bool { return p.Role != facts.Returning }
		return r.LacksService() && slices.ContainsFunc(a.Pods, isNew)
	default:
		return false
	}
}

// isWantedChild reports whether what is brought to what it is to be before an action has
// this kind.
func (k *check) isWantedChild(kind string) bool {
	switch kind {
	case facts.ApplyService, facts.LabelMembers:
		return !k.d.SkipChildren
	case facts.ApplyBudget:
		return !k.d.SkipChildren && k.d.Budget > facts.NoBudget && k.o.ForeignBudget == ""
	case facts.DeleteBudget:
		return !k.d.SkipChildren && k.d.Budget == facts.NoBudget && k.o.ForeignBudget == ""
	}
	return false
}

// permitsToBegin: nothing is done to members, or to their Pods, before every Pod but that of
// a seed that begins is without a permit to begin a cluster (S2): it needs no quorum.
func (k *check) permitsToBegin() *Violation {
	switch k.d.Action.(type) {
	case action.RevokeStartPermits, action.RecordBootstrap, action.TakeClaims:
		return nil
	default:
	}
	c := &k.o.Cluster
	for _, p := range k.o.Pods {
		begins := c.ClusterID == 0 && c.Bootstrap != nil && !c.Bootstrap.Adopted && p.Name == c.Bootstrap.Member
		if p.StartPermit != nil && p.StartPermit.New && !begins {
			return violation("S2", "%s is done while %s may begin a cluster", action.KindOf(k.d.Action), p.Name)
		}
	}
	return nil
}

// check is one Decision under examination.
type check struct {
	o facts.Observation
	d plan.Decision

	// Set by settled: the voters and learners of the member list, and H.
	voters, learners []facts.Member
	healthy          map[uint64]bool
	leader           uint64
	applied          uint64
	alarms           []facts.Alarm
}

func (k *check) pod(name string) *facts.Pod {
	i := slices.IndexFunc(k.o.Pods, func(p facts.Pod) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &k.o.Pods[i]
}

func (k *check) hasClaim(name string) bool {
	return slices.ContainsFunc(k.o.Claims, func(c facts.Claim) bool { return c.Name == name && !c.Deleting })
}

// podIs checks that an effect goes to a Pod that was observed, by uid (S11).
func (k *check) podIs(name, uid string) *Violation {
	if p := k.pod(name); p == nil || p.UID != uid {
		return violation("S11", "no Pod %s of uid %s was observed", name, uid)
	}
	return nil
}

func (k *check) ours(a *facts.Answer) bool {
	return a.Reached && (k.o.Cluster.ClusterID == 0 || a.ClusterID == k.o.Cluster.ClusterID)
}

// answer is the answer of a member itself; nil if it did not give one.
func (k *check) answer(m facts.Member) *facts.Answer {
	p := k.pod(m.Name)
	if p == nil || !k.ours(&p.Answer) || p.Answer.MemberID != m.ID {
		return nil
	}
	return &p.Answer
}

// asked reports whether a restore asks for a fence that may still do so (S12).
func (k *check) asked() bool {
	f := &k.o.Cluster.Fence
	return f.Mark != "" && f.Mark != f.Lifted && f.Mark != f.Adopted.Restore
}

// deadline is how long an effect may be under way.
const deadline = 10 * time.Second

func (k *check) acknowledge(a action.AcknowledgeFence) *Violation {
	c := &k.o.Cluster
	if c.Fence.By != "" || a.Restore != c.Fence.Mark || !k.asked() {
		return violation("S12", "the fence of restore %s is acknowledged, which does not ask for it", a.Restore)
	}
	if begun := c.Bootstrap != nil || c.ClusterID != 0; begun && k.o.Now.Sub(k.o.Since) < deadline {
		return violation("S12", "a fence is acknowledged %s after something may have been begun", k.o.Now.Sub(k.o.Since))
	}
	return nil
}

func (k *check) lift(a action.LiftFence) *Violation {
	if f := &k.o.Cluster.Fence; a.Restore == "" || f.By != a.Restore || f.Lifted != a.Restore {
		return violation("S12", "the fence of restore %s is lifted, which has not given it up", a.Restore)
	}
	return nil
}

func (k *check) adopt(a action.AdoptSeed) *Violation {
	c := &k.o.Cluster
	f := &c.Fence
	if a.Restore == "" || f.By != a.Restore || f.Adopted.Restore == a.Restore || f.Lifted == a.Restore || f.Seeded != a.Restore+"/"+a.Name+"/"+a.UID {
		return violation("S12", "Pod %s (%s) of restore %s is adopted, and is not handed over", a.Name, a.UID, a.Restore)
	}
	if v := k.podIs(a.Name, a.UID); v != nil {
		return v
	}
	p := k.pod(a.Name)
	an := &p.Answer
	switch {
	case p.Finished || !p.DeletingSince.IsZero():
		return violation("S1", "seed %s is adopted, and ends", a.Name)
	case slices.ContainsFunc(k.o.Pods, func(p facts.Pod) bool { return p.Name != a.Name && p.Role != facts.Seed && p.DeletingSince.IsZero() }):
		return violation("S1", "seed %s is adopted beside another Pod", a.Name)
	case !an.Read || an.ClusterID != a.ClusterID || a.ClusterID == 0 || a.ClusterID == c.ClusterID:
		return violation("S1", "cluster id %x is latched over %x, and seed %s reports %x", a.ClusterID, c.ClusterID, a.Name, an.ClusterID)
	case len(an.Members) != 1 || an.Members[0].ID != an.MemberID || an.Members[0].Name != a.Name:
		return violation("S1", "seed %s is adopted, and is not all of its cluster", a.Name)
	case c.Persistent && !k.hasClaim(a.Name) && !slices.ContainsFunc(k.o.Claims, func(c facts.Claim) bool { return c.Name == a.Name }):
		return violation("S7", "seed %s is adopted without a volume", a.Name)
	case k.d.Status.HighestRevision < an.Revision:
		return violation("S12", "seed %s is adopted at revision %d, and the highest revision is %d: another restore may begin there", a.Name, an.Revision, k.d.Status.HighestRevision)
	case !an.Write.Acknowledged:
		return violation("S12", "seed %s is adopted, and has acknowledged no write", a.Name)
	}
	return nil
}

func (k *check) recordBootstrap(a action.RecordBootstrap) *Violation {
	c := &k.o.Cluster
	switch {
	case c.ClusterID != 0:
		return violation("S1", "records another bootstrap after the cluster id was latched")
	case a.Member == "" || a.Token == "":
		return violation("S1", "records no name or no token")
	case a.Adopted && c.Bootstrap != nil && *c.Bootstrap == a.Bootstrap && a.Version != c.Version && !slices.ContainsFunc(k.o.Pods, func(p facts.Pod) bool { return p.Answer.Reached }):
		return nil // the version that was noted is corrected
	case a.Adopted && c.Bootstrap != nil && *c.Bootstrap == a.Bootstrap && k.runInsteadOf(a.Version, c.Version):
		return nil // nobody runs what was noted
	case a.Adopted != k.adopts():
		return violation("S1", "adopted is %t", a.Adopted)
	case a.Adopted:
		return k.recordAdopted(a)
	case k.pod(a.Member) != nil || k.hasClaim(a.Member):
		return violation("S1", "the seed gets the name %s, which is in use", a.Member)
	case c.Bootstrap != nil && (c.Bootstrap.Member == a.Member || c.Bootstrap.Token == a.Token):
		return violation("S1", "the seed is tried again under the same name or token")
	}
	if c.Bootstrap != nil {
		if p := k.pod(c.Bootstrap.Member); p != nil && p.Answer.Reached {
			return violation("S1", "the seed %s serves, and is given up", p.Name)
		}
	}
	return nil
}

// runInsteadOf reports whether members that serve run one patch, and none the other.
func (k *check) runInsteadOf(one, other string) bool {
	runs := func(version string) bool {
		return slices.ContainsFunc(k.o.Pods, func(p facts.Pod) bool { return p.Answer.Reached && cmp.Or(p.From, p.Version) == version })
	}
	serves := slices.ContainsFunc(k.o.Pods, func(p facts.Pod) bool { return p.Answer.Read })
	return serves && minorOf(one) == minorOf(other) && runs(one) && !runs(other)
}

func (k *check) latch(a action.LatchClusterID) *Violation {
	c := &k.o.Cluster
	if c.ClusterID != 0 || c.Bootstrap == nil || a.ClusterID == 0 {
		return violation("S1", "latches cluster id %x over %x", a.ClusterID, c.ClusterID)
	}
	if c.Bootstrap.Adopted {
		return k.latchAdopted(a)
	}
	p := k.pod(c.Bootstrap.Member)
	if p == nil || !p.Answer.Reached || p.Answer.ClusterID != a.ClusterID {
		return violation("S1", "latches cluster id %x, which the seed does not report", a.ClusterID)
	}
	if p.StartPermit != nil && p.StartPermit.New {
		return violation("S2", "latches cluster id %x while the seed %s may still begin without data", a.ClusterID, p.Name)
	}
	return nil
}
