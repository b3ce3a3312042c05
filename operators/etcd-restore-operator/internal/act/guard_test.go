package act

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// Whatever a planner asks for, an EtcdRestore that only verifies touches no cluster, not
// even one that is left to it.
func TestActRefusesForVerifyOnly(t *testing.T) {
	f := newFixture(t)
	pod, claim := f.pod("x-a"), f.claim("x-a", false)
	e, o := f.observed()
	e.Spec.VerifyOnly, o.Restore.Spec.VerifyOnly = true, true
	before := f.state()
	for _, a := range []plan.Action{
		plan.AddFinalizer{}, plan.CreateCluster{}, plan.DeleteCluster{UID: string(f.cluster.UID)}, plan.AskFence{}, plan.WithdrawFence{},
		plan.StopPods{Pods: []plan.Ref{refOf(pod)}}, plan.RetireClaims{Claims: []plan.Ref{refOf(claim)}}, plan.CreateSeedClaim{Name: "x-s"}, f.createSeed(),
		plan.DeleteSeed{Ref: refOf(pod)}, plan.DeleteSeedClaim{Ref: refOf(claim)}, plan.LiftFence{}, plan.DeleteRetired{Claims: []plan.Ref{refOf(claim)}},
	} {
		err := f.a.Act(apiservertest.Context(t), e, o, a)
		if err == nil || !strings.Contains(err.Error(), "only verifies") {
			t.Errorf("%s: %v, want a refusal", a.Kind(), err)
		}
	}
	if diff := cmp.Diff(before, f.state()); diff != "" {
		t.Errorf("something was touched (-before +after):\n%s", diff)
	}
}
