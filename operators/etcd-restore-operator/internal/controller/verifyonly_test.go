package controller_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// A restore that only verifies needs no cluster, holds no finalizer, and ends as verified
// or as failed; the one that it could restore is not touched.
func TestVerifyOnly(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.cluster("x")
	before, pods := c.DeepCopy(), b.pods(c)
	nowhere := b.restore("v", func(e *v1beta2.EtcdRestore) { e.Spec.EtcdCluster, e.Spec.VerifyOnly = nil, true })
	beside := b.restore("x", func(e *v1beta2.EtcdRestore) { e.Spec.VerifyOnly = true })
	for _, e := range []*v1beta2.EtcdRestore{nowhere, beside} {
		b.until(e, "the snapshot to be verified", func(s *v1beta2.RestoreStatus) bool {
			if len(e.Finalizers) > 0 {
				t.Errorf("the finalizers are %v", e.Finalizers)
			}
			return s.Phase == v1beta2.RestoreVerified
		})
		s := &e.Status
		if !s.Succeeded || s.Snapshot == nil || s.CompletionTime == nil || s.Cluster != "" || !meta.IsStatusConditionTrue(s.Conditions, v1beta2.ConditionComplete) || !meta.IsStatusConditionTrue(s.Conditions, v1beta2.ConditionVerified) {
			t.Errorf("the status is %+v", s)
		}
		b.wantEvents(e, "Verifying", "SnapshotVerified")
	}
	apiservertest.Read(t, b.client, c)
	if c.ResourceVersion != before.ResourceVersion || !slices.Equal(b.pods(c), pods) {
		t.Errorf("the cluster was touched: %+v, Pods %v", c, b.pods(c))
	}
}

func TestVerifyOnlyOfACorruptSnapshot(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.kubernetes.result = fails("CorruptSnapshot")
	e := b.restore("x", func(e *v1beta2.EtcdRestore) { e.Spec.EtcdCluster, e.Spec.VerifyOnly = nil, true })
	b.untilPhase(e, v1beta2.RestoreFailed)
	if e.Status.Succeeded || e.Status.Reason == "" || len(e.Finalizers) > 0 {
		t.Errorf("the status is %+v, the finalizers are %v", e.Status, e.Finalizers)
	}
}

// A Job that starts etcd keeps off the nodes where members run, which is asked of the API server
// in the way that the scheduler reads it: members that come later are not kept off its own.
func TestStartEtcdBesideMembers(t *testing.T) {
	t.Parallel()
	b := &bench{t: t, client: apiservertest.Client(t), namespace: apiservertest.Namespace(t)}
	for name, phase := range map[string]corev1.PodPhase{"runs": corev1.PodRunning, "ended": corev1.PodSucceeded} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.namespace, Labels: map[string]string{v1beta2.LabelApp: v1beta2.AppEtcd}},
			Spec:       corev1.PodSpec{NodeName: "node-" + name, Containers: []corev1.Container{{Name: "etcd", Image: "example.com/etcd"}}},
		}
		apiservertest.Create(t, b.client, pod)
		pod.Status.Phase = phase
		apiservertest.SetStatus(t, b.client, pod)
	}
	b.startOperator() // which knows all Pods from its beginning
	e := b.restore("v", func(e *v1beta2.EtcdRestore) {
		e.Spec.EtcdCluster, e.Spec.VerifyOnly, e.Spec.StartEtcd = nil, true, &v1beta2.StartEtcd{Version: "3.6.16"}
	})
	var jobs batchv1.JobList
	etcdtest.Eventually(t, "a Job", func() error {
		if err := b.client.List(apiservertest.Context(t), &jobs, client.InNamespace(b.namespace)); err != nil {
			return err
		}
		if len(jobs.Items) != 1 {
			return fmt.Errorf("there are %d", len(jobs.Items))
		}
		return nil
	})
	pod := jobs.Items[0].Spec.Template.Spec
	want := &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"node-runs"}}}}},
	}}}
	if diff := cmp.Diff(want, pod.Affinity); diff != "" {
		t.Errorf("the affinity of the Job of %s (-want +got):\n%s", e.Name, diff)
	}
	if pod.Containers[0].Image != "example.com/etcd:v3.6.16" || pod.InitContainers[0].Image != image {
		t.Errorf("it runs %s after %s", pod.Containers[0].Image, pod.InitContainers[0].Image)
	}
}
