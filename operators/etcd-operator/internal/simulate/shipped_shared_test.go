package simulate

import (
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
)

// TestShared: an object that is made of the same is the same, and one that a reader changes is found.
func TestShared(t *testing.T) {
	const seed = 32 // in which shared objects are checked
	w := newWorld(shippedConfig(seed), seed, plan.Plan, nil)
	first := w.object(&w.cluster)
	next := w.cluster
	next.version++
	if other := w.object(&next); other == first || other.ResourceVersion == first.ResourceVersion {
		t.Error("another version of the EtcdCluster is the same object")
	}
	if w.object(&w.cluster) != first {
		t.Error("the same EtcdCluster is another object")
	}
	w.checkShared()
	if w.broken != nil {
		t.Fatal(w.broken.message)
	}
	first.Annotations["changed"] = "in place"
	for range sharedFor { // it is checked when others take its place, too
		next.version++
		w.object(&next)
	}
	if w.broken == nil || !strings.Contains(w.broken.message, "was changed in place") {
		t.Errorf("a change in place is not found: %v", w.broken)
	}
}
