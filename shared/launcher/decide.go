package launcher

import "fmt"

// Reason says why a [Decision] is what it is; it is also the log's value.
type Reason string

const (
	// ReasonHasWAL means that etcd goes on with the write-ahead log that it finds.
	ReasonHasWAL Reason = "HasWAL"
	// ReasonGranted means that there is no log, and an unused grant.
	ReasonGranted Reason = "Granted"
	// ReasonNotItsTurn means that there is an unused grant, and that those which
	// it says are to start first do not answer yet.
	ReasonNotItsTurn Reason = "NotItsTurn"
	// ReasonStartedBefore means that there is an unused grant, and that a member says
	// that this one has started before: its data is gone.
	ReasonStartedBefore Reason = "StartedBefore"
	// ReasonNoGrant means that there is no log and no grant yet.
	ReasonNoGrant Reason = "NoGrant"
	// ReasonGrantUsed means that the grant was used by an earlier start, whose
	// data is gone or never came to be.
	ReasonGrantUsed Reason = "GrantUsed"
	// ReasonForeignData means that there is a log, and that it is not known to be this
	// member's: etcd is not started on it.
	ReasonForeignData Reason = "ForeignData"
	// ReasonGrantInvalid means that what the annotation holds cannot be used.
	ReasonGrantInvalid Reason = "GrantInvalid"
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
	// Use is the grant's attempt, to be recorded before etcd starts;
	// 0 when no grant is needed.
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

	Reason  Reason
	Message string
}

// Decide is the whole of the launcher's judgement, free of I/O. hasWAL is what
// [HasWAL] returned, used is the attempt of the last grant used (0 for none),
// and grant, grantErr are what [ParseGrant] returned.
func Decide(m Member, hasWAL bool, used int64, grant *Grant, grantErr error) Decision {
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
	if grantErr != nil {
		return wait(ReasonGrantInvalid, grantErr.Error())
	}
	if grant == nil {
		return wait(ReasonNoGrant, "no write-ahead log in the data dir, and no grant to start without one")
	}
	if err := grant.Validate(m.Name, m.PeerURL); err != nil {
		return wait(ReasonGrantInvalid, fmt.Sprintf("the grant of attempt %d cannot be used: %v", grant.Attempt, err))
	}
	if grant.Attempt <= used {
		return wait(ReasonGrantUsed, fmt.Sprintf("no write-ahead log in the data dir, and the grant of attempt %d was used up by attempt %d", grant.Attempt, used))
	}
	return Decision{
		Exec: true, Use: grant.Attempt, Reason: ReasonGranted,
		Flags:   startFlags(grant.InitialCluster, grant.State, grant.Token),
		After:   grant.After,
		Peers:   grant.others(m.Name),
		CatchUp: grant.CatchUp,
		Message: fmt.Sprintf("attempt %d, state %s", grant.Attempt, grant.State),
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
