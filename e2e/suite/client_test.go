package suite

import (
	"context"
	"slices"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/e2e/writer"
)

// etcdClient writes to a cluster for as long as the test runs.
type etcdClient struct {
	*harness.Writer
	c *cluster
}

// writes starts a client that writes the whole time.
func (c *cluster) writes() *etcdClient { c.s.t.Helper(); return c.writesFrom("") }

// writesFrom starts it on one node.
func (c *cluster) writesFrom(node string) *etcdClient {
	c.s.t.Helper()
	w := &etcdClient{c: c}
	c.s.within(oneMinute, func(ctx context.Context) (err error) {
		w.Writer, err = c.StartWriter(ctx, node)
		return err
	})
	c.s.tell("a client writes to %s", c.Name)
	return w
}

// fills writes so many bytes in large values, and then no more.
func (c *cluster) fills(bytes int) *etcdClient {
	c.s.t.Helper()
	w := &etcdClient{c: c}
	c.s.within(twoMinutes, func(ctx context.Context) (err error) {
		w.Writer, err = c.Fill(ctx, bytes)
		return err
	})
	c.s.tell("%s holds %d MiB", c.Name, bytes>>20)
	return w
}

// holdsKeys writes so many small keys, and then no more.
func (c *cluster) holdsKeys(count int) *etcdClient {
	c.s.t.Helper()
	return c.adds("first", writer.DefaultPrefix, count)
}

// adds starts a client of that name that writes so many keys under a prefix, and then no
// more.
func (c *cluster) adds(name, prefix string, count int) *etcdClient {
	c.s.t.Helper()
	w := &etcdClient{c: c}
	c.s.within(twoMinutes, func(ctx context.Context) (err error) {
		w.Writer, err = c.Add(ctx, name, prefix, count)
		return err
	})
	c.s.tell("%s holds %d keys more", c.Name, count)
	return w
}

// What a client may notice at most. The figures are those of two busy cores; what
// it really is on an idle machine, bench tells.
const (
	// aBlink: members come and go in good order, and hand over before they go.
	aBlink = 8 * time.Second
	// anElection: the leader is gone without a word. The others wait for up to 2 s
	// and elect another; the client gives a silent connection up after 2 s.
	anElection = 12 * time.Second
	// anOutage: most members are gone at once, and come back.
	anOutage = 90 * time.Second
)

// noticed logs what the client noticed since it was last asked. Longer than that it
// must not have been without an answer.
func (w *etcdClient) noticed(atMost time.Duration) {
	w.c.s.t.Helper()
	win, err := w.Cut(w.c.s.ctx)
	w.c.s.must(err)
	w.c.s.tell("the client of %s noticed: %s %v", w.c.Name, win, win.Errors)
	if gap := win.LongestGap(); gap > atMost {
		w.c.s.t.Errorf("the client of %s had no write acknowledged for %s, and %s is the most", w.c.Name, gap, atMost)
	}
}

// lostNothing ends the writing: every acknowledged write is there, of one cluster
// alone, and etcd's own list has exactly n voters, all of which answer.
func (w *etcdClient) lostNothing(n int) {
	w.c.s.t.Helper()
	members, err := w.Members(w.c.s.ctx)
	w.c.s.must(err)
	r, err := w.Finish(w.c.s.ctx)
	w.c.s.must(err)
	w.c.s.tell("the client of %s in all: %s %v, %d lost", w.c.Name, r.Window, r.Errors, len(r.Lost))
	if len(r.Lost) > 0 {
		w.c.s.t.Errorf("%d acknowledged writes of %s are lost: %v", len(r.Lost), w.c.Name, r.Lost[:min(5, len(r.Lost))])
	}
	if r.Acked == 0 {
		w.c.s.t.Errorf("no write to %s was acknowledged at all", w.c.Name)
	}
	if len(r.Foreign) > 0 || len(r.Clusters) != 1 || r.RevisionWentBack {
		w.c.s.t.Errorf("%s is not the one cluster that it was: clusters %v, revision went back: %t, foreign keys %v", w.c.Name, r.Clusters, r.RevisionWentBack, r.Foreign)
	}
	if why := allServe(members, n); why != "" {
		w.c.s.t.Errorf("etcd's own member list of %s: %s", w.c.Name, why)
	}
}

func allServe(members []writer.Member, n int) string {
	if len(members) != n {
		return "wrong number of members"
	}
	leaders := 0
	for _, m := range members {
		if m.Error != "" || m.Learner {
			return m.Name + " does not serve: " + m.Error
		}
		if m.Leader {
			leaders++
		}
	}
	if leaders != 1 {
		return "not exactly one leader"
	}
	return ""
}

// acknowledged is how many writes have been acknowledged since it was last cut.
func (w *etcdClient) acknowledged() int {
	w.c.s.t.Helper()
	p, err := w.Progress(w.c.s.ctx)
	w.c.s.must(err)
	return p.Acked
}

// goesOn waits until the client's writes are acknowledged again after a fault.
func (w *etcdClient) goesOn(limit time.Duration) {
	w.c.s.t.Helper()
	before := w.acknowledged()
	w.c.s.within(limit, func(ctx context.Context) error {
		return harness.Poll(ctx, "writes to go on", func(ctx context.Context) (string, error) {
			p, err := w.Progress(ctx)
			if err != nil || p.Acked > before {
				return "", err
			}
			return "no write was acknowledged", nil
		})
	})
	w.c.s.tell("writes to %s go on", w.c.Name)
}

// names of members, sorted.
func memberNames(members []writer.Member) []string {
	var all []string
	for _, m := range members {
		all = append(all, m.Name)
	}
	slices.Sort(all)
	return all
}
