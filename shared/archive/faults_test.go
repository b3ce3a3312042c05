package archive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// A recorder that goes on at an etcd of another history says so, whatever that one's revision is
// by then: volumes that were rolled back keep the cluster id.
func TestAnotherHistory(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		c, r, stored := setup(t, version)
		put := func(n int, value string) {
			for range n {
				if _, err := c.Put(t.Context(), "a", value); err != nil {
					t.Fatal(err)
				}
			}
		}
		put(9, "b")
		stop := r.start(t, atOne)
		awaitEnd(t, r, stored, 10)
		if _, err := stop(); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		last, ok := Newest(stored.segments(), r.ClusterID)
		if !ok {
			t.Fatal("nothing is stored")
		}
		_, read, err := readAll(stored.content[last], last)
		if err != nil {
			t.Fatal(err)
		}
		at := read.End()
		other := at
		other.At++
		ahead := at
		ahead.Revision = 100
		for name, from := range map[string]Position{"other changes": other, "an older revision": ahead} {
			var diverged *DivergedError
			next, err := r.Record(etcdtest.Context(t), from)
			if !errors.As(err, &diverged) || next != from || diverged.Revision != from.Revision || diverged.Error() == "" {
				t.Errorf("%s: %+v, %v", name, next, err)
			}
		}
		put(2, "c")
		stop = r.start(t, at) // the same history goes on
		awaitEnd(t, r, stored, 12)
		if _, err := stop(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// An idle cluster whose newest revision shows no change can be recorded, too.
func TestBeginsWhereNothingWasWritten(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		_, r, stored := setup(t, version)
		r.Idle = 100 * time.Millisecond
		stop := r.start(t, atOne)
		etcdtest.Eventually(t, "a segment without a change", func() error {
			if len(stored.segments()) != 1 {
				return fmt.Errorf("stored are %v", stored.segments())
			}
			return nil
		})
		if next, err := stop(); next != 1 || !errors.Is(err, context.Canceled) {
			t.Errorf("%d, %v", next, err)
		}
		var nothing Begin
		if s := stored.segments()[0]; s.Follows != nothing.Lineage() {
			t.Errorf("it follows %s", s.Follows)
		}
	})
}

// What another cluster answers behind the same address is no mark.
func TestMarksOfAnotherCluster(t *testing.T) {
	_, r, _ := setup(t, etcdtest.Newest())
	c := &recording{Recorder: r, from: Position{Revision: 5}}
	var foreign *ForeignError
	if err := c.checkMark(&pb.ResponseHeader{ClusterId: r.ClusterID + 1, Revision: 9}); !errors.As(err, &foreign) {
		t.Error(err)
	}
	if err := c.checkMark(&pb.ResponseHeader{ClusterId: r.ClusterID, Revision: 5}); err != nil {
		t.Error(err)
	}
}

// through connects to what a client is connected to, with each stream changed.
func through(t *testing.T, c *clientv3.Client, change func(grpc.ClientStream) grpc.ClientStream) grpc.ClientConnInterface {
	t.Helper()
	changed, err := clientv3.New(clientv3.Config{Endpoints: c.Endpoints(), DialOptions: []grpc.DialOption{
		grpc.WithStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			s, err := streamer(ctx, desc, cc, method, opts...)
			return change(s), err
		})}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = changed.Close() }) // the test is over
	return changed.ActiveConnection()
}

// silent is a stream on which watches deliver nothing after they were created.
type silent struct{ grpc.ClientStream }

func (s silent) RecvMsg(m any) error {
	for {
		if err := s.ClientStream.RecvMsg(m); err != nil {
			return err
		}
		if got, ok := m.(*pb.WatchResponse); !ok || got.Created {
			return nil
		}
	}
}

// A watch that delivers nothing while reads succeed ends, so that another member is watched.
func TestSilentWatch(t *testing.T) {
	c, r, stored := setup(t, etcdtest.Newest())
	if _, err := c.Put(t.Context(), "a", "b"); err != nil {
		t.Fatal(err)
	}
	r.Conn, r.Stall = through(t, c, func(s grpc.ClientStream) grpc.ClientStream { return silent{s} }), 300*time.Millisecond
	var stalled *StalledError
	if _, err := r.Record(etcdtest.Context(t), atOne); !errors.As(err, &stalled) || stalled.Newest != 2 || stalled.Error() == "" {
		t.Error(err)
	}
	r.Conn = c.ActiveConnection()
	stop := r.start(t, atOne)
	awaitEnd(t, r, stored, 2)
	time.Sleep(2 * r.Stall) // an idle cluster is no silent watch
	if _, err := c.Put(t.Context(), "a", "c"); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, r, stored, 3)
	if _, err := stop(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// unconfirmed is a stream on which etcd confirms a watch late.
type unconfirmed struct {
	grpc.ClientStream
	confirmed, early *atomic.Bool
}

func (u unconfirmed) RecvMsg(m any) error {
	err := u.ClientStream.RecvMsg(m)
	if got, ok := m.(*pb.WatchResponse); ok && got.Created {
		time.Sleep(300 * time.Millisecond)
		u.confirmed.Store(true)
	}
	return err
}

func (u unconfirmed) SendMsg(m any) error {
	if asked, ok := m.(*pb.WatchRequest); ok && asked.GetProgressRequest() != nil && !u.confirmed.Load() {
		u.early.Store(true)
	}
	return u.ClientStream.SendMsg(m)
}

// Until etcd has confirmed a watch, its changes wait, and an answer about its progress does not:
// asked for before, it would take all changes for those of another history.
func TestProgressOfAConfirmedWatch(t *testing.T) {
	c, r, stored := setup(t, etcdtest.Newest())
	var confirmed, early atomic.Bool
	r.Conn = through(t, c, func(s grpc.ClientStream) grpc.ClientStream { return unconfirmed{s, &confirmed, &early} })
	r.Idle = 100 * time.Millisecond
	stop := r.start(t, atOne) // whose revision shows no change, so that only progress ends it
	etcdtest.Eventually(t, "a segment", func() error {
		if len(stored.segments()) == 0 {
			return errors.New("there is none")
		}
		return nil
	})
	if _, err := stop(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if !confirmed.Load() || early.Load() {
		t.Errorf("confirmed %t, asked for its progress before %t", confirmed.Load(), early.Load())
	}
}

// What a recorder has left that was killed is removed.
func TestLeftFiles(t *testing.T) {
	_, r, _ := setup(t, etcdtest.Newest())
	left, other := filepath.Join(r.Dir, "segment-123"), filepath.Join(r.Dir, "other")
	for _, name := range []string{left, other} {
		if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stop := r.start(t, atOne)
	etcdtest.Eventually(t, "the file to be removed", func() error {
		if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
	_, _ = stop() // it was only to begin
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
}

// A recorder that is restarted again and again asks a member for no more hashes.
func TestHashesAcrossRestarts(t *testing.T) {
	c, r, stored := setup(t, etcdtest.Newest())
	now := atomic.Int64{}
	r.Now = func() time.Time { return time.Unix(now.Add(1), 0) } // a second with each look
	r.HashEvery = time.Hour
	hashes := func() (n int) {
		for s, content := range stored.content {
			_, read, err := readAll(content, s)
			if err != nil {
				t.Fatal(err)
			}
			n += len(read.Hashes())
		}
		return n
	}
	from := atOne
	round := func() {
		t.Helper()
		got, err := c.Put(t.Context(), "a", "b")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(etcdtest.Context(t))
		put := r.Store
		defer func() { r.Store = put }()
		r.Store = func(ctx context.Context, s Segment, content *os.File) error {
			if s.Last >= got.Header.Revision {
				cancel()
			}
			return put(ctx, s, content)
		}
		if from, err = r.Record(ctx, from); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	for range 3 {
		round()
	}
	if n := hashes(); n != 0 {
		t.Errorf("%d hashes within the first hour", n)
	}
	now.Add(3600)
	for range 3 {
		round()
	}
	if n := hashes(); n != 1 {
		t.Errorf("%d hashes within the second hour", n)
	}
}

// A member that does not tell its hash holds the archive up for a while only.
func TestHashHasADeadline(t *testing.T) {
	c, r, stored := setup(t, etcdtest.Newest())
	deadline := make(chan time.Duration, 10)
	watched, err := clientv3.New(clientv3.Config{Endpoints: c.Endpoints(), DialOptions: []grpc.DialOption{
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			if strings.HasSuffix(method, "/HashKV") {
				end, _ := ctx.Deadline()
				deadline <- time.Until(end)
				return context.DeadlineExceeded
			}
			return invoker(ctx, method, req, reply, cc, opts...)
		})}})
	if err != nil {
		t.Fatal(err)
	}
	defer watched.Close()
	if _, err := c.Put(t.Context(), "a", "b"); err != nil {
		t.Fatal(err)
	}
	r.Conn, r.HashEvery = watched.ActiveConnection(), time.Nanosecond
	stop := r.start(t, atOne)
	awaitEnd(t, r, stored, 2)
	_, _ = stop() // what is stored counts
	if d := etcdtest.Receive(t, "the request for a hash", deadline); d <= 0 || d > hashTime {
		t.Errorf("the member has %s", d)
	}
}
