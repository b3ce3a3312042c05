package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// informer keeps a copy of all keys as Kubernetes' clients do: it lists, watches from
// there on, and lists again when what it asks for is compacted.
type informer struct {
	client *clientv3.Client
	// state is the copy, revision what it is of, and lists how often it was listed.
	state    map[string]string
	revision int64
	lists    int
	watching bool
	events   clientv3.WatchChan
	// backwards tells that time has run backwards.
	backwards bool
}

// follow does one step: it lists, or takes the next events.
func (i *informer) follow(ctx context.Context) error {
	if !i.watching {
		return i.list(ctx)
	}
	select {
	case got, ok := <-i.events:
		if !ok || got.Err() != nil {
			// Compacted: the next step lists. Anything else: it watches again from
			// where it was.
			i.watching = false
			if !errors.Is(got.Err(), rpctypes.ErrCompacted) && i.lists > 0 {
				i.watch(ctx)
			}
			return nil
		}
		for _, e := range got.Events {
			i.see(e.Kv.ModRevision)
			if e.Type == clientv3.EventTypeDelete {
				delete(i.state, string(e.Kv.Key))
				continue
			}
			i.state[string(e.Kv.Key)] = string(e.Kv.Value)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (i *informer) list(ctx context.Context) error {
	got, err := i.client.Get(ctx, "", clientv3.WithPrefix())
	if err != nil {
		return err
	}
	i.lists++
	i.state = map[string]string{}
	for _, kv := range got.Kvs {
		i.state[string(kv.Key)] = string(kv.Value)
	}
	i.see(got.Header.Revision)
	i.watch(ctx)
	return nil
}

func (i *informer) watch(ctx context.Context) {
	i.events = i.client.Watch(clientv3.WithRequireLeader(ctx), "", clientv3.WithPrefix(), clientv3.WithRev(i.revision+1))
	i.watching = true
}

func (i *informer) see(revision int64) {
	i.backwards = i.backwards || revision < i.revision
	i.revision = revision
}

// until follows until the copy is that state.
func (i *informer) until(t *testing.T, want func() map[string]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i.state == nil || !maps.Equal(i.state, want()) {
		if err := i.follow(ctx); ctx.Err() != nil {
			t.Fatalf("the watcher has %d keys and lists failed: %v", len(i.state), err)
		}
	}
}

func values(state map[string]version) map[string]string {
	all := map[string]string{}
	for k, v := range state {
		all[k] = v.value
	}
	return all
}

// TestAWatcherThatLivesThroughRestores lets one client watch a cluster that is restored
// twice from the same snapshot, under the same address.
func TestAWatcherThatLivesThroughRestores(t *testing.T) {
	t.Parallel()
	etcdtest.EachVersion(t, func(t *testing.T, etcdVersion string) {
		t.Parallel()
		o := startOrigin(t, etcdVersion)
		verify := onVolume(t, o.content)
		found := must(t, verify).Snapshot
		watcher := &informer{client: connect(t, o.member)}
		current := o.member
		process := o.process
		highest := o.revision
		for n := range 2 {
			client := connect(t, current)
			for i := range 20 { // what the snapshot does not have, and is lost
				key := fmt.Sprintf("lost-%d-%d", n, i)
				if _, err := client.Put(t.Context(), key, "x"); err != nil {
					t.Fatal(err)
				}
			}
			state, revision := stateOf(t, client)
			if revision <= highest-1 {
				t.Errorf("time ran backwards: %d after %d", revision, highest)
			}
			highest = revision
			watcher.until(t, func() map[string]string { return values(state) })
			process.Kill()
			seed := etcdtest.NewMember(t, etcdVersion, "seed")
			seed.Client = current.Client // the Service stays the same
			must(t, restoring(t, verify, found, seed, highest+bump))
			process = seed.Start(t, "new", seed)
			seed.WaitReady(t)
			watcher.until(t, func() map[string]string { return values(o.state) })
			restored := connect(t, seed)
			checkRestored(t, restored, o, highest+bump)
			if _, err := restored.Put(t.Context(), "after", fmt.Sprint(n)); err != nil {
				t.Fatal(err)
			}
			after := values(o.state)
			after["after"] = fmt.Sprint(n)
			watcher.until(t, func() map[string]string { return after })
			current, highest = seed, highest+bump
		}
		if watcher.backwards || watcher.lists < 3 {
			t.Errorf("it has listed %d times, and time ran backwards: %t", watcher.lists, watcher.backwards)
		}
	})
}

// TestMembersJoinASeed lets two members join a restored one, as the operator does.
func TestMembersJoinASeed(t *testing.T) {
	t.Parallel()
	etcdtest.EachVersion(t, func(t *testing.T, etcdVersion string) {
		t.Parallel()
		o := startOrigin(t, etcdVersion)
		verify := onVolume(t, o.content)
		seed := etcdtest.NewMember(t, etcdVersion, "seed")
		must(t, restoring(t, verify, must(t, verify).Snapshot, seed, o.revision+bump))
		seed.Start(t, "new", seed)
		seed.WaitReady(t)
		members := []*etcdtest.Member{seed}
		client := connect(t, seed)
		for _, name := range []string{"second", "third"} {
			m := etcdtest.NewMember(t, etcdVersion, name)
			var id uint64
			etcdtest.Eventually(t, "the member to be added", func() error {
				// etcd drops a change of members that comes right after another one, and never answers.
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				added, err := client.MemberAddAsLearner(ctx, []string{m.PeerURL})
				if err == nil {
					id = added.Member.ID
				}
				return err
			})
			members = append(members, m)
			m.Start(t, "existing", members...)
			etcdtest.Eventually(t, "the learner to be promoted", func() error {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				_, err := client.MemberPromote(ctx, id)
				return err
			})
			m.WaitReady(t)
			checkRestored(t, connect(t, m), o, o.revision+bump)
		}
	})
}
