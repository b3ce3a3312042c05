package suite

import "fmt"

func sized(n int) string { return fmt.Sprintf("healthy with %d members", n) }

func (c *cluster) scale(n int) {
	c.s.t.Helper()
	c.s.must(c.Scale(c.s.ctx, n))
}

func (c *cluster) follower() string {
	c.s.t.Helper()
	name := c.Follower()
	if name == "" {
		c.s.t.Fatalf("%s has no follower", c.Name)
	}
	return name
}

func (c *cluster) leader() string {
	c.s.t.Helper()
	name := c.Leader()
	if name == "" {
		c.s.t.Fatalf("%s has no leader", c.Name)
	}
	return name
}
