package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// rejectedChild is a child of the cluster that the API server has refused just now.
func (w *world) rejectedChild(kind, name string) *world {
	r := Rejection{Kind: kind, Name: name, Words: quotaWords, Generation: w.o.Cluster.Generation}
	w.o.Rejections, _ = Reject(w.o.Rejections, r, now)
	return w
}

// missing marks the rejected Services as not existing.
func (w *world) missing() *world {
	for i := range w.o.Rejections {
		w.o.Rejections[i].Absent = true
	}
	return w
}

// A rejected child holds up only what needs it.
func TestRejectedChildren(t *testing.T) {
	grows := func() *world { return healthy(3).size(5) }
	upgrades := func() *world { return upgrading("3.7.3").aside("b") }
	restart := changeImage("b", "3.7.3")
	rows{
		"a Service that does not exist": {
			reason: "new members need its DNS names", seen: grows().rejectedChild(ApplyService, "x").missing(),
			because: v1beta2.ClusterReasonServiceRejected,
		},
		"a Service that exists": {
			reason: "the existing Service still resolves members", seen: grows().rejectedChild(ApplyService, "x"),
			do: createJoiners2(), because: "CreatingMembers",
		},
		"a Service whose next try is due": {
			reason: "the action follows if it is accepted", seen: grows().rejectedChild(ApplyService, "x").missing().later(firstPause),
			do: createJoiners2(), because: "CreatingMembers",
		},
		"a Service, before the spec was edited": {
			reason: "the edit may correct it", seen: grows().rejectedChild(ApplyService, "x").missing().cluster(func(c *Cluster) { c.Generation++ }),
			do: createJoiners2(), because: "CreatingMembers",
		},
		"members return without a Service": {
			reason: "they heal the cluster, and their addresses exist", seen: healthy(3).volumes().gone("b", "c").rejectedChild(ApplyService, "x").missing(),
			do: create(NewPod{Name: "b", Role: Returning}, NewPod{Name: "c", Role: Returning}), because: "RestartingMember",
		},
		"the labels of Pods": {
			reason: "new Pods are created with their labels", seen: grows().rejectedChild(LabelMembers, ""), do: createJoiners2(), because: "CreatingMembers",
		},
		"roles are set without a budget": {
			reason: "the client Service must select the member", seen: healthy(3).role("c", Joiner).rejectedChild(ApplyBudget, "x"), do: setRole("c", Voter), because: "SettingRoles",
		},
		"a member is restarted": {
			reason: "the budget limits evictions", seen: upgrades(), do: restart, because: "UpgradingMember",
		},
		"no member is restarted without a budget": {
			reason: "S6: an eviction could be a second disruption", seen: upgrading("3.7.3").rejectedChild(ApplyBudget, "x"),
			because: v1beta2.ClusterReasonPodDisruptionBudgetRejected,
		},
		"a member whose restart waits for a budget": {
			reason: "clients reach the member until then", seen: upgrades().rejectedChild(ApplyBudget, "x"), do: setRole("b", Voter), because: "SettingRoles",
		},
		"a member is restarted while a budget can't be deleted": {
			reason: "the budget only limits evictions more", do: restart, because: "UpgradingMember",
			seen: upgrades().rejectedChild(DeleteBudget, "x").cluster(func(c *Cluster) { c.DisruptionBudget = false }),
		},
		"a member is restarted if no budget is wanted": {
			reason: "the spec asks for no budget", do: restart, because: "UpgradingMember",
			seen: upgrades().rejectedChild(ApplyBudget, "x").cluster(func(c *Cluster) { c.DisruptionBudget = false }),
		},
		"a member is restarted while another owner has a budget with its name": {
			reason: "the operator does not change that budget", do: restart, because: "UpgradingMember",
			seen: unbudgeted(upgrades().rejectedChild(ApplyBudget, "x")),
		},
		"no learner is promoted without a budget": {
			reason: "S6: the quorum grows, but the budget still allows evictions for the old one", because: "WaitingForMember",
			seen: healthy(3).size(4).learner("d").rejectedChild(ApplyBudget, "x"),
		},
		"a learner is promoted if no budget is wanted": {
			reason: "the spec asks for no budget", do: promoteOf("d"), because: "MemberPromoted",
			seen: healthy(3).size(4).learner("d").rejectedChild(ApplyBudget, "x").cluster(func(c *Cluster) { c.DisruptionBudget = false }),
		},
		"a learner is promoted while another owner has a budget with its name": {
			reason: "the operator does not change that budget", do: promoteOf("d"), because: "MemberPromoted",
			seen: unbudgeted(healthy(3).size(4).learner("d").rejectedChild(ApplyBudget, "x")),
		},
		"without a quorum": {
			reason: "what is waited for already is said", seen: healthy(3).volumes().noQuorum().rejectedChild(ApplyService, "x"), because: "NoQuorum",
		},
		"while the cluster is paused": {
			reason: "nothing is touched", seen: healthy(3).rejectedChild(ApplyService, "x").cluster(func(c *Cluster) { c.Paused = true }), because: "Paused",
		},
	}.run(t)
}

func createJoiners2() wanted {
	return create(NewPod{Name: "n1", Role: Joiner}, NewPod{Name: "n2", Role: Joiner})
}

// A refused child shows in Degraded with the API server's words, and in nothing that
// changes from try to try, also while nothing else is to be done.
func TestAChildThatIsRefusedIsSaid(t *testing.T) {
	for name, row := range map[string]struct {
		kind, reason string
		says         []string
	}{
		"a Service":                     {ApplyService, v1beta2.ClusterReasonServiceRejected, []string{"cannot create or update Service x: " + quotaWords}},
		"a Service that does not exist": {ApplyService, v1beta2.ClusterReasonServiceRejected, []string{"retries at least every 2m0s, and adds no member until then"}},
		"a budget":                      {ApplyBudget, v1beta2.ClusterReasonPodDisruptionBudgetRejected, []string{"cannot create or update PodDisruptionBudget x: " + quotaWords, "and restarts no member until then", "spec.podDisruptionBudget: false"}},
	} {
		t.Run(name, func(t *testing.T) {
			degraded := func(w *world) (status, reason, message string) {
				for _, c := range decided(w.seen()).Status.Conditions {
					if c.Type == v1beta2.ConditionDegraded {
						return string(c.Status), c.Reason, c.Message
					}
				}
				return "", "", ""
			}
			w := healthy(3).rejectedChild(row.kind, "x")
			if strings.HasSuffix(name, "does not exist") {
				w.missing()
			}
			status, reason, message := degraded(w)
			if status != "True" || reason != row.reason {
				t.Errorf("Degraded is %s, %s: %s", status, reason, message)
			}
			for _, part := range row.says {
				if !strings.Contains(message, part) {
					t.Errorf("Degraded says %q, want %q in it", message, part)
				}
			}
			d := decided(w.seen())
			if len(d.ChildrenHeldBack) != 1 || d.RequeueAfter > firstPause {
				t.Errorf("%v are held back, and it is looked at after %s; want one, and %s", d.ChildrenHeldBack, d.RequeueAfter, firstPause)
			}
			w.later(firstPause)
			if _, _, due := degraded(w); due != message {
				t.Errorf("when the next try is due it says %q, want %q still", due, message)
			}
			if d := decided(w.seen()); len(d.ChildrenHeldBack) != 0 {
				t.Errorf("%v are held back when the next try is due", d.ChildrenHeldBack)
			}
		})
	}
}

// While children are not applied, the status reports no rejection of them: it would never end.
func TestChildrenThatAreNotApplied(t *testing.T) {
	w := healthy(3).rejectedChild(ApplyService, "x").cluster(func(c *Cluster) { c.Paused = true })
	d := decided(w.seen())
	if len(d.ChildrenHeldBack) > 0 {
		t.Errorf("%v are held back, want none", d.ChildrenHeldBack)
	}
	if got := message(d.Status, v1beta2.ConditionDegraded); strings.Contains(got, quotaWords) {
		t.Errorf("Degraded says %q, want nothing about the Service", got)
	}
}

// The status does not tell of a budget that could not be made.
func TestABudgetThatIsRefusedIsNotReported(t *testing.T) {
	w := healthy(3).cluster(func(c *Cluster) { c.LastStatus.MinAvailable = 1 })
	if got := decided(w.seen()).Status.MinAvailable; got != 2 {
		t.Fatalf("minAvailable is %d, want 2", got)
	}
	if got := decided(w.rejectedChild(ApplyBudget, "x").seen()).Status.MinAvailable; got != 1 {
		t.Errorf("minAvailable is %d while 2 is refused, want 1 still", got)
	}
}

func TestAcceptChildren(t *testing.T) {
	of := func(kinds ...string) (all []Rejection) {
		for _, kind := range kinds {
			all, _ = Reject(all, Rejection{Kind: kind, Name: "x"}, now.Add(-time.Minute))
		}
		return all
	}
	pod := RejectedPod(NewPod{Name: "r", Role: Joiner}, false).Kind
	for name, row := range map[string]struct {
		reason string
		known  []Rejection
		budget int
		but    []Rejection
		want   int
	}{
		"all":                 {reason: "the rejections of accepted children are forgotten", known: of(ApplyService, ApplyBudget, LabelMembers), budget: 2},
		"of an action":        {reason: "the action was not tried", known: of(pod), budget: 2, want: 1},
		"budget is kept":      {reason: "its deletion was not tried", known: of(DeleteBudget), budget: KeepBudget, want: 1},
		"no budget":           {reason: "the budget was not tried", known: of(ApplyService, ApplyBudget), budget: KeepBudget, want: 1},
		"a rejected Service":  {reason: "the budget was accepted", known: of(ApplyService, ApplyBudget), budget: 2, but: of(ApplyService), want: 1},
		"labels are rejected": {reason: "everything else was accepted", known: of(ApplyService, ApplyBudget, LabelMembers), budget: 2, but: of(LabelMembers), want: 1},
	} {
		if left := AcceptChildren(row.known, row.budget, row.but...); len(left) != row.want {
			t.Errorf("%s: %v is still known, want %d: %s", name, left, row.want, row.reason)
		}
	}
}
