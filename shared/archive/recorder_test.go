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
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

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
		Conn: c.ActiveConnection(), ClusterID: got.Header.ClusterId, Timeline: 1, Dir: t.TempDir(), Store: stored.put,
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
		etcdtest.Receive(t, "the recorder to end", ended)
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
	if next, err := r.Record(etcdtest.Context(t), atOne); next != atOne || !errors.As(err, &compacted) || *compacted != (CompactedError{Revision: 2, Compacted: 8}) {
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
	if _, err := r.Record(etcdtest.Context(t), atOne); !errors.As(err, &foreign) || len(stored.content) > 0 {
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
	next, err := r.Record(etcdtest.Context(t), atOne)
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
