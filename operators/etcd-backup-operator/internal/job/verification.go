package job

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/shared/agentpod"
)

// verificationComponent is the component that EtcdRestores are labelled with which verify.
const verificationComponent = "verification"

// Verification builds the EtcdRestore that verifies a backup. It names the EtcdBackup alone, by
// which etcd-restore-operator finds location, credentials and ServiceAccount: so neither the
// operator nor whoever has created the EtcdBackup reaches anything by it that the EtcdBackup does
// not.
func Verification(b *v1beta2.EtcdBackup, start plan.StartVerification) *v1beta2.EtcdRestore {
	labels := Labels(b.Name)
	labels[agentpod.LabelComponent] = verificationComponent
	r := &v1beta2.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{
			Name: start.Name, Namespace: b.Namespace, Labels: labels,
			Annotations:     map[string]string{v1beta2.AnnotationBackup: b.Name},
			OwnerReferences: []metav1.OwnerReference{agentpod.Owner("EtcdBackup", b)},
		},
		Spec: v1beta2.RestoreSpec{
			VerifyOnly: true, StartEtcd: &v1beta2.StartEtcd{},
			BackupRef:       &v1beta2.BackupReference{Name: b.Name, Entry: start.Backup},
			Revision:        start.Revision,
			TimeoutInSecond: v1beta2.DefaultVerificationTimeout,
			Pod:             &v1beta2.AgentPod{},
		},
	}
	if scope, ok := b.Annotations[v1beta2.AnnotationScope]; ok {
		r.Annotations[v1beta2.AnnotationScope] = scope
	}
	pod := r.Spec.Pod
	if p := b.Spec.Pod.DeepCopy(); p != nil { // how the store and the images are reached
		pod.Env, pod.ImagePullSecrets, pod.SecurityContext = p.Env, p.ImagePullSecrets, p.SecurityContext
	}
	if s := b.Spec.Verification.DeepCopy(); s != nil {
		r.Spec.TimeoutInSecond = cmp.Or(s.TimeoutInSecond, r.Spec.TimeoutInSecond)
		pod.Resources, pod.NodeSelector, pod.Tolerations = s.Resources, s.NodeSelector, s.Tolerations
		pod.Affinity, pod.PriorityClassName = s.Affinity, s.PriorityClassName
	}
	return r
}
