package simulate

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
)

// S9, S11: what counts of a Pod that no list shows is the last look at it.
func TestTheLastLookCounts(t *testing.T) {
	notFound := apierrors.NewNotFound(corev1.Resource("pods"), "c-a")
	for name, row := range map[string]struct {
		reads  []error
		reason string
		broken string
	}{
		"never there":      {[]error{notFound}, "its name is free", ""},
		"gone since":       {[]error{nil, notFound}, "it was deleted between the two looks", ""},
		"there":            {[]error{nil}, "a label was taken from it, and the member is not gone", "S9"},
		"back at the last": {[]error{notFound, nil}, "another operator has created it", "S9"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(Config{Meddles: 1}, 1, nil, nil)
			op := newOperator(w, "a")
			op.todo = &todo{decision: plan.Decision{Action: action.CreatePods{Pods: []action.NewPod{{Name: "c-a"}}}}}
			s := &shipped{w: w, op: op}
			s.looks.base = w.cluster
			_ = s.carry("listing *v1.PartialObjectMetadataList", func() error { return nil })
			for _, err := range row.reads {
				_ = s.carry("reading *v1.Pod c-a", func() error { return err })
			}
			_ = s.carry("reading *v1beta2.EtcdCluster c", func() error { return nil })
			_ = s.carry("creating Pod c-a", func() error {
				w.pods = append(w.pods, &pod{name: "c-a", uid: "u1", object: &corev1.Pod{}})
				return nil
			})
			broken := ""
			if w.broken != nil {
				broken = w.broken.invariant
			}
			if broken != row.broken {
				t.Errorf("%q is broken, want %q: %s", broken, row.broken, row.reason)
			}
		})
	}
}
