package plan

import (
	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// problemOutcome is the outcome of waiting for certificates.
func problemOutcome(p facts.CertificateProblem) action.Outcome {
	if p == facts.CertificatesPending {
		return action.InProgress
	}
	return action.NoCertificate
}

// onlyExplained are the conditions that are there only while a step explains them.
var onlyExplained = []string{v1beta2.ConditionNameConflict, v1beta2.ConditionVersionUnsupported}
