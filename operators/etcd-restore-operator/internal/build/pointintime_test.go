package build

import (
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/plan"
)

// Both who verifies and who restores are told the revision.
func TestTasksHaveTheRevision(t *testing.T) {
	r, c := restore(t, "s3.restore.yaml"), cluster(t, "s3.restore.yaml")
	r.Spec.Revision, r.Spec.LeasedKeys, r.Spec.Prefixes = 42, v1beta2.LeasedKeysKeep, []string{"app/"}
	seed := seedTask(r, c, plan.CreateSeed{Name: "seed", Source: sourceOf(r), Want: &v1beta2.RestoreSnapshot{Revision: 50, OldestRevision: 7, Hash: v1beta2.HashEqual}})
	if verify := newTask(r, sourceOf(r)); verify.Revision != 42 || seed.Revision != 42 || !seed.KeepLeasedKeys {
		t.Errorf("the tasks are %+v and %+v", verify, seed)
	}
	if verify := newTask(r, sourceOf(r)); len(verify.Prefixes) != 1 || len(seed.Prefixes) != 1 {
		t.Errorf("the tasks restore %q and %q", verify.Prefixes, seed.Prefixes)
	}
	if w := seed.Want; w.Revision != 50 || w.OldestRevision != 7 || w.Hash != "Equal" {
		t.Errorf("the seed is to restore %+v", w)
	}
	r.Spec.LeasedKeys = v1beta2.LeasedKeysDrop
	if newTask(r, sourceOf(r)).KeepLeasedKeys {
		t.Error("keys without their lease are kept")
	}
}
