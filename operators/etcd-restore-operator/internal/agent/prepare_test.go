package agent

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
)

// permitted sets what the operator permits the seed, at once as a kubelet does: a file that
// is empty for a moment would withdraw the permit.
func permitted(t *testing.T, tk task.Task, permit string) {
	t.Helper()
	next := tk.Member.PermitFile + ".next"
	if err := os.WriteFile(next, []byte(permit), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, tk.Member.PermitFile); err != nil {
		t.Fatal(err)
	}
}

// preparing makes a task that prepares a snapshot which nobody has verified before.
func preparing(t *testing.T, tk task.Task, m *etcdtest.Member, revision int64) task.Task {
	t.Helper()
	tk = restoring(t, tk, nil, m, revision)
	tk.Member.Bump = bump
	permitted(t, tk, uid+task.Prepare)
	return tk
}

// waiting is the task of the container that waits for the start permit.
func waiting(tk task.Task) task.Task {
	return task.Task{Restore: tk.Restore, UID: tk.UID, Member: tk.Member, Await: true}
}

// mustBePrepared checks that there is no data dir, and nothing that was fetched.
func mustBePrepared(t *testing.T, tk task.Task) {
	t.Helper()
	if got := names(t, filepath.Dir(tk.Member.DataDir)); !slices.Equal(got, []string{"data.restoring-" + uid}) {
		t.Errorf("the volume holds %v, want what is prepared alone", got)
	}
	if got := names(t, newPlace(tk).Work); !slices.Equal(got, []string{"complete", "data", "facts"}) {
		t.Errorf("prepared is %v", got)
	}
}

// A seed fetches once, before members are stopped, and starts with that when it may.
func TestASeedIsPreparedAndThenStarts(t *testing.T) {
	t.Parallel()
	o, s := startOrigin(t, etcdtest.Newest()), startStore(t)
	s.put(t, "key", packed(t, o.content))
	m := etcdtest.NewMember(t, etcdtest.Newest(), "seed")
	tk := preparing(t, s.task(t, "key"), m, bump)
	first := must(t, tk)
	checkFound(t, o, first.Snapshot, tk)
	if want := o.revision + bump; first.Already || first.Revision != want {
		t.Errorf("got %+v, want that it begins at %d", first, want)
	}
	mustBePrepared(t, tk)

	// Its Pod is set up anew, while the store is gone.
	down := s.proxy.Inject(s3test.Fault{Do: s3test.Answer(500, "InternalError")})
	if again := must(t, tk); *again.Snapshot != *first.Snapshot || again.Revision != first.Revision || s.proxy.Hits(down) > 0 {
		t.Errorf("got %+v with %d questions to the store, want the same as %+v", again, s.proxy.Hits(down), first)
	}
	mustBePrepared(t, tk)

	ended := make(chan task.Result, 1)
	go func() {
		_, result := carry(t.Context(), t, waiting(tk))
		ended <- result
	}()
	select {
	case got := <-ended:
		t.Fatalf("it did not wait for its start permit: %+v", got)
	case <-time.After(20 * quickSettings.poll):
	}
	mustBePrepared(t, tk)
	permitted(t, tk, uid)
	if got := <-ended; got.Failure != nil || got.Already {
		t.Fatalf("got %+v", got)
	}
	mustBeClean(t, tk)
	m.Start(t, "new", m)
	m.WaitReady(t)
	checkRestored(t, connect(t, m), o, o.revision+bump)

	// Nothing is done twice.
	for _, again := range []task.Task{tk, waiting(tk)} {
		if got := must(t, again); !got.Already {
			t.Errorf("got %+v", got)
		}
	}
}

// Where the cluster begins is beyond what its members have come to, and beyond the snapshot.
func TestWhereASeedBegins(t *testing.T) {
	t.Parallel()
	o := startOrigin(t, etcdtest.Newest())
	for name, row := range map[string]struct{ revision, bump, want int64 }{
		"the members have come further": {7_000_000_000, bump, 7_000_000_000},
		"the snapshot has":              {bump, bump, o.revision + bump},
		"a larger bump":                 {bump, 3 * bump, o.revision + 3*bump},
	} {
		t.Run(name, func(t *testing.T) {
			tk := preparing(t, onVolume(t, o.content), etcdtest.NewMember(t, etcdtest.Newest(), "seed"), row.revision)
			tk.Member.Bump = row.bump
			if got := must(t, tk); got.Revision != row.want {
				t.Errorf("it begins at %d, want %d", got.Revision, row.want)
			}
		})
	}
	t.Run("no revision is left", func(t *testing.T) {
		tk := preparing(t, onVolume(t, o.content), etcdtest.NewMember(t, etcdtest.Newest(), "seed"), bump)
		tk.Member.Bump = maxRevision
		mustFail(t, tk, task.ReasonRevisionTooHigh, "spec.revisionBump")
	})
}

// What the Job would have refused, the seed refuses, and leaves nothing behind.
func TestASnapshotThatCannotBePrepared(t *testing.T) {
	t.Parallel()
	o := startOrigin(t, etcdtest.Newest())
	for name, row := range map[string]struct {
		content []byte
		reason  string
	}{
		"damaged":        {flipped(o.content, len(o.content)/2), task.ReasonCorruptSnapshot},
		"cut short":      {o.content[:len(o.content)-4096], task.ReasonCorruptSnapshot},
		"without digest": {o.content[:len(o.content)-32], task.ReasonNoHash},
	} {
		t.Run(name, func(t *testing.T) {
			tk := preparing(t, onVolume(t, row.content), etcdtest.NewMember(t, etcdtest.Newest(), "seed"), bump)
			mustFail(t, tk, row.reason, "")
			if got := names(t, filepath.Dir(tk.Member.DataDir)); len(got) > 0 {
				t.Errorf("the volume holds %v", got)
			}
		})
	}
}

// Without a permit, any more, nothing becomes the data dir, and the container ends.
func TestAwaitEndsWithoutAPermit(t *testing.T) {
	t.Parallel()
	tk := preparing(t, onVolume(t, startOrigin(t, etcdtest.Newest()).content), etcdtest.NewMember(t, etcdtest.Newest(), "seed"), bump)
	must(t, tk)
	for _, permit := range []string{"", "another", "another" + task.Prepare} {
		permitted(t, tk, permit)
		if got := must(t, waiting(tk)); !got.Already {
			t.Errorf("with %q: got %+v", permit, got)
		}
	}
	mustBePrepared(t, tk)
}

// A start permit for what was never prepared starts nothing.
func TestAwaitOfNothing(t *testing.T) {
	t.Parallel()
	tk := preparing(t, onVolume(t, nil), etcdtest.NewMember(t, etcdtest.Newest(), "seed"), bump)
	permitted(t, tk, uid)
	code, result := carry(t.Context(), t, waiting(tk))
	checkFailure(t, code, result, agent.ExitRetry, "NotPrepared", "delete the seed's Pod")
}
