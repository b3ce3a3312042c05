package act_test

import (
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// S13: the seed takes the place of the old cluster only while no Pod of the old cluster can have clients. A seed
// that already has the label of a voter does not stop its own adoption.
func TestAdoptSurvivor(t *testing.T) {
	b := newBench(t)
	b.make(action.NewPod{Name: "x-s", Role: facts.Joiner}, action.NewPod{Name: "x-old", Role: facts.Joiner})
	label := func(name string) *facts.Observation {
		t.Helper()
		p := b.pod(name)
		p.Labels[v1beta2.LabelRole] = v1beta2.RoleVoter
		if err := b.client.Update(apiservertest.Context(t), p); err != nil {
			t.Fatal(err)
		}
		return b.observe()
	}
	obs := label("x-s")
	adopt := action.AdoptSurvivor{Name: "x-s", UID: podIn(obs, "x-s").UID}
	if err := b.act(obs, adopt); err != nil {
		t.Errorf("a seed with the label of a voter: %v", err)
	}
	another, gone := adopt, adopt
	another.UID, gone.Name = "other", "x-gone"
	wantStale(t, "another Pod with the seed's name", b.act(obs, another))
	wantStale(t, "a Pod that does not exist", b.act(obs, gone))
	wantStale(t, "a Pod of the old cluster with clients", b.act(label("x-old"), adopt))
}
