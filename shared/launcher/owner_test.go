package launcher

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// of makes a Pod one of an EtcdCluster.
func (p *pod) of(cluster, uid string, former ...string) {
	p.t.Helper()
	file := filepath.Join(p.t.TempDir(), "pod-uid")
	write(p.t, file, uid+"\n")
	p.flags = []string{"--cluster-uid=" + cluster, "--pod-uid-file=" + file}
	for _, f := range former {
		p.flags = append(p.flags, "--former-cluster-uid="+f)
	}
}

// refuses waits until the launcher refuses to start etcd, and returns the reason. It fails at once if etcd was
// started.
func (p *pod) refuses() string {
	p.t.Helper()
	var s State
	etcdtest.Eventually(p.t, "the launcher to refuse", func() (err error) {
		s, err = p.ask()
		p.isLauncher(err)
		if err == nil && s.State != Refusing {
			err = fmt.Errorf("it says %+v", s)
		}
		return err
	})
	return s.Message
}

// TestIdentity: a launcher says who it is and for how long it has waited.
func TestIdentity(t *testing.T) {
	p := newPod(t, fake, "a")
	p.of("cluster-1", "pod-1")
	p.start()
	p.waits(0, ReasonNoPermit)
	etcdtest.Eventually(t, "the launcher to look again", func() error {
		s, err := p.ask()
		if err != nil {
			return err
		}
		if diff := cmp.Diff(Identity{PodUID: "pod-1", Member: "a", ClusterUID: "cluster-1"}, s.Identity); diff != "" {
			t.Fatal(diff)
		}
		if s.WaitedSeconds < 1 {
			return fmt.Errorf("it has waited for %v s", s.WaitedSeconds)
		}
		return nil
	})
}

// TestNoIdentity: one that cannot read its Pod's uid does not pretend to know it, and waits
// all the same.
func TestNoIdentity(t *testing.T) {
	p := newPod(t, fake, "a")
	p.flags = []string{"--cluster-uid=cluster-1", "--pod-uid-file=" + filepath.Join(t.TempDir(), "missing")}
	p.start()
	p.waits(0, ReasonNoPermit)
	if s, err := p.ask(); err != nil || s.Identity != (Identity{}) {
		t.Errorf("it says %+v, %v", s, err)
	}
}

func TestWhoseData(t *testing.T) {
	const mine, other = "cluster-1", "cluster-2"
	cases := map[string]struct {
		there   string
		former  []string
		refused string
		reason  string
	}{
		"its own":             {`{"clusterUID":"cluster-1","member":"a"}`, nil, "", "a restart"},
		"unmarked":            {"", nil, "", "of an earlier release, or made by a restore"},
		"another member's":    {`{"clusterUID":"cluster-1","member":"b"}`, nil, "the volume has the data of member b of the EtcdCluster of uid cluster-1, not of member a", "a copy"},
		"another cluster's":   {`{"clusterUID":"cluster-2","member":"a"}`, nil, "of the EtcdCluster of uid cluster-2", "a copy in another namespace"},
		"an adopted volume":   {`{"clusterUID":"cluster-2","member":"a"}`, []string{"cluster-0", other}, "", "the user has asked for it"},
		"adopted, but copied": {`{"clusterUID":"cluster-2","member":"b"}`, []string{other}, "member b", "it is another member's all the same"},
		"garbage":             {"not JSON", nil, "holds \"not JSON\"", "nobody knows whose it is"},
		"of nobody":           {`{}`, nil, "holds \"{}\"", "nobody knows whose it is"},
		"of no member":        {`{"clusterUID":"cluster-1"}`, nil, "holds", "the mark is damaged"},
		"of no cluster":       {`{"member":"a"}`, nil, "holds", "the mark is damaged"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := newPod(t, fake, "a")
			p.of(mine, "pod-1", c.former...)
			write(t, filepath.Join(p.member.Dir, "member", "wal", "0.wal"), "")
			if c.there != "" {
				write(t, ownerPath(p.member.Dir), c.there)
			}
			etcd := p.start()
			if c.refused != "" {
				if why := p.refuses(); !strings.Contains(why, c.refused) {
					t.Errorf("%s: it says %q, want %q", c.reason, why, c.refused)
				}
				if b, err := os.ReadFile(ownerPath(p.member.Dir)); err != nil || string(b) != c.there {
					t.Errorf("the mark has become %q, %v", b, err)
				}
				return
			}
			p.runsEtcd(etcd)
			found, err := readOwner(p.member.Dir)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&Owner{mine, "a"}, found); diff != "" {
				t.Errorf("%s: %s", c.reason, diff)
			}
		})
	}
}

// TestUnmarkedForWantOfRoom: a disk on which no mark can be made keeps no member with data
// from starting.
func TestUnmarkedForWantOfRoom(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "member"), "a file where the folder is to be")
	var log bytes.Buffer
	o := Options{Member: Member{Name: "a"}, DataDir: dir, ClusterUID: "cluster-1", Log: slog.New(slog.NewTextHandler(&log, nil))}
	l := New(o)
	if err := l.Prepare(disk{o}, Decision{Exec: true, Reason: ReasonHasWAL}); err != nil {
		t.Errorf("etcd is not started: %v", err)
	}
	if !strings.Contains(log.String(), "cannot note whose data this is") {
		t.Errorf("it does not tell: %s", log.String())
	}
}

// TestCopyIsRefused: on a copy of a member's volume no etcd is started, and on the volume
// itself it is, in a Pod made anew.
func TestCopyIsRefused(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		original := newPod(t, version, "a")
		original.of("production", "pod-1")
		original.givePermit(1, StateNew, original.member)
		etcd := original.start()
		original.member.WaitReady(t)
		if _, err := client(t, original.member).Put(within(t), "k", "v"); err != nil {
			t.Fatal(err)
		}

		// A snapshot of the volume, as a storage driver takes it.
		clone := newPod(t, version, "b")
		clone.of("staging", "pod-2")
		if err := os.CopyFS(clone.member.Dir, os.DirFS(original.member.Dir)); err != nil {
			t.Fatal(err)
		}
		c := clone.start()
		why := clone.refuses()
		if want := "the volume has the data of member a of the EtcdCluster of uid production"; !strings.Contains(why, want) {
			t.Errorf("it says %q, want %q", why, want)
		}
		if strings.Contains(c.Output(), "etcd-version") || !strings.Contains(c.Output(), string(ReasonForeignData)) {
			t.Errorf("its log does not tell, or etcd was started:\n%s", c.Output())
		}
		if s, err := clone.ask(); err != nil || s.State == Waiting {
			t.Errorf("it seems to have no data: %+v, %v", s, err)
		}

		// A permit does not change that: there is data.
		clone.givePermit(1, StateNew, clone.member)
		clone.refuses()

		etcd.Terminate()
		again := *original
		again.used = filepath.Join(t.TempDir(), "used")
		again.of("production", "pod-3")
		again.start()
		original.member.WaitReady(t)
	})
}

// TestMarkIsNoRemnant: a crash between the mark and the first start of etcd leaves an empty
// member folder, and the next permit starts etcd in it.
func TestMarkIsNoRemnant(t *testing.T) {
	p := newPod(t, fake, "a")
	p.of("cluster-1", "pod-1")
	if err := writeOwner(p.member.Dir, Owner{"cluster-1", "a"}); err != nil {
		t.Fatal(err)
	}
	if hasWAL, err := HasWAL(p.member.Dir); hasWAL || err != nil {
		t.Fatalf("a mark is taken for data: %t, %v", hasWAL, err)
	}
	p.givePermit(1, StateNew, p.member)
	etcd := p.start()
	p.runsEtcd(etcd)
	if _, err := os.Stat(p.member.Dir + setAsideSuffix); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was set aside: %v", err)
	}
}

// TestAskRefusing: whoever asks is told that there is data.
func TestAskRefusing(t *testing.T) {
	p := newPod(t, fake, "a")
	p.of("cluster-1", "pod-1")
	write(t, filepath.Join(p.member.Dir, "member", "wal", "0.wal"), "")
	write(t, ownerPath(p.member.Dir), `{"clusterUID":"cluster-1","member":"b"}`)
	p.start()
	p.refuses()
	for _, path := range []string{"/health", "/livez"} {
		if err := etcdtest.CheckHTTP(p.member.Metrics, path, 200); err != nil {
			t.Errorf("it is not alive: %v", err)
		}
	}
	if err := etcdtest.CheckHTTP(p.member.Metrics, "/readyz", 503); err != nil {
		t.Errorf("it is ready: %v", err)
	}
}
