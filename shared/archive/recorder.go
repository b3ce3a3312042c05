package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// ticks are how often a Recorder asks for the cluster's revision in an interval.
	ticks = 4
	// askTime bounds that question. Elections take less.
	askTime = 5 * time.Second
	// flushTime bounds what is stored after the end of the context: Kubernetes kills a Pod
	// after 30 s.
	flushTime = 15 * time.Second
)

// Recorder records the changes of a cluster.
type Recorder struct {
	// Client asks the member that is watched, and has a user who may read all keys, if
	// authentication is enabled or might be.
	Client    *clientv3.Client
	ClusterID uint64
	// Dir is a folder for a segment at a time.
	Dir string
	// Store stores a segment. It may move the file away. Meanwhile nothing else is
	// recorded: etcd has the changes until they are compacted.
	Store func(ctx context.Context, s Segment, content *os.File) error
	// Interval is within what time a change is stored if the store takes it at once, and a
	// segment without a change is stored every Idle. Size is when a segment is full before
	// that, in bytes before compression; a transaction is never divided.
	Interval, Idle time.Duration
	Size           int64
	// HashEvery is how often a member is asked for its HashKV, which makes it read all of its
	// keys; 0: never.
	HashEvery time.Duration
	Now       func() time.Time
	Log       *slog.Logger
}

// CompactedError is the failure of a watch from a revision that etcd has compacted: the archive
// has a gap there, and goes on after a new snapshot.
type CompactedError struct{ Revision, Compacted int64 }

// Error implements error.
func (e *CompactedError) Error() string {
	return fmt.Sprintf("etcd has compacted its history up to revision %d, and changes since revision %d were not archived: take a new snapshot", e.Compacted, e.Revision)
}

// Record stores all changes from a revision on, until the context ends or something breaks,
// such as the member. It also returns the revision to go on from, at the same member or
// another: all before it was stored.
func (r *Recorder) Record(ctx context.Context, first int64) (next int64, err error) {
	c := &recording{Recorder: r, complete: first - 1}
	if err := c.begin(); err != nil {
		return first, err
	}
	defer func() { err = errors.Join(err, c.drop()) }()
	err = c.watch(ctx)
	// What is whole is kept, also when the Pod ends.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	if c.isWhole() && c.hasChanges() {
		err = errors.Join(err, c.store(ctx))
	}
	return c.segment().First, err
}

// watch takes what the member sends, and stores it when it is due.
func (c *recording) watch(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := pb.NewWatchClient(c.Client.ActiveConnection()).Watch(clientv3.WithRequireLeader(ctx))
	if err != nil {
		return err
	}
	err = stream.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: &pb.WatchCreateRequest{
		Key: []byte{0}, RangeEnd: []byte{0}, StartRevision: c.complete + 1, Fragment: true,
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
			err = c.take(ctx, a)
		case m := <-marks:
			err = c.mark(m)
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
	tick := time.NewTicker(c.Interval / ticks)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		asked := c.Now()
		in, cancel := context.WithTimeout(ctx, askTime)
		got, err := c.Client.Get(in, "\x00", clientv3.WithCountOnly())
		cancel()
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

// recording is a segment that is being written.
type recording struct {
	*Recorder
	file   *os.File
	writer *Writer
	begun  time.Time
	// changed is when the first change came; zero: none has.
	changed time.Time
	// main and sub are the last change; complete is the last revision that all changes have
	// come of.
	main, sub, complete int64
	// waiting are marks beyond what was received; held is one that repeats the last revision.
	waiting []Mark
	held    *Mark
	marked  int64
	hashed  time.Time
}

func (c *recording) begin() (err error) {
	if c.file, err = os.CreateTemp(c.Dir, "segment-"); err != nil {
		return err
	}
	c.begun, c.changed, c.marked = c.Now(), time.Time{}, 0
	c.writer, err = NewWriter(c.file, c.ClusterID, c.complete+1)
	return err
}

// drop gives the file up, whose content is stored or of no use.
func (c *recording) drop() error {
	f := c.file
	if f == nil {
		return nil
	}
	c.file = nil
	err := os.Remove(f.Name())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // it was moved into the store
	}
	return errors.Join(f.Close(), err)
}

func (c *recording) segment() Segment                { return c.writer.segment }
func (c *recording) isWhole() bool                   { return c.segment().Last == c.complete }
func (c *recording) hasChanges() bool                { return !c.changed.IsZero() }
func (c *recording) since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (c *recording) isDue() bool {
	switch {
	case !c.isWhole():
		return false
	case c.hasChanges():
		return c.since(c.changed) >= c.Interval/2
	}
	return c.since(c.begun) >= c.Idle
}

// take writes what the member has sent.
func (c *recording) take(ctx context.Context, a *pb.WatchResponse) error {
	switch h := a.GetHeader(); {
	case h.GetClusterId() != c.ClusterID:
		return &ForeignError{Want: Segment{ClusterID: c.ClusterID}, Got: Segment{ClusterID: h.GetClusterId()}}
	case a.CompactRevision > 0:
		return &CompactedError{Revision: c.complete + 1, Compacted: a.CompactRevision}
	case a.Canceled:
		return fmt.Errorf("etcd ended the watch: %s", a.CancelReason)
	}
	for _, e := range a.Events {
		if err := c.change(ctx, e); err != nil {
			return err
		}
	}
	if len(a.Events) == 0 || a.Fragment {
		return nil
	}
	return c.whole(ctx)
}

// whole notes that all changes of the last revision have come: what was sent last is no
// fragment, or a later revision has begun. A watch that catches up gets a thousand revisions at
// a time.
func (c *recording) whole(ctx context.Context) error {
	if c.main <= c.complete {
		return nil
	}
	c.complete = c.main
	if err := c.marksUpTo(c.complete); err != nil || c.writer.Size() < c.Size {
		return err
	}
	return c.store(ctx)
}

func (c *recording) change(ctx context.Context, e *clientv3.Event) error {
	switch main := e.Kv.ModRevision; {
	case main <= c.complete:
		return fmt.Errorf("etcd sent revision %d again, after revision %d", main, c.complete)
	case main == c.main:
		c.sub++
	default:
		if err := c.whole(ctx); err != nil {
			return err
		}
		c.main, c.sub = main, 0
	}
	if err := c.writeHeld(); err != nil {
		return err
	}
	if !c.hasChanges() {
		c.changed = c.Now()
	}
	record, value := recordOf(e, c.sub)
	return c.writer.Change(record, value)
}

// mark notes where the cluster is. What it repeats is held, so that only the first and the last
// mark of a revision are written.
func (c *recording) mark(m Mark) error {
	switch {
	case m.Revision > c.complete || !c.isWhole():
		// Of those that wait while much is received, the last one says most.
		if n := len(c.waiting); n > 0 && c.waiting[n-1].Revision == m.Revision || n == maxWaiting {
			c.waiting = c.waiting[:n-1]
		}
		c.waiting = append(c.waiting, m)
		return nil
	case m.Revision == c.marked:
		c.held = &m
		return nil
	}
	c.marked = m.Revision
	return c.writer.Mark(m)
}

// maxWaiting is how many marks can wait for what they are about.
const maxWaiting = 100

func (c *recording) marksUpTo(revision int64) error {
	for len(c.waiting) > 0 && c.waiting[0].Revision <= revision {
		m := c.waiting[0]
		c.waiting = c.waiting[1:]
		if err := c.mark(m); err != nil {
			return err
		}
	}
	return nil
}

func (c *recording) writeHeld() error {
	if c.held == nil {
		return nil
	}
	m := *c.held
	c.held = nil
	return c.writer.Mark(m)
}

// store ends the segment, stores it, and begins the next one.
func (c *recording) store(ctx context.Context) error {
	if err := errors.Join(c.writeHeld(), c.hash(ctx)); err != nil {
		return err
	}
	c.changed = time.Time{} // whatever fails now, this one is not stored again
	s, err := c.writer.Close()
	if err != nil {
		return err
	}
	if _, err := c.file.Seek(0, 0); err != nil {
		return err
	}
	if err := c.Store(ctx, s, c.file); err != nil {
		return fmt.Errorf("store segment %s: %w", s.Name(), err)
	}
	err = c.drop()
	return errors.Join(err, c.begin())
}

// hash asks the member for its hash, now and then. That it cannot tell it is no failure.
func (c *recording) hash(ctx context.Context) error {
	if c.HashEvery <= 0 || !c.hasChanges() || !c.hashed.IsZero() && c.since(c.hashed) < c.HashEvery {
		return nil
	}
	c.hashed = c.Now()
	got, err := c.Client.HashKV(ctx, c.Client.Endpoints()[0], c.complete)
	if err != nil {
		c.Log.Warn("the member has told no hash", "revision", c.complete, "error", err)
		return nil
	}
	return c.writer.Hash(Hash{Revision: c.complete, Compacted: got.CompactRevision, Hash: got.Hash})
}
