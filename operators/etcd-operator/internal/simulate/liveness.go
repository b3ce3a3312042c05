package simulate

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// liveness is the invariant that a cluster comes to rest once faults stop.
const liveness = "Liveness"

const (
	// liveSteps bounds how long a cluster may take to come to rest once faults have
	// stopped; each step is about four seconds.
	liveSteps = 1500
	// rotationSteps are those beside for every member to be restarted twice, for another
	// CA.
	rotationSteps = 1000
	// calmSteps is for how many steps it must be at rest, or say QuorumLost.
	calmSteps = 10
)

// settle lets faults stop and waits for the cluster to come to rest as it should.
// It is an invariant that it does.
func (w *world) settle() {
	w.stopFaults()
	w.settling = true
	good := 0
	begun := w.now
	for i := 0; i < w.liveSteps() && w.broken == nil; i++ {
		w.advance()
		// The last member of an earlier minor may have been lost on the way back, or another
		// version been recorded meanwhile: then the user does as the planner says.
		if w.main >= 0 && w.cluster.target == "" && w.cluster.current != w.cluster.wanted && w.operators[0].last.Outcome == action.AwaitsUser {
			w.editVersion(w.finalVersion())
		}
		w.obeyAdvice()
		w.clarify()
		if i > 300 {
			w.obey()
			w.obeyExisted()
		}
		if i > liveSteps/2 {
			w.obeySpaceLow()
		}
		if !w.asItShouldBe() {
			good = 0
			continue
		}
		if good++; good >= calmSteps {
			w.stats.settled(w.now - begun)
			return
		}
	}
	if w.broken == nil {
		d, wrong := w.operators[0].last, w.whatIsWrong()
		w.fail(liveness, "%s after faults stopped: %s; the planner says %s: %s", (w.now - begun).Round(time.Second), wrong, d.Reason, d.Message)
		if w.broken != nil {
			kind, _, _ := strings.Cut(wrong, ":")
			w.broken.kind = kind + "; " + d.Reason
		}
	}
}

// liveSteps bounds how long this cluster may take.
func (w *world) liveSteps() int {
	if w.secrets.reissued != never || w.secrets.rotating() || len(w.issued.cas) > 1 {
		return liveSteps + rotationSteps
	}
	return liveSteps
}

func (w *world) asItShouldBe() bool { return w.whatIsWrong() == "" }

// whatIsWrong says what keeps the cluster from being as it should; empty if nothing
// does.
func (w *world) whatIsWrong() string {
	c := &w.cluster
	last := &w.operators[0].last
	switch {
	case c.deleting:
		return w.remains()
	case slices.ContainsFunc(w.restores, func(r *restore) bool { return !r.done && !r.adopted }):
		return "a restore is not done"
	case w.awaited: // whoever was to make it has given up
		return w.remains()
	case w.cfg.Existed != "" && c.fence.Adopted.Restore == "":
		// A restore's request for the volume of its seed can take effect after the restore has ended.
		made := func(c *claim) bool { return c.restore == "" }
		if len(w.pods) > 0 || slices.ContainsFunc(w.claims, made) || slices.ContainsFunc(w.births, func(b birth) bool { return !b.restored }) {
			return "something was made where a cluster existed"
		}
		return ""
	case w.main < 0:
		return "no cluster has begun"
	}
	view := w.births[w.main].view
	if w.intact(view) < quorum(countVoters(view)) {
		if !isFalse(last.Status, v1beta2.ConditionAvailable) {
			return "a majority's data is lost, and the planner says that it is available"
		}
		intact, voters := w.knownIntact(view)
		switch {
		case intact >= quorum(voters):
		case c.clusterID == 0 && c.bootstrap.Adopted && last.Outcome == action.InProgress: // it says what to do then
		case last.Outcome != action.QuorumLost:
			return "a majority's data is lost, and the planner does not say QuorumLost"
		case w.choosable():
			return "a majority's data is lost, and the cluster does not begin anew with a survivor's"
		}
		return ""
	}
	if w.crowdedOut() {
		return ""
	}
	switch {
	case w.isFull():
		return "writes are refused: " + w.alarmNames()
	case countVoters(view) != len(view):
		return "there are learners: " + describeMembers(view)
	case len(view) != c.size:
		return "the size is not reached: " + describeMembers(view)
	case len(w.pods)-w.leftUnlabelled() != c.size:
		return "there are Pods that belong to no member, or too few"
	case c.clusterID == 0:
		return "the volumes are not adopted"
	case w.cfg.Persistent && len(w.claims)-w.leftByRestores() != c.size, !w.cfg.Persistent && len(w.claims) != 0:
		return "there are volumes that belong to no member, or too few"
	}
	if name := w.whoDiffers(); name != "" {
		return "a member has other data than the majority: " + name
	}
	for _, m := range view {
		p := w.pod(m.Name)
		if p == nil || p.deleting != never || p.role != facts.Voter || !w.ready(p) {
			return "a member does not serve: " + m.Name
		}
		if p.version != c.wanted || p.repository != c.repository || p.from != "" {
			return "a member runs another image: " + m.Name
		}
		if p.template != c.wantedTemplate() {
			return "a member has another Pod than the spec asks for: " + m.Name
		}
		if w.cfg.NodesReadable && w.nodes[p.node].cordoned {
			return "a member is on a node that is to be emptied: " + m.Name
		}
		if c := w.claim(m.Name); c != nil && c.deleting {
			return "a member's claim is being deleted: " + m.Name
		}
		if p.permit != nil {
			return "a member may still start without data: " + m.Name
		}
	}
	if why := w.volumesWrong(); why != "" {
		return why
	}
	if w.cfg.TLS && (w.secrets.rotating() || w.isRotating()) {
		return "a CA is being replaced"
	}
	if c.waitsForRound() || c.waitsForLeader() != "" {
		return "a request is not answered: " + c.askedRound + ", " + c.askedLeader
	}
	if c.current != c.wanted || c.target != "" {
		return "another version is recorded: " + c.current + ", " + c.target
	}
	for _, op := range w.operators {
		if op.todo != nil || op.last.Action != nil || op.last.Outcome != w.restOutcome() {
			return "an operator is not at rest: " + op.id + ", " + op.last.Reason
		}
	}
	return ""
}

func isFalse(st v1beta2.ClusterStatus, kind string) bool {
	return slices.ContainsFunc(st.Conditions, func(c metav1.Condition) bool {
		return c.Type == kind && c.Status == metav1.ConditionFalse
	})
}

// knownIntact counts the voters whose data may still exist as far as anybody can
// know while no quorum says who the voters are, and those that may be voters. A
// volume that no Pod can use, such as one on a node that is gone, cannot be looked
// at; that a learner got its vote is known to nobody if it and the leader were lost at
// that moment; and what is left of a member that was removed looks like a member.
func (w *world) knownIntact(view []facts.Member) (intact, voters int) {
	reported := func(name string) bool {
		return slices.ContainsFunc(w.cluster.status.MemberDetails, func(d v1beta2.MemberDetail) bool {
			return d.Name == name && d.Role == v1beta2.MemberVoter
		})
	}
	// The data of a member that a person has moved elsewhere may be there.
	moved := func(m facts.Member) bool {
		return m.At != "" || slices.ContainsFunc(w.cluster.status.MemberDetails, func(d v1beta2.MemberDetail) bool { return d.Name == m.Name && d.Unmanaged })
	}
	for _, m := range view {
		if m.Learner {
			continue
		}
		voters++
		c, p := w.claim(m.Name), w.pod(m.Name)
		if w.hasData(m.ID) || w.canBeRead(m.ID) || (c != nil && (p == nil || p.node < 0)) || !reported(m.Name) || moved(m) {
			intact++
		}
	}
	other := func(name string) bool { m := w.memberNamed(name); return m == nil || m.Learner }
	for _, r := range w.runs {
		if r.disk.data != nil && !r.persisted && other(r.name) {
			intact++
			voters++
		}
	}
	for _, c := range w.claims {
		if p := w.pod(c.name); c.retired == "" && other(c.name) && (c.disk.data != nil || p == nil || w.runOf(p.uid) == nil) {
			intact++
			voters++
		}
	}
	return intact, voters
}
