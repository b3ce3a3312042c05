package launcher

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/shared/datadir"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// restoreUID is the start permit of the restore in these tests.
const restoreUID = "0b5e9dd8-9a2c-4b4f-8a3d-1f1f7b3c2d10"

// restored is the Pod of a restore's seed.
type restored struct {
	*pod
	place   *datadir.Place
	permits string
}

// restores makes a Pod that of a restore's seed, with nothing prepared in it.
func restores(t *testing.T, p *pod) *restored {
	r := &restored{pod: p, permits: t.TempDir()}
	r.place = datadir.New(p.member.Dir, datadir.Stamp{UID: restoreUID, Member: p.member.Name})
	restore := Restore{Name: "ns/restore", UID: restoreUID, PermitFile: filepath.Join(r.permits, "permit")}
	p.flags = append(p.flags, restore.Flags()...)
	r.permit(restoreUID + "/prepare")
	return r
}

// permit sets the annotation restore-permit.
func (r *restored) permit(value string) {
	r.t.Helper()
	r.swaps++
	swap(r.t, r.permits, r.swaps, value)
}

// prepare prepares what fill puts in a folder, as the init container does.
func (r *restored) prepare(fill func(dir string)) {
	r.t.Helper()
	if err := r.place.Begin(); err != nil {
		r.t.Fatal(err)
	}
	fill(r.place.Made())
	if err := r.place.Prepare([]byte("{}")); err != nil {
		r.t.Fatal(err)
	}
}

// withLog fills a folder for the fake etcd.
func (r *restored) withLog(dir string) {
	write(r.t, filepath.Join(dir, "member", "wal", "0.wal"), "")
}

// isClean checks that the data dir is complete, and that nothing else is left.
func (r *restored) isClean() {
	r.t.Helper()
	if done, err := r.place.Done(); !done || err != nil {
		r.t.Errorf("the marker is not there: %v", err)
	}
	if _, err := os.Lstat(r.place.Work); !errors.Is(err, os.ErrNotExist) {
		r.t.Errorf("the folder is still there: %v", err)
	}
}

// fails checks that a launcher ends with an error, and has not started etcd.
func (r *restored) fails(c *etcdtest.Process, words string) {
	r.t.Helper()
	if code := c.Wait(); code != exitError || !strings.Contains(c.Output(), words) || strings.Contains(c.Output(), "etcd runs") {
		r.t.Errorf("exit code %d, want %d with %q:\n%s", code, exitError, words, c.Output())
	}
}

// A seed starts with what was prepared when it has its start permit, not before, and never
// a second time.
func TestRestoredSeed(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		p, c, cli := seed(t, version)
		id := clusterID(t, cli)
		c.Terminate()
		if err := os.Remove(p.used); err != nil {
			t.Fatal(err)
		}
		r := restores(t, p)
		r.prepare(func(dir string) {
			if err := os.Rename(p.member.Dir, dir); err != nil {
				t.Fatal(err)
			}
		})

		c = p.start()
		p.waits(0, ReasonNoPermit)
		p.givePermit(1, StateNew, p.member) // which would begin another cluster
		time.Sleep(2 * rereadInterval)
		p.waits(0, ReasonNoPermit)
		if _, err := os.Lstat(p.member.Dir); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("there is a data dir before the start permit: %v", err)
		}
		begin := time.Now()
		r.permit(restoreUID)
		p.member.WaitReady(t)
		t.Logf("from permit to serving: %s", time.Since(begin))
		if got := clusterID(t, cli); got != id {
			t.Errorf("the cluster id is %x, want %x", got, id)
		}
		r.isClean()

		c.Kill()
		c = p.start()
		p.member.WaitReady(t)

		// Its disk is lost before its permit is revoked, and after that.
		c.Kill()
		wipe(t, p)
		r.fails(p.start(), "delete the seed's Pod")
		r.permit("")
		p.start()
		p.waits(0, ReasonNotPrepared)
	})
}

// Nothing but the uid of the EtcdRestore is the start permit.
func TestRestoredSeedWaits(t *testing.T) {
	p := newPod(t, fake, "a")
	r := restores(t, p)
	r.prepare(r.withLog)
	for _, value := range []string{"", "another", restoreUID + "/prepare", "another/prepare"} {
		r.permit(value)
		c := p.start()
		p.waits(0, ReasonNoPermit)
		if code := c.Terminate(); code != exitOK {
			t.Errorf("with %q: exit code %d", value, code)
		}
	}
	if _, ok, err := r.place.Prepared(); !ok || err != nil {
		t.Errorf("what was prepared is gone: %v", err)
	}
}

// Whenever the launcher is killed, its next start goes on, and the data dir is complete.
func TestRestoredSeedKilled(t *testing.T) {
	t.Run("before the marker", func(t *testing.T) {
		p := newPod(t, fake, "a")
		r := restores(t, p)
		r.prepare(r.withLog)
		if err := os.Rename(r.place.Made(), p.member.Dir); err != nil {
			t.Fatal(err)
		}
		r.permit("")
		p.runsEtcd(p.start())
		r.isClean()
	})
	t.Run("at any moment", func(t *testing.T) {
		for life := range 20 {
			p := newPod(t, fake, "a")
			r := restores(t, p)
			r.prepare(r.withLog)
			r.permit(restoreUID)
			c := p.start()
			time.Sleep(time.Duration(life) * 3 * time.Millisecond)
			c.Kill()
			p.runsEtcd(p.start())
			r.isClean()
		}
	})
}

// What is not a member's data is not started, and data of others is not touched.
func TestRestoredSeedWithoutData(t *testing.T) {
	for name, tc := range map[string]struct {
		prepare func(*restored)
		words   string
	}{
		"nothing is prepared": {func(*restored) {}, "nothing is prepared"},
		"half is prepared": {func(r *restored) {
			r.prepare(r.withLog)
			if err := os.Remove(r.place.Complete()); err != nil {
				r.t.Fatal(err)
			}
		}, "nothing is prepared"},
		"no log": {func(r *restored) {
			r.prepare(func(dir string) { write(r.t, filepath.Join(dir, "member", "snap", "db"), "x") })
		}, "no write-ahead log"},
		"other data": {func(r *restored) {
			r.prepare(r.withLog)
			write(r.t, filepath.Join(r.member.Dir, "precious"), "x")
		}, "holds data that is not of this restore"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t, fake, "a")
			r := restores(t, p)
			tc.prepare(r)
			c := p.start() // what is wrong shows before the permit
			p.waits(0, ReasonNotPrepared)
			c.Terminate()
			r.permit(restoreUID)
			r.fails(p.start(), tc.words)
		})
	}
}
