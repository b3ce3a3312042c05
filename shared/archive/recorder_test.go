package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// recorded is what a Recorder has stored.
type recorded struct {
	sync.Mutex
	content map[Segment][]byte
}

func (r *recorded) put(_ context.Context, s Segment, content *os.File) error {
	r.Lock()
	defer r.Unlock()
	all, err := io.ReadAll(content)
	r.content[s] = all
	return err
}

func (r *recorded) segments() (all []Segment) {
	r.Lock()
	defer r.Unlock()
	for s := range r.content {
		all = append(all, s)
	}
	return all
}

// setup is an etcd, and a Recorder for it.
func setup(t *testing.T, version string) (*clientv3.Client, *Recorder, *recorded) {
	t.Helper()
	m := etcdtest.NewMember(t, version, "one")
	m.Start(t, "new", m)
	m.WaitReady(t)
	c := m.Dial(t, "", "")
	got, err := c.Get(t.Context(), "none")
	if err != nil {
		t.Fatal(err)
	}
	stored := &recorded{content: map[Segment][]byte{}}
	return c, &Recorder{
		Client: c, ClusterID: got.Header.ClusterId, Timeline: 1, Dir: t.TempDir(), Store: stored.put,
		Interval: 100 * time.Millisecond, Idle: time.Hour, Size: 1 << 20, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	}, stored
}

// start begins to record. What it returns ends that, and tells how it ended.
func (r *Recorder) start(t *testing.T, from Position) (stop func() (int64, error)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	ended := make(chan struct{})
	var next Position
	var err error
	go func() {
		defer close(ended)
		next, err = r.Record(ctx, from)
	}()
	return func() (int64, error) {
		cancel()
		<-ended
		return next.Revision, err
	}
}

// atOne is the position of an etcd to which nothing was written.
var atOne = Position{Revision: 1}

func awaitEnd(t *testing.T, r *Recorder, stored *recorded, end int64) {
	t.Helper()
	etcdtest.Eventually(t, "the archive's end", func() error {
		if got := End(stored.segments(), r.ClusterID, 1, 1); got < end {
			return fmt.Errorf("it ends at %d of %d", got, end)
		}
		return nil
	})
}

// Of a watch that catches up each transaction gets its own segment if it is as large, also one
// that etcd sends in many fragments; and no file is left.
func TestLargeTransactions(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		c, r, stored := setup(t, version)
		r.Size = 1000
		value := strings.Repeat("v", 1<<20)
		for i := range 8 {
			if _, err := c.Put(t.Context(), fmt.Sprint("key-", i), value); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 40 {
			var many []clientv3.Op
			for j := range 100 {
				many = append(many, clientv3.OpPut(fmt.Sprintf("many/%s/%d/%d", strings.Repeat("x", 1000), i, j), ""))
			}
			if _, err := c.Txn(t.Context()).Then(many...).Commit(); err != nil {
				t.Fatal(err)
			}
		}
		got, err := c.Delete(t.Context(), "many/", clientv3.WithPrefix()) // 4 MiB of keys
		if err != nil {
			t.Fatal(err)
		}
		end := got.Header.Revision
		stop := r.start(t, atOne)
		awaitEnd(t, r, stored, end)
		if next, err := stop(); next != end || !errors.Is(err, context.Canceled) {
			t.Errorf("it ended at %d of %d: %v", next, end, err)
		}
		changes := 0
		for s, content := range stored.content {
			all, _, err := readAll(content, s)
			if err != nil {
				t.Error(err)
			}
			changes += len(all)
		}
		if changes != 8+40*100+40*100 || len(stored.content) != 8+40+1 {
			t.Errorf("%d segments hold %d changes", len(stored.content), changes)
		}
		if left, err := filepath.Glob(filepath.Join(r.Dir, "*")); len(left) > 0 || err != nil {
			t.Errorf("%v are left, %v", left, err)
		}
	})
}

// Where etcd was compacted before the changes were recorded, the recorder says so.
func TestCompactedBeforeItWasRecorded(t *testing.T) {
	c, r, stored := setup(t, etcdtest.Newest())
	for range 10 {
		if _, err := c.Put(t.Context(), "a", "b"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Compact(t.Context(), 8); err != nil {
		t.Fatal(err)
	}
	var compacted *CompactedError
	if next, err := r.Record(t.Context(), atOne); next != atOne || !errors.As(err, &compacted) || *compacted != (CompactedError{Revision: 2, Compacted: 8}) {
		t.Errorf("%+v: %v", next, err)
	}
	if len(stored.content) > 0 {
		t.Errorf("it has stored %v", stored.segments())
	}
}

// What is of another cluster is not recorded, such as after a restore in place.
func TestRecordsNoOtherCluster(t *testing.T) {
	_, r, stored := setup(t, etcdtest.Newest())
	r.ClusterID++
	var foreign *ForeignError
	if _, err := r.Record(t.Context(), atOne); !errors.As(err, &foreign) || len(stored.content) > 0 {
		t.Error(err)
	}
}

// Changes that the store refuses are recorded again, and nothing is left out.
func TestStoreRefuses(t *testing.T) {
	c, r, stored := setup(t, etcdtest.Newest())
	refusal := errors.New("refused")
	put := r.Store
	r.Store = func(context.Context, Segment, *os.File) error { return refusal }
	got, err := c.Put(t.Context(), "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	next, err := r.Record(t.Context(), atOne)
	if next.Revision != 1 || !errors.Is(err, refusal) {
		t.Fatalf("%+v: %v", next, err)
	}
	r.Store = put
	stop := r.start(t, next)
	awaitEnd(t, r, stored, got.Header.Revision)
	if next, err := stop(); next != 2 {
		t.Errorf("%d: %v", next, err)
	}
}

// While nothing is written, a segment without a change says now and then that nothing was, and
// keeps its name.
func TestIdle(t *testing.T) {
	c, r, stored := setup(t, etcdtest.Newest())
	r.Idle = 200 * time.Millisecond
	if _, err := c.Put(t.Context(), "a", "b"); err != nil {
		t.Fatal(err)
	}
	stop := r.start(t, atOne)
	var first Mark
	etcdtest.Eventually(t, "two segments without a change", func() error {
		stored.Lock()
		defer stored.Unlock()
		var content []byte
		var empty Segment
		for s, c := range stored.content {
			if s.First == 3 && s.Last == 2 {
				empty, content = s, c
			}
		}
		if content == nil {
			return errors.New("there is none")
		}
		all, read, err := readAll(content, empty)
		if err != nil || len(all) > 0 || len(read.Marks()) == 0 {
			return fmt.Errorf("%d changes, marks %v: %w", len(all), read.Marks(), err)
		}
		m := read.Marks()[len(read.Marks())-1]
		if first == (Mark{}) {
			first = m
		}
		if m.Revision != 2 || !m.Answered.After(first.Answered) {
			return fmt.Errorf("the last mark is %+v", m)
		}
		return nil
	})
	if next, err := stop(); next != 2 {
		t.Errorf("%d, %v: stored %v", next, err, stored.segments())
	}
}

// A recorder that ends stores what it has.
func TestEndStores(t *testing.T) {
	c, r, stored := setup(t, etcdtest.Newest())
	r.Interval = time.Hour
	r.Now = func() time.Time { return time.Unix(1, 0) }
	stop := r.start(t, atOne)
	if _, err := c.Put(t.Context(), "a", "b"); err != nil {
		t.Fatal(err)
	}
	etcdtest.Eventually(t, "the change in the file", func() error {
		next, err := stop()
		if next == 2 {
			return nil
		}
		stop = r.start(t, atOne)
		return fmt.Errorf("%d, %w", next, err)
	})
	if got := End(stored.segments(), r.ClusterID, 1, 1); got != 2 {
		t.Errorf("it ends at %d", got)
	}
}

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
			next, err := r.Record(t.Context(), from)
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

// silent is a gRPC connection on which watches deliver nothing after they were created.
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
	deaf, err := clientv3.New(clientv3.Config{Endpoints: c.Endpoints(), DialOptions: []grpc.DialOption{
		grpc.WithStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			s, err := streamer(ctx, desc, cc, method, opts...)
			return silent{s}, err
		})}})
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	if _, err := c.Put(t.Context(), "a", "b"); err != nil {
		t.Fatal(err)
	}
	r.Client, r.Stall = deaf, 300*time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var stalled *StalledError
	if _, err := r.Record(ctx, atOne); !errors.As(err, &stalled) || stalled.Newest != 2 || stalled.Error() == "" {
		t.Error(err)
	}
	r.Client = c
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
		ctx, cancel := context.WithCancel(t.Context())
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
	r.Client, r.HashEvery = watched, time.Nanosecond
	stop := r.start(t, atOne)
	awaitEnd(t, r, stored, 2)
	_, _ = stop() // what is stored counts
	if d := <-deadline; d <= 0 || d > hashTime {
		t.Errorf("the member has %s", d)
	}
}
