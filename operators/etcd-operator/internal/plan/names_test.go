package plan

import (
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// Limits that the tables are about.
const (
	damageExits   = facts.DamageExits
	emptyFor      = facts.EmptyFor
	firstPause    = facts.FirstPause
	landing       = facts.Landing
	longestPause  = facts.LongestPause
	maxLag        = facts.MaxLag
	maxRejections = facts.MaxRejections
	newPodAge     = facts.NewPodAge
	oldPodAge     = facts.OldPodAge
	settleTime    = facts.SettleTime
	strandedAge   = facts.StrandedAge
)

var (
	newView     = facts.NewView
	nextVersion = facts.NextVersion
)
