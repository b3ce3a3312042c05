package plan

import (
	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

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
	// ByKind: as it is for the kind of the action (see steps).
	ByKind Announcement = iota
	// Announced: it gets one.
	Announced
	// Unannounced: it gets none, because another action's event tells of it.
	Unannounced
)

// AwaitsUser reports whether nothing more happens until somebody else acts.
func (o Outcome) AwaitsUser() bool { return o >= Rejected }

// isDegraded reports whether the operator cannot do its work at all.
func (o Outcome) isDegraded() bool {
	switch o {
	case NoCertificate, Unauthorized, QuorumLost, Untouchable, Conflicting, Existed:
		return true
	case InProgress, UpToDate, NoQuorum, Deleting, Rejected, AwaitsUser, Paused:
	}
	return false
}

// skipsChildren reports whether not even Services may be touched.
func (o Outcome) skipsChildren() bool {
	switch o {
	case Deleting, Paused, Untouchable, Conflicting, Existed:
		return true
	case InProgress, UpToDate, NoQuorum, Rejected, AwaitsUser, NoCertificate, Unauthorized, QuorumLost:
	}
	return false
}

// as gives a step its outcome.
func (s *step) as(o Outcome) *step {
	s.outcome = o
	return s
}

// explains has a condition take over the reason and the message of the step.
func (s *step) explains(condition string) *step {
	s.explained = condition
	return s
}

// inBrief says in a few words what the message says in many.
func (s *step) inBrief(said string) *step {
	s.brief = facts.SeeAvailable(said)
	return s
}

// untilCertified marks a step that waits for what the condition CertificatesReady reports.
func (s *step) untilCertified() *step {
	s.awaitsCertificates = true
	return s
}

// announced gives an action an event that its kind gets not as a rule.
func (s *step) announced() *step {
	s.announcement = Announced
	return s
}

// unannounced takes the event from an action.
func (s *step) unannounced() *step {
	s.announcement = Unannounced
	return s
}

// problemOutcome is the outcome of waiting for certificates.
func problemOutcome(p facts.CertificateProblem) Outcome {
	if p == facts.CertificatesPending {
		return InProgress
	}
	return NoCertificate
}

// onlyExplained are the conditions that are there only while a step explains them.
var onlyExplained = []string{v1beta2.ConditionNameConflict, v1beta2.ConditionVersionUnsupported}
