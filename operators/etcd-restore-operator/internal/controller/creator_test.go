package controller_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/controller"
	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/creator"
)

// An EtcdRestore that makes an EtcdCluster is refused while no policy checks its creator: where
// the operator is installed with nothing but its Role, and again when the policy is removed.
// What is restored in place needs none.
func TestCreatorNotChecked(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	b := newBench(t, func(r *controller.Reconciler) {
		r.Creators.Trusted = false
		r.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	byTemplate := func(e *v1beta2.EtcdRestore) {
		e.Spec.EtcdCluster = nil
		e.Spec.ClusterTemplate = &v1beta2.ClusterTemplate{Spec: v1beta2.ClusterSpec{Size: 1, Version: "3.6.16"}}
	}
	refused := func(name, why string, change func(*v1beta2.EtcdRestore)) {
		t.Helper()
		e := b.restore(name, change)
		b.untilPhase(e, v1beta2.RestoreFailed)
		if s := e.Status.Reason; !strings.HasPrefix(s, "CreatorNotChecked: ") || !strings.Contains(s, why) || !strings.Contains(s, "kubectl apply -k deploy/etcd-restore-operator/crd") {
			t.Errorf("EtcdRestore %s: %s", name, s)
		}
		b.wantEvents(e, "CreatorNotChecked")
	}
	const right = "the operator has no permission to read ValidatingAdmissionPolicyBinding etcdrestores.etcd.database.coreos.com"
	ahead.Store(int64(2 * time.Minute)) // an API server would know of the right by then
	refused("by-template", right, byTemplate)
	c := b.cluster("x")
	refused("copy", right, func(e *v1beta2.EtcdRestore) { e.Spec.EtcdCluster.Name, e.Spec.Target = "x", v1beta2.TargetNew })
	ahead.Store(0)
	inPlace := b.restore("x")
	b.complete(inPlace)
	b.wantRestored(inPlace, c)

	admissiontest.Applies(t, "../../../..", []string{"-k", "deploy/etcd-restore-operator/crd"})
	b.complete(b.restore("checked", byTemplate))

	apiservertest.Delete(t, b.client, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: creator.RestorePolicy}})
	refused("again", "does not exist", byTemplate)
}
