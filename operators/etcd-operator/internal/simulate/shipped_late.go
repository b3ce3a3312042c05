package simulate

import (
	"context"
	"slices"
	"time"
)

// This file is calls of the shipped code that take effect later than it believes, or twice.

// write is a call that changes something in Kubernetes, but the status: that is written as it was
// read, or not at all.
func (s *shipped) write(ctx context.Context, what string, lost error, do func() error) error {
	t := s.op.todo
	s.writes = true
	defer func() { s.writes = false }()
	return s.call(ctx, what, lost, func() error {
		switch odd := s.odd; odd {
		case LateCall:
			s.sendLate(what, t, do)
			return lost
		case RepeatCall:
			err := do()
			s.w.publish()
			s.w.say("operator %s: %s is done twice: %v", s.op.id, what, do())
			return err
		default:
			return do()
		}
	})
}

// oddly reports whether a mishap is one of writes, which is the next one's if this call is none.
func (s *shipped) oddly(mishap FaultKind) bool {
	s.odd = numFaults
	if mishap != LateCall && mishap != RepeatCall {
		return false
	}
	if s.writes {
		s.odd = mishap
	} else {
		s.op.mishap = mishap
	}
	return true
}

// sendLate lets a write take effect within the deadline of an action. The operator is told that
// nobody answered, and may end soon.
func (s *shipped) sendLate(what string, t *todo, do func() error) {
	w, op := s.w, s.op
	w.say("operator %s: %s is under way", op.id, what)
	acting := &shipped{fenceLook: s.fenceLook, calledAt: s.calledAt}
	land := func() {
		was, sent := op.todo, todo{}
		if t != nil {
			sent = *t
		}
		sent.sent = true
		op.todo, w.acting = &sent, acting
		w.say("a late call lands: %s: %v", what, do())
		op.todo, w.acting = was, nil
	}
	w.lates = append(w.lates, late{at: w.now + time.Duration(w.random.below(11))*time.Second, land: land})
	if w.random.chance(50) {
		op.mishap, op.mishapIn = CrashOperator, w.random.below(3)
	}
}

// since is before when something may have been begun whose end nobody knows, as the shipped operator
// tells it, or as it would without some of what it remembers.
func (s *shipped) since(told time.Time) time.Time {
	switch {
	case s.w.cfg.has(NoStart):
		return time.Time{}
	case s.w.cfg.has(NoDoubt):
		return epoch.Add(s.op.since)
	}
	return told
}

// tearable are the calls for which etcd has no precondition: the operator has looked just before.
var tearable = []string{"adding a learner", "promoting a learner", "removing a member", "moving the leader"}

// tears reports whether the next call is such a one.
func (s *shipped) tears() bool { return slices.Contains(tearable, s.next) }
