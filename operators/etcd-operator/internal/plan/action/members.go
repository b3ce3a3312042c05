package action

import (
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// AddLearner adds a member without a vote, under the peer URL of the name.
// Like every membership change it is carried out only if a linearizable member
// list still equals Members, the one that it was decided on (S3, S11).
type AddLearner struct {
	Name    string
	Members []facts.Member
}

// Promote gives a learner its vote (S5).
type Promote struct {
	ID      uint64
	Name    string
	Members []facts.Member
}

// RemoveMember takes a member out of the member list (S4). It is carried out only if all
// Pods, read live, are as they were observed, and the member's is still as Pod says: the
// same uid and the same attempt of its StartPermit, or none if Pod is nil (S9, S11).
type RemoveMember struct {
	ID      uint64
	Name    string
	Members []facts.Member
	Pod     *facts.Pod
}

// TransferLeadership asks the leader to transfer its leadership to another voter (S8).
type TransferLeadership struct {
	// From and To are names; ToID is To's member id.
	From, To string
	ToID     uint64
}

// EnableDowngrade asks etcd to lower its cluster version by a minor, which it validates
// itself (S10): members of that minor may start then, once their data is brought to it. It
// is carried out only if the cluster's Pods, read live, are as they were observed (S6,
// S11). Etcd refuses a repetition.
type EnableDowngrade struct {
	// To is a minor as etcd tells it, such as "3.5.0".
	To string
}

// CancelDowngrade takes that back. Etcd raises its cluster version again as soon as all
// members are seen to run a later minor: so no image of an earlier one may be on its way
// to a member then (S10), and it is carried out only if the cluster's Pods, read live, are
// as they were observed (S11). Etcd refuses a repetition.
type CancelDowngrade struct{}

// AdvanceLog has raft append so many entries to its log that change nothing, so that
// members write the snapshot that their snapshot count asks for. More of them than needed
// do no harm.
type AdvanceLog struct{ Entries int }

// DisarmAlarm takes an alarm of etcd back. It is carried out only if a linearizable
// member list still equals Members: a CORRUPT alarm is disarmed only when the member that
// it names is out of the list, and a NOSPACE one only when every member's database is
// well below its quota.
type DisarmAlarm struct {
	MemberID uint64
	Alarm    facts.AlarmKind
	Members  []facts.Member
}

// CompareData begins a comparison of the members' data, beside the reconciles: each member
// in turn, the leader last, hashes its data at a revision that all have applied. A second
// one of the same members is not begun while one runs.
type CompareData struct{ Members []facts.Member }

// Defragment makes one member write its database anew, on which it serves nothing (S6,
// S8). It is carried out only if the cluster's Pods, read live, are as they were
// observed, and if a linearizable member list still equals Members and another one leads,
// where there is one. It is written on the Pod before, against the Pod as it was read, so
// that of two operators one does it. It may go on in etcd after the action has ended.
type Defragment struct {
	Name, UID string
	ID        uint64
	Members   []facts.Member
}

func (a AddLearner) traits() traits { return traits{kind: "AddLearner", member: a.Name} }

func (a Promote) traits() traits { return traits{kind: "Promote", member: a.Name} }

func (a RemoveMember) traits() traits { return traits{kind: "RemoveMember", member: a.Name} }

func (TransferLeadership) traits() traits { return traits{kind: "TransferLeadership", step: true} }

func (EnableDowngrade) traits() traits { return traits{kind: "EnableDowngrade"} }

func (CancelDowngrade) traits() traits { return traits{kind: "CancelDowngrade"} }

func (AdvanceLog) traits() traits { return traits{kind: "AdvanceLog"} }

func (DisarmAlarm) traits() traits { return traits{kind: "DisarmAlarm"} }

func (CompareData) traits() traits { return traits{kind: "CompareData", step: true} }

func (a Defragment) traits() traits { return traits{kind: "Defragment", object: a.Name, step: true} }
