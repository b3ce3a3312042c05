package simulate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/schedule"
)

// This file is data that differs without anybody's notice, and how an operator compares it.

// everyComparison is the schedule of the runs that compare.
const everyComparison = "*/5 * * * *"

var comparisons = func() schedule.Schedule {
	s, err := schedule.Parse(everyComparison)
	if err != nil {
		panic(err)
	}
	return s
}()

// longestComparison is the longest time that a comparison takes.
const longestComparison = 90 * time.Second

// reading is a comparison that an operator has begun. It is never changed in place.
type reading struct {
	members []facts.Member
	ends    time.Duration
	shown   facts.Comparison
}

// consistency is what an operator reads of spec and status.
func (w *world) consistency(c *etcdCluster) facts.Consistency {
	out := facts.Consistency{Since: epoch}
	if w.cfg.Compares {
		out.Schedule = comparisons
	}
	if s := c.status.Consistency; s != nil {
		out.Since, out.Result, out.Revision = s.LastCheckTime.Time, s.Result, s.Revision
		for _, text := range s.DifferingMembers {
			id, err := strconv.ParseUint(text, 16, 64)
			if err != nil {
				panic(err)
			}
			out.Differing = append(out.Differing, id)
		}
	}
	return out
}

// alterData changes a voter's data: nobody notices.
func (w *world) alterData(f Fault) bool {
	l := w.mainLeader()
	if l == nil {
		return false
	}
	r := w.target(f.A, func(r *run) bool {
		return r.etcd != nil && r.disk.data.birth == w.main && isVoter(l.disk.data.view, r.disk.data.id)
	})
	if r == nil {
		return false
	}
	w.altered++
	r.disk.data.altered = w.altered
	w.say("FAULT %s: %s", AlterData, r.name)
	return true
}

// compareData begins a comparison.
func (w *world) compareData(op *operator, a action.CompareData) {
	if op.reading != nil && op.reading.shown.Ended.IsZero() {
		return
	}
	now := &reading{members: a.Members, ends: w.now + w.delay(longestComparison)}
	now.shown.Begun = epoch.Add(w.now)
	for _, m := range a.Members {
		now.shown.Members = append(now.shown.Members, m.ID)
	}
	slices.Sort(now.shown.Members)
	op.reading = now
}

// comparison is what an operator knows of the one that it has begun. It ends when the
// operator looks: the data is compared as it is then.
func (w *world) comparison(op *operator) *facts.Comparison {
	r := op.reading
	if r == nil {
		return nil
	}
	if r.shown.Ended.IsZero() && w.now >= r.ends {
		ended := *r
		ended.shown = w.compared(op, r)
		op.reading = &ended
	}
	shown := op.reading.shown
	return &shown
}

func (w *world) compared(op *operator, r *reading) facts.Comparison {
	out := r.shown
	out.Ended, out.Revision, out.Result = epoch.Add(w.now), 1, v1beta2.ResultConsistent
	groups := map[int][]uint64{}
	for _, m := range r.members {
		q := w.member(w.main, m.ID)
		if q == nil || !q.etcd.serves || w.busy(q) || !w.sees(op, q.node) {
			out.Failed = m.Name + " does not answer"
			return out
		}
		groups[q.disk.data.altered] = append(groups[q.disk.data.altered], m.ID)
	}
	if len(groups) == 1 {
		return out
	}
	out.Result = v1beta2.ResultNoMajority
	for altered, ids := range groups {
		if len(ids) <= len(r.members)/2 {
			continue
		}
		out.Result = v1beta2.ResultMemberDiffers
		for other, ids := range groups {
			if other != altered {
				out.Differing = append(out.Differing, ids...)
			}
		}
	}
	slices.Sort(out.Differing)
	for _, id := range out.Differing {
		w.differed = append(slices.Clip(w.differed), id)
	}
	return out
}

// recordConsistency is the write of the status.
func (w *world) recordConsistency(op *operator, a action.RecordConsistency) error {
	return w.writeStatus(op, func(c *etcdCluster) {
		w.touch("a comparison is recorded")
		st := *op.last.Status.DeepCopy()
		now := v1beta2.ConsistencyStatus{Revision: a.Revision, Result: a.Result}
		now.LastCheckTime.Time = a.At.Truncate(time.Second)
		for _, id := range a.Differing {
			now.DifferingMembers = append(now.DifferingMembers, fmt.Sprintf("%016x", id))
		}
		st.Consistency = &now
		c.status = &st
	})
}

// whoDiffers is a voter whose data differs from that of a majority; empty if there is none.
func (w *world) whoDiffers() string {
	if w.main < 0 || !w.cfg.Compares {
		return ""
	}
	count, of := map[int]int{}, map[string]int{}
	view := w.births[w.main].view
	for _, m := range view {
		q := w.member(w.main, m.ID)
		if q != nil && strings.HasPrefix(q.version, "3.4.") {
			return "" // nobody compares these
		}
		if q != nil && !m.Learner {
			count[q.disk.data.altered]++
			of[m.Name] = q.disk.data.altered
		}
	}
	for _, m := range view {
		for altered, n := range count {
			if mine, ok := of[m.Name]; ok && n > countVoters(view)/2 && mine != altered {
				return m.Name
			}
		}
	}
	return ""
}

func (k *check) compareData(a action.CompareData) *Violation {
	list := k.list()
	if v := k.settled(list); v != nil {
		return v
	}
	for _, m := range a.Members {
		if !slices.Contains(list, m) || !k.healthy[m.ID] {
			return violation("S6", "%s is compared, and is no healthy voter", m.Name)
		}
	}
	return nil
}

func (k *check) recordConsistency(a action.RecordConsistency) *Violation {
	if v := k.settled(k.list()); v != nil {
		return v
	}
	c := k.o.Comparison
	if c == nil || c.Ended.IsZero() || c.Failed != "" || a.At != c.Ended || a.Result != c.Result || !slices.Equal(a.Differing, c.Differing) {
		return violation("Consistency", "a result is recorded that no comparison has shown")
	}
	for _, m := range k.voters {
		if !slices.Contains(c.Members, m.ID) {
			return violation("Consistency", "%s was not compared", m.Name)
		}
	}
	if len(a.Differing) > (len(k.voters)-1)/2 {
		return violation("Consistency", "%d of %d voters differ, and that is no minority", len(a.Differing), len(k.voters))
	}
	return nil
}
