//go:build simulation

package simulated

import "github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/act"

// Precondition is one of the operator's act.
type Precondition = act.Precondition

// Omit leaves a precondition out; empty for none.
func Omit(p Precondition) { act.Omitted = p }

// Refusals counts how often each precondition has failed.
func Refusals() map[Precondition]int { return act.Refusals }
