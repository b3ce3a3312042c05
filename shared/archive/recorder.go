package archive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

const (
	// ticks are how often a Recorder asks for the cluster's revision in an interval, and markEvery
	// is how often it asks at least: a restore to a time is as exact as the marks are dense.
	ticks     = 4
	markEvery = time.Second
	// askTime bounds that question. Elections take less.
	askTime = 5 * time.Second
	// flushTime bounds what is stored after the end of the context: Kubernetes kills a Pod
	// after 30 s.
	flushTime = 15 * time.Second
	// stallTime is how long a watch may deliver nothing while a quorum tells of newer
	// revisions. etcd sends what a watch lacks every 100 ms.
	stallTime = 30 * time.Second
	// hashTime bounds the question for a hash. Most databases take less than a second.
	hashTime = 20 * time.Second
	// filePattern is that of the files of segments that are being written.
	filePattern = "segment-*"
)

// Recorder records the changes of a cluster.
type Recorder struct {
	// Conn is a connection to the member that is watched.
	Conn grpc.ClientConnInterface
	// Try, if not nil, makes a request, and once more as another user where etcd's
	// authentication refuses it: one who may read all keys. Conn shows the user.
	Try       func(ctx context.Context, request func() error) error
	ClusterID uint64
	Timeline  uint32
	// Dir is a folder for a segment at a time, which no other Recorder uses: what a killed one
	// has left there is removed.
	Dir string
	// Times are what the newest segment tells of the timeline's times.
	Times Times
	// Store stores a segment. It may move the file away. Meanwhile nothing else is
	// recorded: etcd has the changes until they are compacted.
	Store func(ctx context.Context, s Segment, content *os.File) error
	// Interval is within what time a change is stored if the store takes it at once, and a
	// segment without a change is stored every Idle. Size is when a segment is full before
	// that, in bytes before compression; a transaction is never divided.
	Interval, Idle time.Duration
	Size           int64
	// HashEvery is how often a member is asked for its HashKV, which makes it read all of its
	// keys, and not before it has passed once; 0: never. It counts across calls of Record.
	HashEvery time.Duration
	// Stall is how long the watch may deliver nothing while the cluster has newer revisions;
	// 0: 30 s.
	Stall time.Duration
	// Marked, if not nil, is told of each answer of the cluster, and of the revision up to
	// which all changes have come.
	Marked func(m Mark, complete int64)
	Now    func() time.Time
	Log    *slog.Logger

	// hashed is when a hash was asked for last, or first could have been.
	hashed time.Time
}

// CompactedError is the failure of a watch from a revision that etcd has compacted: the archive
// has a gap there, and goes on after a new snapshot.
type CompactedError struct{ Revision, Compacted int64 }

// Error implements error.
func (e *CompactedError) Error() string {
	return fmt.Sprintf("etcd has compacted its history up to revision %d, and changes since revision %d were not archived: take a new snapshot", e.Compacted, e.Revision)
}

// StalledError is the failure of a watch that delivers nothing: another member might do better.
type StalledError struct {
	// Complete is the last revision that was delivered, and Newest what the cluster has.
	Complete, Newest int64
	For              time.Duration
}

// Error implements error.
func (e *StalledError) Error() string {
	return fmt.Sprintf("the watch has delivered nothing for %s: it is at revision %d, and the cluster at %d", e.For, e.Complete, e.Newest)
}

// Record stores all changes behind a position, until the context ends or something breaks,
// such as the member. It also returns the position to go on from, at the same member or
// another: all before it was stored. What the member has of the position's own revision is
// compared first, so that no other history is taken for the one that was recorded.
func (r *Recorder) Record(ctx context.Context, from Position) (next Position, err error) {
	if err := r.sweep(); err != nil {
		return from, err
	}
	if r.hashed.IsZero() {
		r.hashed = r.Now()
	}
	c := &recording{Recorder: r, from: from, stored: from, complete: from.Revision, times: slices.Clone(r.Times), heard: r.Now()}
	defer func() { err = errors.Join(err, c.drop()) }()
	err = c.watch(ctx)
	// What is whole is kept, also when the Pod ends.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	if c.isWhole() && c.hasChanges() {
		err = errors.Join(err, c.store(ctx))
	}
	return c.stored, err
}

// sweep removes the files of a Recorder that was killed.
func (r *Recorder) sweep() error {
	left, err := filepath.Glob(filepath.Join(r.Dir, filePattern))
	for _, name := range left {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

// watch takes what the member sends, and stores it when it is due.
func (c *recording) watch(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := pb.NewWatchClient(c.Conn).Watch(clientv3.WithRequireLeader(ctx))
	if err != nil {
		return err
	}
	// From the position's own revision on, which is compared.
	err = stream.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: &pb.WatchCreateRequest{
		Key: []byte{0}, RangeEnd: []byte{0}, StartRevision: c.from.Revision, Fragment: true,
	}}})
	if err != nil {
		return err
	}
	answers, failed := make(chan *pb.WatchResponse), make(chan error, 2)
	go receive(ctx, stream, answers, failed)
	marks := make(chan Mark)
	go c.ask(ctx, marks, failed)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-failed:
			if ctx.Err() != nil { // that is why
				return context.Cause(ctx)
			}
			return err
		case a := <-answers:
			c.heard = c.Now()
			err = c.take(ctx, a)
		case m := <-marks:
			err = c.mark(m)
			if err == nil && c.created && !c.hasBegun() {
				err = stream.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_ProgressRequest{ProgressRequest: &pb.WatchProgressRequest{}}})
			}
		}
		if err == nil && c.isDue() {
			err = c.store(ctx)
		}
		if err != nil {
			return err
		}
	}
}

func receive(ctx context.Context, stream pb.Watch_WatchClient, answers chan<- *pb.WatchResponse, failed chan<- error) {
	for {
		a, err := stream.Recv()
		if err != nil {
			failed <- err
			return
		}
		select {
		case answers <- a:
		case <-ctx.Done():
			return
		}
	}
}

// ask asks for the revision of the cluster, with a quorum, again and again. A member that
// cannot tell it lags behind without knowing, and another one is to be watched.
func (c *recording) ask(ctx context.Context, marks chan<- Mark, failed chan<- error) {
	tick := time.NewTicker(min(c.Interval/ticks, markEvery))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		asked := c.Now()
		in, cancel := context.WithTimeout(ctx, askTime)
		var got *pb.RangeResponse
		err := c.try(in, func() (err error) {
			got, err = pb.NewKVClient(c.Conn).Range(in, &pb.RangeRequest{Key: []byte{0}, CountOnly: true})
			return err
		})
		cancel()
		if err == nil {
			err = c.checkMark(got.Header)
		}
		if err != nil {
			failed <- fmt.Errorf("ask for the cluster's revision: %w", err)
			return
		}
		select {
		case marks <- Mark{Revision: got.Header.Revision, Asked: asked, Answered: c.Now()}:
		case <-ctx.Done():
			return
		}
	}
}

func (r *Recorder) try(ctx context.Context, request func() error) error {
	if r.Try == nil {
		return request()
	}
	return r.Try(ctx, request)
}

// checkMark refuses what another cluster answers, such as one behind the same address, and a
// cluster that has lost what was recorded of it.
func (c *recording) checkMark(h *pb.ResponseHeader) error {
	if h.GetClusterId() != c.ClusterID {
		return &ForeignError{Want: Segment{ClusterID: c.ClusterID}, Got: Segment{ClusterID: h.GetClusterId()}}
	}
	if h.GetRevision() < c.from.Revision {
		return &DivergedError{Revision: c.from.Revision, Newest: h.GetRevision()}
	}
	return nil
}
