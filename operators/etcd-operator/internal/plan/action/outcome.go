package action

// Outcome is what a Decision means for the cluster. Code asks for it, and never for the
// reason or the message: those are for people.
type Outcome int

const (
	// InProgress: the operator acts, or waits for what it has begun.
	InProgress Outcome = iota
	// UpToDate: there is nothing to do.
	UpToDate
	// NoQuorum: the operator waits until a quorum serves again.
	NoQuorum
	// Deleting: the EtcdCluster is being deleted.
	Deleting
	// Rejected: the API server refuses a step, which is retried (see Rejection).
	Rejected
	// AwaitsUser: one thing waits for the user, and everything else goes on.
	AwaitsUser
	// NoCertificate: a certificate is missing or invalid, and nothing goes on without it.
	NoCertificate
	// Unauthorized: etcd's authentication refuses the operator.
	Unauthorized
	// QuorumLost: the data of a majority is lost.
	QuorumLost
	// Paused: spec.paused is true.
	Paused
	// Untouchable: the cluster is a restore's or the archived operator's, or is not supported.
	Untouchable
	// Conflicting: objects of others have the names that the cluster needs.
	Conflicting
	// Existed: something is left of an earlier cluster of this name.
	Existed
)

// Announcement is whether a carried out action gets an event.
type Announcement int

const (
	// ByKind: as it is for the kind of the action (see IsStep).
	ByKind Announcement = iota
	// Announced: it gets one.
	Announced
	// Unannounced: it gets none, because another action's event tells of it.
	Unannounced
)

// AwaitsUser reports whether nothing more happens until somebody else acts.
func (o Outcome) AwaitsUser() bool { return o >= Rejected }

// IsDegraded reports whether the operator cannot do its work at all.
func (o Outcome) IsDegraded() bool {
	switch o {
	case NoCertificate, Unauthorized, QuorumLost, Untouchable, Conflicting, Existed:
		return true
	case InProgress, UpToDate, NoQuorum, Deleting, Rejected, AwaitsUser, Paused:
	}
	return false
}

// SkipsChildren reports whether not even Services may be touched.
func (o Outcome) SkipsChildren() bool {
	switch o {
	case Deleting, Paused, Untouchable, Conflicting, Existed:
		return true
	case InProgress, UpToDate, NoQuorum, Rejected, AwaitsUser, NoCertificate, Unauthorized, QuorumLost:
	}
	return false
}
