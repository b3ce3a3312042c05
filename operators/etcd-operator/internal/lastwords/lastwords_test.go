package lastwords

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// tail is what a kubelet keeps of a container's log for its termination message, at most
// (MaxContainerTerminationMessageLogLength and -LogLines of its package container).
func tail(log string) string {
	lines := strings.SplitAfter(log, "\n")
	log = strings.Join(lines[max(0, len(lines)-81):], "")
	return log[max(0, len(log)-2048):]
}

// file is the newest of a member's files.
func file(t *testing.T, m *etcdtest.Member, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(m.Dir, "member", pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("no %s in %s: %v", pattern, m.Dir, err)
	}
	return slices.Max(found)
}

// shred writes garbage over a part of a file: from there, as many bytes.
func shred(t *testing.T, name string, from, n int64) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	garbage := make([]byte, n)
	_, _ = rand.Read(garbage) // never fails
	_, err = f.WriteAt(garbage, from)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func truncate(t *testing.T, name string, to int64) {
	t.Helper()
	if err := os.Truncate(name, to); err != nil {
		t.Fatal(err)
	}
}

// put writes n values of 10 KB to a member.
func put(t *testing.T, m *etcdtest.Member, n int) {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{m.Client}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i := range n {
		if _, err := c.Put(ctx, fmt.Sprintf("key-%d", i), strings.Repeat("v", 10_000)); err != nil {
			t.Fatal(err)
		}
	}
}

// filled is a member that has stopped, with some MB of data and raft snapshots.
func filled(t *testing.T, version string) *etcdtest.Member {
	t.Helper()
	t.Setenv("ETCD_SNAPSHOT_COUNT", "50")
	m := etcdtest.NewMember(t, version, "a")
	p := m.Start(t, "new", m)
	m.WaitReady(t)
	put(t, m, 200)
	p.Terminate()
	return m
}

// ends starts a member on what is in its data dir and returns how it ended, and what a
// kubelet keeps of its log.
func ends(t *testing.T, m *etcdtest.Member, more ...string) (code int, log string) {
	t.Helper()
	argv := append(m.Command(t), "--initial-cluster="+etcdtest.InitialCluster(m), "--initial-cluster-state=existing")
	p := etcdtest.Start(t, nil, append(argv, more...)...)
	done := make(chan int, 1)
	go func() { done <- p.Wait() }()
	select {
	case code = <-done:
	case <-time.After(time.Minute):
		t.Fatalf("etcd runs on:\n%s", tail(p.Output()))
	}
	return code, tail(p.Output())
}

// copyOf is a member with a copy of another one's data dir, with the modes that etcd wants.
func copyOf(t *testing.T, m *etcdtest.Member) *etcdtest.Member {
	t.Helper()
	c := *m
	c.Dir = filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(c.Dir, os.DirFS(m.Dir)); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", "member", "member/snap", "member/wal"} {
		if err := os.Chmod(filepath.Join(c.Dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return &c
}

// TestDamage damages the data of real members.
func TestDamage(t *testing.T) {
	damages := map[string]struct {
		do    func(t *testing.T, m *etcdtest.Member)
		means string
	}{
		"log, its head":       {func(t *testing.T, m *etcdtest.Member) { shred(t, file(t, m, "wal/*.wal"), 0, 64<<10) }, "has no beginning"},
		"log, cut to none":    {func(t *testing.T, m *etcdtest.Member) { truncate(t, file(t, m, "wal/*.wal"), 0) }, "has no beginning"},
		"log, a record":       {func(t *testing.T, m *etcdtest.Member) { shred(t, file(t, m, "wal/*.wal"), 500_000, 64) }, "fails its checksum"},
		"database, its head":  {func(t *testing.T, m *etcdtest.Member) { shred(t, file(t, m, "snap/db"), 0, 64<<10) }, "no valid meta page"},
		"database, cut short": {func(t *testing.T, m *etcdtest.Member) { truncate(t, file(t, m, "snap/db"), 1000) }, "no valid meta page"},
		"database, gone": {func(t *testing.T, m *etcdtest.Member) {
			if err := os.Remove(file(t, m, "snap/db")); err != nil {
				t.Fatal(err)
			}
		}, "lacks the data of its raft snapshot"},
	}
	etcdtest.EachVersion(t, func(t *testing.T, version string) {
		good := filled(t, version)
		for name, d := range damages {
			t.Run(name, func(t *testing.T) {
				m := copyOf(t, good)
				d.do(t, m)
				code, log := ends(t, m)
				if got := Damage(log); !strings.Contains(got, d.means) || (code != 1 && code != 2) {
					t.Errorf("code %d is taken for %q, want %q, of:\n%s", code, got, d.means, log)
				}
			})
		}
	})
}

// TestPages: pages of the database that are not what they are to be. Of some traces the
// kubelet keeps too little, which is then no damage, and none is taken for something else.
func TestPages(t *testing.T) {
	etcdtest.EachVersion(t, func(t *testing.T, version string) {
		m := copyOf(t, filled(t, version))
		shred(t, file(t, m, "snap/db"), 16<<10, 1<<20)
		_, log := ends(t, m)
		got := Damage(log)
		if cut := !strings.Contains(log, "[running]"); cut != (got == "") || (!cut && !strings.Contains(got, "a page of its database")) {
			t.Errorf("it is taken for %q:\n%s", got, log)
		}
		t.Logf("%q", got)
	})
}

// TestLostTail: a member whose log lacks what it had acknowledged ends when the leader tells
// it so.
func TestLostTail(t *testing.T) {
	etcdtest.EachVersion(t, func(t *testing.T, version string) {
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
		processes[2].Terminate()
		before := copyOf(t, all[2])
		p := all[2].Start(t, "existing", all...)
		all[2].WaitReady(t)
		put(t, all[2], 100)
		p.Terminate()
		// Its disk is put back to what it was.
		p = before.Start(t, "existing", all...)
		code := p.Wait()
		if got := Damage(tail(p.Output())); !strings.Contains(got, "lacks entries that it has acknowledged") || code != 2 {
			t.Errorf("code %d is taken for %q, of:\n%s", code, got, tail(p.Output()))
		}
	})
}

// TestNoDamage: what else etcd ends with, with the same codes.
func TestNoDamage(t *testing.T) {
	etcdtest.EachVersion(t, func(t *testing.T, version string) {
		good := filled(t, version)
		dir := t.TempDir()
		key, cert := filepath.Join(dir, "key.pem"), filepath.Join(dir, "cert.pem")
		for _, f := range []string{key, cert} {
			if err := os.WriteFile(f, []byte("-----BEGIN NONSENSE-----\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cases := map[string][]string{
			"a bad TLS key":     {"--peer-cert-file=" + cert, "--peer-key-file=" + key, "--peer-client-cert-auth", "--peer-trusted-ca-file=" + cert},
			"a missing TLS key": {"--peer-cert-file=" + cert, "--peer-key-file=" + key + ".missing"},
			"an unknown flag":   {"--no-such-flag"},
			"a bad setting":     {"--election-timeout=1"},
			"an address in use": {"--listen-client-urls=http://" + listening(t)},
		}
		for name, flags := range cases {
			t.Run(name, func(t *testing.T) {
				code, log := ends(t, copyOf(t, good), flags...)
				if got := Damage(log); got != "" || code == 0 {
					t.Errorf("code %d is taken for %q, of:\n%s", code, got, log)
				}
				t.Logf("code %d", code)
			})
		}
	})
}

// TestQuoted: what a client has written, and etcd quotes, is not taken for its own words.
func TestQuoted(t *testing.T) {
	for name, log := range map[string]string{
		"a request":                  `{"level":"warn","msg":"apply request took too long","request":"key:\"\\npanic: cannot use none as id\\n\" \"msg\":\"discovery failed\",\"error\":\"walpb: crc mismatch\""}`,
		"nothing":                    "",
		"a launcher's error":         "etcd-launcher: read the last attempt used: /run/etcd-launcher/used holds \"x\", want a number\n",
		"a full disk":                `{"level":"fatal","caller":"etcdmain/etcd.go:183","msg":"discovery failed","error":"write /var/etcd/data/member/wal/0.tmp: no space left on device"}`,
		"a lock":                     `{"level":"panic","msg":"failed to open database","path":"/var/etcd/data/member/snap/db","error":"resource temporarily unavailable"}` + "\npanic: failed to open database\n",
		"a page that cannot be read": "fatal error: fault\n[signal SIGBUS: bus error]\n\ngoroutine 1 [running]:\nruntime.throw({0x1?, 0x2?})\nruntime.sigpanic()\ngo.etcd.io/bbolt/internal/common.(*Page).FastCheck(0x1)\n",
	} {
		if got := Damage(log); got != "" {
			t.Errorf("%s is taken for %q", name, got)
		}
	}
}

// listening is an address that somebody listens on.
func listening(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

func TestLast(t *testing.T) {
	for log, want := range map[string]string{
		"": "",
		"{\"level\":\"info\"}\npanic: boom\n\ngoroutine 1 [running]:\nmain.main()\n":                           "panic: boom",
		`{"level":"fatal","msg":"discovery failed","error":"no space left on device","stacktrace":"x"}` + "\n": "discovery failed: no space left on device",
		"etcd-launcher: find the command: no etcd\n\n":                                                         "etcd-launcher: find the command: no etcd",
		strings.Repeat("é", 1000): strings.Repeat("é", 150),
	} {
		if got := Last(log); got != want {
			t.Errorf("of %q the last is %q, want %q", log, got, want)
		}
	}
}
