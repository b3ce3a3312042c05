package plan

import (
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// The tables of this package have the names of the packages below without these.
type (
	Action               = action.Action
	RecordBootstrap      = action.RecordBootstrap
	LatchClusterID       = action.LatchClusterID
	RecordVersion        = action.RecordVersion
	AcknowledgeFence     = action.AcknowledgeFence
	LiftFence            = action.LiftFence
	AdoptSeed            = action.AdoptSeed
	RecordSurvivor       = action.RecordSurvivor
	RevokeSurvivorPermit = action.RevokeSurvivorPermit
	AdoptSurvivor        = action.AdoptSurvivor
	DropSeed             = action.DropSeed
	EndRecovery          = action.EndRecovery
	CreatePods           = action.CreatePods
	NewPod               = action.NewPod
	SetRoles             = action.SetRoles
	PodRole              = action.PodRole
	GrantStartPermit     = action.GrantStartPermit
	RevokeStartPermits   = action.RevokeStartPermits
	PodRef               = action.PodRef
	AddLearner           = action.AddLearner
	Promote              = action.Promote
	RemoveMember         = action.RemoveMember
	TransferLeadership   = action.TransferLeadership
	EnableDowngrade      = action.EnableDowngrade
	CancelDowngrade      = action.CancelDowngrade
	AdvanceLog           = action.AdvanceLog
	ChangeImage          = action.ChangeImage
	RecreatePod          = action.RecreatePod
	DisarmAlarm          = action.DisarmAlarm
	Compact              = action.Compact
	CompareData          = action.CompareData
	RecordConsistency    = action.RecordConsistency
	BeginDefragment      = action.BeginDefragment
	AnswerLeaderRequest  = action.AnswerLeaderRequest
	Defragment           = action.Defragment
	DeletePod            = action.DeletePod
	DeleteClaim          = action.DeleteClaim
	GrowClaim            = action.GrowClaim
	KeepClaims           = action.KeepClaims
	TakeClaims           = action.TakeClaims
	ClaimRef             = action.ClaimRef
	Outcome              = action.Outcome
	Announcement         = action.Announcement
)

const (
	InProgress  = action.InProgress
	UpToDate    = action.UpToDate
	NoQuorum    = action.NoQuorum
	Deleting    = action.Deleting
	Rejected    = action.Rejected
	AwaitsUser  = action.AwaitsUser
	QuorumLost  = action.QuorumLost
	Paused      = action.Paused
	Existed     = action.Existed
	Announced   = action.Announced
	Unannounced = action.Unannounced
)

var (
	KindOf      = action.KindOf
	Records     = action.Records
	Record      = action.Record
	IsOfFence   = action.IsOfFence
	Accept      = action.Accept
	RejectedPod = action.RejectedPod
	RejectionOf = action.RejectionOf
	Effects     = action.Effects
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
	Doubtful           = facts.Doubtful
	Answer             = facts.Answer
	Write              = facts.Write
	Refusal            = facts.Refusal
	Member             = facts.Member
	PeerURLs           = facts.PeerURLs
	Rejection          = facts.Rejection
	Growth             = facts.Growth
	TLS                = facts.TLS
	Validity           = facts.Validity
	CertificateProblem = facts.CertificateProblem
)

const (
	NoSpace                = facts.NoSpace
	Corrupt                = facts.Corrupt
	ApplyService           = facts.ApplyService
	ApplyBudget            = facts.ApplyBudget
	DeleteBudget           = facts.DeleteBudget
	LabelMembers           = facts.LabelMembers
	KeepBudget             = facts.KeepBudget
	NoBudget               = facts.NoBudget
	Seed                   = facts.Seed
	Joiner                 = facts.Joiner
	Returning              = facts.Returning
	Learner                = facts.Learner
	Voter                  = facts.Voter
	Leaving                = facts.Leaving
	Restarting             = facts.Restarting
	Defragmenting          = facts.Defragmenting
	Survivor               = facts.Survivor
	ExpansionUnknown       = facts.ExpansionUnknown
	ExpansionAllowed       = facts.ExpansionAllowed
	ExpansionRefused       = facts.ExpansionRefused
	NoCredentials          = facts.NoCredentials
	WrongCredentials       = facts.WrongCredentials
	NotRoot                = facts.NotRoot
	CertificatesMissing    = facts.CertificatesMissing
	CertificatesUnreadable = facts.CertificatesUnreadable
	CertificatesInvalid    = facts.CertificatesInvalid
	CertificatesPending    = facts.CertificatesPending
)

var (
	AcceptChildren = facts.AcceptChildren
	Reject         = facts.Reject
)
