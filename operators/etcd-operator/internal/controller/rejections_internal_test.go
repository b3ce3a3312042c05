package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// A Pod that was refused, and is there all the same, was created later, beside another one
// that failed. Its name must not be taken for one that nobody has had (S7).
func TestThePodThatIsSeenIsNotRefused(t *testing.T) {
	c := &v1beta2.EtcdCluster{}
	c.UID = types.UID("c")
	pod := facts.Rejection{Kind: facts.CreatingPods, Role: facts.Joiner, Name: "c-a"}
	returning := facts.Rejection{Kind: facts.CreatingPods, Role: facts.Returning, Name: "c-b"}
	service := facts.Rejection{Kind: facts.ApplyBudget, Name: "c-a"}
	var r rejections
	r.set(c, []facts.Rejection{pod, returning, service})
	if diff := cmp.Diff([]facts.Rejection{pod, returning, service}, r.seen(c, []facts.Pod{{Name: "c-z"}})); diff != "" {
		t.Errorf("no such Pod is there (-want +got):\n%s", diff)
	}
	want := []facts.Rejection{returning, service}
	if diff := cmp.Diff(want, r.seen(c, []facts.Pod{{Name: "c-a"}})); diff != "" {
		t.Errorf("the Pod is there (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, r.seen(c, nil)); diff != "" {
		t.Errorf("the Pod is gone again (-want +got):\n%s", diff)
	}
}
