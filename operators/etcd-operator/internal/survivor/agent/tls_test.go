package agent

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/survivor/task"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// secured is a survivor that serves clients by TLS, and the Secrets around it.
type secured struct {
	member *etcdtest.Member
	ours   *etcdtest.CA
	// root is the folder of the operators' Secret, and config is made of it.
	root   string
	config *tls.Config
	keys   int
}

// loseSecured is lose for members that serve clients by TLS, with authentication enabled.
func loseSecured(t *testing.T, version string) *secured {
	t.Helper()
	s := &secured{ours: etcdtest.NewCA(t, "ours"), root: t.TempDir(), keys: 50}
	server := t.TempDir()
	etcdtest.Mount(t, server, s.ours.Issue(t, "server", "127.0.0.1").Files(s.ours))
	leaf := s.ours.Issue(t, "root")
	etcdtest.Mount(t, s.root, leaf.LegacyFiles("etcd-client", s.ours))
	s.config = leaf.Config(t, s.ours)
	var all []*etcdtest.Member
	for _, name := range []string{"a", "b", "c"} {
		all = append(all, etcdtest.NewMember(t, version, name))
	}
	var processes []*etcdtest.Process
	for _, m := range all {
		processes = append(processes, m.StartSecure(t, server, "new", all...))
	}
	for _, m := range all {
		m.WaitReady(t)
	}
	s.member = all[0]
	c := s.member.DialSecure(t, s.config)
	for i := range s.keys {
		put(t, c, fmt.Sprintf("key-%d", i), fmt.Sprint(i))
	}
	etcdtest.EnableAuthOf(t, c, "secret")
	processes[1].Kill()
	processes[2].Kill()
	return s
}

// task asks the survivor as the operator does, until it has no leader any more.
func (s *secured) task(t *testing.T, seed *etcdtest.Member) task.Task {
	t.Helper()
	var a etcdclient.Answer
	etcdtest.Eventually(t, "the survivor to answer without a leader", func() error {
		a = etcdclient.Client{}.Ask(etcdclient.By(t.Context(), s.config), []etcdclient.Endpoint{{Name: "a", Addr: s.member.Client, MetricsAddr: s.member.Metrics}})["a"]
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
		Survivor: "a", URL: "https://" + s.member.Client, TLSDir: s.root,
		ClusterID: fmt.Sprintf("%016x", a.ClusterID), MemberID: fmt.Sprintf("%016x", a.MemberID), Committed: a.RaftIndex,
		Name: seed.Name, PeerURL: seed.PeerURL, Token: "token-1", DataDir: seed.Dir, PermitFile: permit, Revision: begins,
	}
}

// A survivor that serves by TLS gives its data to whoever shows the operators' certificate:
// its name is etcd's user root, and without a quorum nobody could authenticate.
func TestASecuredSurvivor(t *testing.T) {
	t.Parallel()
	etcdtest.EachVersion(t, func(t *testing.T, version string) {
		t.Parallel()
		s := loseSecured(t, version)
		seed := etcdtest.NewMember(t, version, "seed")
		if got := must(t, s.task(t, seed)); got.Already || got.Size == 0 {
			t.Errorf("got %+v", got)
		}
		server := t.TempDir()
		etcdtest.Mount(t, server, s.ours.Issue(t, "server", "127.0.0.1").Files(s.ours))
		seed.StartSecure(t, server, "new", seed)
		seed.WaitReady(t)
		got, err := seed.DialSecure(t, s.config).Get(t.Context(), "key-", clientv3.WithPrefix())
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Kvs) != s.keys || got.Header.Revision < begins {
			t.Errorf("it has %d keys at revision %d, want %d at %d or later", len(got.Kvs), got.Header.Revision, s.keys, begins)
		}
	})
}

// What is wrong with certificates may pass: they are renewed, and the kubelet tries again.
func TestASurvivorThatIsNotTrusted(t *testing.T) {
	t.Parallel()
	s := loseSecured(t, etcdtest.Newest())
	theirs := etcdtest.NewCA(t, "theirs")
	mounted := func(files map[string][]byte) string {
		dir := t.TempDir()
		etcdtest.Mount(t, dir, files)
		return dir
	}
	for name, r := range map[string]struct {
		reason string
		change func(*task.Task)
		want   string
	}{
		"another CA": {
			reason: "somebody else may stand in the survivor's place",
			change: func(tk *task.Task) { tk.TLSDir = mounted(s.ours.Issue(t, "root").Files(theirs)) },
			want:   reasonSourceLost,
		},
		"another name": {
			reason: "the certificate of one host is no good for another",
			change: func(tk *task.Task) { tk.URL = strings.Replace(tk.URL, "127.0.0.1", "localhost", 1) },
			want:   reasonSourceLost,
		},
		"a stranger": {
			reason: "the survivor does not know who asks",
			change: func(tk *task.Task) { tk.TLSDir = mounted(theirs.Issue(t, "root").Files(s.ours)) },
			want:   reasonSourceLost,
		},
		"no files": {
			reason: "the Secret is not there yet",
			change: func(tk *task.Task) { tk.TLSDir = mounted(nil) },
			want:   reasonTLSInvalid,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := etcdtest.NewMember(t, etcdtest.Newest(), "seed")
			tk := s.task(t, seed)
			r.change(&tk)
			err := carryOut(etcdtest.Context(t), slog.New(slog.DiscardHandler), tk, &task.Result{})
			var known *runner.Error
			if !errors.As(err, &known) || known.Permanent || known.Reason != r.want {
				t.Errorf("%s: got %v, want %s, which may pass", r.reason, err, r.want)
			}
			if _, err := os.Stat(seed.Dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("there is a data dir: %v", err)
			}
		})
	}
}
