package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

const (
	// writers are how many writes can be under way, and pacing is how often they get something to do.
	writers = 64
	pacing  = 10 * time.Millisecond
	// smallValue is the size of what they write, in bytes, to writtenKeys keys.
	smallValue  = 128
	writtenKeys = 10_000
)

// write is one that etcd has acknowledged.
type write struct {
	revision int64
	acked    time.Time
	took     time.Duration
}

type writes []write

func (all writes) latencies() latencies {
	var out latencies
	for _, w := range all {
		out = append(out, w.took)
	}
	return out
}

// latencies are many durations.
type latencies []time.Duration

// at is the duration that so many percent of them don't exceed; 0 if there are none.
func (l latencies) at(percent int) time.Duration {
	if len(l) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(l))
	return sorted[(len(sorted)-1)*percent/100]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d.Microseconds())/1000) }

func (r *rig) dial() (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: r.endpoints, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(2 * valueSize))}})
}

// write writes at a rate, in writes a second, for archiveWindow. What etcd does not take in time is
// not made up for, so that fewer are acknowledged.
func (r *rig) write(ctx context.Context, rate int) (writes, error) {
	cli, err := r.dial()
	if err != nil {
		return nil, err
	}
	defer cli.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	todo, done := make(chan int, writers), make([]writes, writers)
	value := fmt.Sprintf("%0*d", smallValue, 0)
	var working sync.WaitGroup
	for i := range writers {
		working.Go(func() {
			for n := range todo {
				began := time.Now()
				got, err := cli.Put(ctx, fmt.Sprintf("bench/%05d", n%writtenKeys), value)
				if err != nil {
					cancel(fmt.Errorf("write: %w", err))
					return
				}
				now := time.Now()
				done[i] = append(done[i], write{got.Header.Revision, now, now.Sub(began)})
			}
		})
	}
	tick := time.NewTicker(pacing)
	defer tick.Stop()
	began, sent := time.Now(), 0
	for now := began; now.Sub(began) < archiveWindow && ctx.Err() == nil; {
		for due := int(now.Sub(began).Seconds() * float64(rate)); sent < due; sent++ {
			select {
			case todo <- sent:
			default: // all are at work
			}
		}
		select {
		case now = <-tick.C:
		case <-ctx.Done():
		}
	}
	close(todo)
	working.Wait()
	return slices.Concat(done...), context.Cause(ctx)
}
