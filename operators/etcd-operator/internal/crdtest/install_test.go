package crdtest

import (
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
)

// What a user applies to install the operator is accepted, from a clean
// checkout and again over itself.
func TestInstallationsApply(t *testing.T) {
	admissiontest.Applies(t, repoRoot,
		[]string{"-k", "deploy/etcd-operator"},
		[]string{"-k", "deploy/etcd-operator"},
		[]string{"-k", "deploy/etcd-operator/cluster-wide"},
		[]string{"-f", "examples/predecessor-deployment.yaml"},
	)
}
