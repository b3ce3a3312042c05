package facts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

const (
	// RoomyPercent is the share of its quota below which a database has room again.
	RoomyPercent = 80
	// repairPause is for how long nothing more is tried when a repair has not made enough
	// room.
	repairPause = 5 * time.Minute
	// wonPercent is the share of a database that has to be free for another
	// defragmentation to be worth while.
	wonPercent = 10
)

// IsRepairingSpace reports whether room is to be made now.
func (v *View) IsRepairingSpace() bool {
	return v.Cluster.Maintenance.AutoRepairSpace && len(v.AlarmsOf(NoSpace)) > 0
}

// CanRepairSpace reports whether another repair may win anything: nothing was compacted yet,
// or some time ago and there is more to compact, or space that is still free in a file. A
// member that gets another Pod, with a quota that was raised perhaps, comes first then.
func (v *View) CanRepairSpace() bool {
	m := &v.Cluster.Maintenance
	if !m.Repaired.IsZero() && (v.Now.Sub(m.Repaired) < repairPause || v.getsAnotherPod()) {
		return false
	}
	return v.Revision() > m.CompactedRevision || slices.ContainsFunc(v.Voters, func(m Member) bool {
		a := v.Answer(m)
		return a != nil && !hasRoom(a) && a.FreePercent() >= wonPercent
	})
}

// getsAnotherPod reports whether a member is restarted in another Pod next.
func (v *View) getsAnotherPod() bool {
	next := v.NextToRestart()
	return next != nil && v.RestartsInNewPod(v.PodOf[next.Name]) && v.UnfitToStart() == ""
}

// Revision is the highest that a member of the list tells.
func (v *Members) Revision() int64 {
	var highest int64
	for _, m := range v.List {
		if a := v.Answer(m); a != nil {
			highest = max(highest, a.Revision)
		}
	}
	return highest
}

// WhoIsFull says which members' databases are not well below their quota, or might not be;
// empty if all are.
func (v *View) WhoIsFull() string {
	var full []string
	for _, m := range v.List {
		switch a := v.Answer(m); {
		case a == nil:
			full = append(full, fmt.Sprintf("member %s does not answer", m.Name))
		case a.Quota <= 0:
			full = append(full, fmt.Sprintf("the quota of member %s is not known", m.Name))
		case !hasRoom(a):
			full = append(full, fmt.Sprintf("the database of member %s uses %s of %s", m.Name, v1beta2.ReadableSize(a.DBSize), v1beta2.ReadableSize(a.Quota)))
		}
	}
	return strings.Join(full, ", ")
}

// AlarmText names the alarms.
func (v *Members) AlarmText() string {
	var all []string
	for _, a := range v.AlarmStatus() {
		all = append(all, WhichAlarm(a))
	}
	return strings.Join(all, ", ")
}

// WhichAlarm names an alarm and its member: etcd raises CORRUPT without one where it cannot tell.
func WhichAlarm(a v1beta2.AlarmStatus) string {
	if a.Member == "" {
		return fmt.Sprintf("alarm %s on an unknown member", a.Kind)
	}
	return fmt.Sprintf("alarm %s on member %s", a.Kind, a.Member)
}

// WritesRefused says what alarms do.
func (v *View) WritesRefused() string {
	return "etcd refuses writes: " + v.AlarmText()
}

// AlarmAdvice says what is refused, why, and what to do.
func (v *View) AlarmAdvice() string {
	const quota = "raise the quota (spec.etcd.quotaBackendBytes)"
	said := v.WritesRefused()
	m := &v.Cluster.Maintenance
	switch {
	case len(v.AlarmsOf(Corrupt)) > 0 && !v.CorruptIsKnown():
		return said + "; members' data differs, and etcd cannot tell whose is wrong: compare the members (etcdctl endpoint hashkv --cluster), delete the Pod and PVC of the one that differs and disarm the alarm (etcdctl alarm disarm), or restore a backup"
	case len(v.AlarmsOf(Corrupt)) > 0 && !v.HasQuorum():
		return said + "; members' data differs, and no quorum has the same data: the operator changes nothing; restore a backup, or, if you know which data is right, disarm the alarms (etcdctl alarm disarm)"
	case len(v.AlarmsOf(Corrupt)) > 0:
		return said + "; the operator replaces these members"
	case !m.AutoRepairSpace:
		return said + "; reads work, and no data is lost: databases have reached their quota; set spec.maintenance.autoRepairSpace: true, and the operator compacts (which drops the history of keys), defragments and disarms; or delete keys or " + quota + ", compact, defragment, and disarm the alarm (etcdctl alarm disarm)"
	case v.NextToDefragment() != nil || v.WhoIsFull() == "" || v.CanRepairSpace():
		return said + "; the operator is compacting and defragmenting"
	}
	return said + "; compaction and defragmentation did not free enough space: delete keys, or " + quota
}

// AlarmStatus is what the status says of alarms.
func (v *Members) AlarmStatus() []v1beta2.AlarmStatus {
	var all []v1beta2.AlarmStatus
	for _, a := range v.Alarms {
		all = append(all, v1beta2.AlarmStatus{Kind: string(a.Kind), Member: v.NameOrID(a.MemberID)})
	}
	return all
}

// wantsRounds reports whether members are to be defragmented at all: one that was asked for is
// not, any more, when the request is withdrawn.
func (v *View) wantsRounds() bool {
	m := &v.Cluster.Maintenance
	return m.Schedule.String() != "" || m.AbovePercent > 0 || v.IsRepairingSpace() ||
		(m.DefragmentRequest != "" && m.DefragmentRequest == m.DefragmentAnswered)
}

// NextToDefragment is the voter that is defragmented next in the round: the one that is
// marked already, else a follower, the leader last. It is nil if there is none.
func (v *View) NextToDefragment() *Member {
	begun := v.Cluster.Maintenance.Begun
	if begun.IsZero() || !v.wantsRounds() {
		return nil
	}
	var next *Member
	for i := range v.Voters {
		m := &v.Voters[i]
		p := v.PodOf[m.Name]
		// One that was made since has nothing to win.
		if p == nil || !p.Defragmented.Since.Before(begun) || !p.Created.Before(begun) {
			continue
		}
		if p.Role == Defragmenting {
			return m
		}
		if next == nil || next.ID == v.Leader {
			next = m
		}
	}
	return next
}

// IsDefragmenting reports whether a member was asked to defragment, and might not have
// ended: what was asked may still arrive, or the member answers no read yet.
func (v *Objects) IsDefragmenting(p *Pod) bool {
	d := &p.Defragmented
	if p.Role != Defragmenting || d.Since.IsZero() || d.Since.Before(p.RoleSince) {
		return false
	}
	return !p.Answer.Read || (!d.Done && v.Now.Sub(d.Since) < Landing)
}

// SeeAvailable points to the condition that tells the rest.
func SeeAvailable(said string) string { return said + "; the condition Available says what to do" }
