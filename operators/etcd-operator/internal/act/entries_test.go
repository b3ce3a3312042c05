package act_test

import (
	"context"
	"errors"
	"testing"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

// appending is an etcd whose log grows, by answer.
type appending struct {
	untouched
	answer func(context.Context) error
	via    []string
	n      int
}

func (e *appending) AppendEntries(ctx context.Context, via []etcdclient.Endpoint, n int) error {
	e.n += n
	for _, v := range via {
		e.via = append(e.via, v.Name)
	}
	return e.answer(ctx)
}

// The log grows through members that serve. What is not done in time is no error: the next
// Observation shows it.
func TestTheLogGrows(t *testing.T) {
	refusal := errors.New("no")
	for name, tc := range map[string]struct {
		answer func(context.Context) error
		want   error
	}{
		"done":    {func(context.Context) error { return nil }, nil},
		"refused": {func(context.Context) error { return refusal }, refusal},
		"slow": {func(ctx context.Context) error {
			<-ctx.Done()
			return errors.Join(etcdclient.ErrOutcomeUnknown, ctx.Err())
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			obs := b.make(action.NewPod{Name: "x-a", Role: facts.Voter}, action.NewPod{Name: "x-b", Role: facts.Voter}, action.NewPod{Name: "x-c", Role: facts.Voter})
			for i := range obs.Pods {
				obs.Pods[i].Answer = facts.Answer{Reached: true, Read: i > 0, ClusterID: obs.Cluster.ClusterID, MemberID: uint64(i + 1), Leader: 3}
			}
			etcd := &appending{untouched: untouched{t}, answer: tc.answer}
			b.actor.Etcd = etcd
			if err := b.act(obs, action.AdvanceLog{Entries: 7}); !errors.Is(err, tc.want) {
				t.Errorf("error %v, want %v", err, tc.want)
			}
			if etcd.n != 7 || len(etcd.via) != 2 || etcd.via[0] != "x-c" {
				t.Errorf("%d entries through %v, want 7 through the leader x-c, or x-b", etcd.n, etcd.via)
			}
		})
	}
}
