package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// maxWaiting is how many marks can wait for what they are about.
const maxWaiting = 100

// recording is a segment that is being written.
type recording struct {
	*Recorder
	// from is where the recording goes on, and own what the member has of its revision, until
	// that is compared and the first segment begins.
	from Position
	own  lineage
	// created: etcd has confirmed the watch. Until then it sends changes later than an answer about
	// its progress, which would say that there are none.
	created bool
	// stored is the position up to which all is in the store.
	stored Position
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
	// times are those of all marks that were noted.
	times Times
	// heard is when the watch has delivered something, or had nothing to deliver, or was not
	// read before since a segment was being stored.
	heard time.Time
}

// hasBegun tells whether what the member has was compared, and a segment is open.
func (c *recording) hasBegun() bool { return c.writer != nil }

// compare ends what the member has of the position's revision, and begins the first segment.
func (c *recording) compare() error {
	at := c.own.after(c.from.Before)
	switch {
	case c.from.begins():
		c.from.At = at
		c.stored = c.from
	case c.from.At != at:
		return &DivergedError{Revision: c.from.Revision}
	}
	return c.begin(c.from)
}

func (c *recording) begin(from Position) (err error) {
	if c.file, err = os.CreateTemp(c.Dir, filePattern); err != nil {
		return err
	}
	c.begun, c.changed, c.marked = c.Now(), time.Time{}, 0
	c.writer, err = NewWriter(c.file, c.ClusterID, c.Timeline, from)
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

func (c *recording) isWhole() bool                   { return c.hasBegun() && c.writer.segment.Last == c.complete }
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
	c.created = c.created || a.Created
	for _, e := range a.Events {
		if err := c.change(ctx, e); err != nil {
			return err
		}
	}
	if a.Fragment || len(a.Events) == 0 && !c.isProgress(a) {
		return nil
	}
	if c.hasBegun() {
		return c.whole(ctx)
	}
	if err := c.compare(); err != nil {
		return err
	}
	return c.marksUpTo(c.complete)
}

// isProgress tells whether a response says that all up to the position's revision was sent: a
// revision that a restore has raised shows no change.
func (c *recording) isProgress(a *pb.WatchResponse) bool {
	return !a.Created && a.GetHeader().GetRevision() >= c.from.Revision
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
	main := e.Kv.ModRevision
	if main == c.main {
		c.sub++
	} else {
		if err := c.next(ctx, main); err != nil {
			return err
		}
		c.main, c.sub = main, 0
	}
	record, value := recordOf(e, c.sub)
	if !c.hasBegun() {
		c.own.add(record, value)
		return nil
	}
	if main <= c.complete {
		return fmt.Errorf("etcd sent revision %d again, after revision %d", main, c.complete)
	}
	if err := c.writeHeld(); err != nil {
		return err
	}
	if !c.hasChanges() {
		c.changed = c.Now()
	}
	return c.writer.Change(record, value)
}

// next notes that the changes of another revision follow.
func (c *recording) next(ctx context.Context, main int64) error {
	switch {
	case c.hasBegun():
		return c.whole(ctx)
	case main > c.from.Revision:
		return c.compare()
	}
	return nil
}

// mark notes where the cluster is. What it repeats is held, so that only the first and the last
// mark of a revision are written.
func (c *recording) mark(m Mark) error {
	if c.Marked != nil {
		c.Marked(m, c.complete)
	}
	if m.Revision <= c.complete && c.hasBegun() {
		c.heard = c.Now()
	}
	if silent := c.since(c.heard); silent >= cmp.Or(c.Stall, stallTime) {
		return &StalledError{Complete: c.complete, Newest: m.Revision, For: silent}
	}
	return c.note(m)
}

func (c *recording) note(m Mark) error {
	switch {
	case m.Revision > c.complete || !c.isWhole():
		// Of those that wait while much is received, the last one says most.
		if n := len(c.waiting); n > 0 && c.waiting[n-1].Revision == m.Revision || n == maxWaiting {
			c.waiting = c.waiting[:n-1]
		}
		c.waiting = append(c.waiting, m)
		return nil
	case c.times.breaks(m): // the ends of both stretches are written
		if err := c.writeHeld(); err != nil {
			return err
		}
	case m.Revision == c.marked:
		c.times = c.times.add(m)
		c.held = &m
		return nil
	}
	c.times = c.times.add(m)
	c.marked = m.Revision
	return c.writer.Mark(m)
}

func (c *recording) marksUpTo(revision int64) error {
	for len(c.waiting) > 0 && c.waiting[0].Revision <= revision {
		m := c.waiting[0]
		c.waiting = c.waiting[1:]
		if err := c.note(m); err != nil {
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
	if err := errors.Join(c.writeHeld(), c.hash(ctx), c.writer.Times(c.times)); err != nil {
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
	c.stored = c.writer.Position()
	c.heard = c.Now() // meanwhile nothing was read
	err = c.drop()
	return errors.Join(err, c.begin(c.stored))
}

// hash asks the member for its hash, now and then. That it cannot tell it is no failure.
func (c *recording) hash(ctx context.Context) error {
	if c.HashEvery <= 0 || !c.hasChanges() || c.since(c.hashed) < c.HashEvery {
		return nil
	}
	c.hashed = c.Now()
	ctx, cancel := context.WithTimeout(ctx, hashTime)
	defer cancel()
	var got *pb.HashKVResponse
	err := c.try(ctx, func() (err error) {
		got, err = pb.NewMaintenanceClient(c.Conn).HashKV(ctx, &pb.HashKVRequest{Revision: c.complete})
		return err
	})
	if err != nil {
		c.Log.Warn("the member has told no hash", "revision", c.complete, "error", err)
		return nil
	}
	return c.writer.Hash(Hash{Revision: c.complete, Compacted: got.CompactRevision, Hash: got.Hash})
}
