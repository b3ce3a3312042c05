package job

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/shared/manifesttest"
)

// The EtcdRestore that verifies a backup is as the golden file says, and shares nothing with the
// EtcdBackup.
func TestVerification(t *testing.T) {
	for _, file := range manifesttest.Files(t, "verification") {
		t.Run(file, func(t *testing.T) {
			b := backup(t, file)
			before := b.DeepCopy()
			r := Verification(b, plan.StartVerification{Name: "example-verification", Backup: "example-1", Revision: 90})
			manifesttest.Golden(t, file, "verification", r)
			r.Spec.Pod.NodeSelector["x"], r.Spec.Pod.Tolerations[0].Key, r.Spec.Pod.Env[0].Value = "x", "x", "x"
			if diff := cmp.Diff(before, b); diff != "" {
				t.Errorf("the EtcdBackup was changed:\n%s", diff)
			}
		})
	}
}
