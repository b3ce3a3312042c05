package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

// cluster is an EtcdCluster of a scene. Its methods are a test's sentences, and end
// the test when they don't come true.
type cluster struct {
	*harness.Cluster
	s *scene
	// gone are the Pods that were deleted: until the watch has reported that, what
	// it shows is the time before.
	gone []types.UID
}

// cluster creates an EtcdCluster.
func (s *scene) cluster(name string, options ...harness.Option) *cluster {
	s.t.Helper()
	c, err := env.Create(s.ctx, s.view, s.ns, name, options...)
	s.must(err)
	return &cluster{Cluster: c, s: s}
}

// existing is an EtcdCluster that kubectl creates.
func (s *scene) existing(name string) *cluster {
	return &cluster{Cluster: env.Cluster(s.view, s.ns, name), s: s}
}

// settles: there are n healthy members, nothing is left to do and nothing left
// over.
func (c *cluster) settles(n int, limit time.Duration) {
	c.s.t.Helper()
	c.becomes(fmt.Sprintf("settled with %d members", n), harness.Settled(n), limit)
}

// becomes: the check holds within the limit.
func (c *cluster) becomes(what string, check harness.Check, limit time.Duration) {
	c.s.t.Helper()
	check = harness.All(harness.Without(c.gone...), check)
	c.s.within(limit, func(ctx context.Context) error { return c.Await(ctx, what, check) })
	c.s.tell("%s is %s", c.Name, what)
}

// stays: the check holds all the time.
func (c *cluster) stays(what string, long time.Duration, check harness.Check) {
	c.s.t.Helper()
	c.s.must(c.Stays(c.s.ctx, what, long, check))
	c.s.tell("%s stayed %s", c.Name, what)
}

func (c *cluster) resize(n int) {
	c.s.t.Helper()
	c.s.must(c.Resize(c.s.ctx, n))
}

func (c *cluster) pause(paused bool) {
	c.s.t.Helper()
	c.s.must(c.Patch(c.s.ctx, map[string]any{"spec": map[string]any{"paused": paused}}))
}

// losesPods deletes Pods. Whatever is waited for next is looked for without them.
func (c *cluster) losesPods(names ...string) {
	c.s.t.Helper()
	before := c.State()
	for _, name := range names {
		c.gone = append(c.gone, before.Pod(name).UID)
	}
	c.s.must(c.DeletePods(c.s.ctx, names...))
}

// members are the names of its members, as the status has them.
func (c *cluster) members() []string {
	var names []string
	for _, m := range c.State().Cluster.Status.MemberDetails {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return names
}

// sameMembers: exactly these are members.
func sameMembers(want []string) harness.Check {
	return func(s harness.State) string {
		var got []string
		for _, m := range s.Cluster.Status.MemberDetails {
			got = append(got, m.Name)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			return fmt.Sprintf("the members are %v, not %v", got, want)
		}
		return ""
	}
}

// withoutMember: the name is no member's any more.
func withoutMember(name string) harness.Check {
	return func(s harness.State) string {
		for _, m := range s.Cluster.Status.MemberDetails {
			if m.Name == name {
				return name + " is still a member"
			}
		}
		return ""
	}
}

// onNode is the name of the member that runs on a node.
func (c *cluster) onNode(node string) string {
	c.s.t.Helper()
	for _, m := range c.State().Cluster.Status.MemberDetails {
		if m.Node == node {
			return m.Name
		}
	}
	c.s.t.Fatalf("no member of %s runs on %s", c.Name, node)
	return ""
}

// tells: there is an event of that reason about it that has all the words. It may come a
// moment after what it tells of.
func (c *cluster) tells(reason string, words ...string) {
	c.s.t.Helper()
	c.s.within(oneMinute, func(ctx context.Context) error {
		return harness.Poll(ctx, fmt.Sprintf("an event %s with %q", reason, words), func(ctx context.Context) (string, error) {
			var all eventsv1.EventList
			if err := env.Client.List(ctx, &all, client.InNamespace(c.Namespace)); err != nil {
				return "", err
			}
			var seen []string
			for _, e := range all.Items {
				if e.Regarding.Kind != "EtcdCluster" || e.Regarding.Name != c.Name {
					continue
				}
				if e.Reason == reason && containsAll(e.Note, words) {
					return "", nil
				}
				seen = append(seen, e.Reason+": "+e.Note)
			}
			return "there are only\n" + strings.Join(seen, "\n"), nil
		})
	})
}

func containsAll(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// budgetKeeps: the PodDisruptionBudget keeps n members available; 0 means that
// there is none.
func budgetKeeps(n int) harness.Check {
	return func(s harness.State) string {
		if got := s.MinAvailable(); got != n {
			return fmt.Sprintf("the PodDisruptionBudget keeps %d, want %d", got, n)
		}
		return ""
	}
}

// podsEnd waits until the Pods that were deleted are gone.
func (c *cluster) podsEnd(limit time.Duration) {
	c.s.t.Helper()
	c.becomes("without the deleted Pods", func(harness.State) string { return "" }, limit)
}

// servicePorts are what a Service serves, by name.
func servicePorts(svc corev1.Service) map[string]int32 {
	ports := map[string]int32{}
	for _, p := range svc.Spec.Ports {
		ports[p.Name] = p.Port
	}
	return ports
}
