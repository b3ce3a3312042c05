package simulate

import (
	"fmt"
	"strings"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
)

// This file is what a user asks for once, by an annotation whose value changes: a round of
// defragmentations, and another leader.

// nobody is the name of no member.
const nobody = clusterName + "-nobody"

// request is a user who asks for one of them, or takes that back. That is no change of the spec, and
// so of no generation.
func (w *world) request(f Fault) {
	c := &w.cluster
	c.version++
	switch {
	case f.Kind == AskDefragment && f.A%4 == 0:
		c.askedRound = ""
		w.say("the user asks for no round of defragmentations any more")
	case f.Kind == AskDefragment:
		c.askedRound = fmt.Sprintf("%d", c.version)
		w.say("the user asks for a round of defragmentations")
	default:
		name := nobody
		if w.main >= 0 && f.A%5 > 0 {
			view := w.births[w.main].view
			name = view[f.A%len(view)].Name
		}
		c.askedLeader = fmt.Sprintf("%s %d", name, c.version)
		w.say("the user asks that %s leads", name)
	}
}

// answered are the requests that the status answers.
func (c *etcdCluster) answered() (round, leader string) {
	if m := c.status.Maintenance; m != nil {
		return m.DefragmentRequest, m.LeaderRequest
	}
	return "", ""
}

// waitsForRound reports whether the user waits for a round to begin.
func (c *etcdCluster) waitsForRound() bool {
	round, _ := c.answered()
	return c.askedRound != "" && c.askedRound != round
}

// waitsForLeader is the member that the user waits for; empty if he waits for none.
func (c *etcdCluster) waitsForLeader() string {
	_, leader := c.answered()
	name, _, _ := strings.Cut(c.askedLeader, " ")
	if c.askedLeader == leader {
		return ""
	}
	return name
}

// record is what an action latches in the status.
func (c *etcdCluster) record(a action.Action) {
	c.status = c.status.DeepCopy()
	action.Record(a, c.status)
}

// askByAnnotations is the annotations of a user who has asked.
func (c *etcdCluster) askByAnnotations(o *v1beta2.EtcdCluster) {
	if c.askedRound != "" {
		o.Annotations[v1beta2.AnnotationDefragment] = c.askedRound
	}
	if c.askedLeader != "" {
		o.Annotations[v1beta2.AnnotationMoveLeader] = c.askedLeader
	}
}

// answerLeaderRequest: a request is answered when the member leads, or is refused because no
// voter has that name.
func (k *check) answerLeaderRequest(a action.AnswerLeaderRequest) *Violation {
	m := &k.o.Cluster.Maintenance
	if a.Request != m.LeaderRequest || a.Request == m.LeaderAnswered {
		return violation("S8", "the request %q for another leader is answered, and it is not the one that was made", a.Request)
	}
	if v := k.settled(k.list()); v != nil {
		return v
	}
	name, _, _ := strings.Cut(a.Request, " ")
	for _, member := range k.list() {
		if member.Name != name || member.Learner {
			continue
		}
		if a.Refused != "" || member.ID != k.leader {
			return violation("S8", "the request that %s leads is answered, and %x leads; refused: %q", name, k.leader, a.Refused)
		}
		return nil
	}
	if a.Refused == "" {
		return violation("S8", "the request that %s leads is answered, and no voter has that name", name)
	}
	return nil
}
