package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
)

// AgentPod says how the Pod is made that reads or writes a snapshot.
type AgentPod struct {
	// Labels added to the Pod.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k == 'app' || k.startsWith('etcd_') || k.startsWith('app.kubernetes.io/') || k.startsWith('batch.kubernetes.io/'))",messageExpression="self.filter(k, k == 'app' || k.startsWith('etcd_') || k.startsWith('app.kubernetes.io/') || k.startsWith('batch.kubernetes.io/'))[0] + ' is set by the operator or by Kubernetes (as are app, etcd_*, app.kubernetes.io/* and batch.kubernetes.io/*); remove it or use another key'"
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations added to the Pod.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k.startsWith('etcd.database.coreos.com/') || k.startsWith('batch.kubernetes.io/'))",messageExpression="self.filter(k, k.startsWith('etcd.database.coreos.com/') || k.startsWith('batch.kubernetes.io/'))[0] + ' is set by the operator or by Kubernetes (as are etcd.database.coreos.com/* and batch.kubernetes.io/*); remove it or use another key'"
	Annotations map[string]string `json:"annotations,omitempty"`

	// CPU and memory. What is needed does not grow with the database.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty,omitzero"`

	// The labels that a node must have.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// The taints that the Pod tolerates.
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// The scheduling constraints of the Pod.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// The priority class of the Pod.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// The service account of the Pod, for a cloud's workload identity. Default: the
	// namespace's own. No token of Kubernetes is mounted.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// The security context of the Pod. Default: that of the restricted Pod Security
	// Standard, with user and group 65532.
	// +optional
	SecurityContext *corev1.PodSecurityContext `json:"securityContext,omitempty"`

	// The Secrets that the operator's image is pulled with.
	// +optional
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
}
