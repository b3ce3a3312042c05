package job

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/podsecurity"
)

// Names and places of the Pod's volumes.
const (
	volumeTLS    = "etcd-tls"
	volumeAWS    = "aws"
	volumeBackup = "backup"

	tlsMount    = "/etc/etcd-backup/tls"
	awsMount    = "/etc/etcd-backup/aws"
	backupMount = "/backup"
)

const (
	// backoffLimit is how many Pods may fail before the Job does: the agent tries
	// again by itself what passes within seconds, and Kubernetes waits 10, 20 and 40
	// seconds before another Pod.
	backoffLimit = 3
	// terminationGracePeriodSeconds is how long an agent that is stopped may take to
	// abort its upload.
	terminationGracePeriodSeconds = 30
	// deadlineSlack is how much longer than the backup its Pod may take: for its
	// start, and for its report that the time is up.
	deadlineSlack = time.Minute
	// secretMode lets the Pod's group (fsGroup) read what is mounted, and nobody else.
	secretMode = 0o440
)

// Build builds the Job that start asks for, of an EtcdBackup whose spec is valid. image
// is the operator's own.
func Build(b *v1beta2.EtcdBackup, start plan.StartJob, image string) (*batchv1.Job, error) {
	policy := podPolicy(b)
	env, err := environment(b, start, policy.Resources)
	if err != nil {
		return nil, fmt.Errorf("build Job %s: %w", start.Name, err)
	}
	volumes, mounts := volumes(b, start)
	return &batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{
			Name:      start.Name,
			Namespace: b.Namespace,
			Labels:    Labels(b.Name),
			Annotations: map[string]string{
				v1beta2.AnnotationBackup:    b.Name,
				v1beta2.AnnotationScheduled: start.Scheduled.UTC().Format(time.RFC3339),
			},
			OwnerReferences: []metav1.OwnerReference{owner(b)},
		},
		Spec: batchv1.JobSpec{
			BackoffLimit:          new(int32(backoffLimit)),
			ActiveDeadlineSeconds: deadline(b),
			PodFailurePolicy:      failurePolicy(),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels:      podLabels(b, policy),
					Annotations: podAnnotations(b, policy),
				},
				Spec: corev1.PodSpec{
					Containers: []corev1.Container{{
						Name:            task.Container,
						Image:           image,
						ImagePullPolicy: corev1.PullIfNotPresent,
						Command:         []string{"etcd-backup-agent"},
						Env:             env,
						Resources:       policy.Resources,
						VolumeMounts:    mounts,
						SecurityContext: podsecurity.Container(),
						// Only what the agent writes on purpose is a Result.
						TerminationMessagePolicy: corev1.TerminationMessageReadFile,
					}},
					Volumes:                       volumes,
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
	}, nil
}

// owner is the reference by which the Job is stopped and deleted with its EtcdBackup.
//
// BlockOwnerDeletion is false: true would need the right to update the finalizers of
// EtcdBackups wherever OwnerReferencesPermissionEnforcement is on (OpenShift), and
// would only serve deletion in the foreground.
func owner(b *v1beta2.EtcdBackup) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion:         v1beta2.GroupVersion.String(),
		Kind:               "EtcdBackup",
		Name:               b.Name,
		UID:                b.UID,
		Controller:         new(true),
		BlockOwnerDeletion: new(false),
	}
}

// failurePolicy says which Pods' ends count. A node that is drained or lost is nobody's
// failure.
func failurePolicy() *batchv1.PodFailurePolicy {
	return &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
		{
			Action: batchv1.PodFailurePolicyActionFailJob,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
				ContainerName: new(task.Container),
				Operator:      batchv1.PodFailurePolicyOnExitCodesOpIn,
				Values:        []int32{task.ExitPermanent},
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
func deadline(b *v1beta2.EtcdBackup) *int64 {
	timeout := b.Spec.Timeout()
	if timeout == 0 {
		return nil
	}
	return new(int64((timeout/time.Second + deadlineSlack/time.Second)))
}

func environment(b *v1beta2.EtcdBackup, start plan.StartJob, resources corev1.ResourceRequirements) ([]corev1.EnvVar, error) {
	t, err := json.Marshal(newTask(b, start))
	if err != nil {
		return nil, err
	}
	// Kubernetes would take $(NAME) for a variable, and $$ for one dollar sign.
	value := strings.ReplaceAll(string(t), "$", `\u0024`)
	env := []corev1.EnvVar{{Name: task.Env, Value: value}}
	if limit := resources.Limits.Memory(); !limit.IsZero() {
		// Below the limit, so that the garbage collector works harder before the
		// kernel kills.
		env = append(env, corev1.EnvVar{Name: "GOMEMLIMIT", Value: strconv.FormatInt(limit.Value()/4*3, 10)})
	}
	return env, nil
}

func newTask(b *v1beta2.EtcdBackup, start plan.StartJob) task.Task {
	t := task.Task{
		Endpoints:   start.Endpoints,
		Compression: string(b.Spec.Packing()),
		Overwrite:   b.Spec.Overwrites(),
		Repeated:    b.Spec.Repeated(),
		Time:        start.Scheduled.UTC(),
		Timeout:     b.Spec.Timeout(),
		MaxBackups:  b.Spec.MaxBackups(),
		MaxAge:      b.Spec.MaxAge(),
		Backup:      b.Namespace + "/" + b.Name,
		UID:         string(b.UID),
	}
	if start.TLSSecret != "" {
		t.TLSDir = tlsMount
	}
	if s := b.Spec.S3; s != nil && b.Spec.StorageType == v1beta2.StorageS3 {
		bucket, key := s.BucketAndKey()
		t.S3 = &task.S3{
			Bucket: bucket, Key: key,
			Endpoint: s.EndpointURL(), ForcePathStyle: s.ForcePathStyle, Region: s.Region,
			StorageClass: s.StorageClass, ServerSideEncryption: s.ServerSideEncryption, KMSKeyID: s.KMSKeyID,
		}
		if s.AWSSecret != "" {
			t.S3.SecretDir = awsMount
		}
	}
	if p := b.Spec.PVC; p != nil && b.Spec.StorageType == v1beta2.StoragePVC {
		t.PVC = &task.PVC{Claim: p.ClaimName, Dir: backupMount, Path: p.Path}
	}
	return t
}

func volumes(b *v1beta2.EtcdBackup, start plan.StartJob) (volumes []corev1.Volume, mounts []corev1.VolumeMount) {
	secret := func(volume, name, path string) {
		volumes = append(volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: name, DefaultMode: new(int32(secretMode))},
		}})
		mounts = append(mounts, corev1.VolumeMount{Name: volume, MountPath: path, ReadOnly: true})
	}
	if start.TLSSecret != "" {
		secret(volumeTLS, start.TLSSecret, tlsMount)
	}
	switch s := b.Spec; {
	case s.StorageType == v1beta2.StorageS3 && s.S3 != nil && s.S3.AWSSecret != "":
		secret(volumeAWS, s.S3.AWSSecret, awsMount)
	case s.StorageType == v1beta2.StoragePVC && s.PVC != nil:
		volumes = append(volumes, corev1.Volume{Name: volumeBackup, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: s.PVC.ClaimName},
		}})
		mounts = append(mounts, corev1.VolumeMount{Name: volumeBackup, MountPath: backupMount})
	}
	return volumes, mounts
}

// podPolicy is a copy of the user's policy, so that nothing built from it shares memory
// with the EtcdBackup (which may lie in an informer's cache), with the resources that
// an agent needs if the user says none.
func podPolicy(b *v1beta2.EtcdBackup) *v1beta2.AgentPod {
	policy := &v1beta2.AgentPod{}
	if b.Spec.Pod != nil {
		policy = b.Spec.Pod.DeepCopy()
	}
	if r := policy.Resources; len(r.Requests) == 0 && len(r.Limits) == 0 {
		// No CPU limit: it would only make backups slower. The memory is what the
		// buffers of an upload take, and as much again.
		policy.Resources.Requests = corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("50m"),
			corev1.ResourceMemory: resource.MustParse("64Mi"),
		}
		policy.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")}
	}
	return policy
}

func podLabels(b *v1beta2.EtcdBackup, policy *v1beta2.AgentPod) map[string]string {
	l := map[string]string{}
	maps.Copy(l, policy.Labels)
	maps.Copy(l, Labels(b.Name))
	return l
}

func podAnnotations(b *v1beta2.EtcdBackup, policy *v1beta2.AgentPod) map[string]string {
	a := map[string]string{}
	maps.Copy(a, policy.Annotations)
	a[v1beta2.AnnotationBackup] = b.Name
	return a
}
