package rollout

import (
	"cmp"
	"fmt"
	"math"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// The rules of this file bring every member past what etcd 3.5 has left in its log, before
// any of them runs 3.7. A member writes a snapshot each time that it has applied so many
// entries, and an idle cluster has none to apply: the operator appends them (AdvanceLog).

// SnapshotCount is after how many log entries etcd makes a snapshot, from 3.6 on
// (etcdserver.DefaultSnapshotCount).
const SnapshotCount = 10_000

// oldLog is raft's index up to which a member may still have to replay what etcd 3.5 has
// written, if it is about to go to a version that cannot; 0 if none has. (3.7.3 panics
// on 3.5's requests of the v2 API, by which members published their names: "unmarshal
// should never fail". They are left behind with the first snapshot after them.)
func oldLog(v *facts.View, next string) uint64 {
	if etcdversion.Parse(next).Minor != 7 || etcdversion.Parse(v.Cluster.Version).Minor >= 7 {
		return 0 // members that run 3.7 have left it behind
	}
	return oldEntries(v)
}

// oldEntries is raft's index up to which a member may still have to replay what an earlier minor
// has written; 0 if none has.
func oldEntries(v *facts.View) uint64 {
	if v.Cluster.VersionIndex == 0 {
		return 0
	}
	var last uint64
	for _, m := range v.Voters {
		p := v.PodOf[m.Name]
		if p.SnapshotCount == facts.UnknownCount {
			return unknownIndex
		}
		if until := v.Cluster.VersionIndex + uint64(cmp.Or(p.SnapshotCount, SnapshotCount)); v.Answer(m).Applied <= until {
			last = max(last, until+1)
		}
	}
	return last
}

// unknownIndex is the result of oldEntries if the time of a member's next snapshot is unknown.
const unknownIndex = math.MaxUint64

const (
	// EntriesPerStep is how many entries are appended before the members are observed
	// again: about a second of a disk that syncs in 30 ms.
	EntriesPerStep = 500
	// MostEntries is how many entries the operator appends in all: those of etcd 3.5's own
	// snapshot count, and as many again. They take some minutes.
	MostEntries = 200_000
)

// advancePastOldLog has raft's log grow to an index at which every member has written a snapshot
// after what etcd 3.5 has left in it. No key is written, and the revision stays.
func advancePastOldLog(v *facts.View, next string, index uint64) *step.Step {
	if index == unknownIndex {
		return step.Wait(step.Slowly, v1beta2.ClusterReasonWaitingForSnapshot, fmt.Sprintf(
			"the upgrade to etcd %s waits until every member has written a snapshot, because etcd %[1]s does not start on log entries of etcd 3.5. The time of the next snapshot is unknown, because %[2]s in spec.pod.etcdEnv is not a plain number: remove it, and set spec.etcd.snapshotCount if you need another number than %[3]d",
			next, "ETCD_SNAPSHOT_COUNT", SnapshotCount)).As(action.AwaitsUser).Explains(v1beta2.ConditionUpgrading)
	}
	lacking := index - min(index, v.Applied)
	if lacking > MostEntries {
		return step.Wait(step.Slowly, v1beta2.ClusterReasonWaitingForSnapshot, fmt.Sprintf(
			"the upgrade to etcd %s waits until every member has written a snapshot, because etcd %[1]s does not start on log entries of etcd 3.5. The next snapshot is written only at raft index %[2]d: set spec.etcd.snapshotCount to %[3]d, and remove %[4]s from spec.pod.etcdEnv",
			next, index, SnapshotCount, "ETCD_SNAPSHOT_COUNT")).As(action.AwaitsUser).Explains(v1beta2.ConditionUpgrading)
	}
	message := fmt.Sprintf(
		"started appending empty raft entries, up to index %d, for the upgrade to etcd %s: every member must write a snapshot first, because etcd %s does not start on log entries of etcd 3.5",
		index, next, next)
	if lacking == 0 {
		return step.Wait(step.FastPoll, v1beta2.ClusterReasonWritingSnapshots, message).Explains(v1beta2.ConditionUpgrading) // a member has not applied all of it yet
	}
	return step.Do(action.AdvanceLog{Entries: int(min(lacking, EntriesPerStep))}, v1beta2.ClusterReasonWritingSnapshots, message).Explains(v1beta2.ConditionUpgrading)
}
