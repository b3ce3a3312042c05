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
	// ContainerImage is the seed's init container that shows that its node has etcd's image
	// and can run it.
	ContainerImage = "check-image"
	// ContainerRestore is the seed's init container that fetches and checks the snapshot,
	// and rebuilds the database beside the data dir.
	ContainerRestore = "restore"
)

// Prepare follows the EtcdRestore's uid in the annotation restore-permit while the seed may
// prepare its database, and not start. The uid alone is the start permit.
const Prepare = "/prepare"

// ProgressPort is where the agent serves its Progress, at ProgressPath, while it runs.
const (
	ProgressPort = 8081
	ProgressPath = "/progress"
)

// Task is what one container does: it verifies a snapshot, or, with Member, restores it.
type Task struct {
	// Of Store and PVC, one is set: where the snapshot lies.
	Store *agent.Store `json:"store,omitempty"`
	PVC   *agent.PVC   `json:"pvc,omitempty"`
	// Scratch is a folder for what cannot be checked where it lies.
	Scratch string `json:"scratch,omitempty"`
	// ScratchLimit is how many bytes it may hold before the kubelet evicts the Pod; 0: any.
	ScratchLimit int64 `json:"scratchLimit,omitempty"`

	// SkipHashCheck takes a snapshot that ends without a digest.
	SkipHashCheck bool `json:"skipHashCheck,omitempty"`
	// ClusterID is the only cluster whose snapshot is taken; empty: any is.
	ClusterID string `json:"clusterID,omitempty"`
	// Revision is at which the snapshot is restored, with the archive beside it if it does not
	// hold the revision; 0: at its own. Of several under a prefix the oldest is taken that holds
	// it, or else the newest before it whose archive does.
	Revision int64 `json:"revision,omitempty"`
	// Time is when the cluster was as it is restored, by its archive, in place of Revision; zero:
	// at none. Of several snapshots under a prefix the newest is taken that was due by then.
	Time time.Time `json:"time,omitzero"`
	// Prefixes are what the keys begin with that are restored; empty: all are.
	Prefixes []string `json:"prefixes,omitempty"`
	// KeepLeasedKeys keeps the keys at that revision whose lease the snapshot no longer has.
	KeepLeasedKeys bool `json:"keepLeasedKeys,omitempty"`
	// Credentials are what etcd-operator will show the restored cluster; nil: they are
	// not checked.
	Credentials *Credentials `json:"credentials,omitempty"`
	// Catalogue asks for a list of what lies under the prefix of Store, beside the newest.
	Catalogue bool `json:"catalogue,omitempty"`
	// Want is what a verification has found, of a restore: nothing else is restored. nil:
	// nobody has verified it before, and the restore does.
	Want *Snapshot `json:"want,omitempty"`
	// Member is the member whose data dir is made; nil to verify.
	Member *Member `json:"member,omitempty"`
	// StartEtcd is the version of the etcd in the container's image, which a verification starts
	// on the database as it is restored; empty: it starts none.
	StartEtcd string `json:"startEtcd,omitempty"`

	// Timeout bounds the whole; 0: nothing does, as long as the transfer makes
	// progress. In JSON it is in nanoseconds.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Restore is namespace/name of the EtcdRestore, and UID its uid.
	Restore string `json:"restore"`
	UID     string `json:"uid"`
}

// Credentials are those that an EtcdCluster has for etcd's authentication. The agent
// compares them with the users of the snapshot, and tells nobody what they are.
type Credentials struct {
	// Secret is the name of spec.auth.rootSecret, which is mounted at Dir; both are empty
	// if there is none.
	Secret string `json:"secret,omitempty"`
	Dir    string `json:"dir,omitempty"`
	// CommonName is the name in the operator's client certificate, if the operator issues
	// it. Of one that somebody else keeps, the Secret is mounted at TLSDir.
	CommonName string `json:"commonName,omitempty"`
	TLSDir     string `json:"tlsDir,omitempty"`
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
	// PermitFile is where the Pod's annotation restore-permit is seen.
	PermitFile string `json:"permitFile"`
	// Revision is where the cluster begins at least; what is older counts as compacted.
	Revision int64 `json:"revision"`
	// Bump is by how much it begins beyond the snapshot's revision at least.
	Bump int64 `json:"bump,omitempty"`
}

// Result is what became of a Task. The agent writes it to its termination message as
// JSON, in at most agent.MaxMessage bytes.
type Result struct {
	// Snapshot is what was found.
	Snapshot *Snapshot `json:"snapshot,omitempty"`
	// Catalogue is what lies under the prefix, if it was asked for; a failure may have one,
	// too.
	Catalogue *Catalogue `json:"catalogue,omitempty"`
	// Cut is the database as it was rebuilt at Task.Revision or Task.Time, and of Task.Prefixes, or, of a
	// verification, as it can be: its TotalKeys then count those WithoutLease. nil: all of it.
	Cut *Cut `json:"cut,omitempty"`
	// Served is what etcd has served, of a verification that has started it.
	Served *Served `json:"served,omitempty"`
	// Revision is where the cluster begins, of a database that was rebuilt.
	Revision int64 `json:"revision,omitempty"`
	// Already says that nothing was done: the data dir was restored before, or the permit
	// was withdrawn.
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
	// OldestRevision is the oldest that it can be restored to; 0 if an earlier release did
	// not tell.
	OldestRevision int64 `json:"oldestRevision,omitempty"`
	TotalKeys      int64 `json:"totalKeys"`
	// Hash is a v1beta2.HashComparison; empty if an earlier release did not compare.
	Hash string `json:"hash,omitempty"`
	// EtcdVersion is the minor version of etcd whose data it is, such as 3.6.
	EtcdVersion string `json:"etcdVersion"`
	// ClusterID is etcd's own, 16 hexadecimal digits; empty if nothing tells.
	ClusterID string `json:"clusterID,omitempty"`
	// Compression is empty or "zstd".
	Compression string `json:"compression,omitempty"`
	// Alarms are the kinds of the alarms that were raised when it was taken, such as
	// "NOSPACE,CORRUPT". The restored cluster has none of them.
	Alarms string `json:"alarms,omitempty"`
	// AuthEnabled says that etcd's authentication was enabled.
	AuthEnabled bool `json:"authEnabled,omitempty"`
}

// Cut is a snapshot as it was at a revision, or a part of it, or with more than it holds.
type Cut struct {
	Revision int64 `json:"revision"`
	// TotalKeys is how many keys there were, under the prefixes if there are some.
	TotalKeys int64 `json:"totalKeys"`
	// LeftOut is how many keys there were elsewhere; nil without prefixes.
	LeftOut *int64 `json:"leftOut,omitempty"`
	// WithoutLease is how many keys had a lease that the snapshot does not have.
	WithoutLease int64 `json:"withoutLease,omitempty"`
	// Appended is how many revisions after the snapshot's the archive has added, and DatabaseSize
	// how large, in bytes, the database is then; 0 if it has added none.
	Appended     int64 `json:"appended,omitempty"`
	DatabaseSize int64 `json:"databaseSize,omitempty"`
	// Time is a time that the archive tells of the revision, not after Task.Time: whatever was
	// acknowledged before is in it. It is zero without Task.Time.
	Time time.Time `json:"time,omitzero"`
}

// Served is what an etcd has served that was started on a restored database.
type Served struct {
	// EtcdVersion is its full version, such as 3.6.16.
	EtcdVersion string `json:"etcdVersion"`
	TotalKeys   int64  `json:"totalKeys"`
}

// Progress is how far a transfer is.
type Progress struct {
	// Fetched of Total bytes; Total is 0 while it is not known.
	Fetched int64 `json:"fetched"`
	Total   int64 `json:"total"`
}

// MaxEntries is how many entries a Catalogue has at most: what is of use the day after a
// loss, and fits into a termination message.
const MaxEntries = 20

// Catalogue is what lies under a prefix, in few bytes.
type Catalogue struct {
	// Total is how many snapshots there are, and Others how many other objects.
	Total  int64 `json:"total"`
	Others int64 `json:"others,omitempty"`
	// Base is what the locations of all entries begin with.
	Base string `json:"base,omitempty"`
	// Entries are the newest, at most MaxEntries, the newest first.
	Entries []Entry `json:"entries,omitempty"`
}

// Entry is a snapshot of a Catalogue.
type Entry struct {
	// Name is its location without the Base.
	Name string `json:"n"`
	Size int64  `json:"s,omitempty"`
	// ClusterID is empty, and OldestRevision 0, if the object does not tell.
	ClusterID      string `json:"c,omitempty"`
	OldestRevision int64  `json:"o,omitempty"`
}
