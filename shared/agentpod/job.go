package agentpod

import (
	"maps"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/podsecurity"
)

const (
	// backoffLimit is how many Pods may fail before the Job does: the agent tries
	// again by itself what passes within seconds, and Kubernetes waits 10, 20 and 40
	// seconds before another Pod.
	backoffLimit = 3
	// terminationGracePeriodSeconds is how long an agent that is stopped may take to
	// tidy up after itself.
	terminationGracePeriodSeconds = 30
	// deadlineSlack is how much longer than the task its Pod may take: for its start,
	// and for its report that the time is up.
	deadlineSlack = time.Minute
)

// Job is what one Job that runs an agent has of its own.
type Job struct {
	// ObjectMeta is that of the Job.
	metav1.ObjectMeta
	// PodAnnotations are ours on its Pods, which have the labels of the Job. The user's
	// are beside them.
	PodAnnotations map[string]string
	// PodLabels are ours on its Pods alone.
	PodLabels map[string]string
	// Policy is how the user wants the Pods; see [Policy]. They become the Job's.
	Policy *v1beta2.AgentPod

	// Container is the name of the agent's container, Image the operator's own, and
	// Command the agent's program there.
	Container, Image, Command string
	// Host is another image in which the agent runs, beside what that holds; empty: Image.
	Host  string
	Env   []corev1.EnvVar
	Ports []corev1.ContainerPort
	Files Files
	// Timeout bounds the task; 0: nothing does.
	Timeout time.Duration
}

// Build builds the Job.
func (j *Job) Build() *batchv1.Job {
	policy, agent, first := j.Policy, j.container(), []corev1.Container(nil)
	if j.Host != "" {
		agent, first = j.hosted(agent)
	}
	return &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: j.ObjectMeta,
		Spec: batchv1.JobSpec{
			BackoffLimit:          new(int32(backoffLimit)),
			ActiveDeadlineSeconds: j.deadline(),
			PodFailurePolicy:      j.failurePolicy(),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels:      both(both(policy.Labels, j.PodLabels), j.Labels),
					Annotations: both(policy.Annotations, j.PodAnnotations),
				},
				Spec: corev1.PodSpec{
					InitContainers:                first,
					Containers:                    []corev1.Container{agent},
					Volumes:                       j.Files.Volumes,
					RestartPolicy:                 corev1.RestartPolicyNever,
					TerminationGracePeriodSeconds: new(int64(terminationGracePeriodSeconds)),

					// The agent asks nothing of the API server. A cloud's workload
					// identity adds a token of its own.
					ServiceAccountName:           policy.ServiceAccountName,
					AutomountServiceAccountToken: new(false),
					EnableServiceLinks:           new(false),
					SecurityContext:              podsecurity.Pod(policy.SecurityContext),
					ImagePullSecrets:             policy.ImagePullSecrets,

					PriorityClassName: policy.PriorityClassName,
					NodeSelector:      policy.NodeSelector,
					Tolerations:       policy.Tolerations,
					Affinity:          policy.Affinity,
				},
			},
		},
	}
}

func (j *Job) container() corev1.Container {
	return corev1.Container{
		Name:            j.Container,
		Image:           j.Image,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{j.Command},
		Env:             j.Env,
		Ports:           j.Ports,
		Resources:       j.Policy.Resources,
		VolumeMounts:    j.Files.Mounts,
		SecurityContext: podsecurity.Container(),
		// Only what the agent writes on purpose is a result.
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
	}
}

// failurePolicy says which Pods' ends count. A node that is drained or lost is nobody's
// failure.
func (j *Job) failurePolicy() *batchv1.PodFailurePolicy {
	return &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
		{
			Action: batchv1.PodFailurePolicyActionFailJob,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
				ContainerName: new(j.Container),
				Operator:      batchv1.PodFailurePolicyOnExitCodesOpIn,
				Values:        []int32{agent.ExitPermanent},
			},
		},
		{
			Action: batchv1.PodFailurePolicyActionIgnore,
			OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{
				Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
			}},
		},
	}}
}

// deadline bounds the Job as a whole, all its Pods together.
func (j *Job) deadline() *int64 {
	if j.Timeout == 0 {
		return nil
	}
	return new(int64(j.Timeout/time.Second + deadlineSlack/time.Second))
}

// both are the user's labels or annotations and ours, which win.
func both(users, ours map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, users)
	maps.Copy(all, ours)
	return all
}

// Owner is the reference by which an object is stopped and deleted with the one of this
// kind that it serves.
//
// BlockOwnerDeletion is false: true would need the right to update the finalizers of the
// kind wherever OwnerReferencesPermissionEnforcement is on (OpenShift), and would only
// serve deletion in the foreground.
func Owner(kind string, o metav1.Object) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion:         v1beta2.GroupVersion.String(),
		Kind:               kind,
		Name:               o.GetName(),
		UID:                o.GetUID(),
		Controller:         new(true),
		BlockOwnerDeletion: new(false),
	}
}
