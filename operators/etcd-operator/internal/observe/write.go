package observe

import (
	"context"
	"errors"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

// writeDeadline bounds the one write to a seed: on a slow disk it takes some hundred
// milliseconds.
const writeDeadline = 2 * time.Second

// tryWrite has the seed that a restore hands over acknowledge a write, if it serves reads.
// That nobody answered in time says nothing, and is tried again with the next look.
func (o *Observer) tryWrite(ctx context.Context, endpoints []etcdclient.Endpoint, obs *facts.Observation) {
	name, uid, offered := obs.Cluster.Fence.Offered()
	if !offered {
		return
	}
	for i := range obs.Pods {
		p := &obs.Pods[i]
		if p.Name != name || p.UID != uid || !p.Answer.Read || p.Answer.Refused != "" {
			continue
		}
		for _, e := range endpoints {
			if e.Name == name {
				p.Answer.Write = o.write(ctx, e)
			}
		}
	}
}

func (o *Observer) write(ctx context.Context, e etcdclient.Endpoint) facts.Write {
	ctx, cancel := context.WithTimeout(ctx, writeDeadline)
	defer cancel()
	err := o.Etcd.TryWrite(ctx, e)
	switch {
	case err == nil:
		return facts.Write{Acknowledged: true}
	case errors.Is(err, etcdclient.ErrOutcomeUnknown), errors.Is(err, etcdclient.ErrUnreachable), ctx.Err() != nil:
		return facts.Write{}
	}
	return facts.Write{Refused: conditiontext.Clip(err.Error())}
}
