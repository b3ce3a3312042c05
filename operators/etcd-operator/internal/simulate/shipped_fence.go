package simulate

import (
	"context"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

// This file is what a restore is to the shipped etcd-operator: marks on the EtcdCluster.

// markFence writes on an EtcdCluster what a restore and the operator tell each other.
func (c *etcdCluster) markFence(o *v1beta2.EtcdCluster) {
	for key, value := range map[string]string{
		v1beta2.AnnotationFence: c.fence.Mark, v1beta2.AnnotationSeeded: c.fence.Seeded, v1beta2.AnnotationFenceLifted: c.fence.Lifted, v1beta2.AnnotationRestoredBy: c.restoredBy,
	} {
		if value != "" {
			o.Annotations[key] = value
		}
	}
}

// existed gives the EtcdCluster a status that the archived operator may have left.
func (w *world) existed() {
	if w.cfg.Existed == "" {
		return
	}
	w.cluster.status = &v1beta2.ClusterStatus{Phase: v1beta2.PhaseRunning}
	if w.seed%2 == 0 {
		w.cluster.status = &v1beta2.ClusterStatus{Members: v1beta2.MembersStatus{Ready: []string{"c-0000"}}}
	}
	for _, op := range w.operators {
		op.cluster = w.cluster
	}
}

// fenceLook is a live look at whether the EtcdCluster is fenced: how many fences had been
// acknowledged then, and when that was. spent is true once a call was made upon it.
type fenceLook struct {
	fences int
	at     time.Duration
	spent  bool
}

// noteLook notes a live read of the EtcdCluster.
func (s *shipped) noteLook() { s.fenceLook = fenceLook{fences: s.w.fences, at: s.w.now} }

// isRead tells the reads of Kubernetes by what the operator says of its calls.
func isRead(call string) bool {
	return strings.HasPrefix(call, "reading ") || strings.HasPrefix(call, "listing ")
}

// lookedBefore reports whether the operator that acts is one of two, and makes the one call for
// which it has looked before the other one acknowledged the fence. The API server has no
// precondition for that moment (docs/design/invariants.md). All other calls are without excuse:
// a second one upon that look, one after another look, or one after the deadline of an action.
func (w *world) lookedBefore() bool {
	if len(w.operators) < 2 || w.acting == nil {
		return false
	}
	l := w.acting.fenceLook
	return l.fences < w.fences && !l.spent && w.acting.calledAt-l.at <= actionTime
}

// actionTime is the deadline of an action (act.deadline).
const actionTime = 10 * time.Second

// TryWrite is the write that a seed is to acknowledge; it is of no cluster that has clients.
func (m *members) TryWrite(ctx context.Context, e etcdclient.Endpoint) error {
	return m.call(ctx, "writing to "+e.Name, etcdclient.ErrOutcomeUnknown, func() error {
		r := m.runAt(e.Addr)
		if r == nil || r.etcd == nil || !r.etcd.serves {
			return etcdclient.ErrUnreachable
		}
		told := m.w.write(r, m.w.readable(r))
		if a, ok := m.likened.told[e.Name]; ok { // it may have been mended since it answered
			a.Write = told
			m.likened.told[e.Name] = a
		}
		switch {
		case told.Acknowledged:
			return nil
		case told.Refused != "":
			return errNoSpace
		}
		return etcdclient.ErrUnreachable
	})
}
