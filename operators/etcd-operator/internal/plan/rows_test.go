package plan

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// row is one thing that the rules, in their order, must do.
type row struct {
	// reason is why it must be so.
	reason string
	seen   *world
	// do is the action; nil for a wait.
	do wanted
	// because is Decision.Reason.
	because string
}

// rows are keyed by a sentence that says what is done when.
type rows map[string]row

// wanted is an action that is expected in an Observation.
type wanted func(Observation) Action

func (all rows) run(t *testing.T) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		r := all[name]
		t.Run(name, func(t *testing.T) { r.check(t, r.seen.seen()) })
	}
}

func (r *row) check(t *testing.T, o Observation) {
	t.Helper()
	var want Action
	if r.do != nil {
		want = r.do(o)
	}
	got := decided(o)
	if diff := cmp.Diff(want, got.Action, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("action (-want +got):\n%s\nit said %s: %s\nreason for this test: %s", diff, got.Reason, got.Message, r.reason)
	}
	if got.Reason != r.because {
		t.Errorf("Reason is %q (%s), want %q\nreason for this test: %s", got.Reason, got.Message, r.because, r.reason)
	}
	isToldAsDone(t, &got)
	isToldOnce(t, &got)
	if got.RequeueAfter <= 0 || got.Message == "" {
		t.Errorf("Again is %s and Message %q: a decision says both", got.RequeueAfter, got.Message)
	}
}

// listOf is the member list that was observed.
func listOf(o Observation) []Member {
	for _, p := range o.Pods {
		if p.Answer.Read && p.Answer.ClusterID == theCluster && len(p.Answer.Members) > 0 {
			return p.Answer.Members
		}
	}
	return nil
}

func podOf(o Observation, name string) *Pod {
	for i := range o.Pods {
		if o.Pods[i].Name == name {
			return &o.Pods[i]
		}
	}
	return nil
}

func exactly(a Action) wanted { return func(Observation) Action { return a } }

// create makes Pods, of theVersion if they name no other.
func create(pods ...NewPod) wanted {
	for i := range pods {
		if pods[i].Version == "" {
			pods[i].Version = theVersion
		}
	}
	return exactly(CreatePods{Pods: pods})
}

// joiners are n new Pods, under the first fresh names.
func joiners(n int) []NewPod {
	var pods []NewPod
	for i := range n {
		pods = append(pods, NewPod{Name: fmt.Sprintf("n%d", i+1), Role: Joiner})
	}
	return pods
}

func returning(names ...string) wanted {
	var pods []NewPod
	for _, name := range names {
		pods = append(pods, NewPod{Name: name, Role: Returning})
	}
	return create(pods...)
}

func addLearnerOf(name string) wanted {
	return func(o Observation) Action { return AddLearner{Name: name, Members: listOf(o)} }
}

func promoteOf(name string) wanted {
	return func(o Observation) Action { return Promote{ID: id(name), Name: name, Members: listOf(o)} }
}

func remove(name string) wanted {
	return func(o Observation) Action {
		return RemoveMember{ID: id(name), Name: name, Members: listOf(o), Pod: podOf(o, name)}
	}
}

func transferLeadershipOf(from, to string) wanted {
	return exactly(TransferLeadership{From: from, To: to, ToID: id(to)})
}

func setRole(name string, r Role) wanted {
	return exactly(SetRoles{Roles: []PodRole{{Name: name, UID: "uid-" + name, Role: r}}})
}

func open(name string, g StartPermit) wanted {
	return exactly(GrantStartPermit{Name: name, UID: "uid-" + name, StartPermit: g})
}

// restart deletes a member's Pod, to recreate it.
func restart(name string) wanted { return exactly(DeletePod{Name: name, UID: "uid-" + name}) }

// discard deletes the Pod of no member.
func discard(name string) wanted {
	return func(o Observation) Action { return DeletePod{Name: name, UID: "uid-" + name, Members: listOf(o)} }
}

func discardClaim(name string) wanted {
	return func(o Observation) Action { return DeleteClaim{Name: name, UID: "claim-" + name, Members: listOf(o)} }
}
