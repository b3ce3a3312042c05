package suite

import (
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

func TestScale(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]harness.Option{
		"EmptyDir": {harness.Size(3)},
		"Volumes":  {harness.Size(3), harness.Volumes},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "EmptyDir" {
				isLong(t)
			}
			t.Parallel()
			s := anOperator(t)
			c := s.cluster("etcd", options...)
			c.settles(3, oneMinute)
			w := c.writes()
			for _, step := range []struct {
				size, budget int
				how          func(int)
			}{
				{5, 3, c.resize},
				{3, 2, c.scale},
				{1, 0, c.resize},
				{3, 2, c.scale},
			} {
				step.how(step.size)
				c.becomes(sized(step.size), harness.Healthy(step.size), oneMinute)
				c.settles(step.size, oneMinute)
				c.becomes("protected as its size asks for", budgetKeeps(step.budget), oneMinute)
				w.noticed(aBlink)
			}
			c.tells("MemberRemoved")
			w.lostNothing(3)
		})
	}
}

// TestEvenSize: it works, and says what it is not good for.
func TestEvenSize(t *testing.T) {
	isLong(t)
	t.Parallel()
	s := anOperator(t)
	c := s.cluster("etcd", harness.Size(2))
	c.settles(2, oneMinute)
	w := c.writes()
	c.resize(4)
	c.settles(4, oneMinute)
	for _, cond := range c.State().Cluster.Status.Conditions {
		if cond.Type == v1beta2.ConditionAvailable && !containsAll(cond.Message, []string{"4 members tolerate no more failures than 3", "use an odd size"}) {
			t.Errorf("Available does not warn of the even size: %s", cond.Message)
		}
	}
	w.lostNothing(4)
}
