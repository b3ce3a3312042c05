package suite

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

// TestChangeOfPods: an edit of the Pods' resources gives each member another Pod on its
// volume, one at a time, and its clients notice nothing.
func TestChangeOfPods(t *testing.T) {
	t.Parallel()
	s := anOperator(t)
	c := s.cluster("etcd", harness.Size(3), harness.Volumes)
	c.settles(3, twoMinutes)
	members, pods := c.members(), c.State().UIDs()
	w := c.writes()

	c.wantsPod(map[string]any{"resources": map[string]any{"requests": map[string]any{"cpu": "15m"}}})
	c.becomes("changed", harness.All(podsRequest("15m"), harness.Settled(3)), anUpgrade)
	c.becomes("of the same members", sameMembers(members), oneMinute)
	c.becomes("of other Pods", withoutPods(pods), oneMinute)
	for _, m := range members {
		c.tells("MemberUpdated", m)
	}
	w.noticedNoFailure(aBlink)

	pods = c.State().UIDs()
	c.wantsPod(map[string]any{"labels": map[string]any{"team": "storage"}})
	c.becomes("labelled in place", func(s harness.State) string {
		for _, p := range s.Pods {
			if p.Labels["team"] != "storage" || p.Labels[v1beta2.LabelRole] != v1beta2.RoleVoter {
				return fmt.Sprintf("Pod %s has the labels %v", p.Name, p.Labels)
			}
		}
		if len(withoutPods(pods)(s)) == 0 {
			return "there are other Pods"
		}
		return ""
	}, oneMinute)
	w.noticedNoFailure(aBlink)
	w.lostNothing(3)
}

// TestRestart: members without volumes are replaced one after the other when a restart is
// asked for, and none goes before another one has its place.
func TestRestart(t *testing.T) {
	t.Parallel()
	s := anOperator(t)
	c := s.cluster("etcd", harness.Size(3))
	c.settles(3, twoMinutes)
	members := c.members()
	w := c.writes()
	s.kubectl("annotate", "etcd", c.Name, v1beta2.AnnotationRestart+"=now")
	c.becomes("replaced", harness.All(withoutMember(members[0]), withoutMember(members[1]), withoutMember(members[2]), harness.Settled(3)), fourMinutes)
	for _, m := range members {
		c.tells("MemberUpdated", m)
	}
	w.noticed(aBlink)
	w.lostNothing(3)
}

// TestChangeThatGoesWrong: Pods that ask for more than any node has stop the change at the
// first member; the rest serves, and the next edit heals it.
func TestChangeThatGoesWrong(t *testing.T) {
	isLong(t)
	t.Parallel()
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := anOperator(t)
			c := s.cluster("etcd", append(kind, harness.Size(3))...)
			c.settles(3, twoMinutes)
			members := c.members()
			w := c.writes()

			c.wantsPod(map[string]any{"resources": map[string]any{"requests": map[string]any{"cpu": "1000"}}})
			c.becomes("stuck, and telling why", updatingSays("0 of 3", "Insufficient cpu", "revert it"), twoMinutes)
			c.stays("Available", 3*time.Second, harness.Condition(v1beta2.ConditionAvailable, true, "Serving"))

			c.wantsPod(map[string]any{"resources": nil})
			c.becomes("back, of the same members", harness.All(sameMembers(members), harness.Settled(3)), anUpgrade)
			w.noticedNoFailure(aBlink)
			w.lostNothing(3)
		})
	}
}

func (c *cluster) wantsPod(pod map[string]any) {
	c.s.t.Helper()
	c.s.must(c.Patch(c.s.ctx, map[string]any{"spec": map[string]any{"pod": pod}}))
	c.s.tell("%s is to have Pods with %v", c.Name, pod)
}

// podsRequest: every member's etcd asks for so much CPU.
func podsRequest(cpu string) harness.Check {
	return func(s harness.State) string {
		for _, p := range s.Pods {
			if got := p.Spec.Containers[0].Resources.Requests.Cpu().String(); got != cpu {
				return fmt.Sprintf("Pod %s asks for %s of CPU, not %s", p.Name, got, cpu)
			}
		}
		return ""
	}
}

// withoutPods: none of these is there.
func withoutPods(uids []types.UID) harness.Check {
	return func(s harness.State) string {
		for _, p := range s.Pods {
			if slices.Contains(uids, p.UID) {
				return fmt.Sprintf("Pod %s is the one that there was", p.Name)
			}
		}
		return ""
	}
}

// updatingSays: the condition Progressing says that members get other Pods, with all of
// the words.
func updatingSays(words ...string) harness.Check {
	return func(s harness.State) string {
		for _, c := range s.Cluster.Status.Conditions {
			if c.Type == v1beta2.ConditionProgressing {
				if c.Reason == "UpdatingMembers" && containsAll(c.Message, words) {
					return ""
				}
				return fmt.Sprintf("%s: %s lacks one of %s", c.Reason, c.Message, strings.Join(words, ", "))
			}
		}
		return "there is no condition Progressing"
	}
}
