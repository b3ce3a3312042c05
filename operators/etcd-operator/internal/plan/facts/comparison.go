package facts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
	"github.com/etcd-operators/etcd-operators/shared/schedule"
)

// Consistency is when members' data is compared, and what the last comparison has shown.
type Consistency struct {
	// Schedule says when; the zero Schedule is never. Invalid is why the one that is wanted
	// can't be read.
	Schedule schedule.Schedule
	Invalid  string
	// Since is when the last comparison ended, or, before the first, when the EtcdCluster
	// was created.
	Since time.Time
	// Result is that of the last comparison, at Revision; empty before the first.
	Result   v1beta2.ConsistencyResult
	Revision int64
	// Differing are the ids of the members that it has found to differ from a majority.
	Differing []uint64
}

// oldestComparable is the oldest etcd whose members hash the same data alike. One before it
// leaves a key out that was deleted at the compacted revision, or does not, by what it had
// compacted before (etcd-io/etcd pull request 18274).
var oldestComparable = etcdversion.Version{Major: 3, Minor: 5, Patch: 16}

// IsComparable reports whether members that run a version of etcd hash the same data alike.
func IsComparable(version string) bool {
	return etcdversion.Parse(version).AtLeast(oldestComparable)
}

// ComparisonDue is since when, or from when on, a comparison of the members' data is due; zero if
// none is to be made.
func (c *Cluster) ComparisonDue() time.Time {
	if c.Consistency.Schedule.String() == "" || c.Size < 2 || c.Paused || !IsComparable(c.Version) {
		return time.Time{}
	}
	return c.Consistency.Schedule.Next(c.Consistency.Since, c.Consistency.Since)
}

// Comparison is one that was begun.
type Comparison struct {
	// Members are the ids of those who are compared, sorted.
	Members []uint64
	// Begun is when it began.
	Begun time.Time
	// Ended is when it ended; zero while it runs. What follows is set only then.
	Ended time.Time
	// Failed is why it has shown nothing; empty if it has.
	Failed string
	// Revision is the one at which data was compared, twice if it differs.
	Revision int64
	Result   v1beta2.ConsistencyResult
	// Differing are the ids of those who differ from a majority, sorted.
	Differing []uint64
}

// Differs reports whether the last comparison has found a member's data to differ.
func (c *Cluster) Differs(id uint64) bool { return slices.Contains(c.Consistency.Differing, id) }

// ConsistentText says of a comparison that all members agree.
func ConsistentText(revision int64) string {
	return fmt.Sprintf("all members have the same data at revision %d", revision)
}

// DifferingText names those who differ.
func (v *View) DifferingText(ids []uint64, revision int64) string {
	var names []string
	for _, id := range ids {
		names = append(names, v.NameOrID(id))
	}
	return fmt.Sprintf("data of member %s differs from the majority at revision %d, by two comparisons", strings.Join(names, ", "), revision)
}

// NoMajorityText says of one that no majority agrees, and what a person can do.
func NoMajorityText(revision int64) string {
	return fmt.Sprintf("members' data differs at revision %d, and no majority has the same: nothing is removed; compare the members (etcdctl endpoint hashkv --cluster, and a key that you know with etcdctl get --consistency=s at each member), back up the one that is right (etcdctl snapshot save), and restore the cluster from that with an EtcdRestore, or from an earlier EtcdBackup", revision)
}

// OthersAgree reports whether a comparison that began after a member had ended has shown that
// the data of all others is the same.
func (v *Members) OthersAgree(p *Pod) bool {
	c := v.Comparison
	return c != nil && c.Result == v1beta2.ResultConsistent && c.Begun.After(p.UnreadySince) && !p.UnreadySince.IsZero() && slices.Equal(c.Members, v.healthyIDs())
}
