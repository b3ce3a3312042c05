package act

import (
	"context"
	"errors"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

// bindings is an API server that has the binding of a policy, or not, and counts who asks.
type bindings struct {
	client.Reader
	absent bool
	asked  int
}

func (b *bindings) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	b.asked++
	if b.absent {
		return errors.New("the server is down")
	}
	binding := o.(*admissionregistrationv1.ValidatingAdmissionPolicyBinding)
	binding.Spec.PolicyName, binding.Spec.ValidationActions = key.Name, []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}
	return nil
}

// The API server is asked for the policy now and then, and before each Job that rests on it.
func TestCreatorsAreAskedFor(t *testing.T) {
	live := &bindings{}
	creators := &observe.Creators{Policy: operator.Creators{Policy: "p"}, Live: live}
	a := &Actor{Creators: creators}
	begun := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	look := func(after time.Duration, passed bool, asked int, reason string) {
		t.Helper()
		if c := creators.Check(t.Context(), begun.Add(after)); c.Passed != passed || live.asked != asked {
			t.Errorf("%s: passed %t with %d requests, want %t with %d", reason, c.Passed, live.asked, passed, asked)
		}
	}
	look(0, true, 1, "nobody has asked yet")
	look(9*time.Minute, true, 1, "it was there a moment ago")
	look(11*time.Minute, true, 2, "it might be gone")
	look(0, true, 3, "the clock was put back: who knows when that was")

	volume := &plan.Observation{Now: begun, Backup: &v1beta2.EtcdBackup{Spec: v1beta2.BackupSpec{
		EtcdEndpoints: []string{"http://x-client:2379"}, StorageType: v1beta2.StoragePVC, PVC: &v1beta2.PVCSource{ClaimName: "backups", Path: "etcd.db"},
	}}}
	if err := a.stillChecked(t.Context(), volume); err != nil || live.asked != 4 {
		t.Errorf("before a Job: %v with %d requests", err, live.asked)
	}
	live.absent = true
	look(time.Minute, true, 4, "nobody starts anything by that")
	if err := a.stillChecked(t.Context(), volume); !errors.Is(err, ErrStale) || live.asked != 5 {
		t.Errorf("a Job is created without it: %v", err)
	}
	if err := a.Act(t.Context(), volume.Backup, volume, plan.DeleteJob{Replaced: true}); !errors.Is(err, ErrStale) || live.asked != 6 {
		t.Errorf("a Job is deleted for one that is not created without it: %v", err)
	}
	look(time.Minute, false, 7, "it is known to be gone")
	look(time.Minute, false, 8, "it might be back")

	s3 := volume.Backup.DeepCopy()
	s3.Spec.StorageType, s3.Spec.PVC, s3.Spec.S3 = v1beta2.StorageS3, nil, &v1beta2.S3Source{Path: "bucket/key"}
	if err := a.stillChecked(t.Context(), &plan.Observation{Backup: s3}); err != nil || live.asked != 8 {
		t.Errorf("a Job that does not rest on it: %v with %d requests", err, live.asked)
	}
}
