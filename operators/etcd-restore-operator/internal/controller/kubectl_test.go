package controller_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/controller"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/kubectltest"
)

// What kubectl shows of a restore that waits for its user's consent: the members have no
// volumes to return to.
func TestKubectl(t *testing.T) {
	t.Parallel()
	var cached client.Reader
	b := newBench(t, func(r *controller.Reconciler) {
		r.Events, cached = kubectltest.Recorder(t, "etcd-restore-operator"), r.Client
	})
	b.cluster("example", func(c *v1beta2.EtcdCluster) { c.Spec.Pod = nil })
	// Before the operator sees that they serve it goes on, and waits later.
	etcdtest.Eventually(t, "the operator to see that the members serve", func() error {
		var pods corev1.PodList
		if err := cached.List(apiservertest.Context(t), &pods, client.InNamespace(b.namespace)); err != nil {
			return err
		}
		if n := len(slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return !ready(&p) })); n < 3 {
			return fmt.Errorf("%d Pods are ready", n)
		}
		return nil
	})
	e := b.restore("example")
	b.until(e, "the restore to wait", func(s *v1beta2.RestoreStatus) bool {
		c := meta.FindStatusCondition(s.Conditions, v1beta2.ConditionComplete)
		return c != nil && c.Reason == v1beta2.RestoreReasonDataLossNotAccepted
	})
	b.wantEvents(e, v1beta2.RestoreReasonDataLossNotAccepted)
	kubectltest.Golden(t, "restore-waiting", "etcdrestore", e)
}
