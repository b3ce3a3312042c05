package simulate

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
)

// What a volume is like is judged while a member has it: one that a restore has retired, and that
// stays because its EtcdRestore was deleted, is its user's.
func TestRetiredVolumesAreNotJudged(t *testing.T) {
	w := formed(t, func(c *Config) { c.Retain = true })
	for _, c := range w.claims {
		c.retained, c.version, c.requested, c.capacity = true, w.cluster.current, w.cluster.storage, w.cluster.storage
	}
	old := &claim{disk: &disk{}}
	old.name, old.retained, old.version, old.capacity, old.requested = "c-old", true, "3.4.0", w.cluster.storage-1, w.cluster.storage-1
	w.claims = append(w.claims, old)
	if w.volumesWrong() == "" || w.restOutcome() != action.AwaitsUser {
		t.Errorf("a member's volume that is too small, of another version: %q, %v", w.volumesWrong(), w.restOutcome())
	}
	old.retired = "r0"
	if w.volumesWrong() != "" || w.restOutcome() != action.UpToDate {
		t.Errorf("a volume that is retired: %q, %v", w.volumesWrong(), w.restOutcome())
	}
}

// A kubelet reports the container of a Pod that has ended as it did before.
func TestEndedPodsKeepTheirContainer(t *testing.T) {
	w := formed(t, func(*Config) {})
	p := w.pods[0]
	p.object = &corev1.Pod{}
	before := observe.ContainerID(w.podObject(p))
	w.finishPod(p)
	if after := observe.ContainerID(w.podObject(p)); before == "" || after != before {
		t.Errorf("the container was %q, and is %q after its Pod has ended", before, after)
	}
}
