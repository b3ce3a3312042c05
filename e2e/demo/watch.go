package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

// onlooker tells what changes between one look at the cluster and the next.
type onlooker struct {
	say *narrator
	// pods and members are what was last said of each.
	pods, members map[string]string
	ready         string
	// phase is what was last said of the restore.
	phase v1beta2.RestorePhase
}

func newOnlooker(say *narrator) *onlooker {
	return &onlooker{say: say, pods: map[string]string{}, members: map[string]string{}}
}

// and is a check that first tells what is new.
func (o *onlooker) and(check harness.Check) harness.Check {
	return func(s harness.State) string {
		o.look(s)
		return check(s)
	}
}

func (o *onlooker) look(s harness.State) {
	pods := map[string]string{}
	for i := range s.Pods {
		p := &s.Pods[i]
		state := "is Pending"
		switch {
		case p.DeletionTimestamp != nil:
			state = "is terminating"
		case p.Spec.NodeName != "":
			state = "is scheduled to " + p.Spec.NodeName
		}
		pods[p.Name] = state
	}
	o.tell("Pod", o.pods, pods, "is deleted")
	o.pods = pods
	if s.Cluster == nil {
		return
	}
	st := &s.Cluster.Status
	members := map[string]string{}
	for _, m := range st.MemberDetails {
		state := "is a " + strings.ToLower(string(m.Role))
		if m.Role == v1beta2.MemberUnstarted {
			state = "is added"
		}
		if m.Name == st.Leader {
			state += " and the leader"
		}
		members[m.Name] = state
	}
	// An observation without an answer knows no members; that is no news.
	if len(members) > 0 {
		o.tell("member", o.members, members, "is removed")
		o.members = members
	}
	if ready := fmt.Sprintf("%d of %d members are ready", len(st.Members.Ready), s.Cluster.Spec.Size); len(st.MemberDetails) > 0 && ready != o.ready {
		o.say.now("%s", ready)
		o.ready = ready
	}
}

// onRestore is a check that first tells what is new of a restore.
func (o *onlooker) onRestore(check harness.RestoreCheck) harness.RestoreCheck {
	return func(s harness.RestoreState) string {
		if s.Restore != nil && s.Restore.Status.Phase != "" && s.Restore.Status.Phase != o.phase {
			o.phase = s.Restore.Status.Phase
			o.say.now("EtcdRestore phase: %s", o.phase)
		}
		return check(s)
	}
}

func (o *onlooker) tell(what string, before, now map[string]string, gone string) {
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if before[name] != now[name] {
			o.say.now("%s %s %s", what, name, now[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, ok := now[name]; !ok {
			o.say.now("%s %s %s", what, name, gone)
		}
	}
}
