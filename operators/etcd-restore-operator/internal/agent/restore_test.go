package agent

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/datadir"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
)

// seedFor makes a task that restores a snapshot from a volume, verified before.
func seedFor(t *testing.T, content []byte) task.Task {
	t.Helper()
	tk := onVolume(t, content)
	m := etcdtest.NewMember(t, etcdtest.Newest(), "seed")
	found := must(t, tk).Snapshot
	return restoring(t, tk, found, m, found.Revision+bump)
}

// names lists a folder.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// mustBeClean checks that nothing but the data dir and its marker are there.
func mustBeClean(t *testing.T, tk task.Task) {
	t.Helper()
	if got := names(t, filepath.Dir(tk.Member.DataDir)); !slices.Equal(got, []string{"data", "data.restored"}) {
		t.Errorf("the volume holds %v", got)
	}
}

func TestARestoreIsDoneOnce(t *testing.T) {
	t.Parallel()
	o, s := startOrigin(t, etcdtest.Newest()), startStore(t)
	s.put(t, "key", o.content)
	tk := s.task(t, "key")
	found := must(t, tk).Snapshot
	tk = restoring(t, tk, found, etcdtest.NewMember(t, etcdtest.Newest(), "seed"), o.revision+bump)
	if got := must(t, tk); got.Already {
		t.Errorf("got %+v", got)
	}
	mustBeClean(t, tk)
	// etcd has written since, the store is gone, and the permit, too.
	written := filepath.Join(tk.Member.DataDir, "member", "written")
	if err := os.WriteFile(written, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	down := s.proxy.Inject(s3test.Fault{Do: s3test.Answer(500, "InternalError")})
	for range 2 {
		if got := must(t, tk); !got.Already {
			t.Errorf("got %+v", got)
		}
		if err := os.RemoveAll(tk.Member.PermitFile); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(written); err != nil || s.proxy.Hits(down) > 0 {
		t.Errorf("%v; the store was asked %d times", err, s.proxy.Hits(down))
	}
	other := tk
	other.UID = "another"
	mustFail(t, other, task.ReasonDataDirTaken, "delete the seed's")
}

func TestNothingIsDoneWithoutPermit(t *testing.T) {
	t.Parallel()
	o := startOrigin(t, etcdtest.Newest())
	for name, withdraw := range map[string]func(string) error{
		"withdrawn":         os.Remove,
		"empty":             func(file string) error { return os.WriteFile(file, nil, 0o600) },
		"another restore's": func(file string) error { return os.WriteFile(file, []byte("another"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			tk := seedFor(t, o.content)
			if err := withdraw(tk.Member.PermitFile); err != nil {
				t.Fatal(err)
			}
			if got := must(t, tk); !got.Already || got.Snapshot != nil {
				t.Errorf("got %+v", got)
			}
			if got := names(t, filepath.Dir(tk.Member.DataDir)); len(got) > 0 {
				t.Errorf("the volume holds %v", got)
			}
		})
	}
}

func TestOnlyWhatWasVerifiedIsRestored(t *testing.T) {
	t.Parallel()
	o, s := startOrigin(t, etcdtest.Newest()), startStore(t)
	other := packed(t, o.content)
	sameSize := flipped(o.content, len(o.content)/2)
	for name, content := range map[string][]byte{"another size": other, "the same size": sameSize} {
		t.Run("in S3, "+name, func(t *testing.T) {
			s.put(t, "key", o.content)
			tk := s.task(t, "key")
			tk = restoring(t, tk, must(t, tk).Snapshot, etcdtest.NewMember(t, etcdtest.Newest(), "seed"), o.revision+bump)
			s.put(t, "key", content)
			mustFail(t, tk, task.ReasonChanged, "ETag")
			tk.Want.ETag = "" // of a store that knows none
			mustFail(t, tk, task.ReasonChanged, "another EtcdRestore")
			if got := names(t, filepath.Dir(tk.Member.DataDir)); len(got) > 0 {
				t.Errorf("the volume holds %v", got)
			}
		})
		t.Run("on a volume, "+name, func(t *testing.T) {
			tk := seedFor(t, o.content)
			if err := os.WriteFile(filepath.Join(tk.PVC.Dir, "file"), content, 0o600); err != nil {
				t.Fatal(err)
			}
			mustFail(t, tk, task.ReasonChanged, "pvc://claim/file")
		})
	}
	t.Run("gone", func(t *testing.T) {
		tk := seedFor(t, o.content)
		if err := os.Remove(filepath.Join(tk.PVC.Dir, "file")); err != nil {
			t.Fatal(err)
		}
		mustFail(t, tk, task.ReasonSnapshotNotFound, "pvc://claim/file")
	})
}

func TestADataDirThatIsNotOurs(t *testing.T) {
	t.Parallel()
	tk := seedFor(t, startOrigin(t, etcdtest.Newest()).content)
	theirs := filepath.Join(tk.Member.DataDir, "member")
	if err := os.MkdirAll(theirs, 0o700); err != nil {
		t.Fatal(err)
	}
	mustFail(t, tk, task.ReasonDataDirTaken, "was not touched")
	if err := os.Remove(theirs); err != nil {
		t.Fatal(err)
	}
	must(t, tk) // an empty one is nobody's
	mustBeClean(t, tk)
}

func TestARevisionThatIsNotBeyondTheSnapshot(t *testing.T) {
	t.Parallel()
	tk := seedFor(t, startOrigin(t, etcdtest.Newest()).content)
	tk.Member.Revision = tk.Want.Revision
	mustFail(t, tk, agent.ReasonInvalidTask, "revision")
}

// TestASmallVolume mounts small file systems, and so needs to be root.
func TestASmallVolume(t *testing.T) {
	t.Parallel()
	o := startOrigin(t, etcdtest.Newest())
	mount := func(t *testing.T, size string) string {
		t.Helper()
		dir := t.TempDir()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
			t.Fatalf("mount a tmpfs (run this test as root): %v", err)
		}
		// A program that another test starts has a copy of all open files until it runs. What the agent
		// leaves open stays so.
		t.Cleanup(func() {
			etcdtest.Eventually(t, "no file to be open", func() error { return syscall.Unmount(dir, 0) })
		})
		return dir
	}
	t.Run("for a data dir", func(t *testing.T) {
		tk := seedFor(t, o.content)
		tk.Member.DataDir = filepath.Join(mount(t, "100m"), "data")
		mustFail(t, tk, agent.ReasonNoSpace, "MiB are needed")
	})
	t.Run("for a data dir and the keys under prefixes", func(t *testing.T) {
		tk := seedFor(t, o.content)
		tk.Member.DataDir = filepath.Join(mount(t, "168m"), "data")
		tk.Prefixes = []string{"key-1"}
		mustFail(t, tk, agent.ReasonNoSpace, "MiB are needed")
		tk.Prefixes = nil
		must(t, tk)
	})
	// How much room is needed shows only when it is unpacked.
	for name, row := range map[string]struct {
		size     string
		prefixes []string
	}{
		"for a data dir of what is packed":                             {"170m", nil},
		"for a data dir and the keys under prefixes of what is packed": {"200m", []string{"key-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := startOrigin(t, etcdtest.Newest())
			for i := range 24 {
				if _, err := o.client.Put(t.Context(), fmt.Sprintf("large-%d", i), strings.Repeat("x", 1<<20)); err != nil {
					t.Fatal(err)
				}
			}
			o.take(t)
			tk := restoring(t, onVolume(t, packed(t, o.content)), nil, etcdtest.NewMember(t, etcdtest.Newest(), "seed"), o.revision+bump)
			tk.Member.DataDir = filepath.Join(mount(t, row.size), "data")
			tk.Prefixes = row.prefixes
			mustFail(t, tk, agent.ReasonNoSpace, "MiB free beside the database")
		})
	}
	t.Run("to work in", func(t *testing.T) {
		s := startStore(t)
		s.put(t, "key", o.content)
		tk := s.task(t, "key")
		tk.Scratch = mount(t, "16k")
		mustFail(t, tk, agent.ReasonNoSpace, "make it larger")
		s.put(t, "packed", packed(t, o.content))
		tk = s.task(t, "packed")
		tk.Scratch = mount(t, "16k")
		mustFail(t, tk, agent.ReasonNoSpace, "larger")
	})
}

// start runs the agent as a process of its own.
func start(t *testing.T, tk task.Task) (p *etcdtest.Process, resultFile string) {
	t.Helper()
	env, err := json.Marshal(tk)
	if err != nil {
		t.Fatal(err)
	}
	resultFile = filepath.Join(t.TempDir(), "result")
	return etcdtest.Start(t, []string{childEnv + "=1", task.Env + "=" + string(env), ResultFileEnv + "=" + resultFile}, os.Args[0]), resultFile
}

// TestKilledAtAnyMoment kills the agent at random moments, and starts it again, until it
// is done; and once more at each of the last steps.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	o, s := startOrigin(t, etcdtest.Newest()), startStore(t)
	s.put(t, "key", packed(t, o.content))
	verify := s.task(t, "key")
	found := must(t, verify).Snapshot
	r := rand.New(rand.NewSource(1))
	kills := 0
	for range 3 {
		m := etcdtest.NewMember(t, etcdtest.Newest(), "seed")
		tk := restoring(t, verify, found, m, o.revision+bump)
		// Longer and longer, so that it is killed later and later, and at last not at all.
		for life := 10 * time.Millisecond; ; life += 15 * time.Millisecond {
			p, file := start(t, tk)
			timer := time.AfterFunc(life+time.Duration(r.Int63n(int64(20*time.Millisecond))), p.Kill)
			code := p.Wait()
			timer.Stop()
			if code == agent.ExitDone {
				readResult(t, file)
				break
			}
			if code != -1 {
				t.Fatalf("exit code %d\n%s", code, p.Output())
			}
			kills++
		}
		if got := must(t, tk); !got.Already {
			t.Errorf("got %+v", got)
		}
		mustBeClean(t, tk)
		m.Start(t, "new", m)
		m.WaitReady(t)
		checkRestored(t, connect(t, m), o, o.revision+bump)
	}
	t.Logf("killed %d times", kills)
}

func TestKilledBetweenTheLastSteps(t *testing.T) {
	t.Parallel()
	o := startOrigin(t, etcdtest.Newest())
	for name, back := range map[string]func(t *testing.T, p *datadir.Place){
		"before the folder is renamed": func(t *testing.T, p *datadir.Place) {
			if err := os.Rename(p.DataDir, p.Made()); err != nil {
				t.Fatal(err)
			}
		},
		"before the marker": func(*testing.T, *datadir.Place) {},
		"before the marker is renamed": func(t *testing.T, p *datadir.Place) {
			if err := datadir.WriteSynced(filepath.Join(p.Work, "marker"), []byte("half of")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			tk := seedFor(t, o.content)
			must(t, tk)
			p := newPlace(tk)
			if err := os.Remove(p.Marker); err != nil {
				t.Fatal(err)
			}
			if err := p.Begin(); err != nil {
				t.Fatal(err)
			}
			if err := datadir.WriteSynced(p.Complete(), nil); err != nil {
				t.Fatal(err)
			}
			back(t, p)
			if got := must(t, tk); got.Already || *got.Snapshot != *tk.Want {
				t.Errorf("got %+v", got)
			}
			mustBeClean(t, tk)
			if got := must(t, tk); !got.Already {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// What was fetched is as large as the database: it does not stay on the seed's volume.
func TestKilledAfterTheMarker(t *testing.T) {
	t.Parallel()
	tk := seedFor(t, startOrigin(t, etcdtest.Newest()).content)
	must(t, tk)
	if err := newPlace(tk).Begin(); err != nil {
		t.Fatal(err)
	}
	if got := must(t, tk); !got.Already {
		t.Errorf("got %+v", got)
	}
	mustBeClean(t, tk)
}

func TestAnAgentThatIsToldToEnd(t *testing.T) {
	t.Parallel()
	s := startStore(t)
	s.put(t, "key", make([]byte, 1<<20))
	silent := s.proxy.Inject(s3test.Fault{When: s3test.IsGet, Do: s3test.StallDownload(0)})
	p, file := start(t, s.task(t, "key"))
	etcdtest.Eventually(t, "the agent to fetch", func() error {
		if s.proxy.Hits(silent) == 0 {
			return os.ErrNotExist
		}
		return nil
	})
	code := p.Terminate()
	checkFailure(t, code, readResult(t, file), agent.ExitRetry, agent.ReasonInterrupted, "terminated")
	if strings.Contains(p.Output(), s.SecretKey) {
		t.Error("the log tells the secret key")
	}
}
