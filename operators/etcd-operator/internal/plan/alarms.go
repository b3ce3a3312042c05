package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// The rules of this file are about etcd's alarms. While one is raised, etcd refuses
// writes on all members; members can be changed and a quorum is seen to answer all the
// same (etcd 3.5 to 3.7).

// AlarmKind is what an alarm is about.
type AlarmKind string

const (
	// NoSpace: a member's database has grown to its quota.
	NoSpace AlarmKind = "NOSPACE"
	// Corrupt: a member's data differs from that of the others.
	Corrupt AlarmKind = "CORRUPT"
)

// Alarm is an alarm that is raised. MemberID is 0 for a CORRUPT of which etcd could not
// tell who it is.
type Alarm struct {
	MemberID uint64
	Kind     AlarmKind
}

// alarmsOf are the alarms of one kind.
func (v *view) alarmsOf(kind AlarmKind) []Alarm {
	return slices.DeleteFunc(slices.Clone(v.alarms), func(a Alarm) bool { return a.Kind != kind })
}

// isCorrupt reports whether a CORRUPT alarm or the last comparison names a member.
func (v *view) isCorrupt(id uint64) bool {
	return id != 0 && (slices.Contains(v.alarms, Alarm{id, Corrupt}) || v.Cluster.differs(id))
}

// corruptIsKnown reports whether etcd could tell of each CORRUPT alarm who it is.
func (v *view) corruptIsKnown() bool { return !slices.Contains(v.alarms, Alarm{0, Corrupt}) }

// corrupted waits for a person where the alarms leave no quorum whose data agrees, or
// where nobody knows who is wrong: nothing tells which data is the right one.
func corrupted(v *view) *step {
	if !v.sure || len(v.alarmsOf(Corrupt)) == 0 || (v.hasQuorum() && v.corruptIsKnown()) {
		return nil
	}
	return wait(slowly, v1beta2.ClusterReasonCorrupt, v.alarmAdvice()).as(AwaitsUser).inBrief(v.writesRefused())
}

// disarmRemoved takes back the CORRUPT alarm of a member that was removed: what is left
// agrees.
func disarmRemoved(v *view) *step {
	if !v.settled {
		return nil
	}
	for _, a := range v.alarmsOf(Corrupt) {
		if a.MemberID == 0 || v.name(a.MemberID) != "" {
			continue
		}
		return do(DisarmAlarm{a.MemberID, Corrupt, v.list}, v1beta2.ClusterReasonAlarmDisarmed, fmt.Sprintf("disarmed alarm CORRUPT of member %016x, which was removed", a.MemberID))
	}
	return nil
}

// transferFromCorrupt takes leadership from a member that is corrupt, before anybody
// gets a snapshot of its data (S8).
func transferFromCorrupt(v *view) *step {
	if !v.settled || v.leader == 0 || !v.isCorrupt(v.leader) {
		return nil
	}
	i := slices.IndexFunc(v.voters, func(m Member) bool { return m.ID == v.leader })
	if i < 0 {
		return nil
	}
	return v.transferLeadership(&v.voters[i])
}

const (
	// roomyPercent is the share of its quota below which a database has room again.
	roomyPercent = 80
	// repairPause is for how long nothing more is tried when a repair has not made enough
	// room.
	repairPause = 5 * time.Minute
	// wonPercent is the share of a database that has to be free for another
	// defragmentation to be worth while.
	wonPercent = 10
)

// isRepairingSpace reports whether room is to be made now.
func (v *view) isRepairingSpace() bool {
	return v.Cluster.Maintenance.AutoRepairSpace && len(v.alarmsOf(NoSpace)) > 0
}

// repairSpace makes room where databases have grown to their quota, if the user allows
// it: it compacts, has the members defragmented one after the other, and takes the alarm
// back.
func repairSpace(v *view) *step {
	if !v.isRepairingSpace() || !v.settled {
		return nil
	}
	full := v.whoIsFull()
	if full == "" {
		a := v.alarmsOf(NoSpace)[0]
		return do(DisarmAlarm{a.MemberID, NoSpace, v.list}, v1beta2.ClusterReasonSpaceRepaired,
			fmt.Sprintf("disarmed alarm NOSPACE of member %s: every database is below %d %% of its quota", v.nameOrID(a.MemberID), roomyPercent))
	}
	if v.isRestarting() {
		return nil // it is brought to its end first
	}
	if v.nextToDefragment() != nil {
		return v.defragmentNext()
	}
	if !v.canRepairSpace() {
		return nil
	}
	if why := v.disruptionBlocker(nil); why != "" {
		return wait(v.blockerPollInterval(), v1beta2.ClusterReasonRepairingSpace, "waiting to compact and defragment: "+why)
	}
	return do(Compact{v.revision(), v.Now}, v1beta2.ClusterReasonRepairingSpace, fmt.Sprintf("compacted to revision %d: %s; defragmentation follows, one member at a time", v.revision(), full))
}

// canRepairSpace reports whether another repair may win anything: nothing was compacted yet,
// or some time ago and there is more to compact, or space that is still free in a file.
func (v *view) canRepairSpace() bool {
	m := &v.Cluster.Maintenance
	if !m.Repaired.IsZero() && v.Now.Sub(m.Repaired) < repairPause {
		return false
	}
	return v.revision() > m.CompactedRevision || slices.ContainsFunc(v.voters, func(m Member) bool {
		a := v.answer(m)
		return a != nil && !hasRoom(a) && a.freePercent() >= wonPercent
	})
}

// revision is the highest that a member of the list tells.
func (v *view) revision() int64 {
	var highest int64
	for _, m := range v.list {
		if a := v.answer(m); a != nil {
			highest = max(highest, a.Revision)
		}
	}
	return highest
}

// hasRoom reports whether a member's database is well below its quota.
func hasRoom(a *Answer) bool { return a.Quota > 0 && a.DBSize <= a.Quota/100*roomyPercent }

// freePercent is how much of a member's database is free space.
func (a *Answer) freePercent() int64 {
	if a.DBSize < 100 {
		return 0
	}
	return (a.DBSize - a.DBSizeInUse) / (a.DBSize / 100)
}

// whoIsFull says which members' databases are not well below their quota, or might not be;
// empty if all are.
func (v *view) whoIsFull() string {
	var full []string
	for _, m := range v.list {
		switch a := v.answer(m); {
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

// alarmReason is the reason of the conditions while alarms are raised.
func (v *view) alarmReason() string {
	if len(v.alarmsOf(Corrupt)) > 0 {
		return v1beta2.ClusterReasonCorrupt
	}
	return v1beta2.ClusterReasonNoSpace
}

// alarmText names the alarms.
func (v *view) alarmText() string {
	var all []string
	for _, a := range v.alarmStatus() {
		all = append(all, whichAlarm(a))
	}
	return strings.Join(all, ", ")
}

// whichAlarm names an alarm and its member: etcd raises CORRUPT without one where it cannot tell.
func whichAlarm(a v1beta2.AlarmStatus) string {
	if a.Member == "" {
		return fmt.Sprintf("alarm %s on an unknown member", a.Kind)
	}
	return fmt.Sprintf("alarm %s on member %s", a.Kind, a.Member)
}

// nameOrID is how a member is told to a person; empty for id 0.
func (v *view) nameOrID(id uint64) string {
	if id == 0 {
		return ""
	}
	return cmp.Or(v.name(id), fmt.Sprintf("%016x", id))
}

// writesRefused says what alarms do.
func (v *view) writesRefused() string {
	return "etcd refuses writes: " + v.alarmText()
}

// alarmAdvice says what is refused, why, and what to do.
func (v *view) alarmAdvice() string {
	const quota = "raise the quota (spec.etcd.quotaBackendBytes)"
	said := v.writesRefused()
	m := &v.Cluster.Maintenance
	switch {
	case len(v.alarmsOf(Corrupt)) > 0 && !v.corruptIsKnown():
		return said + "; members' data differs, and etcd cannot tell whose is wrong: compare the members (etcdctl endpoint hashkv --cluster), delete the Pod and PVC of the one that differs and disarm the alarm (etcdctl alarm disarm), or restore a backup"
	case len(v.alarmsOf(Corrupt)) > 0 && !v.hasQuorum():
		return said + "; members' data differs, and no quorum has the same data: the operator changes nothing; restore a backup, or, if you know which data is right, disarm the alarms (etcdctl alarm disarm)"
	case len(v.alarmsOf(Corrupt)) > 0:
		return said + "; the operator replaces these members"
	case !m.AutoRepairSpace:
		return said + "; reads work, and no data is lost: databases have reached their quota; set spec.maintenance.autoRepairSpace: true, and the operator compacts (which drops the history of keys), defragments and disarms; or delete keys or " + quota + ", compact, defragment, and disarm the alarm (etcdctl alarm disarm)"
	case v.nextToDefragment() != nil || v.whoIsFull() == "" || v.canRepairSpace():
		return said + "; the operator is compacting and defragmenting"
	}
	return said + "; compaction and defragmentation did not free enough space: delete keys, or " + quota
}

// alarmStatus is what the status says of alarms.
func (v *view) alarmStatus() []v1beta2.AlarmStatus {
	var all []v1beta2.AlarmStatus
	for _, a := range v.alarms {
		all = append(all, v1beta2.AlarmStatus{Kind: string(a.Kind), Member: v.nameOrID(a.MemberID)})
	}
	return all
}
