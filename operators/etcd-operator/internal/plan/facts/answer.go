package facts

import (
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Answer is what one member said when asked at Observation.Now. The zero Answer
// is that of a Pod that could not be reached, which says nothing of whether it
// lives (S9).
type Answer struct {
	// Waiting is true when the launcher answered in place of etcd: there is no
	// data in the data dir, and it waits for a Grant with an Attempt above Attempt.
	Waiting bool
	Attempt int
	// Identified is true if it said that it is this Pod's launcher, which one of an earlier
	// release does not. Waited is for how long it had found no data then, by its own clock.
	Identified bool
	Waited     time.Duration
	// Blocked says in words why nothing can be heard of the member although something
	// answered: another Pod did, or its own launcher refuses to start etcd on data that is
	// not the member's. Nothing else is set then.
	Blocked string
	// Refusing is true if the Pod's own launcher reports that it does not start etcd on the data on its disk.
	Refusing bool
	// Trouble says why etcd could not be asked, in words that stay the same as long as
	// the cause does, such as "connection refused"; empty if it was not tried.
	Trouble string
	// Reached is true when etcd itself answered; what follows is set only then.
	Reached   bool
	ClusterID uint64
	MemberID  uint64
	// Leader is the member id of the leader that it knows; 0 if none.
	Leader uint64
	// Term is raft's term, Committed the index of the last entry that it knows to be
	// committed, Applied the last applied index, Revision the store's.
	Term      uint64
	Committed uint64
	Applied   uint64
	Revision  int64
	Learner   bool
	// Version is the server's, without a leading v.
	Version string
	// ClusterVersion is etcd's cluster version as this member has it, such as
	// "3.5.0": the minor that all members have been seen to run. Empty if it is not
	// known.
	ClusterVersion string
	// StorageVersion is that of its data, such as "3.6.0": no etcd of an earlier minor
	// starts on it. Empty if it is not told, as by etcd before 3.6.
	StorageVersion string
	// Downgrade is the version that etcd is being downgraded to by its downgrade API, such
	// as "3.5.0"; empty if it is not.
	Downgrade string
	// Errors are those that the member reports, such as "no leader".
	Errors []string
	// Alarms are all that are raised, of whatever member, as this one knows them.
	Alarms []Alarm
	// DBSize is what the member's database takes on its disk, DBSizeInUse what of it is
	// in use, and Quota what it may grow to; in bytes. Quota is 0 if it is not known, or
	// if there is none.
	DBSize, DBSizeInUse, Quota int64
	// Read is true when a linearizable read by this member succeeded: a quorum
	// answered it in this Observation. Of one that refuses it may be set although it was
	// not reached: etcd asks the quorum before it refuses.
	Read bool
	// Refused says why etcd's authentication keeps the member from telling about itself,
	// or from doing what it may be asked; empty if it does not.
	Refused Refusal
	// RefusedBecause says in words what is wrong with the credentials.
	RefusedBecause string
	// NeedsLogin: it was not reached because nobody can log in to etcd without a quorum.
	NeedsLogin bool
	// Write is what became of a write. Of the seed that a restore hands over, and of nobody
	// else, one is tried.
	Write Write
	// Members is the member list, read with linearizable consistency when Read.
	// Empty from a learner.
	Members []Member
}

// Write is what became of a write that changes no key and no revision. Neither is set if none
// was tried, or if nobody knows what became of it.
type Write struct {
	// Acknowledged is true if a quorum has acknowledged it.
	Acknowledged bool
	// Refused says in etcd's words why it was refused.
	Refused string
}

// Refusal is why etcd's authentication refuses the operator.
type Refusal string

const (
	// NoCredentials: there are none, or they can't be read.
	NoCredentials Refusal = "NoCredentials"
	// WrongCredentials: etcd knows no user of this name and password.
	WrongCredentials Refusal = "WrongCredentials"
	// NotRoot: their user does not have etcd's role root.
	NotRoot Refusal = "NotRoot"
)

// Member is an entry of etcd's member list.
type Member struct {
	ID uint64
	// Name is the name that the member has published, which is its Pod's, whatever became
	// of its peer URL. Before it has started, it is the name in its peer URL.
	Name    string
	Learner bool
	// Started is true once the member has published itself: it has had data.
	Started bool
	// Foreign is true of a member that the operator did not make: neither the name that it
	// published nor its peer URL is one that the operator gives.
	Foreign bool
	// At are the member's peer URLs, with commas between, if they are not the one that the
	// operator gives to a member of its name; empty if they are.
	At string
}

// PeerURLs are those of a member that has others than the operator gives.
type PeerURLs struct{ Name, At string }

// hasRoom reports whether a member's database is well below its quota.
func hasRoom(a *Answer) bool { return a.Quota > 0 && a.DBSize <= a.Quota/100*RoomyPercent }

// FreePercent is how much of a member's database is free space.
func (a *Answer) FreePercent() int64 {
	if a.DBSize < 100 {
		return 0
	}
	return (a.DBSize - a.DBSizeInUse) / (a.DBSize / 100)
}

// Kind is the condition, and the reason, that says what a refusal is about.
func (a *Answer) Kind() string {
	if a.Refused == NoCredentials {
		return v1beta2.ClusterReasonCredentialsMissing
	}
	return v1beta2.ClusterReasonCredentialsInvalid
}

// IsUnmanaged reports whether a member is not the operator's to remove: it did not make it,
// or not at the peer URL that the member has.
func (m Member) IsUnmanaged() bool { return m.Foreign || m.At != "" }
