package controller_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/controller"
	"github.com/etcd-operators/etcd-operators/shared/kubectltest"
)

// What kubectl shows of a restore that waits for its user's consent: the members have no
// volumes to return to.
func TestKubectl(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(r *controller.Reconciler) { r.Events = kubectltest.Recorder(t, "etcd-restore-operator") })
	b.cluster("example", func(c *v1beta2.EtcdCluster) { c.Spec.Pod = nil })
	e := b.restore("example")
	b.until(e, "the restore to wait", func(s *v1beta2.RestoreStatus) bool {
		c := meta.FindStatusCondition(s.Conditions, v1beta2.ConditionComplete)
		return c != nil && c.Reason == v1beta2.RestoreReasonDataLossNotAccepted
	})
	b.wantEvents(e, v1beta2.RestoreReasonDataLossNotAccepted)
	kubectltest.Golden(t, "restore-waiting", "etcdrestore", e)
}
