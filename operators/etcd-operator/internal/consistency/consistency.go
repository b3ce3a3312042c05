// Package consistency compares the data of a cluster's members, beside the reconciles: a
// member that hashes its data reads its whole database, which takes seconds, and minutes on
// a slow disk.
//
// Nothing is decided here, and nothing is kept for longer than the operator runs: whoever
// restarts compares anew. What differs is compared a second time before it is told.
package consistency

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

const (
	// atOnce is how many clusters are compared at a time; others wait for their turn. Each
	// has one member read its disk.
	atOnce = 2
	// maxRounds is how often all members are asked for one comparison: twice for what
	// differs, and again where a compaction came in between.
	maxRounds = 4
	// leastTime is how long a member may take for a small database, and slowestRead, in
	// bytes a second, how much longer for a large one: that of a poor network disk.
	leastTime   = 10 * time.Second
	slowestRead = 32 << 20
	// mostTime bounds that.
	mostTime = 10 * time.Minute
)

// Hasher has a member hash its data; etcdclient.Client is one.
type Hasher interface {
	HashKV(ctx context.Context, member etcdclient.Endpoint, revision int64) (etcdclient.Hash, error)
}

// Member is one whose data is compared.
type Member struct {
	ID       uint64
	Endpoint etcdclient.Endpoint
	// Size is that of its database, in bytes, Revision its newest.
	Size, Revision int64
}

// Keeper keeps the last comparison of each EtcdCluster. It is safe for concurrent use.
type Keeper struct {
	etcd Hasher
	turn chan struct{}

	mu  sync.Mutex
	all map[client.ObjectKey]*kept
}

// kept is a comparison of one EtcdCluster, by uid. What it has shown is nil while it runs.
type kept struct {
	uid   types.UID
	ids   []uint64
	begun time.Time
	shown *facts.Comparison
	stop  context.CancelFunc
}

// New makes a Keeper that asks by etcd.
func New(etcd Hasher) *Keeper {
	return &Keeper{etcd: etcd, turn: make(chan struct{}, atOnce), all: map[client.ObjectKey]*kept{}}
}

// Begin compares the members of one etcd cluster, in this order, unless a comparison of the
// EtcdCluster runs. It returns at once. Of ctx it takes the credentials and certificates.
func (k *Keeper) Begin(ctx context.Context, key client.ObjectKey, uid types.UID, clusterID uint64, members []Member) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if old := k.all[key]; old != nil && old.shown == nil && old.uid == uid {
		return
	}
	k.forget(key)
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	now := &kept{uid: uid, begun: time.Now(), stop: stop}
	for _, m := range members {
		now.ids = append(now.ids, m.ID)
	}
	slices.Sort(now.ids)
	k.all[key] = now
	go func() {
		defer stop()
		shown := k.inTurn(ctx, clusterID, members)
		shown.Members, shown.Begun = now.ids, now.begun
		k.mu.Lock()
		defer k.mu.Unlock()
		now.shown = &shown
	}()
}

// Of is the last comparison of an EtcdCluster; nil if there is none.
func (k *Keeper) Of(key client.ObjectKey, uid types.UID) *facts.Comparison {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.all[key]
	switch {
	case now == nil || now.uid != uid:
		return nil
	case now.shown == nil:
		return &facts.Comparison{Members: now.ids, Begun: now.begun}
	}
	shown := *now.shown
	return &shown
}

// Forget drops what there is of an EtcdCluster that is gone, and ends what runs.
func (k *Keeper) Forget(key client.ObjectKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forget(key)
}

func (k *Keeper) forget(key client.ObjectKey) {
	if old := k.all[key]; old != nil {
		old.stop()
		delete(k.all, key)
	}
}

func (k *Keeper) inTurn(ctx context.Context, clusterID uint64, members []Member) facts.Comparison {
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
	}
	shown, err := k.compare(ctx, clusterID, members)
	shown.Ended = time.Now()
	if err != nil {
		shown.Failed = err.Error()
	}
	return shown
}

// errUnlike: members have hashed other parts of their history, since one of them had
// compacted it and another one had not, or had written in between.
var errUnlike = errors.New("members were compacted or written to in between")

// compare asks all members until two rounds in a row have shown the same, or one that all
// agree.
func (k *Keeper) compare(ctx context.Context, clusterID uint64, members []Member) (facts.Comparison, error) {
	var before facts.Comparison
	err := errUnlike
	revision := lowest(members)
	for i := range maxRounds {
		var hashes []etcdclient.Hash
		if hashes, err = k.round(ctx, clusterID, members, revision); err != nil && !errors.Is(err, errUnlike) {
			return facts.Comparison{}, err
		}
		for j := range hashes {
			members[j].Revision = hashes[j].Revision
		}
		revision = lowest(members)
		if err != nil {
			// A hash that a member has kept of a compaction can't be compared with one
			// that is made now: all of the data, as it is now, can.
			if i%2 == 0 {
				revision = 0
			}
			continue
		}
		now := judge(hashes)
		if now.Result == v1beta2.ResultConsistent || (before.Result == now.Result && slices.Equal(before.Differing, now.Differing)) {
			return now, nil
		}
		before, err = now, errors.New("two comparisons had different results")
	}
	return facts.Comparison{}, err
}

func lowest(members []Member) int64 {
	return slices.MinFunc(members, func(a, b Member) int { return cmp.Compare(a.Revision, b.Revision) }).Revision
}

// round asks one member after the other. All hashes are returned with errUnlike, too.
func (k *Keeper) round(ctx context.Context, clusterID uint64, members []Member, revision int64) ([]etcdclient.Hash, error) {
	var hashes []etcdclient.Hash
	for _, m := range members {
		h, err := k.ask(ctx, m, revision)
		switch {
		case err != nil:
			return nil, fmt.Errorf("member %s: %w", m.Endpoint.Name, err)
		case h.ClusterID != clusterID || h.MemberID != m.ID:
			return nil, fmt.Errorf("member %016x of cluster %016x answers in place of member %s", h.MemberID, h.ClusterID, m.Endpoint.Name)
		}
		hashes = append(hashes, h)
	}
	first := hashes[0]
	for _, h := range hashes {
		// etcd 3.5 does not tell the revision that it has hashed.
		told := h.HashRevision != 0 || revision != 0
		if !told || h.HashRevision != first.HashRevision || h.CompactRevision != first.CompactRevision {
			return hashes, errUnlike
		}
	}
	return hashes, nil
}

func (k *Keeper) ask(ctx context.Context, m Member, revision int64) (etcdclient.Hash, error) {
	ctx, cancel := context.WithTimeout(ctx, min(mostTime, leastTime+time.Duration(m.Size/slowestRead)*time.Second))
	defer cancel()
	return k.etcd.HashKV(ctx, m.Endpoint, revision)
}

// judge says who differs from a majority of all.
func judge(hashes []etcdclient.Hash) facts.Comparison {
	out := facts.Comparison{Result: v1beta2.ResultNoMajority, Revision: cmp.Or(hashes[0].HashRevision, hashes[0].Revision)}
	groups := map[uint32][]uint64{}
	for _, h := range hashes {
		groups[h.Value] = append(groups[h.Value], h.MemberID)
	}
	if len(groups) == 1 {
		out.Result = v1beta2.ResultConsistent
		return out
	}
	for _, value := range slices.Sorted(maps.Keys(groups)) {
		if len(groups[value]) > len(hashes)/2 {
			out.Result = v1beta2.ResultMemberDiffers
			delete(groups, value)
			break
		}
	}
	if out.Result == v1beta2.ResultMemberDiffers {
		for _, ids := range groups {
			out.Differing = append(out.Differing, ids...)
		}
		slices.Sort(out.Differing)
	}
	return out
}
