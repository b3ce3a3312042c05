package simulate

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// What the oracle asks of alarms and of space (S6, S8). An alarm is taken back only when
// what it was raised for is gone.

func (k *check) isCorrupt(id uint64) bool {
	return slices.Contains(k.alarms, facts.Alarm{MemberID: id, Kind: facts.Corrupt}) || slices.Contains(k.o.Cluster.Consistency.Differing, id)
}

// isRepairingSpace reports whether there is no space, as somebody knows of whom a quorum has
// answered, and the user wants it to be made.
func (k *check) isRepairingSpace() bool {
	return k.o.Cluster.Maintenance.AutoRepairSpace && slices.ContainsFunc(k.o.Pods, func(p facts.Pod) bool {
		return k.ours(&p.Answer) && p.Answer.Read && slices.ContainsFunc(p.Answer.Alarms, func(a facts.Alarm) bool { return a.Kind == facts.NoSpace })
	})
}

// tellsOfSpace: while a member tells that its database is nearly as large as its quota a person
// is told so, and not while all tell that theirs are half empty.
func (k *check) tellsOfSpace() *Violation {
	if k.o.Cluster.ClusterID == 0 {
		return nil
	}
	answers, roomy := 0, 0
	near := ""
	for _, m := range k.list() {
		a := k.answer(m)
		if a == nil || a.Quota <= 0 {
			continue
		}
		answers++
		if isNear(a.DBSizeInUse, a.Quota) {
			near = m.Name
		}
		if max(a.DBSize, a.DBSizeInUse)*100 < a.Quota*fewPercent {
			roomy++
		}
	}
	c := meta.FindStatusCondition(k.d.Status.Conditions, v1beta2.ConditionSpaceLow)
	switch {
	case near != "" && !asks(c, "raise spec.etcd.quotaBackendBytes"):
		return violation(space, "the database of %s is near its quota, and nobody is told", near)
	case answers > 0 && roomy == answers && c != nil && !k.o.Growth.Known:
		return violation(space, "%s is told, and all databases are half empty", c.Reason)
	}
	return nil
}

// fewPercent is the share of its quota below which no database needs a warning.
const fewPercent = 40

func (k *check) disarmAlarm(a action.DisarmAlarm) *Violation {
	if v := k.settled(a.Members); v != nil {
		return v
	}
	switch {
	case !slices.Contains(k.alarms, facts.Alarm{MemberID: a.MemberID, Kind: a.Alarm}):
		return violation("Alarm", "%s of %x is disarmed, and is not raised", a.Alarm, a.MemberID)
	case a.Alarm == facts.Corrupt && (a.MemberID == 0 || findMember(a.Members, a.MemberID) != nil):
		return violation("Alarm", "CORRUPT of %x is disarmed, and it is a member's, or nobody's", a.MemberID)
	case a.Alarm == facts.Corrupt:
		return nil
	case !k.o.Cluster.Maintenance.AutoRepairSpace:
		return violation("Alarm", "%s is disarmed, and the user does not want that", a.Alarm)
	}
	for _, m := range a.Members {
		if an := k.answer(m); an == nil || an.Quota <= 0 || an.DBSize*10 > an.Quota*9 {
			return violation("Alarm", "%s is disarmed, and nothing says that %s has room", a.Alarm, m.Name)
		}
	}
	return nil
}

func (k *check) compact(a action.Compact) *Violation {
	if v := k.settled(k.list()); v != nil {
		return v
	}
	if !k.isRepairingSpace() {
		return violation("Alarm", "the database is compacted, and nobody asked for it")
	}
	told := slices.ContainsFunc(k.o.Pods, func(p facts.Pod) bool { return k.ours(&p.Answer) && p.Answer.Revision >= a.Revision })
	if !told || a.At != k.o.Now {
		return violation("Alarm", "the database is compacted to revision %d, at %s", a.Revision, a.At)
	}
	return nil
}

func (k *check) beginDefragment(a action.BeginDefragment) *Violation {
	m := &k.o.Cluster.Maintenance
	switch {
	case m.Schedule.String() == "" && m.AbovePercent == 0 && !m.AsksForRound():
		return violation("S6", "a round of defragmentations begins, and nobody asked for it")
	case a.At != k.o.Now || a.Request != m.DefragmentRequest:
		return violation("S6", "a round of defragmentations began at %s, for the request %q", a.At, a.Request)
	case k.o.Cluster.Target != "":
		return violation("S10", "a round of defragmentations begins while members move to another version")
	}
	return k.wholly("")
}

func (k *check) defragment(a action.Defragment) *Violation {
	if v := k.podIs(a.Name, a.UID); v != nil {
		return v
	}
	if v := k.wholly(a.Name); v != nil {
		return v
	}
	if !slices.Equal(a.Members, k.list()) {
		return violation("S11", "%s is defragmented as one of %s", a.Name, describeMembers(a.Members))
	}
	m, p := findMember(a.Members, a.ID), k.pod(a.Name)
	switch {
	case m == nil || m.Name != a.Name:
		return violation("S6", "%s is not in the list", a.Name)
	case p.Role != facts.Defragmenting || p.Routed:
		return violation("S6", "%s is defragmented while clients are sent to it", a.Name)
	case a.ID == k.leader && len(a.Members) > 1:
		return violation("S8", "%s is defragmented, and it leads", a.Name)
	case k.o.Cluster.Target != "" && !k.isRepairingSpace():
		return violation("S10", "%s is defragmented while members move to another version", a.Name)
	}
	for _, o := range a.Members {
		q := k.pod(o.Name)
		if recent := k.o.Now.Sub(q.Defragmented.Since) < time.Second; !k.answer(o).Read || (recent && !q.Defragmented.Done) {
			return violation("S6", "%s is defragmented, and %s may be", a.Name, o.Name)
		}
	}
	return nil
}
