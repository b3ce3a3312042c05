package agent

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// twins are two snapshots of one etcd: valid both, of the same size, and with another value
// of one key.
func twins(t *testing.T) (first, second *origin) {
	t.Helper()
	first = startOrigin(t, etcdtest.Newest())
	put := func(value string) *origin {
		if _, err := first.client.Put(t.Context(), "twin", value); err != nil {
			t.Fatal(err)
		}
		o := &origin{member: first.member, client: first.client}
		o.take(t)
		return o
	}
	for range 10 { // until the database does not grow
		if first, second = put("of the first"), put("of the second"); len(first.content) == len(second.content) {
			return first, second
		}
	}
	t.Fatal("no two snapshots have the same size")
	return nil, nil
}

// onLog does something once, when the agent logs a message, before it goes on.
type onLog struct {
	slog.Handler
	message string
	do      func()
}

func (h *onLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &onLog{h.Handler.WithAttrs(attrs), h.message, h.do}
}

func (h *onLog) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == h.message {
		h.do()
	}
	return h.Handler.Handle(ctx, r)
}

// during carries out a task, and does something when the agent logs a message.
func during(t *testing.T, tk task.Task, message string, do func()) (code int, result task.Result) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "result")
	environment := map[string]string{task.Env: encode(t, tk), ResultFileEnv: file}
	done := false
	log := slog.New(&onLog{slog.NewJSONHandler(&logs{}, nil), message, func() { done = true; do() }})
	code = run(t.Context(), log, quickSettings, func(name string) string { return environment[name] })
	if !done {
		t.Errorf("the agent did not log %q", message)
	}
	return code, readResult(t, file)
}

// A file on a volume may be written to at any time, and what is written may be a snapshot,
// too: only what was verified is restored, whenever that happens.
func TestAnotherSnapshotOnTheVolume(t *testing.T) {
	t.Parallel()
	verified, other := twins(t)
	overwrite := func(t *testing.T, tk task.Task) func() {
		return func() {
			f, err := os.OpenFile(filepath.Join(tk.PVC.Dir, "file"), os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.Write(other.content); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Run("after the verification", func(t *testing.T) {
		tk := seedFor(t, verified.content)
		overwrite(t, tk)()
		mustFail(t, tk, task.ReasonChanged, "its sha256 is")
	})
	t.Run("as it is opened", func(t *testing.T) {
		tk := seedFor(t, verified.content)
		code, result := during(t, tk, "reading the snapshot", overwrite(t, tk))
		checkFailure(t, code, result, agent.ExitPermanent, task.ReasonChanged, "its sha256 is")
	})
	t.Run("once its digest is right", func(t *testing.T) {
		tk := seedFor(t, verified.content)
		if code, result := during(t, tk, "rebuilding the data dir", overwrite(t, tk)); code != agent.ExitDone {
			t.Fatalf("got %+v", result.Failure)
		}
		if got := serve(t, tk); !maps.Equal(got, verified.state) {
			t.Errorf("the cluster has %q, and what was verified %q", got["twin"].value, verified.state["twin"].value)
		}
	})
	t.Run("while it is verified", func(t *testing.T) {
		tk := onVolume(t, verified.content)
		past := time.Now().Add(-time.Hour)
		if err := os.Chtimes(filepath.Join(tk.PVC.Dir, "file"), past, past); err != nil {
			t.Fatal(err)
		}
		code, result := during(t, tk, "checking the database", overwrite(t, tk))
		checkFailure(t, code, result, agent.ExitPermanent, task.ReasonChanged, "was written to while")
	})
}

// serve starts the seed and returns what it holds.
func serve(t *testing.T, tk task.Task) map[string]version {
	t.Helper()
	state, _ := stateOf(t, startSeed(t, tk))
	return state
}

// startSeed starts the seed's etcd on what was restored.
func startSeed(t *testing.T, tk task.Task) *clientv3.Client {
	t.Helper()
	m := etcdtest.NewMember(t, etcdtest.Newest(), tk.Member.Name)
	m.Dir, m.PeerURL = tk.Member.DataDir, tk.Member.PeerURL
	m.Start(t, "new", m)
	m.WaitReady(t)
	return connect(t, m)
}

// The pins of the seed: each alone keeps another snapshot out.
func TestTheSeedTakesOnlyWhatWasVerified(t *testing.T) {
	t.Parallel()
	verified, other := twins(t)
	s := startStore(t)
	s.put(t, "key", verified.content)
	found := must(t, s.task(t, "key")).Snapshot
	s.put(t, "key", other.content)
	restore := func(want task.Snapshot) task.Task {
		return restoring(t, s.task(t, "key"), &want, etcdtest.NewMember(t, etcdtest.Newest(), "seed"), verified.revision+bump)
	}
	mustFail(t, restore(*found), task.ReasonChanged, "its ETag is no longer "+found.ETag)
	withoutETag := *found
	withoutETag.ETag = ""
	mustFail(t, restore(withoutETag), task.ReasonChanged, "its sha256 is")
	withoutSum := *found
	withoutSum.SHA256 = ""
	withoutSum.ETag = ""
	mustFail(t, restore(withoutSum), task.ReasonChanged, "sha256")
	s.put(t, "key", append(bytes.Clone(other.content), make([]byte, 512)...))
	mustFail(t, restore(withoutETag), task.ReasonChanged, "its size in bytes is")
}

// An etcd that nothing was ever written to is backed up and restored as any other.
func TestAnEmptyEtcd(t *testing.T) {
	t.Parallel()
	etcdtest.EachVersion(t, func(t *testing.T, from string) {
		t.Parallel()
		m := etcdtest.NewMember(t, from, "empty")
		m.Start(t, "new", m)
		m.WaitReady(t)
		o := &origin{member: m, client: connect(t, m)}
		o.take(t)
		for _, to := range successors(from) {
			tk := onVolume(t, o.content)
			found := must(t, tk).Snapshot
			if found.Revision != 1 || found.TotalKeys != 0 || found.EtcdVersion != minor(from) {
				t.Errorf("found %+v", found)
			}
			seed := etcdtest.NewMember(t, to, "seed")
			must(t, restoring(t, tk, found, seed, 1+bump))
			seed.Start(t, "new", seed)
			seed.WaitReady(t)
			client := connect(t, seed)
			if state, revision := stateOf(t, client); len(state) > 0 || revision != 1+bump {
				t.Errorf("%s: the cluster has %d keys at revision %d", to, len(state), revision)
			}
			if put, err := client.Put(t.Context(), "key", "value"); err != nil || put.Header.Revision != 2+bump {
				t.Errorf("%s: a write gets %v, %v", to, put, err)
			}
		}
	})
}

// With the alarms of its snapshot, a cluster would refuse every write.
func TestTheRestoredClusterTakesWrites(t *testing.T) {
	t.Parallel()
	etcdtest.EachVersion(t, func(t *testing.T, from string) {
		t.Parallel()
		for kind, words := range map[pb.AlarmType]string{pb.AlarmType_NOSPACE: "NOSPACE", pb.AlarmType_CORRUPT: "CORRUPT"} {
			o := startOrigin(t, from)
			list, err := o.client.MemberList(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			alarm := &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, MemberID: list.Members[0].ID, Alarm: kind}
			if _, err := pb.NewMaintenanceClient(o.client.ActiveConnection()).Alarm(t.Context(), alarm); err != nil {
				t.Fatal(err)
			}
			if _, err := o.client.Put(t.Context(), "key", "value"); err == nil {
				t.Fatal("the origin takes writes")
			}
			o.take(t)
			tk := onVolume(t, o.content)
			found := must(t, tk).Snapshot
			if found.Alarms != words {
				t.Errorf("found %+v, want the alarm %s", found, words)
			}
			to := successors(from)
			seed := etcdtest.NewMember(t, to[len(to)-1], "seed")
			must(t, restoring(t, tk, found, seed, o.revision+bump))
			seed.Start(t, "new", seed)
			seed.WaitReady(t)
			client := connect(t, seed)
			if _, err := client.Put(t.Context(), "key", "value"); err != nil {
				t.Errorf("%s, restored to %s: a write gets %v", words, seed.Version, err)
			}
			if got, err := client.AlarmList(t.Context()); err != nil || len(got.Alarms) > 0 {
				t.Errorf("%s: alarms %v, %v", words, got, err)
			}
		}
	})
}
