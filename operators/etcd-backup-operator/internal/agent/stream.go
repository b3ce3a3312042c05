package agent

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
)

// stream is the snapshot of one member as a reader. It ends in io.EOF only after all
// that the member has announced; else, in a failure that names the member.
type stream struct {
	from member
	// advice is what to set if etcd's authentication refuses the snapshot.
	advice string
	rpc    grpc.ServerStreamingClient[pb.SnapshotResponse]
	ctx    context.Context
	cancel context.CancelCauseFunc
	stall  time.Duration
	// timer cuts a stream that is waited for too long. While nothing is waited for,
	// because the store is slow, it is stopped.
	timer *time.Timer
	rest  []byte
	// over is true once the member has announced the end.
	over bool
	// remaining is how many bytes were announced and have not come.
	remaining uint64
	received  atomic.Int64
}

var errStalled = errors.New("the member stalled")

// open asks a member for its snapshot. The caller closes the stream. A
// rejection by etcd's authentication comes in place of the first part: etcd might have taken
// the user from the name in the client certificate. Then the request is repeated with the
// user in the Secret.
func open(ctx context.Context, from member, stall time.Duration, advice string) (*stream, error) {
	s := &stream{from: from, stall: stall, advice: advice}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.timer = time.AfterFunc(stall, func() { s.cancel(errStalled) })
	err := from.as.Try(s.ctx, from.conn, func() (err error) {
		if s.rpc, err = pb.NewMaintenanceClient(from.conn).Snapshot(s.ctx, &pb.SnapshotRequest{}); err != nil {
			return err
		}
		return s.receive()
	})
	if err != nil {
		defer s.close()
		if from.withheld != nil && obstacleOf(err) == unauthorized {
			return nil, from.withheld
		}
		return nil, s.lost(err)
	}
	return s, nil
}

// receive waits for the next part.
func (s *stream) receive() error {
	s.timer.Reset(s.stall)
	got, err := s.rpc.Recv()
	s.timer.Stop()
	if s.over = errors.Is(err, io.EOF); s.over {
		return nil
	}
	if err != nil {
		return err
	}
	s.rest, s.remaining = got.GetBlob(), got.GetRemainingBytes()
	s.received.Add(int64(len(s.rest)))
	return nil
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		if s.over {
			if s.remaining > 0 {
				return 0, sourceLost(v1beta2.BackupReasonSourceLost, "member %016x at %s ended its snapshot %d bytes early", s.from.id, s.from.endpoint, s.remaining)
			}
			return 0, io.EOF
		}
		if err := s.receive(); err != nil {
			return 0, s.lost(err)
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// lost is the failure of a broken stream.
func (s *stream) lost(err error) error {
	if errors.Is(context.Cause(s.ctx), errStalled) {
		return sourceLost(agent.ReasonStalled, "member %016x at %s stalled: it sent no snapshot data for %s", s.from.id, s.from.endpoint, s.stall)
	}
	if obstacleOf(err) == unauthorized {
		return runner.Refuse(v1beta2.BackupReasonAuthenticationRequired, "etcd's authentication rejects the snapshot request (%s): %s", status.Convert(err).Message(), s.advice)
	}
	return sourceLost(v1beta2.BackupReasonSourceLost, "member %016x at %s stopped sending its snapshot: %s", s.from.id, s.from.endpoint, wordsOf(err))
}

func (s *stream) close() {
	s.timer.Stop()
	s.cancel(nil)
	_ = s.from.conn.Close() // nothing is wanted of it any more
}
