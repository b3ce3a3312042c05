package build

import (
	"cmp"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agentpod"
)

// Job builds the Job that verifies the snapshot of an EtcdRestore whose spec is valid.
// images are those that it runs.
//
// Nothing but plan bounds its time: spec.timeoutInSecond may be changed while it runs.
func Job(r *v1beta2.EtcdRestore, start plan.StartJob, images Images) (*batchv1.Job, error) {
	policy, host := agentpod.Policy(r.Spec.Pod, resources()), ""
	if start.EtcdVersion != "" {
		policy, host = agentpod.Policy(r.Spec.Pod, trialResources()), images.Etcd+":v"+start.EtcdVersion
	}
	if policy.Affinity == nil {
		policy.Affinity = awayFrom(start.AvoidNodes)
	}
	policy.ServiceAccountName = cmp.Or(policy.ServiceAccountName, start.Source.ServiceAccountName)
	var files agentpod.Files
	mountSource(&files, start.Source, false)
	t := newTask(r, start.Source)
	t.ScratchLimit = files.Scratch(volumeScratch, scratchMount, policy)
	t.StartEtcd = start.EtcdVersion
	t.Scratch, t.Credentials = scratchMount, mountCredentials(&files, start.Credentials)
	env, err := agentpod.Environment(task.Env, t, policy.Resources, policy.Env...)
	if err != nil {
		return nil, fmt.Errorf("build Job %s: %w", start.Name, err)
	}
	marks := func() map[string]string { return map[string]string{v1beta2.AnnotationRestore: r.Name} }
	job := agentpod.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name:            start.Name,
			Namespace:       r.Namespace,
			Labels:          Labels(r.Name),
			Annotations:     marks(),
			OwnerReferences: []metav1.OwnerReference{agentpod.Owner("EtcdRestore", r)},
		},
		PodAnnotations: marks(),
		PodLabels:      agentpod.IdentityLabels(start.Source.Store),
		Policy:         policy,
		Container:      task.ContainerVerify,
		Image:          images.Operator,
		Host:           host,
		Command:        command,
		Env:            env,
		Ports:          ports(),
		Files:          files,
	}
	return job.Build(), nil
}
