package plan

import (
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/bootstrap"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/maintenance"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/membership"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/recovery"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/rollout"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/status"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

// Limits that the tables are about.
const (
	aParagraph      = status.AParagraph
	comparisonPause = maintenance.ComparisonPause
	damageExits     = facts.DamageExits
	emptyFor        = facts.EmptyFor
	entriesPerStep  = rollout.EntriesPerStep
	fastPoll        = step.FastPoll
	firstAttempt    = bootstrap.FirstAttempt
	firstPause      = facts.FirstPause
	idle            = step.Idle
	joinTogether    = membership.JoinTogether
	landing         = facts.Landing
	longestPause    = facts.LongestPause
	maxLag          = facts.MaxLag
	maxRejections   = facts.MaxRejections
	maxRevision     = recovery.MaxRevision
	minBump         = recovery.MinBump
	mostEntries     = rollout.MostEntries
	newPodAge       = facts.NewPodAge
	next            = step.AtOnce
	oldPodAge       = facts.OldPodAge
	recheckPause    = maintenance.RecheckPause
	routeLag        = step.RouteLag
	settleTime      = facts.SettleTime
	shortly         = step.Shortly
	slowly          = step.Slowly
	snapshotCount   = rollout.SnapshotCount
	standTime       = recovery.StandTime
	strandedAge     = facts.StrandedAge
)

var newView = facts.NewView
