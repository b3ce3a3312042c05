package simulate

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
)

// maxLag is N of design/safety.md: how many log entries behind the leader a member
// counts as caught up. It is etcd's SnapshotCatchUpEntries.
const maxLag = 5000

// Violation is an invariant that a Decision breaks.
type Violation struct {
	Invariant, Message string
	// Kind is the message without its names and numbers.
	Kind string
}

func violation(invariant, format string, args ...any) *Violation {
	return &Violation{invariant, fmt.Sprintf(format, args...), format}
}

// camelCase reports whether a reason is one that conditions may have.
func camelCase(s string) bool {
	for i, r := range s {
		upper, lower, digit := r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z', r >= '0' && r <= '9'
		if !upper && (i == 0 || !lower && !digit) {
			return false
		}
	}
	return s != ""
}

// CheckDecision checks a Decision against the Observation that it was made on: what
// S1 to S12 demand as far as an operator can know. It is written from
// design/safety.md, apart from the planner, and says nil if all is well. The
// Observation may be anything, also what no world would show.
func CheckDecision(o plan.Observation, d plan.Decision) *Violation {
	switch {
	case d.Again <= 0:
		return violation("Decision", "looks again after %s", d.Again)
	case !camelCase(d.Reason):
		return violation("Decision", "reason %q is not CamelCase", d.Reason)
	case d.Message == "":
		return violation("Decision", "no message")
	}
	for _, c := range d.Status.Conditions {
		if !camelCase(c.Reason) || !camelCase(c.Type) || c.Status == "" {
			return violation("Decision", "condition %s=%s with reason %q", c.Type, c.Status, c.Reason)
		}
	}
	c := &o.Cluster
	if c.Fence.By != "" && !d.HandsOff {
		return violation("S12", "would touch Services although the cluster is fenced")
	}
	if d.Action == nil {
		return nil
	}
	switch {
	case c.Paused || c.Deleting:
		return violation("S12", "acts while paused or deleting")
	case len(o.Conflicts) > 0:
		return violation("S12", "acts although names belong to others")
	}
	k := check{o: o, d: d}
	switch a := d.Action.(type) {
	case plan.AcknowledgeFence:
		return k.acknowledge(a)
	case plan.LiftFence:
		return k.lift(a)
	case plan.AdoptSeed:
		return k.adopt(a)
	}
	switch {
	case c.Fence.By != "" || k.asked():
		return violation("S12", "acts although fenced")
	case len(o.LegacyPods) > 0:
		return violation("S12", "acts although there are Pods of the archived operator")
	case c.Existed != "" && c.Bootstrap == nil && c.ClusterID == 0:
		return violation("S1", "acts although a cluster existed")
	}
	switch a := d.Action.(type) {
	case plan.RecordBootstrap:
		return k.recordBootstrap(a)
	case plan.LatchClusterID:
		return k.latch(a)
	case plan.CreatePods:
		return k.createPods(a)
	case plan.SetRoles:
		return k.setRoles(a)
	case plan.OpenGrant:
		return k.openGrant(a)
	case plan.CloseGrants:
		return k.closeGrants(a)
	case plan.AddLearner:
		return k.addLearner(a)
	case plan.Promote:
		return k.promote(a)
	case plan.RemoveMember:
		return k.removeMember(a)
	case plan.MoveLeader:
		return k.moveLeader(a)
	case plan.DeletePod:
		return k.deletePod(a)
	case plan.DeleteClaim:
		return k.deleteClaim(a)
	}
	return violation("Decision", "unknown action %T", d.Action)
}

// check is one Decision under examination.
type check struct {
	o plan.Observation
	d plan.Decision

	// Set by settled: the voters and learners of the member list, and H.
	voters, learners []plan.Member
	healthy          map[uint64]bool
	leader           uint64
	applied          uint64
}

func (k *check) pod(name string) *plan.Pod {
	i := slices.IndexFunc(k.o.Pods, func(p plan.Pod) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &k.o.Pods[i]
}

func (k *check) hasClaim(name string) bool {
	return slices.ContainsFunc(k.o.Claims, func(c plan.Claim) bool { return c.Name == name && !c.Deleting })
}

// podIs checks that an effect goes to a Pod that was observed, by uid (S11).
func (k *check) podIs(name, uid string) *Violation {
	if p := k.pod(name); p == nil || p.UID != uid {
		return violation("S11", "no Pod %s of uid %s was observed", name, uid)
	}
	return nil
}

func (k *check) ours(a *plan.Answer) bool {
	return a.Reached && (k.o.Cluster.ClusterID == 0 || a.ClusterID == k.o.Cluster.ClusterID)
}

// answer is the answer of a member itself; nil if it did not give one.
func (k *check) answer(m plan.Member) *plan.Answer {
	p := k.pod(m.Name)
	if p == nil || !k.ours(&p.Answer) || p.Answer.MemberID != m.ID {
		return nil
	}
	return &p.Answer
}

// settled checks that a membership change was decided on a list that a linearizable
// read gave, that H is a quorum of it, and that all of H agree (S3).
func (k *check) settled(members []plan.Member) *Violation {
	if k.o.Cluster.ClusterID == 0 {
		return violation("S1", "changes members before the cluster id is latched")
	}
	var read *plan.Answer
	for i := range k.o.Pods {
		a := &k.o.Pods[i].Answer
		if k.ours(a) && a.Read && !a.Learner && slices.Equal(a.Members, members) && (read == nil || a.Term > read.Term) {
			read = a
		}
	}
	if read == nil {
		return violation("S3", "no linearizable read gave the list %s", describeMembers(members))
	}
	k.leader = read.Leader
	k.healthy = map[uint64]bool{} // one that was promoted, and does not know it yet, is not in it
	for _, m := range members {
		if a := k.answer(m); a != nil && a.Leader == read.Leader && a.Term == read.Term {
			k.applied = max(k.applied, a.Applied)
		}
	}
	for _, m := range members {
		if m.Learner {
			k.learners = append(k.learners, m)
			continue
		}
		k.voters = append(k.voters, m)
		a := k.answer(m)
		if a == nil || a.Learner || a.Leader == 0 || a.Leader != read.Leader || a.Term != read.Term || len(a.Errors) > 0 || a.Applied+maxLag < k.applied {
			continue
		}
		k.healthy[m.ID] = true
		if !slices.Equal(a.Members, members) {
			return violation("S3", "%s lists %s, and %s was decided on", m.Name, describeMembers(a.Members), describeMembers(members))
		}
	}
	if len(k.healthy) < quorum(len(k.voters)) {
		return violation("S3", "%d of %d voters are healthy", len(k.healthy), len(k.voters))
	}
	return nil
}

// asked reports whether a restore asks for a fence that may still do so (S12).
func (k *check) asked() bool {
	f := &k.o.Cluster.Fence
	return f.Mark != "" && f.Mark != f.Lifted && f.Mark != f.Adopted.Restore
}

// deadline is how long an effect may be under way.
const deadline = 10 * time.Second

func (k *check) acknowledge(a plan.AcknowledgeFence) *Violation {
	c := &k.o.Cluster
	if c.Fence.By != "" || a.Restore != c.Fence.Mark || !k.asked() {
		return violation("S12", "the fence of restore %s is acknowledged, which does not ask for it", a.Restore)
	}
	if begun := c.Bootstrap != nil || c.ClusterID != 0; begun && k.o.Now.Sub(k.o.Since) < deadline {
		return violation("S12", "a fence is acknowledged %s after something may have been begun", k.o.Now.Sub(k.o.Since))
	}
	return nil
}

func (k *check) lift(a plan.LiftFence) *Violation {
	if f := &k.o.Cluster.Fence; a.Restore == "" || f.By != a.Restore || f.Lifted != a.Restore {
		return violation("S12", "the fence of restore %s is lifted, which has not given it up", a.Restore)
	}
	return nil
}

func (k *check) adopt(a plan.AdoptSeed) *Violation {
	c := &k.o.Cluster
	f := &c.Fence
	if a.Restore == "" || f.By != a.Restore || f.Adopted.Restore == a.Restore || f.Lifted == a.Restore || f.Seeded != a.Restore+"/"+a.Name+"/"+a.UID {
		return violation("S12", "Pod %s (%s) of restore %s is adopted, and is not handed over", a.Name, a.UID, a.Restore)
	}
	if v := k.podIs(a.Name, a.UID); v != nil {
		return v
	}
	p := k.pod(a.Name)
	an := &p.Answer
	switch {
	case p.Finished || !p.DeletingSince.IsZero():
		return violation("S1", "seed %s is adopted, and ends", a.Name)
	case !an.Read || an.ClusterID != a.ClusterID || a.ClusterID == 0 || a.ClusterID == c.ClusterID:
		return violation("S1", "cluster id %x is latched over %x, and seed %s reports %x", a.ClusterID, c.ClusterID, a.Name, an.ClusterID)
	case len(an.Members) != 1 || an.Members[0].ID != an.MemberID || an.Members[0].Name != a.Name:
		return violation("S1", "seed %s is adopted, and is not all of its cluster", a.Name)
	case c.Persistent && !k.hasClaim(a.Name) && !slices.ContainsFunc(k.o.Claims, func(c plan.Claim) bool { return c.Name == a.Name }):
		return violation("S7", "seed %s is adopted without a volume", a.Name)
	}
	return nil
}

func (k *check) recordBootstrap(a plan.RecordBootstrap) *Violation {
	c := &k.o.Cluster
	switch {
	case c.ClusterID != 0:
		return violation("S1", "records another bootstrap after the cluster id was latched")
	case a.Member == "" || a.Token == "":
		return violation("S1", "records no name or no token")
	case k.pod(a.Member) != nil || k.hasClaim(a.Member):
		return violation("S1", "the seed gets the name %s, which is in use", a.Member)
	case c.Bootstrap != nil && (c.Bootstrap.Member == a.Member || c.Bootstrap.Token == a.Token):
		return violation("S1", "the seed is tried again under the same name or token")
	}
	if c.Bootstrap != nil {
		if p := k.pod(c.Bootstrap.Member); p != nil && p.Answer.Reached {
			return violation("S1", "the seed %s serves, and is given up", p.Name)
		}
	}
	return nil
}

func (k *check) latch(a plan.LatchClusterID) *Violation {
	c := &k.o.Cluster
	if c.ClusterID != 0 || c.Bootstrap == nil || a.ClusterID == 0 {
		return violation("S1", "latches cluster id %x over %x", a.ClusterID, c.ClusterID)
	}
	if p := k.pod(c.Bootstrap.Member); p == nil || !p.Answer.Reached || p.Answer.ClusterID != a.ClusterID {
		return violation("S1", "latches cluster id %x, which the seed does not report", a.ClusterID)
	}
	return nil
}

func (k *check) createPods(a plan.CreatePods) *Violation {
	c := &k.o.Cluster
	if len(a.Pods) == 0 {
		return violation("Decision", "creates no Pods")
	}
	if c.Bootstrap == nil && c.ClusterID == 0 {
		return violation("S1", "creates Pods before the bootstrap is recorded")
	}
	seen := map[string]bool{}
	for _, p := range a.Pods {
		switch {
		case p.Name == "" || seen[p.Name]:
			return violation("Decision", "creates Pod %q twice, or without a name", p.Name)
		case k.pod(p.Name) != nil:
			return violation("S7", "creates Pod %s while the old one exists", p.Name)
		case p.Role == plan.Voter || p.Role == plan.Learner:
			return violation("S1", "creates Pod %s as a %s", p.Name, p.Role)
		case p.Role == plan.Returning && !k.hasClaim(p.Name):
			return violation("S7", "creates Pod %s to return to a volume that it has not", p.Name)
		case p.Role == plan.Seed && (c.ClusterID != 0 || c.Bootstrap == nil || p.Name != c.Bootstrap.Member):
			return violation("S1", "creates seed %s, which is not the recorded one", p.Name)
		}
		seen[p.Name] = true
		if p.Grant != nil {
			if v := k.grant(p.Name, p.Grant); v != nil {
				return v
			}
		}
		if p.Role == plan.Joiner && !slices.Contains(k.o.FreshNames, p.Name) {
			return violation("S7", "creates joiner %s under a name that is not fresh", p.Name)
		}
	}
	return nil
}

// grant checks a leave to start: for the recorded seed before the cluster id is
// latched, or for a member in the list that has never started (S2).
func (k *check) grant(name string, g *plan.Grant) *Violation {
	c := &k.o.Cluster
	if g.Attempt < 1 {
		return violation("S2", "%s gets a grant of attempt %d", name, g.Attempt)
	}
	if g.New {
		if c.ClusterID != 0 || c.Bootstrap == nil || c.Bootstrap.Member != name || c.Bootstrap.Token != g.Token || !slices.Equal(g.Members, []string{name}) {
			return violation("S2", "%s may begin a cluster", name)
		}
		return nil
	}
	if c.ClusterID == 0 {
		return violation("S2", "%s may join before the cluster id is latched", name)
	}
	for i := range k.o.Pods {
		a := &k.o.Pods[i].Answer
		if !k.ours(a) || !a.Read || a.Learner {
			continue
		}
		var names []string
		unstarted := false
		for _, m := range a.Members {
			names = append(names, m.Name)
			unstarted = unstarted || (m.Name == name && !m.Started)
		}
		slices.Sort(names)
		if unstarted && slices.Equal(names, g.Members) {
			return nil
		}
	}
	return violation("S2", "%s may join %v, and no linearizable read says that it is a member that has never started, of those", name, g.Members)
}

func (k *check) setRoles(a plan.SetRoles) *Violation {
	for _, r := range a.Roles {
		if v := k.podIs(r.Name, r.UID); v != nil {
			return v
		}
		if r.Role != plan.Voter {
			continue
		}
		p := k.pod(r.Name)
		if k.o.Cluster.ClusterID == 0 || p.Answer.ClusterID != k.o.Cluster.ClusterID || !p.Answer.Reached {
			return violation("S1", "%s is marked voter without an answer from the latched cluster", r.Name)
		}
		if p.Answer.Learner {
			return violation("Role", "%s is marked voter, and says itself that it is a learner: it refuses clients", r.Name)
		}
	}
	return nil
}

func (k *check) openGrant(a plan.OpenGrant) *Violation {
	if v := k.podIs(a.Name, a.UID); v != nil {
		return v
	}
	if p := k.pod(a.Name); !p.Answer.Waiting || a.Grant.Attempt <= p.Answer.Attempt {
		return violation("S2", "%s gets a grant of attempt %d, and does not wait for it", a.Name, a.Grant.Attempt)
	}
	return k.grant(a.Name, &a.Grant)
}

func (k *check) closeGrants(a plan.CloseGrants) *Violation {
	for _, p := range a.Pods {
		if v := k.podIs(p.Name, p.UID); v != nil {
			return v
		}
	}
	return nil
}

func (k *check) addLearner(a plan.AddLearner) *Violation {
	if v := k.settled(a.Members); v != nil {
		return v
	}
	p := k.pod(a.Name)
	if p == nil || p.Node == "" || !p.Addressed || !p.Answer.Waiting {
		return violation("S4", "%s is added, and its Pod does not wait under its address", a.Name)
	}
	if slices.ContainsFunc(a.Members, func(m plan.Member) bool { return m.Name == a.Name }) {
		return violation("S3", "%s is added twice", a.Name)
	}
	if len(k.learners) == 0 {
		return nil
	}
	for _, m := range a.Members {
		q := k.pod(m.Name)
		if q == nil || q.Learners != p.Learners || p.Learners < 2 {
			return violation("S3", "a further learner is added, and %s may have another limit", m.Name)
		}
		if an := k.answer(m); (m.Started && (an == nil || an.Version < "3.6")) || (!m.Started && q.Version < "3.6") {
			return violation("S3", "a further learner is added, and %s may be older than 3.6", m.Name)
		}
	}
	return nil
}

func (k *check) promote(a plan.Promote) *Violation {
	if v := k.settled(a.Members); v != nil {
		return v
	}
	m := findMember(k.learners, a.ID)
	if m == nil || m.Name != a.Name {
		return violation("S5", "%s is not a learner in the list", a.Name)
	}
	an := k.answer(*m)
	if an == nil || an.Applied+maxLag < k.applied || an.Leader != k.leader || len(an.Errors) > 0 {
		return violation("S5", "learner %s has not answered itself, caught up", a.Name)
	}
	if n := len(k.voters); n > 1 && len(k.healthy) < quorum(n+1) {
		return violation("S5", "%d of %d voters are healthy without learner %s", len(k.healthy), n, a.Name)
	}
	if b := k.d.Budget; k.o.Cluster.DisruptionBudget && b != plan.KeepBudget && max(k.o.Cluster.Size, len(k.voters)+1) >= 3 && b < quorum(len(k.voters)+1) {
		return violation("Budget", "%s becomes voter %d under a PodDisruptionBudget of %d", a.Name, len(k.voters)+1, b)
	}
	return nil
}

func (k *check) removeMember(a plan.RemoveMember) *Violation {
	if v := k.settled(a.Members); v != nil {
		return v
	}
	m := findMember(a.Members, a.ID)
	if m == nil || m.Name != a.Name {
		return violation("S4", "%s is not in the list", a.Name)
	}
	size := k.o.Cluster.Size
	if m.Learner {
		if k.answer(*m) != nil && len(k.voters) < size && len(a.Members) <= size && !k.given(a.Name) {
			return violation("S9", "learner %s is removed, and it answers", a.Name)
		}
		return nil
	}
	left := len(k.voters) - 1
	others := len(k.healthy)
	if k.healthy[a.ID] {
		others--
	}
	if others < quorum(left) {
		return violation("S4", "%s is removed and leaves %d voters, %d of them healthy", a.Name, left, others)
	}
	if a.ID == k.leader && others > 0 && k.answer(*m) != nil { // else nobody can ask it
		return violation("S8", "%s is removed, and it leads", a.Name)
	}
	if k.healthy[a.ID] {
		if left < size {
			return violation("S9", "%s is removed, and it is healthy and wanted", a.Name)
		}
		if others < left {
			return violation("S6", "%s is removed, and another voter is not healthy", a.Name)
		}
		return nil
	}
	if left >= size {
		return nil // one too many, and the one that is not healthy goes
	}
	if !k.given(a.Name) {
		return violation("S9", "%s is removed, and nothing says that it is lost", a.Name)
	}
	if !k.dataGone(a.Name) && !k.replacementWaits(a.Members) && k.standing(a.Members) < size {
		return violation("S4", "%s is removed, and no replacement waits", a.Name)
	}
	return nil
}

// given reports whether a member may be given up (S9).
func (k *check) given(name string) bool {
	if k.dataGone(name) {
		return true
	}
	p := k.pod(name)
	if p == nil {
		return false
	}
	expired := func(since time.Time) bool {
		return !since.IsZero() && k.o.Now.Sub(since) >= k.o.Cluster.MemberTimeout
	}
	return p.Finished || expired(p.NodeLostSince) || expired(p.DeletingSince) || (p.Unschedulable != "" && expired(p.Created))
}

// dataGone reports whether a member's data is known to be lost.
func (k *check) dataGone(name string) bool {
	p := k.pod(name)
	if p == nil {
		return !k.hasClaim(name)
	}
	onVolume := p.Persistent && slices.ContainsFunc(k.o.Claims, func(c plan.Claim) bool { return c.Name == name })
	return p.Answer.Waiting || (p.Finished && !onVolume) || (p.Persistent && p.Node == "" && !onVolume)
}

// standing counts the members that are not given up: voters, and learners that
// answer and can take a lost voter's place.
func (k *check) standing(list []plan.Member) int {
	n := 0
	for _, m := range list {
		if !k.given(m.Name) && (!m.Learner || k.answer(m) != nil) {
			n++
		}
	}
	return n
}

func (k *check) replacementWaits(members []plan.Member) bool {
	return slices.ContainsFunc(k.o.Pods, func(p plan.Pod) bool {
		return p.Role == plan.Joiner && p.Answer.Waiting && p.Node != "" &&
			!slices.ContainsFunc(members, func(m plan.Member) bool { return m.Name == p.Name })
	})
}

func (k *check) moveLeader(a plan.MoveLeader) *Violation {
	for i := range k.o.Pods {
		an := &k.o.Pods[i].Answer
		if !k.ours(an) || !an.Read || an.Leader == 0 {
			continue
		}
		to, from := findMember(an.Members, a.ToID), findMember(an.Members, an.Leader)
		if to == nil || from == nil || from.Name != a.From || to.Name != a.To || to.Learner {
			continue
		}
		if t := k.answer(*to); t != nil && t.Leader == an.Leader && len(t.Errors) == 0 {
			return nil
		}
	}
	return violation("S8", "the lead moves from %s to %s, which is not known to follow it", a.From, a.To)
}

func (k *check) deletePod(a plan.DeletePod) *Violation {
	if v := k.podIs(a.Name, a.UID); v != nil {
		return v
	}
	p := k.pod(a.Name)
	if len(a.Members) > 0 {
		if v := k.settled(a.Members); v != nil {
			return v
		}
		if slices.ContainsFunc(a.Members, func(m plan.Member) bool { return m.Name == a.Name }) {
			return violation("S7", "Pod %s is deleted as nobody's, and is in the list", a.Name)
		}
		return nil
	}
	switch {
	case k.o.Cluster.ClusterID == 0 && k.o.Cluster.Bootstrap != nil && (!p.Answer.Reached || p.Finished || a.Name != k.o.Cluster.Bootstrap.Member):
		return nil // a seed is tried again, or was given up
	case k.isNoMember(a.Name, true):
		return nil // as a quorum says
	case p.Answer.Waiting:
		return nil // there is no data in it, or a learner's that has just begun: it makes room
	case p.Answer.Reached && !k.ours(&p.Answer):
		return nil // of a seed that was given up
	case p.Role == plan.Joiner && p.Grant == nil && !p.Answer.Reached && p.Answer.Attempt == 0:
		return nil // it never started, and makes room
	case p.Answer.Learner && k.hasClaim(a.Name) && slices.ContainsFunc(k.o.Pods, func(o plan.Pod) bool { return o.Unschedulable != "" }):
		return nil // it has no vote, its data stays on its claim, and it makes room for a voter
	case p.Answer.Reached && !p.Finished && !p.Answer.Learner && !k.isNoMember(a.Name, false):
		// A learner, or one that was removed, may give way to a voter.
		return violation("S6", "Pod %s is deleted, and its member answers", a.Name)
	case p.Finished && slices.ContainsFunc(k.o.Claims, func(c plan.Claim) bool { return c.Name == a.Name }):
		return nil // it keeps no claim alive any more
	case !p.Persistent || !k.hasClaim(a.Name):
		return violation("S7", "Pod %s is deleted, which may be a member's, and its data with it", a.Name)
	}
	return nil
}

// isNoMember reports whether a member's list, read linearizably or as that member
// knows it, lacks a name.
func (k *check) isNoMember(name string, read bool) bool {
	return slices.ContainsFunc(k.o.Pods, func(p plan.Pod) bool {
		return k.ours(&p.Answer) && (p.Answer.Read || !read) && len(p.Answer.Members) > 0 &&
			!slices.ContainsFunc(p.Answer.Members, func(m plan.Member) bool { return m.Name == name })
	})
}

func (k *check) deleteClaim(a plan.DeleteClaim) *Violation {
	if !slices.ContainsFunc(k.o.Claims, func(c plan.Claim) bool { return c.Name == a.Name && c.UID == a.UID }) {
		return violation("S11", "no volume %s of uid %s was observed", a.Name, a.UID)
	}
	if v := k.settled(a.Members); v != nil {
		return v
	}
	if slices.ContainsFunc(a.Members, func(m plan.Member) bool { return m.Name == a.Name }) {
		return violation("S7", "volume %s is deleted, and it is a member's", a.Name)
	}
	if k.pod(a.Name) != nil {
		return violation("S7", "volume %s is deleted, and a Pod uses it", a.Name)
	}
	return nil
}
