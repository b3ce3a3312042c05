package launcher

import (
	"context"
	"time"
)

// Host is what a [Launcher] acts on: a disk, a clock, what the kubelet has written, and the
// members that answer. [Run] has the Pod's; a simulation brings its own.
type Host interface {
	Now() time.Time
	// PodUID is the uid of the Pod; empty if that cannot be told.
	PodUID() string

	// HasWAL is [HasWAL] of the data dir.
	HasWAL() (bool, error)
	// Owner is whose data the data dir is marked to hold; nil if nothing says so.
	Owner() (*Owner, error)
	// Mark marks it. It is on the disk, or not at all, when it returns.
	Mark(Owner) error
	// SetRemnantsAside moves away what a data dir without a write-ahead log holds of a member, and
	// says where to; empty if it holds nothing.
	SetRemnantsAside() (kept string, err error)

	// StartPermit is what the kubelet has written last; nil for none.
	StartPermit() (*StartPermit, error)
	// Used is the attempt of the last start permit used, 0 for none.
	Used() (int64, error)
	// RecordUse records one durably: no launcher of this Pod uses it again.
	RecordUse(attempt int64) error

	// Serves reports whether an etcd serves, and does not only listen, at a peer URL.
	Serves(ctx context.Context, peerURL string) bool
	// MemberLists asks at each peer URL for the member list. Who does not answer is left out.
	MemberLists(ctx context.Context, peerURLs []string) map[string][]Entry

	RestoreHost
}

// RestoreHost is what the launcher of a restore's seed acts on besides.
type RestoreHost interface {
	// IsRestorePermitted reports whether the kubelet has written the start permit of the EtcdRestore.
	IsRestorePermitted() (bool, error)
	// CheckPrepared returns why what was prepared cannot become the data dir.
	CheckPrepared() error
	// Publish makes what was prepared the data dir.
	Publish() error
	// FinishPublishing does what a launcher was killed before that had just made the data dir.
	FinishPublishing() error
}
