// Package agent is what the programs that operators run in Pods have in common: how
// they get a task and report what became of it (the termination message of their
// container, and the exit code), how a failure is told so that a person can mend it,
// and which place in a store or on a volume is meant.
package agent

// MaxMessage is the most bytes of a termination message, by the kubelet's measure
// (https://kubernetes.io/docs/tasks/debug/debug-application/determine-reason-pod-failure/).
const MaxMessage = 4096

// The exit codes of an agent.
const (
	// ExitDone says that the task is done.
	ExitDone = 0
	// ExitRetry says that it failed, and that another attempt may do better.
	ExitRetry = 1
	// ExitPermanent says that it failed and that only a person can mend what is
	// wrong: it is not tried again.
	ExitPermanent = 2
)

// The reasons of a Failure that every agent may give, beside those of package
// objectstore.
const (
	// ReasonInvalidTask says that operator and agent don't understand each other.
	ReasonInvalidTask = "InvalidTask"
	// ReasonInvalidPath says that a volume can't have such a file.
	ReasonInvalidPath = "InvalidPath"
	// ReasonStalled says that the other side went silent.
	ReasonStalled = "Stalled"
	// ReasonNoSpace says that the volume is full.
	ReasonNoSpace = "NoSpace"
	// ReasonAccessDenied says that the volume can't be used by the agent's user.
	ReasonAccessDenied = "AccessDenied"
	// ReasonVolumeUnavailable says that the volume fails.
	ReasonVolumeUnavailable = "VolumeUnavailable"
	// ReasonTimedOut says that it took longer than it may.
	ReasonTimedOut = "TimedOut"
	// ReasonInterrupted says that the agent was told to end.
	ReasonInterrupted = "Interrupted"
	// ReasonInternal says that the agent has a defect.
	ReasonInternal = "InternalError"
)

// Failure is why a task was not done.
type Failure struct {
	// Reason is CamelCase, for conditions, events and metrics.
	Reason string `json:"reason"`
	// Message says it to a person, with what to do.
	Message string `json:"message"`
	// Permanent says that only a person can mend what is wrong.
	Permanent bool `json:"permanent,omitempty"`
}

// S3 is a place in an S3 store.
type S3 struct {
	Bucket string `json:"bucket"`
	Key    string `json:"key"`
	// Endpoint is the URL of the store; empty: AWS itself.
	Endpoint       string `json:"endpoint,omitempty"`
	ForcePathStyle bool   `json:"forcePathStyle,omitempty"`
	// Region is empty if the Secret's config or the environment says it.
	Region string `json:"region,omitempty"`
	// StorageClass, ServerSideEncryption and KMSKeyID are for what is written.
	StorageClass         string `json:"storageClass,omitempty"`
	ServerSideEncryption string `json:"serverSideEncryption,omitempty"`
	KMSKeyID             string `json:"kmsKeyID,omitempty"`
	// SecretDir is the folder where the Secret with the files credentials and config
	// is mounted; empty: the SDK's default chain.
	SecretDir string `json:"secretDir,omitempty"`
}

// PVC is a place on a volume.
type PVC struct {
	// Claim is the name of the PersistentVolumeClaim, for the location that is
	// reported.
	Claim string `json:"claim"`
	// Dir is where the volume is mounted.
	Dir string `json:"dir"`
	// Path is that of the file, below Dir.
	Path string `json:"path"`
}
