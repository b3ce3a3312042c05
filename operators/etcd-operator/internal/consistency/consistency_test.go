package consistency

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

const theCluster = 7

var theKey = client.ObjectKey{Namespace: "n", Name: "x"}

// fakes answer in place of members, by name, and count how often each was asked.
type fakes struct {
	answer func(name string, asked int, revision int64) (etcdclient.Hash, error)
	mu     sync.Mutex
	asked  map[string]int
}

func (f *fakes) HashKV(ctx context.Context, e etcdclient.Endpoint, revision int64) (etcdclient.Hash, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[e.Name]++
	h, err := f.answer(e.Name, f.asked[e.Name], revision)
	h.ClusterID, h.MemberID = theCluster, idOf(e.Name)
	return h, errors.Join(err, ctx.Err())
}

func idOf(name string) uint64 { return uint64(name[0]) }

func membersNamed(names string) (all []Member) {
	for i, name := range strings.Split(names, "") {
		all = append(all, Member{ID: idOf(name), Endpoint: etcdclient.Endpoint{Name: name}, Revision: int64(10 + i)})
	}
	return all
}

// until waits for what a comparison has shown.
func until(t *testing.T, k *Keeper) *facts.Comparison {
	t.Helper()
	var shown *facts.Comparison
	etcdtest.Eventually(t, "the comparison to end", func() error {
		if shown = k.Of(theKey, "uid"); shown == nil || shown.Ended.IsZero() {
			return errors.New("it runs")
		}
		return nil
	})
	return shown
}

func TestCompare(t *testing.T) {
	value := func(v uint32, h etcdclient.Hash) (etcdclient.Hash, error) { h.Value = v; return h, nil }
	for name, tc := range map[string]struct {
		reason    string
		members   string
		answer    func(name string, asked int, h etcdclient.Hash) (etcdclient.Hash, error)
		want      v1beta2.ConsistencyResult
		differing string
		failed    string
		rounds    int
	}{
		"all agree": {
			reason: "once is enough", members: "abc", rounds: 1, want: v1beta2.ResultConsistent,
			answer: func(_ string, _ int, h etcdclient.Hash) (etcdclient.Hash, error) { return value(1, h) },
		},
		"one differs": {
			reason: "twice", members: "abc", rounds: 2, want: v1beta2.ResultMemberDiffers, differing: "b",
			answer: func(name string, _ int, h etcdclient.Hash) (etcdclient.Hash, error) {
				return value(map[string]uint32{"b": 2}[name], h)
			},
		},
		"two of five differ, each its own way": {
			reason: "three are a majority", members: "abcde", rounds: 2, want: v1beta2.ResultMemberDiffers, differing: "bd",
			answer: func(name string, _ int, h etcdclient.Hash) (etcdclient.Hash, error) {
				return value(map[string]uint32{"b": 2, "d": 4}[name], h)
			},
		},
		"one against one": {
			reason: "nobody knows", members: "ab", rounds: 2, want: v1beta2.ResultNoMajority,
			answer: func(name string, _ int, h etcdclient.Hash) (etcdclient.Hash, error) {
				return value(map[string]uint32{"b": 2}[name], h)
			},
		},
		"two against two": {
			reason: "half is no majority", members: "abcd", rounds: 2, want: v1beta2.ResultNoMajority,
			answer: func(name string, _ int, h etcdclient.Hash) (etcdclient.Hash, error) {
				return value(map[string]uint32{"b": 2, "d": 2}[name], h)
			},
		},
		"once and not again": {
			reason: "what has not been shown twice is not told", members: "abc", rounds: 2, want: v1beta2.ResultConsistent,
			answer: func(name string, asked int, h etcdclient.Hash) (etcdclient.Hash, error) {
				if name == "b" && asked == 1 {
					return value(2, h)
				}
				return value(1, h)
			},
		},
		"another one each time": {
			reason: "two in a row must show the same", members: "abc", rounds: maxRounds, failed: "different results",
			answer: func(name string, asked int, h etcdclient.Hash) (etcdclient.Hash, error) {
				if name == string("abca"[asked-1]) {
					return value(2, h)
				}
				return value(1, h)
			},
		},
		"a compaction in between": {
			reason: "hashes of other parts of the history say nothing", members: "abc", rounds: 2, want: v1beta2.ResultConsistent,
			answer: func(name string, asked int, h etcdclient.Hash) (etcdclient.Hash, error) {
				if name == "c" && asked == 1 {
					h.CompactRevision = 9
					return value(3, h)
				}
				return value(1, h)
			},
		},
		"compactions all the time": {
			reason: "a difference in what cannot be compared is none", members: "abc", rounds: maxRounds, failed: "compacted",
			answer: func(name string, asked int, h etcdclient.Hash) (etcdclient.Hash, error) {
				h.CompactRevision = int64(idOf(name))
				return value(uint32(idOf(name)), h)
			},
		},
		"a member that is gone": {
			reason: "S9", members: "abc", rounds: 1, failed: "member c",
			answer: func(name string, _ int, h etcdclient.Hash) (etcdclient.Hash, error) {
				if name == "c" {
					return h, rpctypes.ErrTimeout
				}
				return value(uint32(idOf(name)), h)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakes{asked: map[string]int{}}
			f.answer = func(name string, asked int, revision int64) (etcdclient.Hash, error) {
				return tc.answer(name, asked, etcdclient.Hash{Revision: 20, HashRevision: max(revision, 10)})
			}
			k := New(f)
			k.Begin(t.Context(), theKey, "uid", theCluster, membersNamed(tc.members))
			shown := until(t, k)
			var differing string
			for _, id := range shown.Differing {
				differing += string(rune(id))
			}
			if shown.Result != tc.want || differing != tc.differing || !strings.Contains(shown.Failed, tc.failed) || (tc.failed == "") != (shown.Failed == "") {
				t.Errorf("it shows %q of %q, failed %q: %s", shown.Result, differing, shown.Failed, tc.reason)
			}
			if most := slices.Max(slices.Collect(maps.Values(f.asked))); most != tc.rounds {
				t.Errorf("members were asked %d times, want %d: %s", most, tc.rounds, tc.reason)
			}
			if len(shown.Members) != len(tc.members) || shown.Begun.IsZero() {
				t.Errorf("it is of %v, since %s", shown.Members, shown.Begun)
			}
		})
	}
}

// A stranger at a member's address is not compared, one comparison runs at a time, and that
// of an EtcdCluster that is gone ends.
func TestKeeper(t *testing.T) {
	k := New(etcdclient.Client{})
	if k.Of(theKey, "uid") != nil {
		t.Error("nothing was begun, and there is a comparison")
	}
	hold, asked := make(chan struct{}), make(chan struct{})
	f := &held{hold: hold, asked: asked}
	k = New(f)
	k.Begin(t.Context(), theKey, "uid", theCluster, membersNamed("ab"))
	<-asked
	k.Begin(t.Context(), theKey, "uid", theCluster, membersNamed("cd"))
	if c := k.Of(theKey, "uid"); c == nil || !c.Ended.IsZero() || !slices.Equal(c.Members, []uint64{'a', 'b'}) {
		t.Errorf("the comparison that runs is %+v", c)
	}
	if k.Of(theKey, types.UID("other")) != nil {
		t.Error("an EtcdCluster of the same name has the comparison of another one")
	}
	k.Forget(theKey)
	select {
	case <-f.ended():
	case <-time.After(time.Minute):
		t.Error("it goes on")
	}
	close(hold)
	k.Begin(t.Context(), theKey, "uid", theCluster, membersNamed("ab"))
	if shown := until(t, k); !strings.Contains(shown.Failed, "answers in place of") {
		t.Errorf("a stranger answers, and it shows %+v", shown)
	}
}

// held keeps whom it asks waiting until hold is closed, or it is told to end.
type held struct {
	hold, asked chan struct{}
	once        sync.Once
	mu          sync.Mutex
	ctx         context.Context
}

func (h *held) HashKV(ctx context.Context, _ etcdclient.Endpoint, _ int64) (etcdclient.Hash, error) {
	h.mu.Lock()
	h.ctx = ctx
	h.mu.Unlock()
	h.once.Do(func() { close(h.asked) })
	select {
	case <-h.hold:
	case <-ctx.Done():
	}
	return etcdclient.Hash{}, ctx.Err()
}

func (h *held) ended() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ctx.Done()
}
