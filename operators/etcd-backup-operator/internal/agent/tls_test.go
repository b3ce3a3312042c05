package agent

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// secret mounts files, as the kubelet does, and returns the folder.
func secret(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	etcdtest.Mount(t, dir, files)
	return dir
}

// startSecure starts a cluster of one member that serves clients by TLS, and trusts and is
// trusted by whoever is of the CA, with one key in it.
func startSecure(t *testing.T, version string, ours *etcdtest.CA) *cluster {
	t.Helper()
	c := &cluster{members: []*etcdtest.Member{etcdtest.NewMember(t, version, "m0")}, keys: map[string]string{"a": "b"}}
	m := c.members[0]
	c.processes = append(c.processes, m.StartSecure(t, secret(t, ours.Issue(t, "server", "127.0.0.1").Files(ours)), "new", m))
	m.WaitReady(t)
	if _, err := m.DialSecure(t, ours.Issue(t, "writer").Config(t, ours)).Put(t.Context(), "a", "b"); err != nil {
		t.Fatal(err)
	}
	return c
}

// secured is a backup of a member that serves by TLS, with the Secret at dir.
func secured(c *cluster, volume, dir string) task.Task {
	tk := toPVC([]string{"https://" + c.members[0].Client}, volume, "file")
	tk.TLSDir = dir
	return tk
}

// checkStored compares what a backup has stored on a volume with what was written.
func checkStored(t *testing.T, c *cluster, volume string, result task.Result) {
	t.Helper()
	f, err := os.Open(filepath.Join(volume, "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	checkFile(t, c, f, result)
}

func TestTLS(t *testing.T) {
	ours, others := etcdtest.NewCA(t, "ours"), etcdtest.NewCA(t, "others")
	c := startSecure(t, etcdtest.Newest(), ours)
	leaf := ours.Issue(t, "client")
	for name, files := range map[string]map[string][]byte{
		"the predecessor's names":        leaf.LegacyFiles("etcd-client", ours),
		"the names of kubernetes.io/tls": leaf.Files(ours),
		"one of two CAs":                 leaf.Files(others, ours),
	} {
		t.Run(name, func(t *testing.T) {
			volume := t.TempDir()
			checkStored(t, c, volume, mustSave(t, secured(c, volume, secret(t, files))))
		})
	}
	halved := leaf.Files(ours)
	halved["tls.key"] = nil
	mixed := leaf.Files(ours)
	mixed["tls.key"] = others.Issue(t, "client").Key
	for name, row := range map[string]struct {
		reason string
		files  map[string][]byte
		change func(*task.Task)
		words  string
	}{
		"another CA's":   {reason: "the member is not trusted", files: leaf.Files(others), words: "certificate"},
		"a stranger's":   {reason: "the member does not trust", files: others.Issue(t, "root").Files(ours), words: "certificate"},
		"no certificate": {reason: "the member asks for one", change: func(tk *task.Task) { tk.TLSDir = "" }, words: "certificate"},
		"another name": {reason: "the certificate is of another host", files: leaf.Files(ours), words: "certificate", change: func(tk *task.Task) {
			tk.Endpoints = []string{"https://" + strings.Replace(c.members[0].Client, "127.0.0.1", "localhost", 1)}
		}},
		"http where TLS is": {reason: "nothing can be read", files: leaf.Files(ours), words: "scheme", change: func(tk *task.Task) {
			tk.Endpoints = []string{"http://" + c.members[0].Client}
		}},
		// None of these is for good: a Secret may be seen while it is replaced.
		"a key that is no key": {reason: "the half of it", files: halved, words: "tls.key"},
		"another's key":        {reason: "one half is new", files: mixed, words: "tls.key"},
		"no files":             {reason: "it was not filled yet", words: "tls.crt"},
	} {
		t.Run(name, func(t *testing.T) {
			tk := secured(c, t.TempDir(), secret(t, row.files))
			if row.change != nil {
				row.change(&tk)
			}
			result := mustFail(t, tk, v1beta2.BackupReasonTLSInvalid, agent.ExitRetry, row.words)
			if t.Failed() {
				t.Logf("%s: %+v", row.reason, result.Failure)
			}
		})
	}
}

// onLine calls do when the first line with these words is logged, before it is.
type onLine struct {
	logs
	words string
	do    func()
}

func (l *onLine) Write(p []byte) (int, error) {
	if do := l.do; do != nil && strings.Contains(string(p), l.words) {
		l.do = nil
		do()
	}
	return l.logs.Write(p)
}

// A CA is replaced while a backup is under way, and what is mounted follows late:
// the next attempt is made with that, and succeeds.
func TestCertificatesThatAreReplaced(t *testing.T) {
	before, after := etcdtest.NewCA(t, "before"), etcdtest.NewCA(t, "after")
	c := startSecure(t, etcdtest.Newest(), after)
	volume, dir := t.TempDir(), secret(t, before.Issue(t, "root").Files(before))
	env, err := json.Marshal(secured(c, volume, dir))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "result")
	t.Setenv(task.Env, string(env))
	t.Setenv(ResultFileEnv, file)
	swapped := false
	l := &onLine{words: "backup attempt failed", do: func() {
		swapped = true
		etcdtest.Mount(t, dir, after.Issue(t, "root").Files(after))
	}}
	if code := run(t.Context(), slog.New(slog.NewJSONHandler(l, nil)), quickLimits, nil); code != agent.ExitDone || !swapped {
		t.Fatalf("exit code %d, and the certificates were replaced: %t\n%s", code, swapped, l)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var result task.Result
	if err := json.Unmarshal(content, &result); err != nil {
		t.Fatal(err)
	}
	checkStored(t, c, volume, result)
}

// With authentication enabled, the name in a certificate is a user's: root's needs no
// Secret beside, and with one any certificate will do.
func TestTheNameInACertificate(t *testing.T) {
	etcdtest.EachVersion(t, func(t *testing.T, version string) {
		ours := etcdtest.NewCA(t, "ours")
		c := startSecure(t, version, ours)
		cli := c.members[0].DialSecure(t, ours.Issue(t, "root").Config(t, ours))
		etcdtest.EnableAuthOf(t, cli, "secret")
		if _, err := cli.UserAdd(context.Background(), "user", "spoken"); err != nil {
			t.Fatal(err)
		}
		root := map[string]string{"password": "secret"}
		for name, row := range map[string]struct {
			name  string
			auth  map[string]string // nil: no authSecret
			words string            // empty: it is saved
		}{
			"root alone":             {name: "root"},
			"root, beside a Secret":  {name: "root", auth: map[string]string{"password": "guessed"}},
			"a user with a Secret":   {name: "user", auth: root},
			"nobody with a Secret":   {name: "nobody", auth: root},
			"a user alone":           {name: "user", words: "a certificate whose common name is such a user"},
			"nobody alone":           {name: "nobody", words: "a certificate whose common name is such a user"},
			"a user, wrong password": {name: "user", auth: map[string]string{"password": "guessed"}, words: "invalid user ID or password"},
			"nobody, as a user":      {name: "nobody", auth: map[string]string{"username": "user", "password": "spoken"}, words: "permission denied"},
		} {
			t.Run(name, func(t *testing.T) {
				volume := t.TempDir()
				tk := secured(c, volume, secret(t, ours.Issue(t, row.name).Files(ours)))
				if row.auth != nil {
					tk.AuthDir, tk.Cluster, tk.OwnAuth = mounted(t, row.auth), "example", true
				}
				if row.words == "" {
					checkStored(t, c, volume, mustSave(t, tk))
					return
				}
				mustFail(t, tk, v1beta2.BackupReasonAuthenticationRequired, agent.ExitPermanent, row.words)
			})
		}
	})
}

// By TLS 1.3 a member hangs up on a stranger when its handshake is over. Whether it is told
// why must not be chance.
func TestAStrangerIsToldWhy(t *testing.T) {
	etcdtest.EachVersion(t, func(t *testing.T, version string) {
		ours, others := etcdtest.NewCA(t, "ours"), etcdtest.NewCA(t, "theirs")
		c := startSecure(t, version, ours)
		for what, config := range map[string]*tls.Config{
			"no certificate": etcdtest.Trusting(ours),
			"a stranger's":   others.Issue(t, "root").Config(t, ours),
		} {
			for range 100 {
				a := askOne(t.Context(), "https://"+c.members[0].Client, config, session(""), nil)
				if a.err == nil || obstacleOf(a.err) != noTLS || !strings.Contains(wordsOf(a.err), "tls: ") {
					t.Fatalf("%s: %v", what, a.err)
				}
			}
		}
	})
}
