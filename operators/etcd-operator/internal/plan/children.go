package plan

import (
	"slices"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// budgetIsRefused reports whether the PodDisruptionBudget is not what it is to be.
func budgetIsRefused(v *facts.View) bool {
	return slices.ContainsFunc(v.Noted, (*facts.Rejection).IsOfBudget)
}
