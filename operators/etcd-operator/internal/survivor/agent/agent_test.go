package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/survivor/task"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// begins is the revision that the seeds begin at.
const begins = 1_000_000_000

func connect(t *testing.T, m *etcdtest.Member) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + m.Client}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func put(t *testing.T, c *clientv3.Client, key, value string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := c.Put(ctx, key, value); err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
}

// lose makes three members, writes keys, and kills two: what is left has lost its quorum.
func lose(t *testing.T, version string) (left *etcdtest.Member, process *etcdtest.Process, keys int) {
	t.Helper()
	var all []*etcdtest.Member
	for _, name := range []string{"a", "b", "c"} {
		all = append(all, etcdtest.NewMember(t, version, name))
	}
	var processes []*etcdtest.Process
	for _, m := range all {
		processes = append(processes, m.Start(t, "new", all...))
	}
	for _, m := range all {
		m.WaitReady(t)
	}
	c := connect(t, all[0])
	keys = 50
	for i := range keys {
		put(t, c, fmt.Sprintf("key-%d", i), fmt.Sprint(i))
	}
	processes[1].Kill()
	processes[2].Kill()
	return all[0], processes[0], keys
}

// taskOf asks the survivor as the operator does, until it has no leader any more.
func taskOf(t *testing.T, from, seed *etcdtest.Member) task.Task {
	t.Helper()
	var a etcdclient.Answer
	etcdtest.Eventually(t, "the survivor to answer without a leader", func() error {
		a = etcdclient.Client{}.Ask(t.Context(), []etcdclient.Endpoint{{Name: from.Name, Addr: from.Client, MetricsAddr: from.Metrics}})[from.Name]
		if !a.Reached || a.Leader != 0 || a.Read {
			return fmt.Errorf("it says %+v", a)
		}
		return nil
	})
	permit := filepath.Join(t.TempDir(), "permit")
	if err := os.WriteFile(permit, []byte("token-1"), 0o600); err != nil {
		t.Fatal(err)
	}
	return task.Task{
		Survivor: from.Name, URL: "http://" + from.Client, ClusterID: fmt.Sprintf("%016x", a.ClusterID), MemberID: fmt.Sprintf("%016x", a.MemberID), Committed: a.RaftIndex,
		Name: seed.Name, PeerURL: seed.PeerURL, Token: "token-1", DataDir: seed.Dir, PermitFile: permit, Revision: begins,
	}
}

func perform(t *testing.T, tk task.Task) (task.Result, error) {
	t.Helper()
	var r task.Result
	err := carryOut(etcdtest.Context(t), slog.New(slog.DiscardHandler), tk, &r)
	return r, err
}

func must(t *testing.T, tk task.Task) task.Result {
	t.Helper()
	r, err := perform(t, tk)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The seed has every key that the survivor had applied, goes on far beyond its revision,
// and tells whoever watched before that the past is compacted.
func TestASurvivorsSeed(t *testing.T) {
	t.Parallel()
	etcdtest.EachVersion(t, func(t *testing.T, version string) {
		t.Parallel()
		from, _, keys := lose(t, version)
		seed := etcdtest.NewMember(t, version, "seed")
		tk := taskOf(t, from, seed)
		if got := must(t, tk); got.Already || got.Size == 0 || got.Revision != int64(keys)+1 {
			t.Errorf("got %+v, want the revision %d", got, keys+1)
		}
		entries, err := os.ReadDir(filepath.Dir(seed.Dir))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if want := []string{"data", "data.restored"}; !slices.Equal(names, want) {
			t.Errorf("the volume holds %v, want %v", names, want)
		}

		seed.Start(t, "new", seed)
		seed.WaitReady(t)
		c := connect(t, seed)
		got, err := c.Get(t.Context(), "key-", clientv3.WithPrefix())
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Kvs) != keys || got.Header.Revision < begins {
			t.Errorf("it has %d keys at revision %d, want %d at %d or later", len(got.Kvs), got.Header.Revision, keys, begins)
		}
		watch := <-c.Watch(etcdtest.Context(t), "key-0", clientv3.WithRev(int64(keys)))
		if !errors.Is(watch.Err(), rpctypes.ErrCompacted) {
			t.Errorf("a watcher of before is told %v, want that it was compacted", watch.Err())
		}

		// It is made once: with the marker nothing is done, whatever becomes of the permit.
		put(t, c, "later", "1")
		if got := must(t, tk); !got.Already {
			t.Errorf("made again: %+v", got)
		}
	})
}

func TestNoPermit(t *testing.T) {
	t.Parallel()
	seed := etcdtest.NewMember(t, etcdtest.Newest(), "seed")
	tk := task.Task{Token: "token-1", Name: "seed", DataDir: seed.Dir, PermitFile: filepath.Join(t.TempDir(), "none")}
	if got := must(t, tk); !got.Already {
		t.Errorf("got %+v", got)
	}
	if _, err := os.Stat(seed.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a data dir: %v", err)
	}
}

// What an earlier start has left half-done is begun again; a data dir of somebody else is
// left as it is.
func TestWhatIsThere(t *testing.T) {
	t.Parallel()
	from, process, _ := lose(t, etcdtest.Newest())
	rows := map[string]struct {
		reason string
		change func(t *testing.T, tk *task.Task, dir string)
		words  string
	}{
		"half-done": {
			reason: "it was killed while it fetched",
			change: func(t *testing.T, tk *task.Task, dir string) {
				work := dir + ".restoring-" + tk.Token
				if err := errors.Join(os.MkdirAll(filepath.Join(work, "data"), 0o700), os.WriteFile(filepath.Join(work, "snapshot"), []byte("half"), 0o600)); err != nil {
					t.Fatal(err)
				}
			},
		},
		"taken": {
			reason: "somebody's data is there",
			change: func(t *testing.T, _ *task.Task, dir string) {
				if err := os.MkdirAll(filepath.Join(dir, "member"), 0o700); err != nil {
					t.Fatal(err)
				}
			},
			words: "holds data that is not of this restore",
		},
		"another cluster": {
			reason: "the address is another cluster's now",
			change: func(_ *testing.T, tk *task.Task, _ string) { tk.ClusterID = "00000000000000ff" },
			words:  "and survivor a is",
		},
		"less than it had": {
			reason: "its disk was put back to what it had been",
			change: func(_ *testing.T, tk *task.Task, _ string) { tk.Committed += 1000 },
			words:  "it had known of",
		},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			seed := etcdtest.NewMember(t, etcdtest.Newest(), "seed")
			tk := taskOf(t, from, seed)
			r.change(t, &tk, seed.Dir)
			_, err := perform(t, tk)
			switch {
			case r.words == "" && err != nil:
				t.Fatalf("%s: %v", r.reason, err)
			case r.words != "" && (err == nil || !strings.Contains(err.Error(), r.words)):
				t.Errorf("%s: got %v, want %q", r.reason, err, r.words)
			}
		})
	}

	t.Run("gone", func(t *testing.T) {
		seed := etcdtest.NewMember(t, etcdtest.Newest(), "seed")
		tk := taskOf(t, from, seed)
		process.Kill()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := carryOut(ctx, slog.New(slog.DiscardHandler), tk, &task.Result{})
		var known *runner.Error
		if !errors.As(err, &known) || known.Permanent || known.Reason != reasonSourceLost {
			t.Errorf("got %v, want %s, which may pass", err, reasonSourceLost)
		}
	})
}
