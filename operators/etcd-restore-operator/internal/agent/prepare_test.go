package agent

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
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

	permitted(t, tk, uid)
	if got := must(t, tk); got.Already || *got.Snapshot != *first.Snapshot {
		t.Errorf("got %+v", got)
	}
	mustBeClean(t, tk)
	m.Start(t, "new", m)
	m.WaitReady(t)
	checkRestored(t, connect(t, m), o, o.revision+bump)

	// Nothing is done twice.
	if got := must(t, tk); !got.Already {
		t.Errorf("got %+v", got)
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

// A permit that is revoked while the database is rebuilt is found: no launcher publishes that,
// and the operator hears that another seed has to follow.
func TestPermitRevokedMeanwhile(t *testing.T) {
	t.Parallel()
	o, s := startOrigin(t, etcdtest.Newest()), startStore(t)
	s.put(t, "key", o.content)
	tk := preparing(t, s.task(t, "key"), etcdtest.NewMember(t, etcdtest.Newest(), "seed"), bump)
	permitted(t, tk, uid)
	s.proxy.Inject(s3test.Fault{When: s3test.IsGet, Times: 1, Do: s3test.During(func() { permitted(t, tk, "") })})
	if got := must(t, tk); !got.Already {
		t.Errorf("got %+v", got)
	}
	mustBePrepared(t, tk)
}

// Without a permit, any more, nothing becomes the data dir, and the container ends.
func TestPreparedWithoutAPermit(t *testing.T) {
	t.Parallel()
	tk := preparing(t, onVolume(t, startOrigin(t, etcdtest.Newest()).content), etcdtest.NewMember(t, etcdtest.Newest(), "seed"), bump)
	must(t, tk)
	for _, permit := range []string{"", "another", "another" + task.Prepare} {
		permitted(t, tk, permit)
		if got := must(t, tk); !got.Already {
			t.Errorf("with %q: got %+v", permit, got)
		}
	}
	mustBePrepared(t, tk)
}
