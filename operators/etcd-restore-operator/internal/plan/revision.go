package plan

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

const (
	// minBump is by how much the revision is raised at least. etcd-operator might not have
	// run while clients wrote: this is five hours of 50,000 writes a second.
	minBump = int64(1_000_000_000)
	// maxRevision is the highest revision that a cluster begins at. What is beyond it is
	// more than any cluster can write.
	maxRevision = int64(math.MaxInt64 / 2)
	// leastMargin is how far the members must be from where the cluster begins when they
	// are stopped: a cache or a member may lag behind what was written last.
	leastMargin = minBump / 2
	// mostWrites is how many revisions a cluster makes in a second at most, where nobody
	// tells how many it has made.
	mostWrites = int64(50_000)
)

// revisionTooHigh is said when no revision is left.
const revisionTooHigh = "revision too high: the restored cluster cannot begin beyond what clients have seen; restore another snapshot, or remove spec.revisionBump"

// highest is the highest revision that clients may have seen, as far as is known.
func (v *view) highest() int64 {
	if !v.there {
		return 0
	}
	return max(v.Cluster.Status.HighestRevision, 0)
}

// revision is where the restored cluster begins at least: 1e9 beyond all that anybody has
// seen, or further if spec.revisionBump leads there. ok is false if no revision is left.
func (v *view) revision() (revision int64, ok bool) {
	snapshot := v.newest()
	seen := max(snapshot, v.highest(), v.reached())
	if seen > maxRevision-minBump || snapshot > maxRevision-v.bump() {
		return 0, false
	}
	revision = seen + minBump
	if v.last.Snapshot != nil {
		revision = max(revision, snapshot+v.bump())
	}
	return revision, true
}

// newest is the newest revision of the backed-up cluster that the snapshot has, or the archive
// adds to it; 0 until that is known.
func (v *view) newest() int64 {
	if v.last.Snapshot == nil {
		return 0
	}
	return max(v.last.Snapshot.Revision, v.target(), 0)
}

// bump is by how much the cluster begins beyond the snapshot at least.
func (v *view) bump() int64 {
	if b := v.spec.RevisionBump; b != nil {
		return max(*b, minBump)
	}
	return minBump
}

// reached is what members that serve have come to since the fence, of a seed that is made
// anew: what they have told, or else the most that they can have written meanwhile, and as
// much again for the time that the next one takes.
func (v *view) reached() int64 {
	switch {
	case v.last.Revision == 0 || !v.serves():
		return 0
	case v.Reported > 0:
		return v.Reported
	}
	return v.mostWritten(2)
}

// mostWritten is the highest revision that the members can have come to if they have
// written for times as long as they were fenced.
func (v *view) mostWritten(times int64) int64 {
	since := v.last.FenceTime
	if since == nil {
		since = v.last.StartTime
	}
	if since == nil || v.Now.Before(since.Time) {
		return v.highest()
	}
	seconds := int64(v.Now.Sub(since.Time) / time.Second)
	if v.highest() > maxRevision || seconds > maxRevision/(mostWrites*times) {
		return maxRevision
	}
	return min(v.highest()+seconds*mostWrites*times, maxRevision)
}

// askReached has the members that serve asked for their revision, before anything follows
// from it.
func (v *view) askReached() *step {
	if v.last.Revision == 0 {
		return nil
	}
	return v.askMembers()
}

func (v *view) askMembers() *step {
	if v.Asked || !v.serves() {
		return nil
	}
	s := wait(v.preparing(), v1beta2.RestoreReasonPreparing, "asking the old members for their revision")
	s.requeueAfter, s.revision = next, true
	return s
}

// checkReached makes sure, before a member is stopped, that no client has seen the revision
// at which the cluster is to begin: members have written while the seed was prepared. If
// they may come near it, another seed is prepared that begins further on.
func checkReached(v *view) *step {
	if v.seed.Permit != PermitToPrepare || !v.serves() {
		return nil
	}
	if s := v.askReached(); s != nil {
		return s
	}
	if v.reachable() < v.last.Revision {
		return nil
	}
	return v.dropPod(v.preparing(), v.seed, fmt.Sprintf(
		"it begins at revision %d, which the old members could reach before they are stopped; another seed follows, at a higher revision", v.last.Revision))
}

// reachable is the revision to which members that serve can come until they are stopped.
func (v *view) reachable() int64 {
	if v.Reported > 0 {
		return max(v.Reported, v.highest()) + leastMargin
	}
	return v.mostWritten(1)
}

// recordReached settles where the cluster begins before members are stopped that have
// written much since the fence, such as while a seed found no room beside them: once they
// are stopped nobody can tell.
func recordReached(v *view) *step {
	if !v.serves() {
		return nil
	}
	if s := v.askMembers(); s != nil {
		return s
	}
	seen := v.reachable()
	if seen < max(v.last.Revision, v.highest()+minBump) {
		return nil
	}
	if seen > maxRevision-minBump {
		return v.fail(v1beta2.RestoreReasonRevisionTooHigh, revisionTooHigh)
	}
	return record(v.stopping(), v1beta2.RestoreReasonStoppingMembers, fmt.Sprintf("the restored cluster begins at revision %d or later, beyond what the old members reach before they are stopped", seen+minBump),
		func(st *v1beta2.RestoreStatus) { st.Revision = seen + minBump })
}

// checkRevision refuses a bump that would let time run backwards, and one that leaves no
// revisions.
func (v *view) checkRevision() *refusal {
	revision, ok := v.revision()
	if !ok {
		return &refusal{v1beta2.RestoreReasonRevisionTooHigh, fmt.Sprintf(
			"revision too high: the snapshot has revision %d and the cluster %d, and the restored cluster would begin beyond %d; remove spec.revisionBump", v.newest(), v.highest(), maxRevision)}
	}
	// Once the cluster is fenced, what it wrote last must not fail the restore.
	if v.fenced {
		return nil
	}
	return v.refuseBump(revision)
}

// checkBump refuses such a bump once the seed has told where the cluster begins.
func (v *view) checkBump() *refusal { return v.refuseBump(v.last.Revision) }

// refuseBump refuses a bump by which the snapshot's revision does not come to this one.
func (v *view) refuseBump(revision int64) *refusal {
	snapshot := v.newest()
	if bump := v.spec.RevisionBump; bump != nil && snapshot+*bump < revision {
		return &refusal{v1beta2.RestoreReasonRevisionBumpTooSmall, fmt.Sprintf(
			"revisionBump %d is too small: it raises the snapshot's revision %d to less than %d, which is 1e9 beyond all that clients might have seen; remove it, or set at least %d",
			*bump, snapshot, revision, revision-snapshot)}
	}
	return nil
}

// outlook says what is known of the revisions that clients have seen.
func (v *view) outlook() string {
	switch {
	case v.fresh:
		return fmt.Sprintf("the cluster is new and begins at least %d beyond the snapshot: restart clients that used an earlier cluster of this name, which might have seen a higher revision", minBump)
	case v.highest() == 0:
		return fmt.Sprintf("its highest revision is not known, since it has never reported one: the restored cluster begins %d beyond the snapshot, so restart clients that have seen a higher revision", minBump)
	}
	return fmt.Sprintf("clients have seen no revision beyond %d", v.highest())
}

// meanwhile says what holds for old members that serve while the seed is prepared.
func (v *view) meanwhile() string {
	switch {
	case !v.serves():
		return ""
	case !v.persistent():
		return "; its members serve until the seed is ready, lost ones are not replaced, and their data is lost when they are stopped, since they have no volumes"
	}
	return "; its members serve until the seed is ready, and lost ones are not replaced"
}

// alarmCorrupt is etcd's alarm of a member whose data differs from that of the others.
const alarmCorrupt = "CORRUPT"

// describe tells of a snapshot, and of what is restored of it; nil if that is all, or not
// known yet.
func (v *view) describe(s *v1beta2.RestoreSnapshot, restored *v1beta2.RestoredState, target int64) string {
	text := fmt.Sprintf("snapshot %s is valid: %s, revision %d, %d keys, etcd %s", s.Location, s.ReadableSize, s.Revision, s.TotalKeys, s.EtcdVersion)
	if s.Hash == v1beta2.HashEqual {
		text += "; its data has the hash of its source"
	}
	switch {
	case restored != nil:
		text += fmt.Sprintf("; it is restored%s with %d keys, and ", v.asOf(restored.Revision), restored.TotalKeys)
		if n := restored.RevisionsAppended; n > 0 {
			text += fmt.Sprintf("the %d revisions after the snapshot are from its archive", n)
		} else {
			text += fmt.Sprintf("the %d later revisions are left out", restored.RevisionsLeftOut)
		}
		if n := restored.KeysLeftOut; n != nil {
			text += fmt.Sprintf(", as are %d keys outside spec.prefixes", *n)
		}
	case v.asAsked(target) == "":
	case v.spec.VerifyOnly:
		text += "; it can be restored" + v.asAsked(target)
		if n := s.KeysAtRevision; n != nil {
			text += fmt.Sprintf(" with %d keys", *n)
		}
	default:
		text += "; it is restored" + v.asAsked(target)
	}
	if s.ClearedAlarms != "" {
		text += fmt.Sprintf("; it was taken while etcd had raised the alarm %s, which is cleared in the restored cluster", s.ClearedAlarms)
	}
	if strings.Contains(s.ClearedAlarms, alarmCorrupt) {
		text += "; its data might differ from that of the other members, so compare it with another snapshot"
	}
	return text
}
