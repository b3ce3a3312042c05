package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
)

// AgentPod has the settings of the Pod that reads or writes a snapshot.
type AgentPod struct {
	// Labels added to the Pod.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k == 'app' || k.startsWith('etcd_') || k.startsWith('app.kubernetes.io/') || k.startsWith('batch.kubernetes.io/'))",messageExpression="self.filter(k, k == 'app' || k.startsWith('etcd_') || k.startsWith('app.kubernetes.io/') || k.startsWith('batch.kubernetes.io/'))[0] + ' is reserved for the operator and for Kubernetes (as are app, etcd_*, app.kubernetes.io/* and batch.kubernetes.io/*): remove it, or use another key'"
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations added to the Pod.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k.startsWith('etcd.database.coreos.com/') || k.startsWith('batch.kubernetes.io/'))",messageExpression="self.filter(k, k.startsWith('etcd.database.coreos.com/') || k.startsWith('batch.kubernetes.io/'))[0] + ' is reserved for the operator and for Kubernetes (as are etcd.database.coreos.com/* and batch.kubernetes.io/*): remove it, or use another key'"
	Annotations map[string]string `json:"annotations,omitempty"`

	// CPU, memory and ephemeral-storage. The CPU and memory needed do not grow with the
	// database. The Pod that verifies the snapshot of an EtcdRestore stores its database on
	// the node's disk: unless set here, it requests 2Gi of ephemeral-storage and is limited
	// to 10Gi. A backup needs none.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty,omitzero"`

	// Variables of the environment, for a store behind a proxy: HTTPS_PROXY, HTTP_PROXY
	// and NO_PROXY, also in lower case, and some of AWS' SDK. etcd is never reached through
	// the proxy. Values are plain text, visible to everybody who can read this object.
	//
	// Values from Secrets and fields (valueFrom) are rejected, and so are all other names: with
	// them, a user who can create this object could read Secrets without the right to do so, or
	// make the Pod send its files elsewhere.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Env []AgentEnv `json:"env,omitempty"`

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
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="priorityClassName must be the name of a PriorityClass: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as low"
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// The ServiceAccount of the Pod, for a cloud's workload identity. Default: default. No token
	// of the Kubernetes API is mounted. The user who creates this object needs the right to
	// create Pods, or the verb use or impersonate on that account.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="serviceAccountName must be the name of a ServiceAccount of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as etcd-backups"
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// The security context of the Pod. Default: that of the restricted Pod Security
	// Standard, with user and group 65532.
	// +optional
	SecurityContext *corev1.PodSecurityContext `json:"securityContext,omitempty"`

	// The Secrets with the credentials to pull the operator's image.
	// +optional
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
}

// AgentEnv is a variable of the environment.
type AgentEnv struct {
	// Its name.
	// +required
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self in ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'https_proxy', 'http_proxy', 'no_proxy', 'AWS_REGION', 'AWS_DEFAULT_REGION', 'AWS_EC2_METADATA_DISABLED', 'AWS_ROLE_SESSION_NAME', 'AWS_STS_REGIONAL_ENDPOINTS', 'AWS_USE_DUALSTACK_ENDPOINT', 'AWS_USE_FIPS_ENDPOINT', 'GOGC', 'GOMAXPROCS', 'TZ']",messageExpression="self + ' is not supported: use only HTTPS_PROXY, HTTP_PROXY and NO_PROXY (also in lower case), AWS_REGION, AWS_DEFAULT_REGION, AWS_EC2_METADATA_DISABLED, AWS_ROLE_SESSION_NAME, AWS_STS_REGIONAL_ENDPOINTS, AWS_USE_DUALSTACK_ENDPOINT, AWS_USE_FIPS_ENDPOINT, GOGC, GOMAXPROCS and TZ; for credentials and CAs, set awsSecret, caSecret or caConfigMap'"
	Name string `json:"name"`
	// Its value, as it is: $(NAME) is not replaced.
	// +required
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^\\\\x00-\\\\x1f\\\\x7f]*$')",message="value must not contain line breaks or other control characters: remove them"
	Value string `json:"value"`
}
