package task

import (
	"time"

	"github.com/etcd-operators/etcd-operators/shared/agent"
)

// Archive says how changes are recorded.
type Archive struct {
	// Interval is within what time a change is to be stored. In JSON it is in nanoseconds.
	Interval time.Duration `json:"interval"`
}

const (
	// ArchivePort is where an agent that records tells its progress by HTTP, and ArchivePath
	// under what path: an ArchiveProgress as JSON.
	ArchivePort = 8090
	ArchivePath = "/archive"
	// ArchiveDir is where the agent writes a segment before it is stored.
	ArchiveDir = "/scratch"
)

// ArchiveProgress is what an agent that records tells of the archive.
type ArchiveProgress struct {
	// Time is when it told this, by its own clock, as all times here are.
	Time time.Time `json:"time"`
	// ClusterID is etcd's, 16 hexadecimal digits, and MemberID that of the member that is
	// watched. They are empty until one is.
	ClusterID string `json:"clusterID,omitempty"`
	MemberID  string `json:"memberID,omitempty"`
	// Timeline counts how often the recording of the cluster has begun, and Begin is the
	// revision behind which it did: a snapshot of Begin or a later revision is needed to
	// restore anything of it.
	Timeline uint32 `json:"timeline,omitempty"`
	Begin    int64  `json:"begin,omitempty"`
	// Revision is the newest up to which all is in the store, and Newest the cluster's.
	Revision int64 `json:"revision,omitempty"`
	Newest   int64 `json:"newest,omitempty"`
	// RecoveryTime is the recovery point: whatever was acknowledged before it is in the
	// store. It is zero if that is not known yet.
	RecoveryTime time.Time `json:"recoveryTime,omitzero"`
	// Gap is the newest that the agent has seen since it was started; nil if none.
	Gap *Gap `json:"gap,omitempty"`
	// AuthChanged is when the agent found that users or roles had changed; zero if they have
	// not since it was started. Only a snapshot that began later has them.
	AuthChanged time.Time `json:"authChanged,omitzero"`
	// Copy is how far the archive is copied to the second place; nil if nothing is known.
	Copy *CopyProgress `json:"copy,omitempty"`
	// Failure is why nothing is recorded now; nil if something is.
	Failure *agent.Failure `json:"failure,omitempty"`
}

// CopyProgress is what an agent that records tells of the second place.
type CopyProgress struct {
	// Revision is the newest up to which all is copied; 0: not known.
	Revision int64 `json:"revision,omitempty"`
	// Failure is why nothing is copied now; nil if nothing has failed.
	Failure *agent.Failure `json:"failure,omitempty"`
}

// Gap says which revisions no timeline holds, or why a new one has begun.
type Gap struct {
	// From is the first revision that was not archived, and To the last; To is before From
	// where the cluster has lost what was archived of it.
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// Message says why, to a person.
	Message string    `json:"message"`
	Time    time.Time `json:"time"`
}
