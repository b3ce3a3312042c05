package simulate

import (
	"fmt"
	"slices"
)

// Fault is something that goes wrong, or that a user does, at a step. A and B
// choose the target among those that there are; For is how many steps it lasts.
// A fault that finds no target waits for one for some time.
type Fault struct {
	Step int
	Kind FaultKind
	A, B int
	For  int
}

func (f Fault) String() string {
	return fmt.Sprintf("%s at step %d (%d, %d) for %d", f.Kind, f.Step, f.A, f.B, f.For)
}

// FaultKind is a kind of fault.
type FaultKind int

const (
	// KillContainer kills an etcd or a launcher; its kubelet starts it again.
	KillContainer FaultKind = iota
	// HoldContainer kills one and keeps it down for long: neither its Pod nor its
	// node says that it is lost.
	HoldContainer
	// DeletePod is a user's kubectl delete pod.
	DeletePod
	// ForceDeletePod takes the object away at once.
	ForceDeletePod
	// FinishPod is an eviction by the kubelet: the Pod ends for good.
	FinishPod
	// DrainPod is an eviction that asks the PodDisruptionBudget.
	DrainPod
	// StopNode cuts a node's power for a while.
	StopNode
	// CutNode partitions a node from everything; what runs there runs on.
	CutNode
	// SilenceNode cuts only its kubelet off.
	SilenceNode
	// LoseNode takes a node away for good, with its disks; another one comes.
	LoseNode
	// WipeDisk empties a member's disk, and so ends what runs on it.
	WipeDisk
	// WipeWhileDown kills a member, empties its disk and moves the leader elsewhere
	// before it comes back.
	WipeWhileDown
	// WipeSeed empties the first member's disk.
	WipeSeed
	// DeleteUserClaim is a user's kubectl delete pvc, and the Pod with it, or not.
	DeleteUserClaim
	// CorruptDisk makes what is on a member's disk unreadable: etcd crashes on it for ever.
	CorruptDisk
	// StarveMember gives a member too little memory for a while: etcd is killed for that
	// whenever it starts.
	StarveMember
	// EditStorage asks for larger volumes.
	EditStorage
	// EditPolicy changes what becomes of volumes when the EtcdCluster is deleted.
	EditPolicy
	// Recreate deletes an EtcdCluster whose volumes are retained, and makes another one of
	// its name, which asks for them at once or after a while.
	Recreate
	// LoseMajority takes a majority of the voters away at once, with their disks. Not in a
	// gentle run.
	LoseMajority
	// BringBack brings a lost volume back, under its name.
	BringBack
	// WantSurvivor sets spec.recovery.quorumLoss, or the annotation recover.
	WantSurvivor
	// KillLearner ends a learner that has caught up, for long or for ever.
	KillLearner
	// KillLeader kills the leader's etcd.
	KillLeader
	// MoveAway moves the leadership.
	MoveAway
	// LeadLeaving moves the leadership to the member that is about to leave.
	LeadLeaving
	// SlowMember holds the log of some members back.
	SlowMember
	// PartitionPeers splits the nodes in two parts that don't reach each other.
	PartitionPeers
	// PartitionOperator hides the Pods of some nodes from an operator.
	PartitionOperator
	// Fill writes so much that the databases grow to their quota, if there is one: etcd
	// raises NOSPACE, and refuses writes.
	Fill
	// CorruptMember changes a member's data, and etcd notices: it raises CORRUPT.
	CorruptMember
	// CorruptSomebody raises CORRUPT of nobody knows whom.
	CorruptSomebody
	// CrashOperator ends an operator after one of its next API calls.
	CrashOperator
	// StallOperator makes one stand still before one.
	StallOperator
	// TearCall makes one stand still between the last look at the members and the
	// change that was to follow at once: etcd has no precondition for it.
	TearCall
	// LoseReply carries one out and tells it of an error.
	LoseReply
	// FailCall does not carry it out.
	FailCall
	// RepeatCall carries it out twice.
	RepeatCall
	// LateCall carries it out later than the operator believes, which may have ended.
	LateCall
	// SecondOperator starts another operator beside the first.
	SecondOperator
	// SlowAnswers lets members answer at different moments of one Observation.
	SlowAnswers
	// LagPods, LagClaims and LagStatus make caches fall behind.
	LagPods
	LagClaims
	LagStatus
	// EditSize changes spec.size.
	EditSize
	// Pause sets spec.paused for a while.
	Pause
	// EditVersion sets spec.version: to one that can be reached, to one that can't, to
	// one whose image can't be pulled or does not run.
	EditVersion
	// EditRepository sets spec.repository.
	EditRepository
	// EnableAuth enables etcd's authentication, with or without credentials for the
	// operator.
	EnableAuth
	// LackCredentials takes the operator's credentials away, or makes them wrong.
	LackCredentials
	// EditTemplate edits the spec of Pods, also to one under which none runs, or is placed.
	EditTemplate
	// AskRestart asks for a restart of all members.
	AskRestart
	// AskDefragment asks for a round of defragmentations, AskLeader for another leader, which may
	// be one that is no member.
	AskDefragment
	AskLeader
	// Cordon says that a node is to be emptied, Uncordon that it is not.
	Cordon
	Uncordon
	// NameConflict is an object of somebody else under a name that the cluster needs.
	NameConflict
	// Restore begins an EtcdRestore of the cluster, which may give up at any moment.
	Restore
	// EraseFence removes the annotation by which a restore asks for a fence.
	EraseFence
	// OldMarks puts back what an earlier restore had written on the EtcdCluster, as an
	// old manifest does.
	OldMarks
	// DeleteCluster deletes the EtcdCluster.
	DeleteCluster
	// Unschedulable keeps new Pods from being placed.
	Unschedulable
	// ImageTrouble keeps new Pods from starting.
	ImageTrouble
	// SlowAddress delays the addresses of Pods by up to a minute.
	SlowAddress
	// ChangeLearners gives the next joiner's Pod a smaller ETCD_MAX_LEARNERS, as if somebody
	// else had made it, or all Pods that are made from then on a larger one, as a release of
	// the operator with another constant does. (One with a smaller constant would break S3
	// whatever the planner does: a member that is recreated before it has the whole log
	// replays the rest of it under its own limit.)
	ChangeLearners
	// PassTime lets much time pass at once.
	PassTime
	// LackCertificates takes the operator's certificate away, or makes it wrong: it asks
	// nobody.
	LackCertificates
	// SpoilCertificates takes the Secrets of the members away: what runs runs on, and no Pod
	// starts.
	SpoilCertificates
	// RotateCA has another CA sign the certificates, with the steps that this
	// takes.
	RotateCA
	// RefusePods and RefuseClaims make the API server refuse new Pods, or new volumes, as when
	// a quota is used up.
	RefusePods
	RefuseClaims
	// AddByHand is a learner that a person adds with etcdctl and never starts.
	AddByHand
	// ChangePeerURL is a person's etcdctl member update of a voter.
	ChangePeerURL
	// AlterData changes a voter's data, and nobody notices.
	AlterData
	// FillSlowly writes nearly as much as Fill, after which clients write seldom for a while:
	// somebody has the time to read a warning.
	FillSlowly

	numFaults
)

var faultNames = [numFaults]string{
	"KillContainer", "HoldContainer", "DeletePod", "ForceDeletePod", "FinishPod", "DrainPod", "StopNode", "CutNode",
	"SilenceNode", "LoseNode", "WipeDisk", "WipeWhileDown", "WipeSeed", "DeleteUserClaim", "CorruptDisk", "StarveMember",
	"EditStorage", "EditPolicy", "Recreate", "LoseMajority", "BringBack", "WantSurvivor", "KillLearner", "KillLeader",
	"MoveAway", "LeadLeaving", "SlowMember", "PartitionPeers", "PartitionOperator", "Fill", "CorruptMember", "CorruptSomebody",
	"CrashOperator", "StallOperator", "TearCall", "LoseReply", "FailCall", "RepeatCall", "LateCall", "SecondOperator",
	"SlowAnswers", "LagPods", "LagClaims", "LagStatus", "EditSize", "Pause", "EditVersion", "EditRepository", "EnableAuth",
	"LackCredentials", "EditTemplate", "AskRestart", "AskDefragment", "AskLeader", "Cordon", "Uncordon", "NameConflict", "Restore", "EraseFence",
	"OldMarks", "DeleteCluster", "Unschedulable", "ImageTrouble", "SlowAddress", "ChangeLearners", "PassTime",
	"LackCertificates", "SpoilCertificates", "RotateCA", "RefusePods", "RefuseClaims",
	"AddByHand", "ChangePeerURL", "AlterData", "FillSlowly",
}

func (k FaultKind) String() string { return faultNames[k] }

// maxTargetWait is for how many steps a fault waits for a target.
const maxTargetWait = 80

// RandomFaults is the schedule of faults of a seed, in order of steps.
func RandomFaults(cfg Config, seed int64) []Fault {
	r := newRandom(uint64(seed), 2)
	kinds := cfg.Kinds
	if kinds == nil {
		for k := range numFaults {
			kinds = append(kinds, k)
		}
	}
	if len(kinds) == 0 {
		return nil
	}
	var faults []Fault
	for range cfg.Faults {
		f := Fault{Step: r.below(cfg.Steps), Kind: kinds[r.below(len(kinds))], A: r.below(1000), B: r.below(1000), For: pick(&r, 3, 10, 30, 60, 120)}
		// Half of the faults come close upon another.
		if len(faults) > 0 && r.chance(50) {
			f.Step = min(cfg.Steps-1, faults[r.below(len(faults))].Step+r.below(12))
		}
		// An EtcdCluster is deleted once at most, and rarely.
		if f.Kind == DeleteCluster && !r.chance(20) {
			f.Kind = KillContainer
		}
		faults = append(faults, f)
	}
	slices.SortStableFunc(faults, func(a, b Fault) int { return a.Step - b.Step })
	return faults
}

// startFaults begins those that are due, and those that waited for a target.
func (w *world) startFaults() {
	for w.next < len(w.faults) && w.faults[w.next].Step <= w.step {
		w.armed = append(w.armed, w.faults[w.next])
		w.next++
	}
	w.armed = slices.DeleteFunc(w.armed, func(f Fault) bool {
		if w.step > f.Step+maxTargetWait {
			return true
		}
		if !w.inject(f) {
			return false
		}
		w.stats.Faults[f.Kind]++
		w.disturbed++
		return true
	})
	// What lasts and is over.
	if w.cluster.paused && !w.during(Pause) {
		w.say("the user unpauses")
		w.edit(func(c *etcdCluster) { c.paused = false })
	}
}

// stopFaults ends everything that lasts; what is lost stays lost.
func (w *world) stopFaults() {
	w.say("faults stop")
	w.faults, w.next, w.armed = nil, 0, nil
	w.until = [numFaults]int{}
	w.learners = w.cfg.Learners
	for i := range w.nodes {
		w.nodes[i].off, w.nodes[i].silent, w.nodes[i].cut = 0, 0, 0
	}
	for _, r := range w.runs {
		r.due, r.oomUntil = min(r.due, w.now+longestBackoff), 0
	}
	for _, r := range w.restores {
		r.until = 0
	}
	w.stopRestorers()
	w.makeRoom()
	w.dropSpoiltCA()
	for _, op := range w.operators {
		op.cutOffUntil, op.stalledUntil, op.deadUntil, op.mishap = 0, 0, 0, numFaults
	}
	if w.adoptAt > 0 {
		w.adoptAt = w.step
	}
	if w.bornAt > 0 {
		w.bornAt = w.step
	}
	w.edit(func(c *etcdCluster) {
		c.paused, c.wanted = false, w.finalVersion()
		if c.repository == badRepository {
			c.repository = goodRepository
		}
		if badTemplate(c.template) {
			c.template = goodTemplate
		}
	})
	w.uncordonForRoom()
	w.say("the user wants version %s", w.cluster.wanted)
	w.disturbed++
}
