package simulate

import (
	"slices"
	"strings"

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
		if v.retained { // the cache may not show it yet
			o.Retained = append(o.Retained, facts.Retained{Name: v.name, UID: v.uid, Owner: ownerName(v.owner), Deleting: v.deleting, Version: v.version, Reseed: v.reseed != ""})
		}
		o.Cluster.Existed = "volumes of an earlier cluster exist"
		return
	}
	claim := facts.Claim{
		Name: v.name, UID: v.uid, Deleting: v.deleting, Created: epoch.Add(v.created), Reseed: v.reseed, Retained: v.retained, Version: v.version,
		Requested: v.requested, Capacity: v.capacity, Class: className,
	}
	if v.node >= 0 {
		claim.Node = nodeName(v.node)
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
	if a.Recovered {
		c.reseed = ""
		w.checkMarks()
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

// checkGrowth: volumes grow one at a time (S6), and none but to what is asked for. Of two operators
// each may let one grow between the other's look at all volumes and its call; that none grew when it was
// looked is checked with each call (checkVolume).
func (w *world) checkGrowth() {
	n, most := 0, 1
	if w.ships() {
		most = len(w.operators)
	}
	for _, c := range w.claims {
		if w.isMembers(c) && c.capacity < c.requested {
			n++
		}
		if c.requested > w.cluster.storage {
			w.fail("S6", "volume %s asks for %d, and %d is wanted", c.name, c.requested, w.cluster.storage)
		}
	}
	if n > most {
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
	for _, p := range w.pods {
		if strings.Contains(last.Message, "only to give up the data of "+p.name) && p.deleting == never {
			w.say("the user gives up the data of %s, whose PVC they have deleted", p.name)
			w.deletePod(p)
			return
		}
	}
}
