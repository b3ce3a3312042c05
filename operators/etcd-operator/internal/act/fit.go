package act

import (
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

const (
	// maxListed is how many members the status lists: seven voters, one that replaces
	// another, and what people add by hand. Thousands would not fit into an object.
	maxListed = 64
	// maxWord is longer than every name, version and reason that is one: 253 is
	// Kubernetes' own limit of names.
	maxWord = 253
)

// fit cuts a status to what the schema of the CRD, and the size of an object, take. What
// kubelets, schedulers, API servers and members say goes into it, and a status that is
// refused for one long text would neither report nor latch anything.
func fit(st *v1beta2.ClusterStatus) {
	st.Reason = conditiontext.Message(st.Reason)
	st.CurrentVersion, st.TargetVersion = conditiontext.ClipTo(st.CurrentVersion, maxWord), conditiontext.ClipTo(st.TargetVersion, maxWord)
	for i := range st.Conditions {
		c := &st.Conditions[i]
		c.Reason, c.Message = conditiontext.Reason(c.Reason, v1beta2.ClusterReasonUnknown), conditiontext.Message(c.Message)
	}
	st.MemberDetails = atMost(st.MemberDetails)
	for i := range st.MemberDetails {
		d := &st.MemberDetails[i]
		d.Version, d.Node = conditiontext.ClipTo(d.Version, maxWord), conditiontext.ClipTo(d.Node, maxWord)
	}
	st.Members.Ready, st.Members.Unready = names(st.Members.Ready), names(st.Members.Unready)
	st.Leader = conditiontext.ClipTo(st.Leader, maxWord)
	st.Alarms = atMost(st.Alarms)
	for i := range st.Alarms {
		a := &st.Alarms[i]
		a.Kind, a.Member = conditiontext.ClipTo(a.Kind, maxWord), conditiontext.ClipTo(a.Member, maxWord)
	}
	if r := st.Recovery; r != nil {
		r.Survivors, r.Members = unique(r.Survivors), unique(r.Members)
	}
}

func names(list []string) []string {
	list = atMost(list)
	for i := range list {
		list[i] = conditiontext.ClipTo(list[i], maxWord)
	}
	return list
}

func atMost[T any](list []T) []T { return list[:min(len(list), maxListed)] }

// unique leaves out what is in a list already.
func unique(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
