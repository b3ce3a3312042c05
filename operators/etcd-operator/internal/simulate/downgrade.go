package simulate

import (
	"slices"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// This file is etcd's downgrade API: who may ask for what, how the cluster version goes
// down, and how each member follows it.

// lowerVersion is a leader that carries a downgrade out, and ends it when all members run
// the earlier minor. As with raiseVersion, a member that it does not reach holds it back.
func (w *world) lowerVersion(l *run) {
	d := l.disk.data
	b := &w.births[d.birth]
	if b.downgrade == 0 || !w.hasQuorum(l) {
		return
	}
	lowest, highest := minorOf(l.version), minorOf(l.version)
	for _, m := range d.view {
		r := w.member(d.birth, m.ID)
		if r == nil || !w.addressed(r) || (r != l && !w.reaches(l, r)) {
			return
		}
		lowest, highest = min(lowest, minorOf(r.version)), max(highest, minorOf(r.version))
	}
	switch {
	case !w.calm && !w.random.chance(40):
	case b.minor == b.downgrade+1 && lowest == b.minor:
		b.minor = b.downgrade
		w.say("the cluster version is lowered to 3.%d", b.minor)
	case highest == b.downgrade:
		b.downgrade = 0
		w.say("all members run 3.%d: the downgrade is over", highest)
	}
}

// followVersion is a member that hears of the cluster version, of a lower one sooner or
// later, and then brings its data to it.
func (w *world) followVersion(r *run) {
	d := r.disk.data
	b := &w.births[d.birth]
	switch {
	case d.told < b.minor:
		d.told = b.minor
	case d.told > b.minor && w.leaderOf(r) != nil && (w.calm || w.random.chance(60)):
		d.told = b.minor
		d.snap, d.snapView = d.applied, d.view // etcd forces a snapshot then
	}
	if d.stored != d.told && (w.calm || w.random.chance(50)) {
		d.stored = d.told
	}
}

// askDowngrade is a request of the downgrade API, if the Pods, read live, are as they were
// observed.
func (w *world) askDowngrade(op *operator, t *todo, change func(*run, *birth) error) error {
	if !t.sent && !w.cfg.has(NoLivePods) && !w.samePods(&t.seen) {
		return errConflict
	}
	r := w.endpoint(op)
	if r == nil {
		return errNobody
	}
	w.touch("etcd is asked for a downgrade")
	w.asked++
	return change(r, &w.births[r.disk.data.birth])
}

// enableDowngrade is etcd that validates a downgrade, and enables it.
func (w *world) enableDowngrade(op *operator, t *todo, a action.EnableDowngrade) error {
	return w.askDowngrade(op, t, func(_ *run, b *birth) error { return w.enableBy(b, a.To) })
}

func (w *world) enableBy(b *birth, version string) error {
	to := minorOf(version)
	if to != b.minor-1 || b.downgrade != 0 {
		return errConflict
	}
	if to < 5 {
		w.fail("S10", "a downgrade to %s is enabled, which etcd does not carry out", version)
	}
	b.downgrade = to
	w.say("a downgrade to 3.%d is enabled", to)
	return nil
}

// cancelDowngrade is etcd that cancels a downgrade.
func (w *world) cancelDowngrade(op *operator, t *todo) error {
	return w.askDowngrade(op, t, func(_ *run, b *birth) error { return w.cancelBy(b) })
}

func (w *world) cancelBy(b *birth) error {
	if b.downgrade == 0 {
		return errConflict
	}
	b.downgrade = 0
	w.say("the downgrade is cancelled")
	return nil
}

// checkLowered: no member is restarted with an earlier minor unless etcd is being
// downgraded to it, or another member that runs it holds the cluster version (S10).
func (w *world) checkLowered(t *todo, r *run, to string) {
	b := &w.births[w.main]
	minor := minorOf(to)
	switch {
	case minor >= minorOf(r.version):
		return
	case minor < r.disk.data.told || minor < r.disk.data.stored:
		w.fail("S10", "%s gets etcd %s, and its data is that of 3.%d", r.name, to, max(r.disk.data.told, r.disk.data.stored))
	case r.etcd == nil: // who does not run holds it back
		return
	case b.downgrade == minor || t.disturbed != w.disturbed || t.sent:
		return
	case !slices.ContainsFunc(b.view, func(m facts.Member) bool {
		q := w.member(w.main, m.ID)
		return q != nil && minorOf(q.version) <= minor
	}):
		w.fail("S10", "%s gets etcd %s, and nothing keeps etcd from raising its cluster version", r.name, to)
	}
}

// replay is an etcd that starts on its data. Etcd 3.5 takes the member list of its last
// snapshot and replays what the log says since, learners beyond its limit left out. (Later
// ones do so too, under the limit that they had when it was written: see ChangeLearners.)
func (w *world) replay(r *run) {
	d := r.disk.data
	d.base = d.snap
	if minorOf(r.version) > 5 {
		return
	}
	d.view = d.snapView
	for _, e := range d.log[d.snap:d.applied] {
		if e.kind != noop && e.kind != write {
			d.view = applied(d.view, e, learnerLimit(r))
		}
	}
}

// memorySnapshotCount is raft's index from which on an etcd from 3.6 on drops the first entry of its
// log, so that whoever joins gets a snapshot (etcdserver.memorySnapshotCount). 3.5 keeps 100,000.
const memorySnapshotCount = 100

// install is a snapshot that a leader sends to a member that lacks entries from before its own log
// begins: what it has applied itself, whatever the limit of learners there. The log of that member
// begins there, too, for those that it sends to later.
func (w *world) install(l *run, to *data) {
	from := l.disk.data
	if to.applied >= from.base && (to.applied > 0 || !dropsFirst(l)) {
		return
	}
	to.applied, to.committed, to.view = from.applied, max(to.committed, from.applied), from.view
	to.snap, to.snapView = to.applied, to.view
	to.base = to.applied
	to.size, to.inUse, to.alarms, to.altered = from.size, from.inUse, from.alarms, from.altered
	w.configured = true
}

// dropsFirst reports whether an etcd has dropped the first entry of its log.
func dropsFirst(l *run) bool {
	d := l.disk.data
	return minorOf(l.version) > 5 && d.applied > 0 && d.log[d.applied-1].index > memorySnapshotCount
}

// storageVersion is what a member tells of its data.
func storageVersion(r *run) string {
	if minorOf(r.version) < 6 {
		return ""
	}
	return firstOf(r.disk.data.stored)
}

// downgradeTold is what a member tells of a downgrade.
func downgradeTold(b *birth) string {
	if b.downgrade == 0 {
		return ""
	}
	return firstOf(b.downgrade)
}

// finallyBack is where a cluster whose cluster version is minor ends that goes down, or is
// to: at a minor lower, or at the one that it comes from; 0 if it does not go down.
func (w *world) finallyBack(minor int) int {
	c := &w.cluster
	from := minorOf(c.current)
	switch {
	case c.target != "" && from > newestMinor:
	case c.target != "" && minorOf(c.target) == from-1 && w.seed%2 == 0:
		return from - 1
	case c.target != "" && minorOf(c.target) == from-1:
		return from // what was begun is taken back
	case c.target == "" && from == minor && from > oldestMinor && from <= newestMinor && w.seed%3 == 0:
		return from - 1
	}
	return 0
}
