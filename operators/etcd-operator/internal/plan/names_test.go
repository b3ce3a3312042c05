package plan

import (
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/bootstrap"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/status"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

// Limits that the tables are about.
const (
	aParagraph    = status.AParagraph
	damageExits   = facts.DamageExits
	emptyFor      = facts.EmptyFor
	fastPoll      = step.FastPoll
	firstAttempt  = bootstrap.FirstAttempt
	firstPause    = facts.FirstPause
	idle          = step.Idle
	landing       = facts.Landing
	longestPause  = facts.LongestPause
	maxLag        = facts.MaxLag
	maxRejections = facts.MaxRejections
	newPodAge     = facts.NewPodAge
	next          = step.AtOnce
	oldPodAge     = facts.OldPodAge
	routeLag      = step.RouteLag
	settleTime    = facts.SettleTime
	shortly       = step.Shortly
	slowly        = step.Slowly
	strandedAge   = facts.StrandedAge
)

var (
	newView     = facts.NewView
	nextVersion = facts.NextVersion
)
