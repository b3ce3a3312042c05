// The names by which the other packages know what stands in the packages below. They are
// removed one by one as those packages are changed.

package plan

import (
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

type (
	AlarmKind          = facts.AlarmKind
	Alarm              = facts.Alarm
	Consistency        = facts.Consistency
	Comparison         = facts.Comparison
	Maintenance        = facts.Maintenance
	Defragmented       = facts.Defragmented
	Observation        = facts.Observation
	Backup             = facts.Backup
	Cluster            = facts.Cluster
	Fence              = facts.Fence
	Bootstrap          = facts.Bootstrap
	Recovery           = facts.Recovery
	Role               = facts.Role
	Pod                = facts.Pod
	StartPermit        = facts.StartPermit
	Exit               = facts.Exit
	Claim              = facts.Claim
	Expansion          = facts.Expansion
	Retained           = facts.Retained
	Answer             = facts.Answer
	Write              = facts.Write
	Refusal            = facts.Refusal
	Member             = facts.Member
	PeerURLs           = facts.PeerURLs
	Rejection          = facts.Rejection
	Growth             = facts.Growth
	TLS                = facts.TLS
	CertificateProblem = facts.CertificateProblem
)

const (
	NoSpace             = facts.NoSpace
	Corrupt             = facts.Corrupt
	ApplyService        = facts.ApplyService
	ApplyBudget         = facts.ApplyBudget
	DeleteBudget        = facts.DeleteBudget
	LabelMembers        = facts.LabelMembers
	KeepBudget          = facts.KeepBudget
	NoBudget            = facts.NoBudget
	Seed                = facts.Seed
	Joiner              = facts.Joiner
	Returning           = facts.Returning
	Learner             = facts.Learner
	Voter               = facts.Voter
	Leaving             = facts.Leaving
	Restarting          = facts.Restarting
	Defragmenting       = facts.Defragmenting
	Survivor            = facts.Survivor
	ExpansionUnknown    = facts.ExpansionUnknown
	ExpansionAllowed    = facts.ExpansionAllowed
	ExpansionRefused    = facts.ExpansionRefused
	NoCredentials       = facts.NoCredentials
	WrongCredentials    = facts.WrongCredentials
	NotRoot             = facts.NotRoot
	CertificatesMissing = facts.CertificatesMissing
	CertificatesInvalid = facts.CertificatesInvalid
	CertificatesPending = facts.CertificatesPending
)

var (
	AcceptChildren = facts.AcceptChildren
	Reject         = facts.Reject
)
