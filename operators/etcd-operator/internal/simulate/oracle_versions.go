package simulate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// What the oracle asks of versions and images (S6, S8, S10).

// told is the highest minor of the cluster version that members tell; -1 if none does.
func (k *check) told() int {
	highest := -1
	list := k.list()
	for i := range k.o.Pods {
		a := &k.o.Pods[i].Answer
		if m := findMember(list, a.MemberID); list != nil && (m == nil || m.Name != k.o.Pods[i].Name) {
			continue // it belongs to no member
		}
		if k.ours(a) && a.ClusterVersion != "" {
			highest = max(highest, minorOf(a.ClusterVersion))
		}
	}
	return highest
}

// newest is the linearizable read that tells the latest of etcd's log: the furthest applied of
// the highest term. Members apply a change of members, or of alarms, one after the other, and
// what only an earlier read shows is over by the newest. It is nil if no read succeeded.
func (k *check) newest() *facts.Answer {
	var found *facts.Answer
	for i := range k.o.Pods {
		a := &k.o.Pods[i].Answer
		if !k.ours(a) || !a.Read || a.Learner || len(a.Members) == 0 {
			continue
		}
		if found == nil || a.Term > found.Term || a.Term == found.Term && a.Applied > found.Applied {
			found = a
		}
	}
	return found
}

// list is the member list of the newest linearizable read; nil if there is none.
func (k *check) list() []facts.Member {
	if a := k.newest(); a != nil {
		return a.Members
	}
	return nil
}

// wholly checks that all is well: every voter in H, none without a vote, as many as are
// wanted, every Pod ready and as it was made, but for the role of one.
func (k *check) wholly(but string) *Violation {
	if v := k.settled(k.list()); v != nil {
		return violation("S10", "not all is well: %s", v.Message)
	}
	if len(k.healthy) < len(k.voters) || len(k.learners) > 0 || len(k.voters) < k.size() {
		return violation("S10", "not all is well: %d of %d voters are healthy, there are %d learners", len(k.healthy), len(k.voters), len(k.learners))
	}
	for _, m := range k.voters {
		p := k.pod(m.Name)
		switch {
		case p.From != "" || !p.UnreadySince.IsZero() || !p.DeletingSince.IsZero() || !p.NodeLostSince.IsZero():
			return violation("S6", "Pod %s is not well", m.Name)
		case p.Role != facts.Voter && m.Name != but:
			return violation("S6", "Pod %s is a %s", m.Name, p.Role)
		}
	}
	return nil
}

func (k *check) recordVersion(a action.RecordVersion) *Violation {
	c := &k.o.Cluster
	from, to := minorOf(c.Version), minorOf(a.Target)
	switch {
	case c.ClusterID == 0 || a.Current == "":
		return violation("S10", "version %q is recorded, and nothing runs", a.Current)
	case a.Target == "" && a.Current != c.Target && minorOf(a.Current) != k.told():
		return violation("S10", "%s is recorded, and members do not run it", a.Current)
	case a.Target == "" && from > minorOf(a.Current) && k.downgrade() >= 0:
		return violation("S10", "%s is recorded, and etcd's downgrade is not over", a.Current)
	case a.Target == "":
		return nil
	case c.Target == "" && a.Size != c.Size:
		return violation("S6", "the size is held at %d, and it is %d", a.Size, c.Size)
	case a.Current != c.Version:
		return violation("S10", "%s is recorded in place of %s while members move", a.Current, c.Version)
	case to == from-1 && (c.Target == "" || minorOf(c.Target) == to) && to >= 5:
		if c.Target != "" {
			return nil // to another patch
		}
		return k.wholly("")
	case to < from || to > from+1:
		return violation("S10", "members are to move from %s to %s", c.Version, a.Target)
	case c.Target == "":
		return k.wholly("")
	case to < minorOf(c.Target) && !k.holdsBack(to):
		return violation("S10", "members are to go back to %s, and nobody is known to hold the cluster version back", a.Target)
	}
	return nil
}

// holdsBack reports whether a member surely keeps etcd's cluster version at a minor, or
// below it.
func (k *check) holdsBack(minor int) bool {
	if k.told() > minor {
		return false
	}
	for i := range k.o.Pods {
		p := &k.o.Pods[i]
		if p.From != "" && minorOf(p.From) <= minor {
			return true
		}
		if p.From == "" && k.ours(&p.Answer) && minorOf(p.Version) <= minor && minorOf(p.Answer.Version) <= minor {
			return true
		}
	}
	return false
}

// advanceLog: raft's log is made to grow only for the sake of what etcd 3.5 has left in it: so
// that a member can join, or while all members are healthy.
func (k *check) advanceLog(a action.AdvanceLog) *Violation {
	c := &k.o.Cluster
	if k.growsShortLog(a.Entries) {
		return nil
	}
	old := slices.ContainsFunc(k.o.Pods, func(p facts.Pod) bool {
		return k.ours(&p.Answer) && p.Answer.Applied <= c.VersionIndex+uint64(cmp.Or(p.SnapshotCount, 10_000))
	})
	switch {
	case a.Entries < 1 || a.Entries > 500:
		return violation("S10", "%d entries are appended", a.Entries)
	case c.Target != "" || minorOf(c.Version) != 6 || minorOf(c.WantedVersion) != 7 || c.VersionIndex == 0 || !old:
		return violation("S10", "raft's log is made to grow from %d, and no etcd 3.5 has left anything", c.VersionIndex)
	}
	return k.wholly("")
}

// growsShortLog reports whether a log grows by just what it takes for a member that waits to join
// it with a snapshot.
func (k *check) growsShortLog(entries int) bool {
	return k.settled(k.list()) == nil && uint64(entries) == memorySnapshotCount+1-k.applied &&
		slices.ContainsFunc(k.o.Pods, func(p facts.Pod) bool { return p.Role == facts.Joiner && k.replays35(&p) })
}

// replays35 reports whether a member that joins might get a log from its beginning in which 3.5 has
// written, and apply it by other rules.
func (k *check) replays35(joiner *facts.Pod) bool {
	c := &k.o.Cluster
	return k.applied <= memorySnapshotCount && minorOf(joiner.Version) > 5 &&
		(c.VersionIndex > 0 || minorOf(c.Version) == 5) && c.Fence.Adopted.Restore == "" && c.Recovery == nil
}

func (k *check) changeImage(a action.ChangeImage) *Violation {
	if v := k.podIs(a.Name, a.UID); v != nil {
		return v
	}
	p := k.pod(a.Name)
	if a.Version == p.Version && a.Repository == p.Repository {
		return violation("S6", "Pod %s gets the image that it has", a.Name)
	}
	if !p.Answer.Reached {
		if p.Trouble == "" || p.Answer.Waiting {
			return violation("S6", "Pod %s gets another image, and nothing says that it does not run", a.Name)
		}
		if minor := minorOf(a.Version); p.Role != facts.Joiner && minor < minorOf(p.Version) && minor < minorOf(k.o.Cluster.Version) {
			return violation("S10", "%s gets etcd %s, and nobody tells the version of its data", a.Name, a.Version)
		}
		return nil
	}
	if v := k.wholly(a.Name); v != nil {
		return v
	}
	told := k.told()
	switch minor := minorOf(a.Version); {
	case p.Role != facts.Restarting || p.Routed:
		return violation("S6", "%s is restarted while clients are sent to it", a.Name)
	case p.Answer.MemberID == k.leader && len(k.voters) > 1:
		return violation("S8", "%s is restarted, and it leads", a.Name)
	case len(k.alarms) > 0 && a.Version != p.Version:
		return violation("S10", "%s gets etcd %s while an alarm is raised", a.Name, a.Version)
	case minor < minorOf(k.o.Cluster.Version) && !k.canLower(p, minor):
		return violation("S10", "%s gets etcd %s, and may not go down", a.Name, a.Version)
	case minor < told || minor > told+1:
		return violation("S10", "%s gets etcd %s, and the cluster version is %s", a.Name, a.Version, fmt.Sprintf("3.%d", told))
	}
	return nil
}
