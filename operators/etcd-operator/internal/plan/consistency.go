package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
	"github.com/etcd-operators/etcd-operators/shared/schedule"
)

// The rules of this file compare the data of all members on a schedule. The comparison runs
// beside the reconciles; only its result is recorded, once. A member that a comparison has
// named is treated as one that an alarm CORRUPT names, but writes go on.

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

const (
	// comparisonPause is for how long nothing is compared again after a comparison that has
	// shown nothing: such as one during which a member restarted.
	comparisonPause = 10 * time.Minute
	// recheckPause is how soon data is compared again of which no majority was the same.
	recheckPause = time.Hour
)

// oldestComparable is the oldest etcd whose members hash the same data alike. One before it
// leaves a key out that was deleted at the compacted revision, or does not, by what it had
// compacted before (etcd-io/etcd pull request 18274).
var oldestComparable = etcdversion.Version{Major: 3, Minor: 5, Patch: 16}

// hashesAlike reports whether all healthy voters are known to hash the same data alike.
func (v *view) hashesAlike() bool {
	return !slices.ContainsFunc(v.voters, func(m Member) bool {
		return v.healthy[m.ID] && !etcdversion.Parse(v.answer(m).Version).AtLeast(oldestComparable)
	})
}

// differs reports whether the last comparison has found a member's data to differ.
func (c *Cluster) differs(id uint64) bool { return slices.Contains(c.Consistency.Differing, id) }

// voterIDs are sorted.
func (v *view) voterIDs() []uint64 {
	var ids []uint64
	for _, m := range v.voters {
		ids = append(ids, m.ID)
	}
	slices.Sort(ids)
	return ids
}

// isRecorded reports whether the result of a comparison is in the status.
func (v *view) isRecorded(c *Comparison) bool {
	return !c.Ended.IsZero() && !c.Ended.Truncate(time.Second).After(v.Cluster.Consistency.Since)
}

// recordComparison latches what a comparison of the voters has shown. Those who differ are
// removed only after that.
func recordComparison(v *view) *step {
	c := v.Comparison
	if c == nil || c.Ended.IsZero() || c.Failed != "" || !v.settled || v.isRecorded(c) || !slices.Equal(c.Members, v.voterIDs()) {
		return nil
	}
	a := RecordConsistency{At: c.Ended, Revision: c.Revision, Result: c.Result, Differing: c.Differing}
	switch c.Result {
	case v1beta2.ResultMemberDiffers:
		return do(a, string(c.Result), v.differingText(c.Differing, c.Revision)+"; the operator replaces it")
	case v1beta2.ResultNoMajority:
		return do(a, string(c.Result), noMajorityText(c.Revision))
	case v1beta2.ResultConsistent:
	}
	return do(a, string(v1beta2.ResultConsistent), consistentText(c.Revision))
}

// isRoutine reports whether a step is a comparison that finds all as it is to be: the status
// of an idle cluster is written once for it, with the result.
func (v *view) isRoutine(s *step) bool {
	switch a := s.action.(type) {
	case CompareData:
		return len(a.Members) == len(v.voters)
	case RecordConsistency:
		return a.Result == v1beta2.ResultConsistent && len(v.healthy) == len(v.voters)
	default:
		return false
	}
}

func consistentText(revision int64) string {
	return fmt.Sprintf("all members have the same data at revision %d", revision)
}

// differingText names those who differ.
func (v *view) differingText(ids []uint64, revision int64) string {
	var names []string
	for _, id := range ids {
		names = append(names, v.nameOrID(id))
	}
	return fmt.Sprintf("data of member %s differs from the majority at revision %d, by two comparisons", strings.Join(names, ", "), revision)
}

func noMajorityText(revision int64) string {
	return fmt.Sprintf("members' data differs at revision %d, and no majority has the same: nothing is removed; compare the members (etcdctl endpoint hashkv --cluster, and a key that you know with etcdctl get --consistency=s at each member), back up the one that is right (etcdctl snapshot save), and restore the cluster from that with an EtcdRestore, or from an earlier EtcdBackup", revision)
}

// beginComparison compares the data of all members when that is due, nothing else is under
// way, and all are healthy.
func beginComparison(v *view) *step {
	if !v.comparisonDue() || v.Cluster.isChangingVersion() || v.nextToRestart() != nil || v.defragmentationBlocker(nil) != "" {
		return nil
	}
	if c := v.Comparison; c != nil && !v.isRecorded(c) && v.comparing() {
		return nil
	}
	return do(CompareData{Members: v.list}, v1beta2.ClusterReasonComparingData, fmt.Sprintf("started comparing the data of %d members", len(v.voters)))
}

// othersAgree reports whether a comparison that began after a member had ended has shown that
// the data of all others is the same.
func (v *view) othersAgree(p *Pod) bool {
	c := v.Comparison
	return c != nil && c.Result == v1beta2.ResultConsistent && c.Begun.After(p.UnreadySince) && !p.UnreadySince.IsZero() && slices.Equal(c.Members, v.healthyIDs())
}

// healthyIDs are sorted.
func (v *view) healthyIDs() []uint64 { return slices.Sorted(maps.Keys(v.healthy)) }

// compareOthers compares the data of all others when a member refuses to start, since its
// data differs from that of one of them: which of the two is right shows by that. One that
// differs from others who agree is replaced.
func compareOthers(v *view) *step {
	for _, m := range v.voters {
		p := v.pods[m.Name]
		if p == nil || !p.Inconsistent || !v.isCrashing(p) || v.othersAgree(p) || len(v.healthy) < len(v.voters)-1 || !v.hasQuorum() || !v.hashesAlike() || v.comparing() {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(v.list), func(o Member) bool { return !v.healthy[o.ID] })
		return do(CompareData{Members: others}, v1beta2.ClusterReasonComparingData, fmt.Sprintf("started comparing the data of all other members: member %s refuses to start, because its data differs from that of another", m.Name))
	}
	return nil
}

// comparing reports whether a comparison runs, or has shown nothing just now.
func (v *view) comparing() bool {
	c := v.Comparison
	return c != nil && (c.Ended.IsZero() || v.Now.Sub(c.Ended) < comparisonPause)
}

// comparisonDue reports whether it is time for a comparison. One member has nobody to be
// compared with.
func (v *view) comparisonDue() bool {
	c := &v.Cluster.Consistency
	if c.Schedule.String() == "" || len(v.voters) < 2 || !v.hashesAlike() {
		return false
	}
	switch {
	case c.Result == v1beta2.ResultMemberDiffers && len(c.Differing) == 0:
		return true // they were removed
	case c.Result == v1beta2.ResultNoMajority && v.Now.Sub(c.Since) >= recheckPause:
		return true
	}
	newest, _ := c.Schedule.Due(c.Since, v.Now)
	return !newest.IsZero()
}

// refuseComparisonSchedule says what is wrong with a schedule that can't be read.
func refuseComparisonSchedule(v *view) *step {
	if why := v.Cluster.Consistency.Invalid; why != "" {
		return wait(idle, v1beta2.ClusterReasonScheduleInvalid, fmt.Sprintf(
			"spec.maintenance.consistencyCheck is not a cron expression: %s; use for example 0 3 * * 0, @daily, CRON_TZ=Europe/Berlin 30 3 * * 1-5, or Never", why)).as(AwaitsUser)
	}
	return nil
}

// consistency is what the last comparison has shown, the one that the step records included:
// its result and the conditions are written together.
func (v *view) consistency(s *step) Consistency {
	c := v.Cluster.Consistency
	if a, ok := s.action.(RecordConsistency); ok {
		c.Since, c.Result, c.Revision, c.Differing = a.At, a.Result, a.Revision, a.Differing
	}
	return c
}

// consistent is the condition of that name; nil before the first comparison.
func (v *view) consistent(s *step) *metav1.Condition {
	c := v.consistency(s)
	said := consistentText(c.Revision)
	switch c.Result {
	case "":
		return nil
	case v1beta2.ResultMemberDiffers:
		said = "the member whose data differed was replaced; comparing all members again"
		if len(c.Differing) > 0 {
			said = v.differingText(c.Differing, c.Revision) + "; the operator replaces it"
		}
	case v1beta2.ResultNoMajority:
		said = noMajorityText(c.Revision)
	case v1beta2.ResultConsistent:
	}
	cond := v.condition(v1beta2.ConditionConsistent, c.Result == v1beta2.ResultConsistent, string(c.Result), said)
	return &cond
}

// consistencyStatus carries on what the last comparison has shown, without those who are
// members no more.
func (v *view) consistencyStatus() *v1beta2.ConsistencyStatus {
	last := v.Cluster.LastStatus.Consistency
	if last == nil || !v.settled || len(last.DifferingMembers) == 0 {
		return last
	}
	now := last.DeepCopy()
	now.DifferingMembers = slices.DeleteFunc(now.DifferingMembers, func(id string) bool {
		return !slices.ContainsFunc(v.list, func(m Member) bool { return fmt.Sprintf("%016x", m.ID) == id })
	})
	return now
}
