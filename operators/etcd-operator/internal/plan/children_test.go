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

func TestNothingIsDoneWhileAChildIsRefused(t *testing.T) {
	unlatched := func() *world { return healthy(3).size(5).role("c", Joiner) }
	rows{
		"a Service": {
			reason: "it is made before the action, and is not tried yet", seen: unlatched().rejectedChild(ApplyService, "x"),
			because: v1beta2.ClusterReasonServiceRejected,
		},
		"a Service, that is to be tried again": {
			reason: "the action follows if it is accepted", seen: unlatched().rejectedChild(ApplyService, "x").later(firstPause),
			do: createJoiners2(), because: "CreatingMembers",
		},
		"a Service, before the spec was edited": {
			reason: "the edit may mend it", seen: unlatched().rejectedChild(ApplyService, "x").cluster(func(c *Cluster) { c.Generation++ }),
			do: createJoiners2(), because: "CreatingMembers",
		},
		"the labels of Pods": {
			reason: "Services select by them", seen: unlatched().rejectedChild(LabelMembers, ""), because: v1beta2.ClusterReasonActionRejected,
		},
		"a budget": {
			reason: "members are restarted under its protection", seen: unlatched().rejectedChild(ApplyBudget, "x"),
			because: v1beta2.ClusterReasonPodDisruptionBudgetRejected,
		},
		"a budget that is not wanted any more": {
			reason: "it is not asked for", do: createJoiners2(), because: "CreatingMembers",
			seen: unlatched().rejectedChild(ApplyBudget, "x").cluster(func(c *Cluster) { c.DisruptionBudget = false }),
		},
		"a budget that can't be deleted": {
			reason: "as one that can't be made", because: v1beta2.ClusterReasonPodDisruptionBudgetRejected,
			seen: unlatched().rejectedChild(DeleteBudget, "x").cluster(func(c *Cluster) { c.DisruptionBudget = false }),
		},
		"a budget in whose place is another's": {
			reason: "it is not touched", do: createJoiners2(), because: "CreatingMembers",
			seen: func() *world {
				w := unlatched().rejectedChild(ApplyBudget, "x")
				w.o.ForeignBudget = "PodDisruptionBudget x"
				return w
			}(),
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
		"a Service": {ApplyService, v1beta2.ClusterReasonServiceRejected, []string{"cannot create or update Service x: " + quotaWords, "changes no member"}},
		"a budget":  {ApplyBudget, v1beta2.ClusterReasonPodDisruptionBudgetRejected, []string{"cannot create or update PodDisruptionBudget x: " + quotaWords, "spec.podDisruptionBudget: false"}},
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
		"all":                {reason: "what is accepted is forgotten", known: of(ApplyService, ApplyBudget, LabelMembers), budget: 2},
		"of an action":       {reason: "it was not tried", known: of(pod), budget: 2, want: 1},
		"no budget":          {reason: "it was not tried", known: of(ApplyService, ApplyBudget), budget: KeepBudget, want: 1},
		"a refused Service":  {reason: "the other one was not tried", known: of(ApplyService, ApplyBudget), budget: 2, but: of(ApplyService), want: 1},
		"labels are refused": {reason: "nothing else was tried", known: of(ApplyService, ApplyBudget, LabelMembers), budget: 2, but: of(LabelMembers), want: 3},
	} {
		if left := AcceptChildren(row.known, row.budget, row.but...); len(left) != row.want {
			t.Errorf("%s: %v is still known, want %d: %s", name, left, row.want, row.reason)
		}
	}
}
