package simulate

import (
	"slices"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
)

// late is an API call that was sent and not answered, and takes effect later.
type late struct {
	at       time.Duration
	operator int
	todo     todo
	n        int
	// marks is the restore for which it changes a mark on the EtcdCluster; empty if it does not.
	marks string
	// land carries out one of the shipped code.
	land func()
}

// sendLate lets a call take effect later than its operator believes, within the
// deadline of an action; it reports whether this one can. Changes of members are
// TearCall's.
func (w *world) sendLate(op *operator, n int) bool {
	t := op.todo
	switch a := t.decision.Action.(type) {
	case action.CreatePods, action.SetRoles, action.GrantStartPermit, action.RevokeStartPermits, action.ChangeImage, action.RecreatePod, action.EnableDowngrade, action.CancelDowngrade:
	case action.DeletePod:
		if len(a.Members) > 0 {
			return false
		}
	default:
		return false
	}
	if n == 0 || len(w.operators) > 1 || w.unchanged(&t.seen.Cluster) != nil {
		return false
	}
	w.lates = append(w.lates, late{at: w.now + time.Duration(w.random.below(11))*time.Second, operator: slices.Index(w.operators, op), todo: *t, n: n})
	w.say("operator %s: the call is under way", op.id)
	return true
}

// landLates carries out what was sent.
func (w *world) landLates() {
	w.lates = slices.DeleteFunc(w.lates, func(l late) bool {
		if w.now < l.at {
			return false
		}
		if l.land != nil {
			l.land()
			w.disturbed++
			return true
		}
		t := l.todo
		t.sent = true
		_, err := w.effect(w.operators[l.operator], &t, l.n)
		w.say("a late call lands: %s: %v", describe(t.decision), err)
		w.disturbed++
		return true
	})
}
