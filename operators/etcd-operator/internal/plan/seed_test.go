package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// strandedSeed is a cluster of three whose seed a has not come to run on its node for so
// long.
func strandedSeed(d time.Duration) *world {
	return begun(3).joiner("b").joiner("c").joiner("a").role("a", Seed).pod("a", func(p *Pod) {
		p.StartPermit = &StartPermit{Attempt: 1, New: true, Members: []string{"a"}, Token: "token"}
		p.Created, p.UnreadySince = now.Add(-d), now.Add(-d)
		p.Node, p.Trouble, p.ImageUnavailable = "n-bad", "ImagePullBackOff: no route to the registry", true
		p.Answer = Answer{}
	})
}

// A seed that does not come to run is not replaced: its kubelet may start it after all, with
// the permit to begin that it has (S2). The condition says what to do, and that it is safe.
func TestASeedThatNeverRuns(t *testing.T) {
	const started = v1beta2.ClusterReasonSeedUnhealthy
	for name, row := range map[string]struct {
		reason string
		seen   *world
		want   string
		says   []string
	}{
		"for some minutes": {
			reason: "images take long to be pulled", seen: strandedSeed(strandedAge - time.Second), want: v1beta2.ClusterReasonCreating,
		},
		"for longer": {
			reason: "a person is asked for", seen: strandedSeed(strandedAge), want: started,
			says: []string{"ImagePullBackOff: no route to the registry", "if you cordon n-bad first): kubectl -n ns delete pod a; no data is lost", "spec.version"},
		},
		"since its containers are not made": {
			reason: "a volume can't be mounted, and it has the name of the Pod", want: started,
			seen: strandedSeed(strandedAge).volumes().claim("a").pod("a", func(p *Pod) { p.Trouble, p.Creating, p.Persistent = "", true, true }),
			says: []string{"its containers are not created", "events of the Pod", "delete pvc,pod a;"},
		},
		"while its Pod is being deleted": {
			reason: "that is what was asked for", want: v1beta2.ClusterReasonCreating,
			seen: strandedSeed(strandedAge).pod("a", func(p *Pod) { p.DeletingSince = now }),
		},
		"though it serves": {
			reason: "it has begun", want: v1beta2.ClusterReasonCreating,
			seen: strandedSeed(strandedAge).answer("a", func(a *Answer) { a.Reached = true }),
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := decided(row.seen.seen())
			if d.Action != nil {
				t.Errorf("it does %s: %s", KindOf(d.Action), row.reason)
			}
			for _, c := range d.Status.Conditions {
				if c.Type != v1beta2.ConditionDegraded {
					continue
				}
				if c.Reason != row.want || (c.Status == "True") != (row.want == started) {
					t.Errorf("Degraded is %s, %s: %s; want %s: %s", c.Status, c.Reason, c.Message, row.want, row.reason)
				}
				for _, part := range row.says {
					if !strings.Contains(c.Message, part) {
						t.Errorf("it says %q, want %q in it", c.Message, part)
					}
				}
			}
		})
	}
}

// Once the Pod is gone the seed has its permit again, under the same name; on a volume that
// exists it has none until it is known that there is no data.
func TestASeedWhosePodWasDeleted(t *testing.T) {
	rows{
		"the Pod alone": {
			reason: "nothing of it can use the old permit", seen: begun(3).joiner("b").joiner("c"), because: "CreatingMembers",
			do: create(NewPod{Name: "a", Role: Seed, StartPermit: &StartPermit{Attempt: firstAttempt, New: true, Members: []string{"a"}, Token: "token"}}),
		},
		"the Pod, and its volume stays": {
			reason: "there may be data", seen: begun(3).volumes().joiner("b").joiner("c").claim("a"), because: "CreatingMembers",
			do: create(NewPod{Name: "a", Role: Seed}),
		},
	}.run(t)
}
