package launcher

import "fmt"

// Reason says why a [Decision] is what it is; it is also the log's value.
type Reason string

const (
	// ReasonHasWAL means that etcd goes on with the write-ahead log that it finds.
	ReasonHasWAL Reason = "HasWAL"
	// ReasonPermitted means that there is no log, and an unused permit.
	ReasonPermitted Reason = "Permitted"
	// ReasonRestored means that there is no log in the data dir, and that a restore's start
	// permit is given for what was prepared beside it.
	ReasonRestored Reason = "Restored"
	// ReasonNotItsTurn means that there is an unused permit, and that those which
	// it says are to start first do not answer yet.
	ReasonNotItsTurn Reason = "NotItsTurn"
	// ReasonStartedBefore means that there is an unused permit, and that a member says
	// that this one has started before: its data is gone.
	ReasonStartedBefore Reason = "StartedBefore"
	// ReasonNoPermit means that there is no log and no permit yet.
	ReasonNoPermit Reason = "NoPermit"
	// ReasonNotPrepared means that there is no log in the data dir, and that a restore's seed
	// has nothing that could become it.
	ReasonNotPrepared Reason = "NotPrepared"
	// ReasonPermitUsed means that the permit was used by an earlier start, whose
	// data is gone or never came to be.
	ReasonPermitUsed Reason = "PermitUsed"
	// ReasonForeignData means that there is a log, and that it is not known to be this
	// member's: etcd is not started on it.
	ReasonForeignData Reason = "ForeignData"
	// ReasonPermitInvalid means that what the annotation holds cannot be used.
	ReasonPermitInvalid Reason = "PermitInvalid"
)

// Member is the identity that a launcher starts etcd under.
type Member struct {
	Name    string // etcd's --name
	PeerURL string // its one --initial-advertise-peer-urls
}

// Decision is what the launcher does next.
type Decision struct {
	// Exec is true when etcd is to be started now, false to wait.
	Exec bool
	// Use is the permit's attempt, to be recorded before etcd starts;
	// 0 when no permit is needed.
	Use int64
	// Flags are added to etcd's.
	Flags []string
	// After are the peer URLs that are to answer first, for a while.
	After []string
	// Peers are the peer URLs of the members to join, which are asked whether this one has
	// started before.
	Peers []string
	// CatchUp makes the start one that only catches up with the cluster, and after
	// which the launcher decides again.
	CatchUp bool
	// Publish makes what a restore has prepared the data dir before etcd starts.
	Publish bool
	// Refuse is true when there is a log, and it is not known to be this member's.
	Refuse bool

	Reason  Reason
	Message string
}

// Decide is the whole of the launcher's judgement, free of I/O. hasWAL is what
// [HasWAL] returned, used is the attempt of the last permit used (0 for none),
// and permit, permitErr are what [ParseStartPermit] returned.
func Decide(m Member, hasWAL bool, used int64, permit *StartPermit, permitErr error) Decision {
	if hasWAL {
		return Decision{
			Exec: true, Reason: ReasonHasWAL,
			// With a log, etcd (3.4 to 3.7) reads none of these. They are for the
			// one case left: the log vanishes before etcd looks. Then "existing"
			// with nobody else to ask makes it exit instead of founding a cluster.
			Flags:   startFlags(m.Name+"="+m.PeerURL, StateExisting, ""),
			Message: "the data dir holds a write-ahead log",
		}
	}
	if permitErr != nil {
		return wait(ReasonPermitInvalid, permitErr.Error())
	}
	if permit == nil {
		return wait(ReasonNoPermit, "no write-ahead log in the data dir: waiting for a start permit")
	}
	if err := permit.Validate(m.Name, m.PeerURL); err != nil {
		return wait(ReasonPermitInvalid, fmt.Sprintf("the start permit of attempt %d cannot be used: %v", permit.Attempt, err))
	}
	if permit.Attempt <= used {
		return wait(ReasonPermitUsed, fmt.Sprintf("no write-ahead log in the data dir, and the start permit of attempt %d was used up by attempt %d", permit.Attempt, used))
	}
	return Decision{
		Exec: true, Use: permit.Attempt, Reason: ReasonPermitted,
		Flags:   startFlags(permit.InitialCluster, permit.State, permit.Token),
		After:   permit.After,
		Peers:   permit.others(m.Name),
		CatchUp: permit.CatchUp,
		Message: fmt.Sprintf("attempt %d, state %s", permit.Attempt, permit.State),
	}
}

func wait(r Reason, message string) Decision {
	return Decision{Reason: r, Message: message}
}

func startFlags(initialCluster string, state StartState, token string) []string {
	flags := []string{
		"--initial-cluster=" + initialCluster,
		"--initial-cluster-state=" + string(state),
	}
	if token != "" {
		flags = append(flags, "--initial-cluster-token="+token)
	}
	return flags
}
