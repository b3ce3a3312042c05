package plan

import (
	"fmt"
	"math"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

const (
	// minBump is by how much the revision is raised at least. etcd-operator may have been
	// away while clients wrote: this is five hours of 50,000 writes a second.
	minBump = int64(1_000_000_000)
	// maxRevision is the highest revision that a cluster begins at. What is beyond it is
	// more than any cluster can write.
	maxRevision = int64(math.MaxInt64 / 2)
)

// highest is the highest revision that clients may have seen, as far as is known.
func (v *view) highest() int64 {
	if !v.there {
		return 0
	}
	return max(v.Cluster.Status.HighestRevision, 0)
}

// revision is where the restored cluster begins: 1e9 beyond all that anybody has seen,
// or further if spec.revisionBump leads there. ok is false if no revision is left.
func (v *view) revision() (revision int64, ok bool) {
	snapshot := max(v.last.Snapshot.Revision, 0)
	seen := max(snapshot, v.highest())
	if seen > maxRevision-minBump {
		return 0, false
	}
	revision = seen + minBump
	if bump := v.spec.RevisionBump; bump != nil {
		if *bump > maxRevision-snapshot {
			return 0, false
		}
		revision = max(revision, snapshot+*bump)
	}
	return revision, true
}

// checkRevision refuses a bump that would let time run backwards, and one that leaves no
// revisions.
func (v *view) checkRevision() *refusal {
	revision, ok := v.revision()
	if !ok {
		return &refusal{"RevisionTooHigh", fmt.Sprintf(
			"the snapshot has revision %d and the cluster has come to %d: raised by what is asked for, that is beyond %d; leave out spec.revisionBump", v.last.Snapshot.Revision, v.highest(), maxRevision)}
	}
	// Once the cluster is fenced, what it wrote last must not fail the restore.
	if bump := v.spec.RevisionBump; bump != nil && !v.fenced && max(v.last.Snapshot.Revision, 0)+*bump < revision {
		return &refusal{"RevisionBumpTooSmall", fmt.Sprintf(
			"revisionBump is %d, and the snapshot's revision %d raised by it is less than %d, which is 1e9 beyond all that clients may have seen: leave it out, or write at least %d",
			*bump, v.last.Snapshot.Revision, revision, revision-max(v.last.Snapshot.Revision, 0))}
	}
	return nil
}

// outlook says what is known of the revisions that clients have seen.
func (v *view) outlook() string {
	switch {
	case v.fresh:
		return "no client has seen it yet"
	case v.highest() == 0:
		return fmt.Sprintf("its highest revision is not known, since it has never reported one: the restored cluster begins %d beyond the snapshot, and a client that saw more must be started anew", minBump)
	}
	return fmt.Sprintf("clients have seen no revision beyond %d", v.highest())
}

// describe tells of a snapshot.
func describe(s *v1beta2.RestoreSnapshot) string {
	return fmt.Sprintf("%s is a good snapshot: %s, revision %d, %d keys, etcd %s", s.Location, s.ReadableSize, s.Revision, s.TotalKeys, s.EtcdVersion)
}
