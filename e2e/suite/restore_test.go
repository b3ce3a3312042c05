package suite

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/e2e/mirror"
)

// restores installs etcd-restore-operator in the scene, beside the others.
func (s *scene) restores() {
	s.t.Helper()
	s.must(env.Install(s.ctx, s.ns, harness.Install{Operator: harness.RestoreOperatorName}))
	s.must(s.view.WatchRestores(s.ctx))
	s.within(oneMinute, func(ctx context.Context) error {
		return env.AwaitDeployment(ctx, s.view, s.ns, harness.RestoreOperatorName)
	})
	s.tell("the restore operator runs in %s", s.ns)
}

// allOperators begins a scene with every operator, and an S3 store.
func allOperators(s *scene) *store {
	s.t.Helper()
	s.backsUp()
	s.restores()
	return s.aStore()
}

// restore is an EtcdRestore of a scene. Its methods are a test's sentences, and end the
// test when they don't come true.
type restore struct {
	*harness.Restore
	s       *scene
	created time.Time
}

// restore creates an EtcdRestore.
func (s *scene) restore(name string, options ...harness.RestoreOption) *restore {
	s.t.Helper()
	r := &restore{s: s, created: time.Now()}
	var err error
	r.Restore, err = env.CreateRestore(s.ctx, s.view, s.ns, name, options...)
	s.must(err)
	return r
}

// existingRestore is one that kubectl has created.
func (s *scene) existingRestore(name string) *restore {
	return &restore{Restore: env.Restore(s.view, s.ns, name), s: s, created: time.Now()}
}

// becomes: the check holds within the limit.
func (r *restore) becomes(what string, limit time.Duration, check harness.RestoreCheck) {
	r.s.t.Helper()
	r.s.within(limit, func(ctx context.Context) error { return r.Await(ctx, what, check) })
	r.s.tell("%s is %s", r.Name, what)
}

// serves: within the limit, the cluster serves what the snapshot holds.
func (r *restore) serves(limit time.Duration) v1beta2.RestoreStatus {
	r.s.t.Helper()
	r.s.within(limit, func(ctx context.Context) error { return r.Await(ctx, "served", harness.Restored) })
	took := time.Since(r.created)
	status := r.Status()
	r.s.tell("%s is served within %.1f s: seed %s, revision %d", r.Name, took.Seconds(), status.SeedMember, status.Revision)
	return status
}

// completes: within the limit, the cluster has its size, and nothing is left over.
func (r *restore) completes(limit time.Duration) v1beta2.RestoreStatus {
	r.s.t.Helper()
	r.s.within(limit, func(ctx context.Context) error { return r.Await(ctx, "complete", harness.RestoreCompleted) })
	r.s.tell("%s is complete within %.1f s", r.Name, time.Since(r.created).Seconds())
	return r.Status()
}

// isRefused: it fails for that reason, with all of these words, and an event says so.
func (r *restore) isRefused(limit time.Duration, reason string, words ...string) {
	r.s.t.Helper()
	r.becomes("refused: "+reason, limit, harness.RestoreRefused(reason, words...))
	r.tells(reason, words...)
}

// tells: there is an event of that reason about it that has all the words.
func (r *restore) tells(reason string, words ...string) {
	r.s.t.Helper()
	r.s.tellsOf("EtcdRestore", r.Name, reason, words...)
}

// isMirrored starts a client that keeps a copy of what the cluster holds.
func (c *cluster) isMirrored() *mirrored { c.s.t.Helper(); return c.isMirroredFrom("") }

// isMirroredFrom starts it on one node.
func (c *cluster) isMirroredFrom(node string) *mirrored {
	c.s.t.Helper()
	m := &mirrored{c: c}
	c.s.within(oneMinute, func(ctx context.Context) (err error) {
		m.Mirror, err = c.StartMirror(ctx, node)
		return err
	})
	c.s.tell("%s is mirrored", c.Name)
	return m
}

// mirrored is a client that keeps a copy of a cluster's keys, by lists and watches.
type mirrored struct {
	*harness.Mirror
	c *cluster
}

// holds: the cluster holds exactly these keys, each as it was.
func (m *mirrored) holds(want mirror.Content) mirror.Content {
	m.c.s.t.Helper()
	var got mirror.Content
	m.c.s.within(oneMinute, func(ctx context.Context) (err error) {
		got, err = m.Cluster(ctx)
		return err
	})
	if diff := got.Diff(want); diff != "" {
		m.c.s.t.Errorf("%s does not hold what it should: %s", m.c.Name, diff)
	}
	m.c.s.tell("%s holds %d keys as they were at revision %d, and is at revision %d", m.c.Name, len(got.Keys), want.Revision, got.Revision)
	return got
}

// catchesUp: its copy is what the cluster holds.
func (m *mirrored) catchesUp() mirror.State {
	m.c.s.t.Helper()
	m.c.s.within(oneMinute, m.CatchesUp)
	state, err := m.State(m.c.s.ctx)
	m.c.s.must(err)
	return state
}

// noticedRestores: it was told so often that what it knew was compacted, has listed
// again each time, and never saw time run backwards.
func (m *mirrored) noticedRestores(least, most int) {
	m.c.s.t.Helper()
	state := m.catchesUp()
	if state.Compacted < least || state.Compacted > most || state.Lists != state.Compacted+1 || state.WentBack {
		m.c.s.t.Errorf("a client that watched %s through %d restores: %+v", m.c.Name, most, state)
	}
	m.c.s.tell("a client that watched %s was told %d times to list again", m.c.Name, state.Compacted)
}

// snapshotAt are all keys that are in what is stored at a place.
func (s *scene) snapshotAt(p place) mirror.Content {
	s.t.Helper()
	var all mirror.Content
	s.within(oneMinute, func(ctx context.Context) (err error) {
		all, err = p.keys(ctx)
		return err
	})
	return all
}

// isDestroyed takes members away, with all that they have stored.
func (c *cluster) isDestroyed(members ...string) {
	c.s.t.Helper()
	before := c.State()
	for _, name := range members {
		c.gone = append(c.gone, before.Pod(name).UID)
	}
	c.s.must(c.Destroy(c.s.ctx, members...))
	c.s.tell("%d members of %s are destroyed", len(members), c.Name)
}

// samePods: the Pods are these, and none is ending.
func samePods(want []types.UID) harness.Check {
	return func(s harness.State) string {
		if len(s.Pods) != len(want) {
			return fmt.Sprintf("%d Pods, want %d", len(s.Pods), len(want))
		}
		for i := range s.Pods {
			if s.Pods[i].UID != want[i] || s.Pods[i].DeletionTimestamp != nil {
				return "Pod " + s.Pods[i].Name + " is another one, or is ending"
			}
		}
		return ""
	}
}
