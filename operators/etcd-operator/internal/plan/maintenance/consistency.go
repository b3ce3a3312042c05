package maintenance

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

// The rules of this file compare the data of all members on a schedule. The comparison runs
// beside the reconciles; only its result is recorded, once. A member that a comparison has
// named is treated as one that an alarm CORRUPT names, but writes go on.

const (
	// ComparisonPause is for how long nothing is compared again after a comparison that has
	// shown nothing: such as one during which a member restarted.
	ComparisonPause = 10 * time.Minute
	// RecheckPause is how soon data is compared again of which no majority was the same.
	RecheckPause = time.Hour
)

// hashesAlike reports whether all healthy voters are known to hash the same data alike.
func hashesAlike(v *facts.View) bool {
	return !slices.ContainsFunc(v.Voters, func(m facts.Member) bool {
		return v.Healthy[m.ID] && !facts.IsComparable(v.Answer(m).Version)
	})
}

// voterIDs are sorted.
func voterIDs(v *facts.View) []uint64 {
	var ids []uint64
	for _, m := range v.Voters {
		ids = append(ids, m.ID)
	}
	slices.Sort(ids)
	return ids
}

// isRecorded reports whether the result of a comparison is in the status.
func isRecorded(v *facts.View, c *facts.Comparison) bool {
	return !c.Ended.IsZero() && !c.Ended.Truncate(time.Second).After(v.Cluster.Consistency.Since)
}

// RecordComparison latches what a comparison of the voters has shown. Those who differ are
// removed only after that.
func RecordComparison(v *facts.View) *step.Step {
	c := v.Comparison
	if c == nil || c.Ended.IsZero() || c.Failed != "" || !v.Settled || isRecorded(v, c) || !slices.Equal(c.Members, voterIDs(v)) {
		return nil
	}
	a := action.RecordConsistency{At: c.Ended, Revision: c.Revision, Result: c.Result, Differing: c.Differing}
	switch c.Result {
	case v1beta2.ResultMemberDiffers:
		return step.Do(a, string(c.Result), v.DifferingText(c.Differing, c.Revision)+"; the operator replaces it")
	case v1beta2.ResultNoMajority:
		return step.Do(a, string(c.Result), facts.NoMajorityText(c.Revision))
	case v1beta2.ResultConsistent:
	}
	return step.Do(a, string(v1beta2.ResultConsistent), facts.ConsistentText(c.Revision))
}

// BeginComparison compares the data of all members when that is due, nothing else is under
// way, and all are healthy.
func BeginComparison(v *facts.View) *step.Step {
	if !comparisonDue(v) || v.Cluster.IsChangingVersion() || v.NextToRestart() != nil || defragmentationBlocker(v, nil) != "" {
		return nil
	}
	if c := v.Comparison; c != nil && !isRecorded(v, c) && comparing(v) {
		return nil
	}
	return step.Do(action.CompareData{Members: v.List}, v1beta2.ClusterReasonComparingData, fmt.Sprintf("started comparing the data of %d members", len(v.Voters)))
}

// CompareOthers compares the data of all others when a member refuses to start, since its
// data differs from that of one of them: which of the two is right shows by that. One that
// differs from others who agree is replaced.
func CompareOthers(v *facts.View) *step.Step {
	for _, m := range v.Voters {
		p := v.PodOf[m.Name]
		if p == nil || !p.Inconsistent || !v.IsCrashing(p) || v.OthersAgree(p) || len(v.Healthy) < len(v.Voters)-1 || !v.HasQuorum() || !hashesAlike(v) || comparing(v) {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(v.List), func(o facts.Member) bool { return !v.Healthy[o.ID] })
		return step.Do(action.CompareData{Members: others}, v1beta2.ClusterReasonComparingData, fmt.Sprintf("started comparing the data of all other members: member %s refuses to start, because its data differs from that of another", m.Name))
	}
	return nil
}

// comparing reports whether a comparison runs, or has shown nothing just now.
func comparing(v *facts.View) bool {
	c := v.Comparison
	return c != nil && (c.Ended.IsZero() || v.Now.Sub(c.Ended) < ComparisonPause)
}

// comparisonDue reports whether it is time for a comparison. One member has nobody to be
// compared with.
func comparisonDue(v *facts.View) bool {
	c := &v.Cluster.Consistency
	if c.Schedule.String() == "" || len(v.Voters) < 2 || !hashesAlike(v) {
		return false
	}
	switch {
	case c.Result == v1beta2.ResultMemberDiffers && len(c.Differing) == 0:
		return true // they were removed
	case c.Result == v1beta2.ResultNoMajority && v.Now.Sub(c.Since) >= RecheckPause:
		return true
	}
	newest, _ := c.Schedule.Due(c.Since, v.Now)
	return !newest.IsZero()
}

// RefuseComparisonSchedule says what is wrong with a schedule that can't be read.
func RefuseComparisonSchedule(v *facts.View) *step.Step {
	if why := v.Cluster.Consistency.Invalid; why != "" {
		return step.Wait(step.Idle, v1beta2.ClusterReasonScheduleInvalid, fmt.Sprintf(
			"spec.maintenance.consistencyCheck is not a cron expression: %s; set a cron expression such as 0 3 * * 0, @daily or CRON_TZ=Europe/Berlin 30 3 * * 1-5, or Never", why)).As(action.AwaitsUser)
	}
	return nil
}
