package simulate

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/schedule"
)

// This file is what space in databases and alarms matter to: etcd, which refuses writes
// while an alarm is raised, the user, and the calls by which an operator makes room.

// unit is the size of a write, in bytes.
const unit = 10 << 20

// roomyQuota is one that nobody fills.
const roomyQuota = 1_000_000

// slowUnits is what FillSlowly leaves of the quota.
const slowUnits = 10

// longestDefragment is the longest time that a defragmentation takes.
const longestDefragment = 60 * time.Second

// everyRound is the schedule of the runs that have one.
const everyRound = "*/20 * * * *"

var rounds = func() schedule.Schedule {
	s, err := schedule.Parse(everyRound)
	if err != nil {
		panic(err)
	}
	return s
}()

// maintenance is what an operator reads of spec and status.
func (w *world) maintenance(c *etcdCluster) facts.Maintenance {
	m := facts.Maintenance{AbovePercent: w.cfg.AbovePercent, AutoRepairSpace: w.cfg.AutoRepair, CompactedRevision: c.compacted}
	m.DefragmentRequest, m.LeaderRequest = c.askedRound, c.askedLeader
	m.DefragmentAnswered, m.LeaderAnswered = c.answered()
	if w.cfg.Scheduled {
		m.Schedule = rounds
	}
	if c.begun != never {
		m.Begun = epoch.Add(c.begun)
	}
	if c.repaired != never {
		m.Repaired = epoch.Add(c.repaired)
	}
	if s := c.status.Maintenance; s != nil && s.ScheduleSince != nil {
		m.Counted, m.Since = s.Schedule, s.ScheduleSince.Time
	}
	return m
}

// busy reports whether a member is being defragmented. When that has ended, its database
// has no free space.
func (w *world) busy(r *run) bool {
	if r.etcd == nil || r.etcd.busyUntil == 0 {
		return false
	}
	if w.now < r.etcd.busyUntil {
		return true
	}
	r.etcd.busyUntil = 0
	r.disk.data.size = r.disk.data.inUse
	w.say("%s is defragmented", r.name)
	return false
}

// starved reports whether a member has been busy for so long that its probe has failed.
func (w *world) starved(r *run) bool {
	return w.busy(r) && r.etcd.busyUntil-w.now < longestDefragment/2
}

// keep reports whether an entry changes the database and not the members.
func (w *world) keep(_ *data, e entry) bool {
	return e.kind == raise || e.kind == disarm || e.kind == compact
}

// store is what an entry does to a member's database and alarms.
func (w *world) store(d *data, e entry) {
	a := facts.Alarm{MemberID: e.id, Kind: e.alarm}
	switch e.kind {
	case write:
		d.inUse += e.units
		if w.cfg.Quota == 0 {
			d.inUse = 0
		}
		d.size = max(d.size, d.inUse)
	case compact:
		d.inUse = min(d.inUse, w.cfg.Live)
	case raise:
		if !slices.Contains(d.alarms, a) {
			d.alarms = append(slices.Clip(slices.Clone(d.alarms)), a)
		}
	case disarm:
		d.alarms = slices.DeleteFunc(slices.Clone(d.alarms), func(b facts.Alarm) bool { return a == b })
	}
}

// raiseAlarms is every member that the leader reaches and whose database has grown to its
// quota.
func (w *world) raiseAlarms(l *run) {
	if w.quota == 0 || !w.hasQuorum(l) {
		return
	}
	for _, r := range w.etcds() {
		d := r.disk.data
		if d.birth != l.disk.data.birth || d.size < w.quotaOf(r) || (r != l && !w.reaches(l, r)) || findMember(l.disk.data.view, d.id) == nil {
			continue
		}
		w.checkWarned(d.birth)
		w.alarm(l, facts.Alarm{MemberID: d.id, Kind: facts.NoSpace})
	}
	w.tellNearQuota(l)
}

// space is the invariant that a person is told before etcd refuses writes for want of space.
const space = "Space"

// nearPercent is the share of a quota at which a person must have been told of it, and
// warnWithin how long an operator that nothing hinders may take until then: it looks once a
// minute, at most.
const (
	nearPercent = 90
	warnWithin  = 2 * time.Minute
)

// isNear reports whether so much of a quota is in use that a person is to be told.
func isNear(inUse, quota int64) bool { return quota > 0 && inUse*100 >= quota*nearPercent }

// tellNearQuota keeps since when the leader's database has been near its quota, with nothing that
// hinders an operator in seeing it.
func (w *world) tellNearQuota(l *run) {
	if d := l.disk.data; d.birth != w.main {
		return
	} else if near := isNear(int64(d.inUse), int64(w.quotaOf(l))); !near || w.isHindered() || len(d.alarms) > 0 {
		w.nearSince, w.nearDisturbed = never, w.disturbed
	} else if w.nearSince == never || w.nearDisturbed != w.disturbed {
		w.nearSince, w.nearDisturbed = w.now, w.disturbed
	}
}

// isHindered reports whether something lasts for which an operator may see nothing, or not say it.
func (w *world) isHindered() bool {
	for k := range numFaults {
		if k != FillSlowly && w.during(k) {
			return true
		}
	}
	c, op := &w.cluster, w.operators[0]
	return c.clusterID == 0 || c.deleting || c.fence.By != "" || op.dead || w.step < max(op.deadUntil, op.stalledUntil, op.cutOffUntil) ||
		slices.ContainsFunc(w.nodes, func(n node) bool { return w.step < n.cut })
}

// checkWarned: before etcd refuses writes for want of space a person has been told, and of what
// to do, unless it came too fast.
func (w *world) checkWarned(birth int) {
	if birth != w.main || w.nearSince == never || w.now-w.nearSince < warnWithin || w.nearDisturbed != w.disturbed {
		return
	}
	if !asks(meta.FindStatusCondition(w.cluster.status.Conditions, v1beta2.ConditionSpaceLow), "raise spec.etcd.quotaBackendBytes") {
		w.fail(space, "writes are refused, and for %s nobody was told that space is low", w.now-w.nearSince)
	}
}

// alarm raises one through the leader, unless it is raised, or about to be.
func (w *world) alarm(l *run, a facts.Alarm) {
	d := l.disk.data
	pending := slices.ContainsFunc(d.log[min(d.applied, len(d.log)):], func(e entry) bool { return e.kind == raise && e.id == a.MemberID && e.alarm == a.Kind })
	if pending || slices.Contains(d.alarms, a) {
		return
	}
	w.say("alarm %s of %x is raised", a.Kind, a.MemberID)
	w.appendEntry(l, entry{kind: raise, id: a.MemberID, alarm: a.Kind})
	w.replicate(l)
}

// quotaOf is what the database of a member may grow to, in units: what its Pod says, if that
// says anything.
func (w *world) quotaOf(r *run) int {
	if r.quota > 0 {
		return r.quota
	}
	return w.quota
}

// raiseQuota is a user who does so: the members of a shipped operator restart for it.
func (w *world) raiseQuota() {
	w.quota = roomyQuota
	if w.ships() {
		w.edit(func(*etcdCluster) {})
	}
}

// mainLeader is the leader of the cluster, if it has a quorum; nil if there is none.
func (w *world) mainLeader() *run {
	for _, r := range w.etcds() {
		if r.etcd.leading && r.disk.data.birth == w.main && w.hasQuorum(r) {
			return r
		}
	}
	return nil
}

// spoilDatabase is what happens to databases.
func (w *world) spoilDatabase(f Fault) bool {
	l := w.mainLeader()
	if l == nil {
		return false
	}
	switch f.Kind {
	case Fill:
		if w.quota == 0 || len(l.disk.data.alarms) > 0 {
			return true
		}
		w.say("FAULT %s", Fill)
		w.appendEntry(l, entry{kind: write, units: w.quotaOf(l)})
		w.replicate(l)
	case FillSlowly:
		if w.quota == 0 || w.quota == roomyQuota || len(l.disk.data.alarms) > 0 {
			return true
		}
		w.say("FAULT %s", f)
		w.appendEntry(l, entry{kind: write, units: max(1, w.quotaOf(l)-slowUnits-l.disk.data.inUse)})
		w.replicate(l)
		w.until[FillSlowly] = max(w.until[FillSlowly], w.step+f.For)
	case CorruptSomebody:
		w.say("FAULT %s", CorruptSomebody)
		w.alarm(l, facts.Alarm{Kind: facts.Corrupt})
	case CorruptMember:
		r := w.target(f.A, func(r *run) bool {
			return r.etcd != nil && r.disk.data.birth == w.main && findMember(l.disk.data.view, r.disk.data.id) != nil
		})
		if r == nil {
			return false
		}
		w.say("FAULT %s: %s", CorruptMember, r.name)
		w.alarm(l, facts.Alarm{MemberID: r.disk.data.id, Kind: facts.Corrupt})
	}
	return true
}

// alarms are those that the cluster has truly raised.
func (w *world) alarms() []facts.Alarm {
	if l := w.mainLeader(); l != nil {
		return l.disk.data.alarms
	}
	return nil
}

// isCorrupt reports whether a CORRUPT alarm names a member, as anybody knows, or a comparison
// has truly shown it to differ from a majority.
func (w *world) isCorrupt(id uint64) bool {
	return slices.Contains(w.differed, id) || slices.ContainsFunc(w.runs, func(r *run) bool {
		return r.disk.data != nil && r.disk.data.birth == w.main && slices.Contains(r.disk.data.alarms, facts.Alarm{MemberID: id, Kind: facts.Corrupt})
	})
}

// repairable reports whether the operator can make room by itself.
func (w *world) repairable() bool { return w.cfg.AutoRepair && w.cfg.Live*10 <= w.cfg.Quota*7 }

// makeRoom is a user who raises the quota where the operator can't make room.
func (w *world) makeRoom() {
	if w.quota > 0 && !w.repairable() {
		w.say("the user raises the quota")
		w.raiseQuota()
	}
}

// obeyAdvice is a user who does what the conditions tell: once nothing fills any more, he
// disarms what the operator leaves to him.
func (w *world) obeyAdvice() {
	if w.main < 0 {
		return
	}
	w.obeyRoom()
	l := w.mainLeader()
	if l == nil {
		return
	}
	w.obeyRemoval(l)
	for _, a := range slices.Clone(l.disk.data.alarms) {
		byUser := a.Kind == facts.NoSpace && !w.cfg.AutoRepair
		told := a.Kind == facts.Corrupt && w.operators[0].last.Outcome == action.AwaitsUser
		if byUser || told {
			w.say("the user disarms %s of %x", a.Kind, a.MemberID)
			w.appendEntry(l, entry{kind: disarm, id: a.MemberID, alarm: a.Kind})
			w.replicate(l)
			return
		}
	}
}

// manyMembers is how many take the operator longer to defragment than the model's clients to
// fill them up again.
const manyMembers = 7

// obeySpaceLow is a user whose database fills faster than the operator, which has many members
// to defragment and to restart, can make room: he raises the quota, as SpaceLow says.
func (w *world) obeySpaceLow() {
	c := meta.FindStatusCondition(w.operators[0].last.Status.Conditions, v1beta2.ConditionSpaceLow)
	if asks(c, "raise spec.etcd.quotaBackendBytes") && w.cluster.size >= manyMembers && w.isFull() && w.quota > 0 && w.quota < roomyQuota {
		w.say("the user raises the quota, as SpaceLow says")
		w.raiseQuota()
	}
}

// isFull reports whether writes are refused.
func (w *world) isFull() bool { return len(w.alarms()) > 0 }

func (w *world) alarmNames() string {
	var all []string
	for _, a := range w.alarms() {
		all = append(all, string(a.Kind))
	}
	return strings.Join(all, " ")
}
