package build

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/manifesttest"
)

const trialFile = "trial.verify.yaml"

func trial(t *testing.T, r *v1beta2.EtcdRestore) *batchv1.Job {
	t.Helper()
	j, err := Job(r, plan.StartJob{Name: plan.JobName(r), Source: sourceOf(r), EtcdVersion: "3.6.16", AvoidNodes: []string{"node-1", "node-2"}}, images)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// The Job that starts etcd is as the golden file says, restricted, and shares nothing with the
// EtcdRestore.
func TestTrialGolden(t *testing.T) {
	r := restore(t, trialFile)
	before := r.DeepCopy()
	j := trial(t, r)
	manifesttest.Golden(t, trialFile, "verify", j)
	manifesttest.Restricted(t, &j.Spec.Template.ObjectMeta, &j.Spec.Template.Spec)
	if diff := cmp.Diff(before, r); diff != "" {
		t.Errorf("the EtcdRestore was changed:\n%s", diff)
	}
	if told := taskIn(t, j.Spec.Template.Spec.Containers, task.ContainerVerify); told.StartEtcd != "3.6.16" {
		t.Errorf("the agent is to start etcd %q", told.StartEtcd)
	}
}

// It keeps off the nodes of members, and is bounded, unless the user says otherwise, also by an
// affinity that asks for nothing.
func TestTrialBesideMembers(t *testing.T) {
	r := restore(t, trialFile)
	spec := trial(t, r).Spec.Template.Spec
	if spec.Affinity == nil || spec.Affinity.PodAntiAffinity != nil || spec.Affinity.NodeAffinity == nil || spec.Containers[0].Resources.Limits.Cpu().IsZero() || spec.Containers[0].Resources.Limits.Memory().IsZero() {
		t.Errorf("by default the affinity is %+v, and the resources are %+v", spec.Affinity, spec.Containers[0].Resources)
	}
	asked := corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("8Gi")}}
	r.Spec.Pod = &v1beta2.AgentPod{Affinity: &corev1.Affinity{}, Resources: asked}
	spec = trial(t, r).Spec.Template.Spec
	if diff := cmp.Diff(&corev1.Affinity{}, spec.Affinity); diff != "" {
		t.Errorf("the affinity (-want +got):\n%s", diff)
	}
	if got := spec.Containers[0].Resources.Limits; !got.Cpu().IsZero() || got.Memory().String() != "8Gi" {
		t.Errorf("the limits are %v", got)
	}
	if other := job(t, r).Spec.Template.Spec; other.Containers[0].Image != image || len(other.InitContainers) > 0 {
		t.Error("a verification that starts no etcd runs in etcd's image")
	}
}
