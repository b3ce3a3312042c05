package act_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/consistency"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// comparedCluster is the id of the cluster whose members hashers are.
const comparedCluster = 0xc1

// hashers are members, by name, that hash their data, and note who was asked about which
// revision, in order.
type hashers struct {
	members map[string]etcdclient.Hash
	mu      sync.Mutex
	asked   []hashed
}

type hashed struct {
	Name     string
	Revision int64
}

func (h *hashers) HashKV(_ context.Context, e etcdclient.Endpoint, revision int64) (etcdclient.Hash, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, hashed{e.Name, revision})
	answer, ok := h.members[e.Name]
	if !ok {
		return answer, errors.New("there is no member " + e.Name)
	}
	answer.HashRevision = revision
	return answer, nil
}

func (h *hashers) calls() []hashed {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.asked)
}

// comparing is a bench with three voters that answer and hash: 7 and 9 alike, 8 as told.
// The first one leads, and has the newest revision.
func comparing(t *testing.T, value uint32) (*bench, *hashers, *consistency.Keeper, *facts.Observation) {
	t.Helper()
	b := newBench(t)
	h := &hashers{members: map[string]etcdclient.Hash{
		"x-aaaaaaaaaa": {ClusterID: comparedCluster, MemberID: 7, Value: 1, Revision: 44},
		"x-bbbbbbbbbb": {ClusterID: comparedCluster, MemberID: 8, Value: value, Revision: 43},
		"x-cccccccccc": {ClusterID: comparedCluster, MemberID: 9, Value: 1, Revision: 43},
	}}
	keeper := consistency.New(h)
	b.actor.Comparisons = keeper
	obs := b.make(action.NewPod{Name: "x-aaaaaaaaaa", Role: facts.Voter}, action.NewPod{Name: "x-bbbbbbbbbb", Role: facts.Voter}, action.NewPod{Name: "x-cccccccccc", Role: facts.Voter})
	obs.Cluster.ClusterID = comparedCluster
	for i := range obs.Pods {
		obs.Pods[i].Answer = facts.Answer{Read: true, MemberID: uint64(7 + i), Leader: 7, Revision: int64(44 - i), DBSize: 1000}
	}
	return b, h, keeper, obs
}

// threeVoters is the list that the members of comparing tell.
var threeVoters = []facts.Member{
	{ID: 7, Name: "x-aaaaaaaaaa", Started: true}, {ID: 8, Name: "x-bbbbbbbbbb", Started: true}, {ID: 9, Name: "x-cccccccccc", Started: true},
}

// shown waits for the end of the comparison of a bench's cluster.
func (b *bench) shown(keeper *consistency.Keeper) *facts.Comparison {
	b.t.Helper()
	var shown *facts.Comparison
	etcdtest.Eventually(b.t, "the comparison to end", func() error {
		if shown = keeper.Of(client.ObjectKeyFromObject(b.cluster), b.cluster.UID); shown == nil || shown.Ended.IsZero() {
			return errors.New("it runs")
		}
		return nil
	})
	return shown
}

// All members are asked for the hash of one revision, which each of them has, and the
// leader, through which all writes go, comes last. Whoever differs is told by its id.
func TestCompareData(t *testing.T) {
	const a, b, c = "x-aaaaaaaaaa", "x-bbbbbbbbbb", "x-cccccccccc"
	for name, row := range map[string]struct {
		reason    string
		value     uint32
		members   []facts.Member
		asked     []hashed
		result    v1beta2.ConsistencyResult
		differing []uint64
		revision  int64
	}{
		"all agree": {
			reason: "once is enough", value: 1, members: threeVoters,
			asked: []hashed{{b, 42}, {c, 42}, {a, 42}}, result: v1beta2.ResultConsistent, revision: 42,
		},
		"one differs": {
			reason: "asked twice, the second time at a newer revision", value: 2, members: threeVoters,
			asked:  []hashed{{b, 42}, {c, 42}, {a, 42}, {b, 43}, {c, 43}, {a, 43}},
			result: v1beta2.ResultMemberDiffers, differing: []uint64{8}, revision: 43,
		},
		"only those that the action names": {
			reason: "another one does not run, or refuses to start", value: 1, members: threeVoters[:2],
			asked: []hashed{{b, 43}, {a, 43}}, result: v1beta2.ResultConsistent, revision: 43,
		},
	} {
		t.Run(name, func(t *testing.T) {
			bench, h, keeper, obs := comparing(t, row.value)
			if err := bench.act(obs, action.CompareData{Members: row.members}); err != nil {
				t.Fatal(err)
			}
			shown := bench.shown(keeper)
			if shown.Failed != "" || shown.Result != row.result || shown.Revision != row.revision || !slices.Equal(shown.Differing, row.differing) {
				t.Errorf("it shows %+v, want %s at revision %d: %s", shown, row.result, row.revision, row.reason)
			}
			if asked := h.calls(); !slices.Equal(asked, row.asked) {
				t.Errorf("members were asked %v, want %v: %s", asked, row.asked, row.reason)
			}
		})
	}
}

// Whoever answers in place of a member is compared with nobody: nothing is shown.
func TestCompareDataOfAStranger(t *testing.T) {
	b, h, keeper, obs := comparing(t, 1)
	stranger := h.members["x-bbbbbbbbbb"]
	stranger.ClusterID++
	h.members["x-bbbbbbbbbb"] = stranger
	if err := b.act(obs, action.CompareData{Members: threeVoters}); err != nil {
		t.Fatal(err)
	}
	if shown := b.shown(keeper); shown.Failed == "" || shown.Result != "" || len(shown.Differing) > 0 {
		t.Errorf("it shows %+v, want that it has failed", shown)
	}
}

// Nothing is begun once the EtcdCluster has changed, or with a member whose Pod was not
// observed.
func TestCompareDataIsStale(t *testing.T) {
	b, h, keeper, obs := comparing(t, 1)
	unseen := slices.Concat(threeVoters, []facts.Member{{ID: 10, Name: "x-dddddddddd", Started: true}})
	if err := b.act(obs, action.CompareData{Members: unseen}); err != nil {
		t.Fatal(err)
	}
	b.update(func(c *v1beta2.EtcdCluster) { c.Spec.Paused = true })
	wantStale(t, "the user has changed the spec", b.act(obs, action.CompareData{Members: threeVoters}))
	if keeper.Of(client.ObjectKeyFromObject(b.cluster), b.cluster.UID) != nil || len(h.calls()) > 0 {
		t.Errorf("a comparison was begun: %v were asked", h.calls())
	}
}
