package crdtest

import (
	"path/filepath"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// What a user applies to install the operator is accepted, from a clean checkout and
// again over itself.
func TestInstallationsApply(t *testing.T) {
	admissiontest.Applies(t, repoRoot,
		[]string{"-k", "deploy/etcd-restore-operator"},
		[]string{"-k", "deploy/etcd-restore-operator"},
		[]string{"-k", "deploy/etcd-restore-operator/cluster-wide"},
	)
}

// The operator may do what it does, and nothing that it doesn't need: of what concerns
// others above all.
func TestRights(t *testing.T) {
	admissiontest.Applies(t, repoRoot, []string{"-k", "deploy/etcd-restore-operator"})
	const as = "--as=system:serviceaccount:default:etcd-restore-operator"
	const group = ".etcd.database.coreos.com"
	for _, tc := range []struct {
		verb, resource, subresource string
		may                         bool
	}{
		{verb: "patch", resource: "etcdrestores" + group, may: true},
		{verb: "update", resource: "etcdrestores" + group, subresource: "status", may: true},
		{verb: "patch", resource: "etcdclusters" + group, may: true},
		{verb: "get", resource: "etcdbackups" + group, may: true},
		{verb: "delete", resource: "persistentvolumeclaims", may: true},
		{verb: "create", resource: "pods", may: true},
		{verb: "create", resource: "jobs.batch", may: true},
		{verb: "update", resource: "leases.coordination.k8s.io", may: true},
		{verb: "get", resource: "secrets"},
		{verb: "list", resource: "secrets"},
		{verb: "get", resource: "nodes"},
		{verb: "create", resource: "services"},
		{verb: "create", resource: "pods", subresource: "exec"},
		{verb: "get", resource: "pods", subresource: "proxy"},
		{verb: "update", resource: "etcdclusters" + group, subresource: "status"},
		{verb: "patch", resource: "etcdclusters" + group, subresource: "status"},
		{verb: "patch", resource: "etcdbackups" + group},
		{verb: "delete", resource: "etcdrestores" + group},
	} {
		t.Run(tc.verb+" "+tc.resource+" "+tc.subresource, func(t *testing.T) {
			// It ends with an error if the answer is no.
			out, err := apiservertest.Kubectl(t, ".", "auth", "can-i", as, "--namespace", "default", tc.verb, tc.resource, "--subresource", tc.subresource)
			if may := err == nil; may != tc.may {
				t.Errorf("the operator may: %t, want %t: %s", may, tc.may, out)
			}
		})
	}
}

// Certificates, passwords and keys are mounted by the kubelet, where they are needed.
func TestReadsNoSecret(t *testing.T) {
	admissiontest.ReadsNoSecret(t, repoRoot, "etcd-restore-operator")
}

// Every example is accepted as it stands.
func TestExamplesApply(t *testing.T) {
	admissiontest.ExamplesApply(t, filepath.Join(repoRoot, "examples/restore*.yaml"))
}
