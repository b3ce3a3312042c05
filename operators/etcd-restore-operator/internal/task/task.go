// Package task is the seam between the operator and the agent that it runs in Pods: the
// operator passes a [Task] in the container's environment, and the agent writes a
// [Result] as the container's termination message, and serves a [Progress] meanwhile.
// Neither knows more of the other.
package task

import (
	"time"

	"github.com/etcd-operators/etcd-operators/shared/agent"
)

// Env is the environment variable of the agent's container that holds the Task, as
// JSON.
const Env = "ETCD_RESTORE_TASK"

// The names of the containers that run the agent.
const (
	// ContainerVerify is the one container of the Job's Pod.
	ContainerVerify = "verify"
	// ContainerRestore is the seed's init container.
	ContainerRestore = "restore"
)

// ProgressPort is where the agent serves its Progress, at ProgressPath, while it runs.
const (
	ProgressPort = 8081
	ProgressPath = "/progress"
)

// Task is what one Pod does: it verifies a snapshot, or, with Member, restores it.
type Task struct {
	// Of S3 and PVC, one is set: where the snapshot lies.
	S3  *agent.S3  `json:"s3,omitempty"`
	PVC *agent.PVC `json:"pvc,omitempty"`
	// Scratch is a folder for what can't be checked where it lies.
	Scratch string `json:"scratch,omitempty"`

	// SkipHashCheck takes a snapshot that ends without a digest.
	SkipHashCheck bool `json:"skipHashCheck,omitempty"`
	// ClusterID is the only cluster whose snapshot is taken; empty: any is.
	ClusterID string `json:"clusterID,omitempty"`
	// Want is what a verification has found, of a restore: nothing else is restored.
	Want *Snapshot `json:"want,omitempty"`
	// Member is the member whose data dir is made; nil to verify.
	Member *Member `json:"member,omitempty"`

	// Timeout bounds the whole; 0: nothing does, as long as the transfer makes
	// progress. In JSON it is in nanoseconds.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Restore is namespace/name of the EtcdRestore, and UID its uid.
	Restore string `json:"restore"`
	UID     string `json:"uid"`
}

// Member is the seed.
type Member struct {
	// Name and PeerURL are what its etcd is started with.
	Name    string `json:"name"`
	PeerURL string `json:"peerURL"`
	// Token is the initial cluster token.
	Token string `json:"token"`
	// DataDir is etcd's data dir; all else that the restore writes is beside it, on the
	// same volume.
	DataDir string `json:"dataDir"`
	// LeaveFile is where the Pod's annotation restore-leave is seen.
	LeaveFile string `json:"leaveFile"`
	// Revision is where the cluster begins; what is older counts as compacted.
	Revision int64 `json:"revision"`
}

// Result is what became of a Task. The agent writes it to its termination message as
// JSON, in at most agent.MaxMessage bytes.
type Result struct {
	// Snapshot is what was found.
	Snapshot *Snapshot `json:"snapshot,omitempty"`
	// Already says that the data dir had been restored before, or may not be any more,
	// and that nothing was done.
	Already bool `json:"already,omitempty"`
	// Started and Finished bound the agent's work.
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	// Failure is nil if the task was done.
	Failure *agent.Failure `json:"failure,omitempty"`
}

// Snapshot is a snapshot that was checked.
type Snapshot struct {
	// Location is s3://bucket/key or pvc://claim/path.
	Location string `json:"location"`
	// Size and SHA256 are of what is stored: bytes, and 64 hexadecimal digits.
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	// ETag is what the store calls this content; empty on a volume.
	ETag string `json:"etag,omitempty"`
	// DatabaseSize is in bytes, unpacked and without the digest.
	DatabaseSize int64 `json:"databaseSize"`
	Revision     int64 `json:"revision"`
	TotalKeys    int64 `json:"totalKeys"`
	// EtcdVersion is the minor version of etcd whose data it is, such as 3.6.
	EtcdVersion string `json:"etcdVersion"`
	// ClusterID is etcd's own, 16 hexadecimal digits; empty if nothing tells.
	ClusterID string `json:"clusterID,omitempty"`
	// Compression is empty or "zstd".
	Compression string `json:"compression,omitempty"`
}

// Progress is how far a transfer is.
type Progress struct {
	// Fetched of Total bytes; Total is 0 while it is not known.
	Fetched int64 `json:"fetched"`
	Total   int64 `json:"total"`
}
