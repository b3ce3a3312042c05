package simulate

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// This file is what becomes of volumes: they break, they grow, and they outlive their
// EtcdCluster.

// expansion is what storage classes are like.
type expansion int

const (
	growing       expansion = iota // volumes may grow, and the operator may read that
	growingUnread                  // they may
	frozen                         // they may not, and the operator may read that
	frozenUnread                   // they may not
)

// smallest is the size of volumes at first, largest the most that is asked for.
const smallest, largest = 1 << 30, 1<<30 + 2

// killedExit is how a process ends that is killed.
var killedExit = facts.Exit{Code: 137, Reason: "Error"}

// fault is an etcd, or a launcher, that ends by itself with an error.
func (w *world) fault(r *run) {
	w.crash(r)
	r.exit = facts.Exit{Code: 1 + len(r.name)%2, Reason: "Error"}
}

// endsAtOnce is how an etcd ends as soon as it is started on its data; zero if it does not.
func (w *world) endsAtOnce(r *run) facts.Exit {
	switch {
	case w.step < r.oomUntil:
		return facts.Exit{Code: 137, Reason: "OOMKilled"}
	case r.disk.corrupt:
		return facts.Exit{Code: 2, Reason: "Error", Damage: "its database has no valid meta page"}
	}
	return facts.Exit{}
}

// spoil lets a member's etcd end again and again: of its data, or of too little memory.
func (w *world) spoil(f Fault) bool {
	r := w.target(f.A, func(r *run) bool { return r.etcd != nil && r.disk.data.birth == w.main })
	if r == nil || (f.Kind == CorruptDisk && w.tooMuch(func(q *run) bool { return q == r })) {
		return false
	}
	w.say("FAULT %s: %s", f.Kind, r.name)
	if f.Kind == StarveMember {
		r.oomUntil = w.step + f.For
		w.crash(r)
		r.exit = facts.Exit{Code: 137, Reason: "OOMKilled"}
		return true
	}
	r.disk.corrupt = true
	w.fault(r)
	w.diskLost()
	return true
}

func (w *world) editVolumes(f Fault) bool {
	switch {
	case !w.cfg.Persistent:
		return false
	case f.Kind == EditPolicy:
		w.say("the user sets retain to %t", !w.cluster.retain)
		w.edit(func(c *etcdCluster) { c.retain = !c.retain })
		return true
	case w.cluster.storage >= largest:
		return true
	}
	w.say("the user sets storage %d", w.cluster.storage+1)
	w.edit(func(c *etcdCluster) { c.storage++ })
	return true
}

// recreate deletes the EtcdCluster, and makes another one of its name. Its Pods are
// collected, and its volumes stay.
func (w *world) recreate(f Fault) bool {
	c := &w.cluster
	calm := !slices.ContainsFunc(w.pods, func(p *pod) bool { return p.node >= 0 && !w.kubeletTalks(p.node) })
	kept := len(w.claims) > 0 && !slices.ContainsFunc(w.claims, func(c *claim) bool { return !w.isMembers(c) || !c.retained || c.version == "" || c.reseed != "" })
	if (!calm && !w.ships()) || !kept || w.main < 0 || c.clusterID == 0 || c.target != "" || len(w.restores) > 0 || c.deleting || w.cfg.Existed != "" {
		return false
	}
	// What has only been begun can't be told from what has served.
	if slices.ContainsFunc(w.births[w.main].view, func(m facts.Member) bool { return !m.Started }) {
		return false
	}
	w.say("FAULT %s: EtcdCluster %d", f.Kind, c.number+1)
	next := etcdCluster{
		number: c.number + 1, version: c.version + 1, generation: c.generation + 1, size: c.size, wanted: c.wanted, repository: c.repository,
		template: c.template, storage: c.storage, retain: f.B%2 == 0, survive: c.survive, begun: never, repaired: never, status: &v1beta2.ClusterStatus{},
	}
	if w.ships() {
		w.recreateLater(f, next)
		return true
	}
	for _, p := range slices.Clone(w.pods) {
		w.dropPod(p)
	}
	w.runs = slices.DeleteFunc(w.runs, func(r *run) bool {
		if r.persisted {
			w.stopEtcd(r)
		}
		return r.persisted
	})
	w.cluster, w.lates = next, nil
	w.budget, w.adoptAt = 0, w.step+1
	if f.A%2 == 0 {
		w.adoptAt += f.For
	}
	return true
}

// tickVolumes lets volumes grow that may, some time after they were asked to, and the
// user ask for those that were left.
func (w *world) tickVolumes() {
	for _, c := range w.claims {
		if c.capacity < c.requested && (w.calm || w.random.chance(30)) {
			c.capacity = c.requested
		}
	}
	if w.adoptAt > 0 && w.step >= w.adoptAt && !w.cluster.adopt {
		w.say("the user asks for the volumes that were left")
		w.cluster.adopt = true
		w.cluster.version++
	}
}

// observeClaim tells of one claim that no restore keeps.
func (w *world) observeClaim(o *facts.Observation, c *etcdCluster, v *claimObject) {
	if v.owner != c.number {
		o.Retained = append(o.Retained, facts.Retained{Name: v.name, UID: v.uid, Owner: ownerName(v.owner), Deleting: v.deleting, Version: v.version, Reseed: v.reseed != ""})
		o.Cluster.Existed = "volumes of an earlier cluster exist"
		return
	}
	claim := facts.Claim{
		Name: v.name, UID: v.uid, Deleting: v.deleting, Created: epoch.Add(v.created), Reseed: v.reseed, Retained: v.retained, Version: v.version,
		Requested: v.requested, Capacity: v.capacity, Class: className,
	}
	if v.refused != 0 {
		claim.RefusedSize, claim.RefusedAt, claim.Refusal = v.refused, epoch.Add(v.refusedAt), "forbidden"
	}
	switch w.cfg.Expansion {
	case growing:
		claim.Expansion = facts.ExpansionAllowed
	case frozen:
		claim.Expansion = facts.ExpansionRefused
	}
	o.Claims = append(o.Claims, claim)
	if c.bootstrap.Member == "" && c.fence.By == "" {
		o.Cluster.Existed = "a volume of it exists"
	}
}

func ownerName(n int) string { return clusterUID(n) }

// noOtherClaims is the live look before a beginning is recorded.
func (w *world) noOtherClaims(a action.RecordBootstrap) error {
	if w.cfg.has(NoLiveClaims) {
		return nil
	}
	for _, c := range w.claims {
		ours := c.owner == w.cluster.number && (a.Adopted || w.cluster.bootstrap.Member != "")
		taken := ours || (a.Adopted && c.retained)
		if c.retired == "" && !taken {
			return errConflict
		}
	}
	return nil
}

func (w *world) growClaim(t *todo, a action.GrowClaim) error {
	c := w.claim(a.Name)
	if c == nil || c.uid != a.UID || !w.isMembers(c) || c.requested != a.From {
		return errGone
	}
	if !w.cfg.has(NoLiveClaims) && slices.ContainsFunc(w.claims, func(o *claim) bool { return w.isMembers(o) && o.capacity < o.requested }) {
		return errConflict
	}
	if !w.samePods(&t.seen) {
		return errConflict
	}
	w.touch("a volume grows")
	if w.cfg.Expansion >= frozen {
		c.refused, c.refusedAt = a.Size, w.now
		return errUnavailable
	}
	c.requested = a.Size
	return nil
}

func (w *world) keepClaim(ref action.ClaimRef, a action.KeepClaims) error {
	c := w.claim(ref.Name)
	if c == nil || c.uid != ref.UID || !w.isMembers(c) {
		return errGone
	}
	w.touch("a volume is kept")
	c.retained = a.Retain
	if a.Version != "" {
		c.version = a.Version
	}
	return nil
}

func (w *world) takeClaim(ref action.ClaimRef, from string) error {
	c := w.claim(ref.Name)
	if c == nil || c.uid != ref.UID || c.deleting || !c.retained || ownerName(c.owner) != from {
		return errGone
	}
	w.touch("a volume is taken")
	w.checkTaken(c)
	c.owner, c.retained = w.cluster.number, w.cluster.retain
	return nil
}

// checkTaken: volumes of an earlier cluster are taken only where somebody has asked for them,
// and by one that has not begun.
func (w *world) checkTaken(c *claim) {
	if w.cluster.bootstrap.Member != "" {
		w.fail("S1", "volume %s is taken by a cluster that has begun", c.name)
	}
	if !w.cluster.adopt {
		w.fail("S12", "volume %s is taken, and nobody has asked for it", c.name)
	}
}

// checkGrowth: volumes grow one at a time (S6), and none but to what is asked for.
func (w *world) checkGrowth() {
	n := 0
	for _, c := range w.claims {
		if w.isMembers(c) && c.capacity < c.requested {
			n++
		}
		if c.requested > w.cluster.storage {
			w.fail("S6", "volume %s asks for %d, and %d is wanted", c.name, c.requested, w.cluster.storage)
		}
	}
	if n > 1 {
		w.fail("S6", "%d volumes grow at a time", n)
	}
}

// volumesWrong says what keeps the volumes from being as they should; empty if nothing
// does.
func (w *world) volumesWrong() string {
	for _, c := range w.claims {
		switch {
		case c.retired != "": // its restore answers for it; no member has it, and nothing is done to it
		case w.cfg.Expansion < frozen && c.capacity < w.cluster.storage:
			return "a volume is too small: " + c.name
		case c.retained && c.version != w.cluster.current:
			return "another version is noted on a volume: " + c.name
		case c.retained != w.cluster.retain:
			return "a volume is kept against the policy: " + c.name
		}
	}
	return ""
}

// restOutcome is that of an operator which has nothing left to do.
func (w *world) restOutcome() action.Outcome {
	if slices.ContainsFunc(w.claims, func(c *claim) bool { return c.retired == "" && c.requested < w.cluster.storage }) {
		return action.AwaitsUser // the volumes cannot grow
	}
	return action.UpToDate
}

// canBeRead reports whether data of a member is there that only etcd can't read.
func (w *world) canBeRead(id uint64) bool {
	is := func(d *disk) bool { return d.data != nil && d.corrupt && d.data.birth == w.main && d.data.id == id }
	return slices.ContainsFunc(w.claims, func(c *claim) bool { return is(c.disk) }) || slices.ContainsFunc(w.runs, func(r *run) bool { return is(r.disk) })
}

// obey is a user who does what the condition says of a member that crashes for ever.
func (w *world) obey() {
	last := &w.operators[0].last
	c := meta.FindStatusCondition(last.Status.Conditions, v1beta2.ConditionDegraded)
	for _, r := range w.runs {
		p := w.pod(r.name)
		if !r.disk.corrupt || p == nil || p.uid != r.uid || p.deleting != never || !slices.Contains(last.DeleteIfDamaged, r.name) || !asks(c, "pod "+r.name) {
			continue
		}
		w.say("the user deletes %s and its volume", r.name)
		if c := w.claim(r.name); c != nil {
			w.deleteClaim(c)
		}
		w.deletePod(p)
		return
	}
}

// What the oracle asks of actions on volumes that stay.

// adopts reports whether the user asks for volumes that were left, and nothing has begun.
func (k *check) adopts() bool {
	c := &k.o.Cluster
	return c.AdoptVolumes != "" && c.Bootstrap == nil && c.ClusterID == 0 && len(k.o.Pods) == 0 && len(k.o.Retained)+len(k.o.Claims) > 0
}

func (k *check) takeClaims(a action.TakeClaims) *Violation {
	if !k.adopts() || len(a.Claims) == 0 {
		return violation("S12", "volumes are taken, and nobody has asked for them")
	}
	if want := k.o.Cluster.AdoptVolumes; want != v1beta2.AdoptAny && want != a.From {
		return violation("S12", "volumes of %s are taken, and those of %s were asked for", a.From, want)
	}
	for _, r := range a.Claims {
		if !slices.ContainsFunc(k.o.Retained, func(c facts.Retained) bool {
			return c.Name == r.Name && c.UID == r.UID && c.Owner == a.From && !c.Deleting
		}) {
			return violation("S11", "volume %s is taken, and was not left by %s", r.Name, a.From)
		}
	}
	return nil
}

func (k *check) recordAdopted(a action.RecordBootstrap) *Violation {
	if c := &k.o.Cluster; c.Bootstrap != nil || !k.hasOrHadClaim(a.Member) || len(k.o.Pods) > 0 {
		return violation("S1", "a beginning on adopted volumes is recorded, and there are none, or another one")
	}
	if slices.ContainsFunc(k.o.Retained, func(r facts.Retained) bool {
		return !r.Deleting && (k.o.Cluster.AdoptVolumes == v1beta2.AdoptAny || k.o.Cluster.AdoptVolumes == r.Owner)
	}) {
		return violation("S1", "a beginning is recorded before all volumes are taken")
	}
	return nil
}

func (k *check) hasOrHadClaim(name string) bool {
	return slices.ContainsFunc(k.o.Claims, func(c facts.Claim) bool { return c.Name == name })
}

// latchAdopted: a quorum of the members that etcd lists answers with that id.
func (k *check) latchAdopted(a action.LatchClusterID) *Violation {
	list := k.list()
	voters, same := 0, 0
	for _, m := range list {
		if m.Learner {
			continue
		}
		voters++
		if an := k.answer(m); an != nil && an.ClusterID == a.ClusterID && len(an.Errors) == 0 && !an.Learner {
			same++
		}
	}
	if voters == 0 || same < quorum(voters) {
		return violation("S1", "cluster id %x is latched, which %d of %d voters report", a.ClusterID, same, voters)
	}
	return nil
}

func (k *check) keepClaims(a action.KeepClaims) *Violation {
	if a.Retain != k.o.Cluster.Retain || len(a.Claims) == 0 {
		return violation("S7", "volumes are kept against the policy")
	}
	if c := &k.o.Cluster; a.Version != "" && a.Version != c.Version && a.Version != c.Target {
		return violation("S10", "etcd %s is noted on volumes, which run %s", a.Version, c.Version)
	}
	for _, r := range a.Claims {
		if !slices.ContainsFunc(k.o.Claims, func(c facts.Claim) bool {
			return c.Name == r.Name && c.UID == r.UID && (c.Retained != a.Retain || c.Version != a.Version)
		}) {
			return violation("S11", "no volume %s of uid %s was observed that is kept otherwise", r.Name, r.UID)
		}
	}
	return nil
}

func (k *check) growClaim(a action.GrowClaim) *Violation {
	i := slices.IndexFunc(k.o.Claims, func(c facts.Claim) bool { return c.Name == a.Name && c.UID == a.UID && c.Requested == a.From })
	if i < 0 || a.Size != k.o.Cluster.Storage || a.Size <= a.From {
		return violation("S11", "volume %s (%s) is to grow from %d to %d, and was not observed so", a.Name, a.UID, a.From, a.Size)
	}
	if c := &k.o.Claims[i]; c.Expansion == facts.ExpansionRefused {
		return violation("Volumes", "volume %s is to grow, and its class does not allow it", a.Name)
	}
	list := k.list()
	if v := k.settled(list); v != nil {
		return v
	}
	for _, m := range list {
		for _, c := range k.o.Claims {
			if c.Name == m.Name && !c.Deleting && c.Capacity > 0 && c.Capacity < c.Requested {
				return violation("S6", "volume %s is to grow while %s does", a.Name, c.Name)
			}
		}
		if !m.Learner && !k.healthy[m.ID] && m.Name != a.Name {
			return violation("S6", "volume %s is to grow while %s is not healthy", a.Name, m.Name)
		}
	}
	return nil
}

// broken reports whether a member's etcd has ended by itself, of its data, five times and for two
// minutes, since it served in this Pod with this image (S9).
func (k *check) broken(p *facts.Pod) bool {
	code := p.LastExit.Code
	return p.LastExit.Damage != "" && (code == 1 || code == 2) && p.LastExit.Reason != "OOMKilled" && p.Restarts-p.ProvenRestarts >= 5 && p.ProvenImage == p.Repository+":v"+p.Version &&
		!p.UnreadySince.IsZero() && k.o.Now.Sub(p.UnreadySince) >= 2*time.Minute
}

// crowdsOut reports whether a broken member may have the place that a joiner has been
// waiting for, for the member timeout.
func (k *check) crowdsOut(name string) bool {
	p := k.pod(name)
	return p != nil && k.broken(p) && slices.ContainsFunc(k.o.Pods, func(j facts.Pod) bool {
		return j.Role == facts.Joiner && j.Node == "" && j.Unschedulable != "" && k.o.Now.Sub(j.Created) >= k.o.Cluster.MemberTimeout
	})
}

// volumeLost reports whether the volume of a Pod that does not run has been lost.
func (k *check) volumeLost(p *facts.Pod) bool {
	return slices.ContainsFunc(k.o.Claims, func(c facts.Claim) bool { return c.Name == p.Name && c.Lost }) &&
		!p.UnreadySince.IsZero() && k.o.Now.Sub(p.UnreadySince) >= k.o.Cluster.MemberTimeout
}
