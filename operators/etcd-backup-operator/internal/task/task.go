// Package task is the seam between the operator and the agent that it runs in a
// Job: the operator passes a [Task] in the Pod's environment, and the agent writes a
// [Result] as its container's termination message. Neither knows more of the other.
package task

import (
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/snapshot"
)

// Env is the environment variable of the agent's container that holds the Task, as
// JSON.
const Env = "ETCD_BACKUP_TASK"

// Container is the name of the agent's container, which is the only one of its Pod
// whose termination message is a Result.
const Container = "save"

// Task is what one Job does.
type Task struct {
	// Endpoints are the URLs of the source's members, http(s)://host:port. There
	// is at least one, but for a task that copies a snapshot.
	Endpoints []string `json:"endpoints,omitempty"`
	// TLSDir is the folder where the client's TLS Secret is mounted: etcd-client.crt,
	// etcd-client.key and etcd-client-ca.crt, or tls.crt, tls.key and ca.crt. Empty
	// without one.
	TLSDir string `json:"tlsDir,omitempty"`
	// AuthDir is the folder where the Secret with a user of etcd is mounted, if there is
	// such a Secret: username, which may be left out for root, and password. Empty
	// without one.
	AuthDir string `json:"authDir,omitempty"`
	// AuthSecret is the name of that Secret. Cluster is the EtcdCluster whose members the
	// Endpoints are; empty if a user wrote them. OwnAuth is true if it names AuthSecret.
	AuthSecret string `json:"authSecret,omitempty"`
	Cluster    string `json:"cluster,omitempty"`
	OwnAuth    bool   `json:"ownAuth,omitempty"`
	// Forbidden are ids of etcd clusters that do not allow this store, Pinned those of
	// clusters that allow it just as S3 and PVC name it: 16 hexadecimal digits each.
	Forbidden []string `json:"forbidden,omitempty"`
	Pinned    []string `json:"pinned,omitempty"`

	// Of Store and PVC, one is set: where the snapshot goes.
	Store *agent.Store `json:"store,omitempty"`
	PVC   *agent.PVC   `json:"pvc,omitempty"`

	// Copy is the second place, to which what is stored is copied; nil if there is none, and
	// for a task that stores a snapshot.
	Copy *Copy `json:"copy,omitempty"`

	// Archive, if not nil, has the agent record all changes for as long as it runs, in place
	// of storing a snapshot.
	Archive *Archive `json:"archive,omitempty"`

	// Compression is empty or "zstd".
	Compression string `json:"compression,omitempty"`
	// RecordHash is whether the source is asked to hash its data; empty: Auto.
	RecordHash v1beta2.RecordHash `json:"recordHash,omitempty"`
	// Overwrite lets a one-shot backup replace what lies at its path.
	Overwrite bool `json:"overwrite,omitempty"`
	// OverwriteAlways extends that, and retention, to backups of other clusters, to newer
	// ones, and to what does not record what it is of.
	OverwriteAlways bool `json:"overwriteAlways,omitempty"`
	// Repeated is true if the path is a prefix: _v<revision>_<time> is added to it.
	Repeated bool `json:"repeated,omitempty"`
	// Time is when a backup was due, in UTC: the time in the name of a repeated one.
	Time time.Time `json:"time"`
	// Timeout bounds the whole; 0: nothing does, as long as the transfer makes
	// progress. In JSON it is in nanoseconds.
	Timeout time.Duration `json:"timeout,omitempty"`

	// Started is when the Job was started, and RetryUntil until when what may pass by
	// itself is tried again, by the operator's clock; RetryUntil is zero for a few times
	// only.
	Started    time.Time `json:"started,omitzero"`
	RetryUntil time.Time `json:"retryUntil,omitzero"`

	// ServerTime is when the Job was started, by the API server's clock; zero if it did not
	// say.
	ServerTime time.Time `json:"serverTime,omitzero"`

	// MaxBackups and MaxAge decide which older backups are deleted after this one is
	// stored; 0: none are.
	MaxBackups int           `json:"maxBackups,omitempty"`
	MaxAge     time.Duration `json:"maxAge,omitempty"`
	// MinBackups is how many of each cluster are kept in any case; 0: one.
	MinBackups int `json:"minBackups,omitempty"`

	// Backup is namespace/name of the EtcdBackup, and UID its uid: for what is
	// stored beside the object, and for temporary names.
	Backup string `json:"backup"`
	UID    string `json:"uid"`
}

// Result is what became of a Task. The agent writes it to its termination message as
// JSON, in at most agent.MaxMessage bytes.
type Result struct {
	// Location is where the snapshot lies, or its copy: s3://bucket/key or pvc://claim/path. A
	// copy that is stored has one beside the Failure of what was to follow.
	Location string `json:"location,omitempty"`
	// Size and SHA256 are of what is stored: bytes, and 64 hexadecimal digits.
	Size   int64  `json:"size,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	// SnapshotSize is the size in bytes before compression.
	SnapshotSize int64 `json:"snapshotSize,omitempty"`
	// Quorum is whether a quorum confirmed that the source was up to date; nil if the
	// agent did not ask.
	Quorum *bool `json:"quorum,omitempty"`
	// Unhealthy is why the source was not healthy; empty if it was.
	Unhealthy string `json:"unhealthy,omitempty"`
	// Notes are what a person should know of a snapshot although it is stored.
	Notes []Note `json:"notes,omitempty"`
	// Revision is the source's just before the stream: the snapshot holds at least
	// that.
	Revision int64 `json:"revision,omitempty"`
	// OldestRevision is the oldest that the snapshot holds; 0: not known.
	OldestRevision int64 `json:"oldestRevision,omitempty"`
	// Hash is what the source told of what the snapshot holds; nil if it could not be had.
	Hash *snapshot.Hash `json:"hash,omitempty"`

	EtcdVersion string `json:"etcdVersion,omitempty"`
	// ClusterID and MemberID are etcd's own, 16 hexadecimal digits.
	ClusterID string `json:"clusterID,omitempty"`
	MemberID  string `json:"memberID,omitempty"`
	// Duration is how long it took, in seconds.
	Duration float64 `json:"duration,omitempty"`
	// Deleted is how many older backups were deleted.
	Deleted int `json:"deleted,omitempty"`
	// Spared is how many older backups the policy would delete, and were kept since they
	// are of another cluster, of a higher revision, or do not record what they are of.
	Spared int `json:"spared,omitempty"`
	// RetentionError is why older ones could not be deleted. The backup itself
	// is good.
	RetentionError string `json:"retentionError,omitempty"`
	// Started and Finished bound the agent's work.
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	// Failure is nil if the snapshot is stored.
	Failure *agent.Failure `json:"failure,omitempty"`
}

// Copy is a second place: of Store and PVC, one is set.
type Copy struct {
	Store *agent.Store `json:"store,omitempty"`
	PVC   *agent.PVC   `json:"pvc,omitempty"`
	// Of is the snapshot that is to be copied, in place of all else that the task could be;
	// nil for an archiver, which copies what it stores.
	Of *Stored `json:"of,omitempty"`
	// Segments has the archive copied after the snapshot.
	Segments bool `json:"segments,omitempty"`
}

// Stored is a snapshot that is stored, as its Result has it.
type Stored struct {
	Location  string `json:"location"`
	SHA256    string `json:"sha256,omitempty"`
	Size      int64  `json:"size,omitempty"`
	Revision  int64  `json:"revision,omitempty"`
	ClusterID string `json:"clusterID,omitempty"`
}

// Note is what a person should know of a snapshot that is stored.
type Note struct {
	// Reason is CamelCase, for events: one that is documented with EtcdBackup.
	Reason  string `json:"reason"`
	Message string `json:"message"`
}
