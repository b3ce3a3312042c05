package plan

import (
	"slices"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// crowdsOut reports whether a member whose data is broken most likely has the place that
// its replacement waits for: that has not been scheduled for the member timeout. The
// others can do without either as well as with a member that is down.
func crowdsOut(v *facts.View, m facts.Member, p *facts.Pod) bool {
	return v.IsDamaged(m, p) && slices.ContainsFunc(v.Candidates(), func(j *facts.Pod) bool { return j.Node == "" && j.Unschedulable != "" && v.IsExpired(j.Created) })
}
