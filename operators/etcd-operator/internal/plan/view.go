package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/quorum"
)

// maxLag is how many log entries a member's applied index may be behind the
// leader's for the member to count as caught up. It is etcd's own default of
// SnapshotCatchUpEntries: a member that is nearer needs no snapshot.
const maxLag = 5000

// view is an Observation with what follows from it: who is a member, who is
// healthy, who is lost. It is computed once, and every rule reads it.
type view struct {
	Observation
	pods   map[string]*Pod
	claims map[string]*Claim

	// sure is true when a linearizable read succeeded: list is then etcd's own
	// member list. Otherwise list is the best that a member without quorum told,
	// or empty, and no membership is decided from it.
	sure bool
	// settled is true when every healthy voter tells the same list, and they are a
	// quorum (S3).
	settled bool
	list    []Member
	voters  []Member
	// healthy is H: the ids of the voters that answered themselves, name the same leader
	// and term, report no error, are caught up, take the operator for who it is and are
	// not corrupt. A NOSPACE alarm is no matter of members: they change
	// under it.
	healthy map[uint64]bool
	// leader is the id of the leader that H names; 0 if none.
	leader  uint64
	term    uint64
	applied uint64
	// alarms are those that are raised, as the one knows them whose list it is.
	alarms []Alarm
	// wantedSize is spec.size. While members move to another version Cluster.Size is the
	// one that the cluster had when they began, if that is smaller.
	wantedSize int
	// foreign is how many members of list the operator did not make. Cluster.Size and
	// wantedSize count them: they take nobody's place.
	foreign int
	// noted are the Rejections of effects that a rule has asked for.
	noted []*Rejection
	// deleteEmpty and deleteIfDamaged are what texts ask the user to delete (see Decision).
	deleteEmpty     string
	deleteIfDamaged []string
}

func newView(o Observation) *view {
	v := &view{
		Observation: o,
		pods:        make(map[string]*Pod, len(o.Pods)),
		claims:      make(map[string]*Claim, len(o.Claims)),
		healthy:     map[uint64]bool{},
		wantedSize:  o.Cluster.Size,
	}
	if c := &v.Cluster; c.Target != "" && c.UpgradeSize > 0 {
		c.Size = min(c.Size, c.UpgradeSize)
	}
	for i := range o.Pods {
		v.pods[o.Pods[i].Name] = &o.Pods[i]
	}
	for i := range o.Claims {
		v.claims[o.Claims[i].Name] = &o.Claims[i]
	}
	v.readList()
	v.foreign = v.countForeign()
	v.Cluster.Size += v.foreign
	v.wantedSize += v.foreign
	v.findHealthy()
	v.settled = v.hasQuorum() && v.agreed()
	return v
}

// readList picks the member list: the one of the most advanced answer, among
// those whose linearizable read succeeded if there are any.
func (v *view) readList() {
	var best *Answer
	for i := range v.Pods {
		a := &v.Pods[i].Answer
		if !v.ours(a) || len(a.Members) == 0 || a.Learner {
			continue
		}
		if best == nil || better(a, best) {
			best = a
		}
	}
	if best == nil {
		return
	}
	v.sure, v.list = best.Read, best.Members
	v.leader, v.term, v.alarms = best.Leader, best.Term, best.Alarms
	for _, m := range v.list {
		if !m.Learner {
			v.voters = append(v.voters, m)
		}
	}
}

// better reports whether a's member list is more recent than b's, as far as can be told.
func better(a, b *Answer) bool {
	if a.Read != b.Read {
		return a.Read
	}
	if a.Term != b.Term {
		return a.Term > b.Term
	}
	return a.Applied > b.Applied
}

// ours reports whether an answer is from etcd of this cluster, not of another one
// that happens to run under our names.
func (v *view) ours(a *Answer) bool {
	return a.Reached && (v.Cluster.ClusterID == 0 || a.ClusterID == v.Cluster.ClusterID)
}

// findHealthy fills in healthy and applied.
func (v *view) findHealthy() {
	if !v.sure || v.leader == 0 {
		return
	}
	for _, m := range v.list {
		if a := v.answer(m); a != nil && a.Leader == v.leader && a.Term == v.term {
			v.applied = max(v.applied, a.Applied)
		}
	}
	for _, m := range v.voters {
		// A voter that has not applied its own promotion yet still refuses clients.
		if a := v.answer(m); v.caughtUp(m) && !a.Learner && a.Refused == "" {
			v.healthy[m.ID] = true
		}
	}
}

// caughtUp reports whether a member answered itself, follows the leader, reports
// no error, has applied nearly all that anyone has, and is not called corrupt.
func (v *view) caughtUp(m Member) bool {
	a := v.answer(m)
	return a != nil && !v.isCorrupt(m.ID) && a.Leader == v.leader && a.Term == v.term && len(a.Errors) == 0 && a.Applied+maxLag >= v.applied
}

// answer is what the member itself said, or nil if it was not reached.
func (v *view) answer(m Member) *Answer {
	p := v.pods[m.Name]
	if p == nil || !v.ours(&p.Answer) || p.Answer.MemberID != m.ID {
		return nil
	}
	return &p.Answer
}

// agreed reports whether every healthy voter tells the same list.
func (v *view) agreed() bool {
	for _, m := range v.voters {
		if v.healthy[m.ID] && !slices.Equal(v.answer(m).Members, v.list) {
			return false
		}
	}
	return true
}

// hasQuorum reports whether the healthy voters are a quorum (of H in V).
func (v *view) hasQuorum() bool {
	return v.sure && quorum.Holds(len(v.healthy), len(v.voters))
}

// canRemove reports whether the cluster keeps its quorum without the member (S4),
// and the last change has settled (S3).
func (v *view) canRemove(m Member) bool {
	if !v.settled {
		return false
	}
	if m.Learner {
		return true
	}
	return quorum.SurvivesRemoval(len(v.voters), len(v.healthy), v.healthy[m.ID])
}

// canPromote reports whether the cluster would keep its quorum even if the learner
// died as it gets its vote (S5); from one voter to two it cannot. A learner that
// still has a start permit gets no vote (S2): it could start without data.
func (v *view) canPromote(m Member) bool {
	if !v.settled || !m.Learner || !m.Started || !v.caughtUp(m) || v.pods[m.Name].StartPermit != nil {
		return false
	}
	return quorum.SurvivesPromotion(len(v.voters), len(v.healthy))
}

// isMember reports whether the name is in the member list, or its Pod answers as one of
// the members there.
func (v *view) isMember(name string) bool {
	p := v.pods[name]
	return slices.ContainsFunc(v.list, func(m Member) bool {
		return m.Name == name || (p != nil && v.ours(&p.Answer) && p.Answer.MemberID == m.ID)
	})
}

// isExpired reports whether a moment is set and further back than the time that a
// member's node may be gone (S9).
func (v *view) isExpired(since time.Time) bool {
	return !since.IsZero() && v.Now.Sub(since) >= v.Cluster.MemberTimeout
}

// nodeLost reports whether the Pod's node has been gone for so long, or has not
// carried out a deletion for so long, that the Pod is given up.
func (v *view) nodeLost(p *Pod) bool {
	return v.isExpired(p.NodeLostSince) || v.isExpired(p.DeletingSince)
}

// canUsePermit reports whether the Pod's launcher has a start permit that it may still use.
func (p *Pod) canUsePermit() bool {
	return p.StartPermit != nil && (!p.Answer.Waiting || p.StartPermit.Attempt > p.Answer.Attempt)
}

// loss says why a member is lost for good, or nothing if it is not, as far as can
// be known (S9).
func (v *view) loss(m Member) string {
	p := v.pods[m.Name]
	switch {
	case m.isUnmanaged():
		return "" // what runs there is not known
	case p == nil && v.claims[m.Name] == nil:
		return "its Pod and its data are gone"
	case p == nil && m.Learner && !m.Started:
		return "it never started and its Pod is gone"
	case p == nil:
		return ""
	case v.hasEnded(p):
		return "its Pod has ended, and the data with it"
	case v.isWiped(m, p):
		return "its disk is empty although it had data"
	case v.Cluster.differs(m.ID) && v.corruptIsKnown():
		return "its data differs from that of the majority"
	case v.isCorrupt(m.ID) && v.corruptIsKnown():
		return "alarm CORRUPT names it: its data differs from that of the others"
	case v.isDamaged(m, p):
		return fmt.Sprintf("etcd crash-loops because its data is damaged: %s (%d exits, the last with code %d, since it last served)", cmp.Or(p.LastExit.Damage, "it differs from that of the other members"), p.Restarts-p.ProvenRestarts, p.LastExit.Code)
	case v.answer(m) != nil || p.Answer.Refused != "":
		return ""
	case v.nodeLost(p):
		return "its node has been unavailable for " + v.Cluster.MemberTimeout.String()
	case v.volumeLost(p):
		return "its PersistentVolume no longer exists"
	case p.Node == "" && p.Unschedulable != "" && v.isExpired(p.Created):
		return "its Pod is unschedulable: " + p.Unschedulable
	case !m.Started && v.isIncompatible(p):
		return fmt.Sprintf("it has etcd %s, which cannot join this cluster", p.Version)
	case !m.Started && v.fewerLearners(p):
		return fmt.Sprintf("it allows only %d learners, fewer than the others", p.Learners)
	case m.Learner && v.hasOldTemplate(p) && v.stuck(p) != "" && (!m.Started || !v.onVolume(p)):
		return fmt.Sprintf("it does not run (%s), and the spec asks for another Pod", v.stuck(p))
	case m.Learner && p.Trouble != "" && v.isExpired(p.Created):
		// Such as one that lost its disk after it had joined: the leader takes it to
		// have more than it has, and it crashes for ever. It has no vote to lose.
		return "it is a learner that never became ready: " + p.Trouble
	}
	return ""
}

// hasEnded reports whether a member's Pod has ended for good and its data with it.
func (v *view) hasEnded(p *Pod) bool {
	return p.Finished && (!p.Persistent || v.claims[p.Name] == nil)
}

// cacheLag is longer than a cache lags behind, so that what it does not show of an
// older Pod is not there.
const cacheLag = time.Minute

// pvcMissing reports whether a Pod waits for a volume that does not exist: it was
// deleted before the Pod was scheduled, and nobody recreates it.
func (v *view) pvcMissing(p *Pod) bool {
	return p.Persistent && p.Node == "" && v.claims[p.Name] == nil && v.Now.Sub(p.Created) > cacheLag
}

// emptyFor is for how long a launcher must have found no data before its disk counts as
// empty. It looks every second: a disk that is mounted late has not been seen then.
const emptyFor = 3 * time.Second

// isEmpty reports whether it is certain that a Pod has no data: its own launcher says so,
// and has looked more than once.
func (p *Pod) isEmpty() bool {
	return p.Answer.Waiting && p.Answer.Identified && p.Answer.Waited >= emptyFor
}

// whyEmptinessUncertain says of a Pod whose launcher finds no data why that is not certain, as it
// continues a sentence about it.
func (v *view) whyEmptinessUncertain(p *Pod) string {
	if !p.Answer.Identified {
		return fmt.Sprintf("its launcher finds no data, but is too old to prove that the disk is empty: if the data is lost, kubectl -n %s delete pod %s", v.Cluster.Namespace, p.Name)
	}
	return fmt.Sprintf("its launcher finds no data; confirming for %s that the disk is empty", emptyFor)
}

// isWiped reports whether the launcher of a member that has had data finds none. A
// launcher that has a start permit left, or whose Pod has never been seen with data, may
// have started since it was asked.
func (v *view) isWiped(m Member, p *Pod) bool {
	return p.isEmpty() && v.seemsWiped(m, p)
}

// seemsWiped is the same of a launcher that has said so once.
func (v *view) seemsWiped(m Member, p *Pod) bool {
	if !m.Started || !p.Answer.Waiting || p.canUsePermit() {
		return false
	}
	// A seed has served before its cluster id was latched, if not by a start permit then on data
	// that there was.
	return p.Answer.Attempt > 0 || (p.Role != Joiner && (p.Role != Seed || v.Cluster.ClusterID != 0))
}

// isTerminatingOrLost reports whether a member is lost, or will be as soon as its Pod has ended:
// time to get a replacement ready.
func (v *view) isTerminatingOrLost(m Member) bool {
	if v.loss(m) != "" {
		return true
	}
	p := v.pods[m.Name]
	return p != nil && !p.Persistent && !p.DeletingSince.IsZero()
}

// candidates are the Pods that wait to become members, the readiest first.
func (v *view) candidates() []*Pod {
	var found []*Pod
	for i := range v.Pods {
		if p := &v.Pods[i]; v.isCandidate(p) {
			found = append(found, p)
		}
	}
	slices.SortStableFunc(found, func(a, b *Pod) int { return rank(a) - rank(b) })
	return found
}

// rank orders candidates: those that can join, those that run, those that are
// scheduled, the rest.
func rank(p *Pod) int {
	switch {
	case p.canJoin():
		return 0
	case p.Answer.Waiting:
		return 1
	case p.Node != "":
		return 2
	}
	return 3
}

// isCandidate reports whether a Pod may still become a member: it never was one.
func (v *view) isCandidate(p *Pod) bool {
	return p.Role == Joiner && !v.isMember(p.Name) && !v.isUnusable(p)
}

// isUnusable reports whether a Pod that is no member cannot become one: it has been one
// before, it will not run again, it would come to another member list (S3), or the spec
// asks for another one.
func (v *view) isUnusable(p *Pod) bool {
	if p.Finished || !p.DeletingSince.IsZero() || v.nodeLost(p) || p.StartPermit != nil || p.Answer.Reached || p.Answer.Refused != "" || p.Answer.Attempt > 0 {
		return true
	}
	return v.pvcMissing(p) || v.isOnRetiredVolume(p) || v.fewerLearners(p) || v.isIncompatible(p) || v.hasOldTemplate(p)
}

// isOnRetiredVolume reports whether a Pod runs on a volume that is not the cluster's: one that
// a restore has retired.
func (v *view) isOnRetiredVolume(p *Pod) bool {
	return p.Persistent && v.claims[p.Name] == nil && v.Now.Sub(p.Created) > cacheLag
}

// fewerLearners reports whether a Pod's etcd would allow fewer learners than one
// that is there does. It would leave out some as it replays the log (S3).
func (v *view) fewerLearners(p *Pod) bool {
	return slices.ContainsFunc(v.list, func(m Member) bool {
		other := v.pods[m.Name]
		return other != nil && p.Learners < other.Learners
	})
}

// canJoin reports whether the Pod's launcher waits and its address is published:
// the moment from which its member may be added.
func (p *Pod) canJoin() bool { return p.Answer.Waiting && p.Addressed }

// name is the name of the member with an id; empty if there is none.
func (v *view) name(id uint64) string {
	for _, m := range v.list {
		if m.ID == id {
			return m.Name
		}
	}
	return ""
}
