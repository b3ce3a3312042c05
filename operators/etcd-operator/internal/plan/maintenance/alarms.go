package maintenance

import (
	"fmt"
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

// The rules of this file are about etcd's alarms. While one is raised, etcd refuses
// writes on all members; members can be changed and a quorum is seen to answer all the
// same (etcd 3.5 to 3.7).

// Corrupted waits for a person where the alarms leave no quorum whose data agrees, or
// where nobody knows who is wrong: nothing tells which data is the right one.
func Corrupted(v *facts.View) *step.Step {
	if !v.Sure || len(v.AlarmsOf(facts.Corrupt)) == 0 || (v.HasQuorum() && v.CorruptIsKnown()) {
		return nil
	}
	return step.Wait(step.Slowly, v1beta2.ClusterReasonCorrupt, v.AlarmAdvice()).As(action.AwaitsUser).InBrief(v.WritesRefused())
}

// DisarmRemoved takes back the CORRUPT alarm of a member that was removed: what is left
// agrees.
func DisarmRemoved(v *facts.View) *step.Step {
	if !v.Settled {
		return nil
	}
	for _, a := range v.AlarmsOf(facts.Corrupt) {
		if a.MemberID == 0 || v.Name(a.MemberID) != "" {
			continue
		}
		return step.Do(action.DisarmAlarm{MemberID: a.MemberID, Alarm: facts.Corrupt, Members: v.List}, v1beta2.ClusterReasonAlarmDisarmed, fmt.Sprintf("disarmed alarm CORRUPT of member %016x, which was removed", a.MemberID))
	}
	return nil
}

// TransferFromCorrupt takes leadership from a member that is corrupt, before anybody
// gets a snapshot of its data (S8).
func TransferFromCorrupt(v *facts.View) *step.Step {
	if !v.Settled || v.Leader == 0 || !v.IsCorrupt(v.Leader) {
		return nil
	}
	i := slices.IndexFunc(v.Voters, func(m facts.Member) bool { return m.ID == v.Leader })
	if i < 0 {
		return nil
	}
	return step.TransferLeadership(v, &v.Voters[i])
}

// RepairSpace makes room where databases have grown to their quota, if the user allows
// it: it compacts, has the members defragmented one after the other, and takes the alarm
// back.
func RepairSpace(v *facts.View) *step.Step {
	if !v.IsRepairingSpace() || !v.Settled {
		return nil
	}
	full := v.WhoIsFull()
	if full == "" {
		a := v.AlarmsOf(facts.NoSpace)[0]
		return step.Do(action.DisarmAlarm{MemberID: a.MemberID, Alarm: facts.NoSpace, Members: v.List}, v1beta2.ClusterReasonSpaceRepaired,
			fmt.Sprintf("disarmed alarm NOSPACE of member %s: every database is below %d %% of its quota", v.NameOrID(a.MemberID), facts.RoomyPercent))
	}
	if v.IsRestarting() {
		return nil // it is brought to its end first
	}
	if v.NextToDefragment() != nil {
		return defragmentNext(v)
	}
	if !v.CanRepairSpace() {
		return nil
	}
	if why := v.DisruptionBlocker(nil); why != "" {
		return step.Wait(step.BlockerPollInterval(v), v1beta2.ClusterReasonRepairingSpace, "waiting to compact and defragment: "+why)
	}
	return step.Do(action.Compact{Revision: v.Revision(), At: v.Now}, v1beta2.ClusterReasonRepairingSpace, fmt.Sprintf("compacted to revision %d: %s; defragmentation follows, one member at a time", v.Revision(), full))
}
