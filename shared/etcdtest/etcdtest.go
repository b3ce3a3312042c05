// Package etcdtest runs real etcd processes for tests: official releases of
// every minor that the operators support, each member with its own ports and
// folder, ended when the test ends.
//
// The binaries are found through the variable ETCD_BINARIES, a folder that holds
// v<version>/etcd for each of [Versions]. A test that needs them fails when it
// is not set: a test that silently does not run protects nothing.
package etcdtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// BinariesEnv names the folder with the etcd releases.
const BinariesEnv = "ETCD_BINARIES"

// Versions are the newest patches of the minors that we support, oldest first.
// e2e/localkube builds the same ones.
func Versions() []string {
	return etcdversion.All()
}

// Newest is the newest of [Versions], for tests in which the minor is of no
// importance.
func Newest() string {
	v := Versions()
	return v[len(v)-1]
}

// Binary returns the path of the etcd program of a version.
func Binary(t testing.TB, version string) string {
	t.Helper()
	dir := os.Getenv(BinariesEnv)
	if dir == "" {
		t.Fatalf("%s is not set: it must name a folder with v%s/etcd in it (make test sets it; e2e/localkube builds the binaries)", BinariesEnv, version)
	}
	bin := filepath.Join(dir, "v"+version, "etcd")
	if _, err := os.Stat(bin); err != nil {
		t.Fatalf("%s=%s holds no etcd %s: %v", BinariesEnv, dir, version, err)
	}
	return bin
}

// EachVersion runs a subtest for each of [Versions].
func EachVersion(t *testing.T, f func(t *testing.T, version string)) {
	for _, v := range Versions() {
		t.Run("etcd "+v, func(t *testing.T) { f(t, v) })
	}
}

// EachVersionAtOnce is EachVersion for subtests that mostly wait and share nothing, not even
// the environment: they run side by side. It returns when all have ended.
func EachVersionAtOnce(t *testing.T, f func(t *testing.T, version string)) {
	t.Run("with", func(t *testing.T) {
		EachVersion(t, func(t *testing.T, version string) {
			t.Parallel()
			f(t, version)
		})
	})
}

// Member is the identity, the addresses and the folder of one member.
type Member struct {
	Name    string
	Version string
	// Dir is etcd's data dir.
	Dir string
	// Client, Peer and Metrics are host:port of its listeners.
	Client, Peer, Metrics string
	// PeerURL is what the member advertises; http://<Peer> unless changed.
	PeerURL string
}

// NewMember makes a member on free ports of 127.0.0.1 and a fresh folder.
// Nothing is started.
func NewMember(t testing.TB, version, name string) *Member {
	t.Helper()
	addrs := FreeAddrs(t, 3)
	return &Member{
		Name:    name,
		Version: version,
		Dir:     filepath.Join(t.TempDir(), "data"),
		Client:  addrs[0], Peer: addrs[1], Metrics: addrs[2],
		PeerURL: "http://" + addrs[1],
	}
}

// Command is the member's command line without --initial-cluster*.
func (m *Member) Command(t testing.TB) []string {
	t.Helper()
	return []string{
		Binary(t, m.Version),
		"--name=" + m.Name,
		"--data-dir=" + m.Dir,
		"--listen-client-urls=http://" + m.Client,
		"--listen-peer-urls=http://" + m.Peer,
		"--listen-metrics-urls=http://" + m.Metrics,
		"--advertise-client-urls=http://" + m.Client,
		"--initial-advertise-peer-urls=" + m.PeerURL,
	}
}

// InitialCluster is --initial-cluster for these members.
func InitialCluster(members ...*Member) string {
	var entries []string
	for _, m := range members {
		entries = append(entries, m.Name+"="+m.PeerURL)
	}
	return strings.Join(entries, ",")
}

// Start starts the member directly, without a launcher. Every member has the
// same limit of learners, as every Pod that we make has.
func (m *Member) Start(t testing.TB, state string, all ...*Member) *Process {
	t.Helper()
	argv := append(m.Command(t),
		"--initial-cluster="+InitialCluster(all...),
		"--initial-cluster-state="+state,
		"--initial-cluster-token="+all[0].Name)
	return Start(t, []string{"ETCD_MAX_LEARNERS=6"}, argv...)
}

// WaitServing waits until etcd, and not a launcher in its place, answers the
// member's liveness probe. Learners serve, too.
func (m *Member) WaitServing(t testing.TB) {
	t.Helper()
	Eventually(t, "member "+m.Name+" to serve", func() error {
		return errors.Join(
			CheckHTTP(m.Metrics, "/metrics", http.StatusOK),
			CheckHTTP(m.Metrics, "/livez", http.StatusOK))
	})
}

// WaitReady waits until the member is a voter of a cluster with a quorum.
func (m *Member) WaitReady(t testing.TB) {
	t.Helper()
	Eventually(t, "member "+m.Name+" to be ready", func() error {
		return CheckHTTP(m.Metrics, "/readyz", http.StatusOK)
	})
}

// CheckHTTP returns an error unless a GET of path answers with the status want.
func CheckHTTP(addr, path string, want int) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+path, nil)
	if err != nil {
		return err
	}
	tr := &http.Transport{DisableKeepAlives: true}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != want {
		return fmt.Errorf("GET %s%s: status %d, want %d", addr, path, resp.StatusCode, want)
	}
	return nil
}

// eventually is how long Eventually waits. Far more than anything takes: the
// machine may be busy.
const eventually = 3 * time.Minute

// Eventually calls check every 20 ms until it returns nil, and fails the test
// with its last error after [eventually].
func Eventually(t testing.TB, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(eventually)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited %s for %s: %v", eventually, what, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Process is a program under test. It is killed when the test ends, and its
// output shown if the test failed.
type Process struct {
	t    testing.TB
	cmd  *exec.Cmd
	out  *output
	done chan struct{}
}

// shownOutput is how much of a process's output is shown of a failed test, in
// bytes: some fifty lines of etcd's log.
const shownOutput = 10_000

// PeerTimeout is in the output of an etcd that has asked another one which listens and
// does not answer: for 7 s each time (cluster_util.go).
const PeerTimeout = "Client.Timeout exceeded"

// Start runs argv with env added to this process's environment.
func Start(t testing.TB, env []string, argv ...string) *Process {
	t.Helper()
	p := &Process{t: t, cmd: exec.Command(argv[0], argv[1:]...), out: &output{}, done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	// Die with the test, also when that is killed.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // the exit code is in ProcessState
		close(p.done)
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			out := p.Output()
			t.Logf("the end of the output of %s:\n%s", strings.Join(argv, " "), out[max(0, len(out)-shownOutput):])
		}
	})
	return p
}

// Kill ends the process without notice, and returns when it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // fails only if it has ended already
	<-p.done
}

// Terminate asks the process to end and waits for it; it returns the exit code.
func (p *Process) Terminate() int {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
	return p.Wait()
}

// Wait waits for the process to end by itself and returns its exit code, -1 if
// a signal ended it.
func (p *Process) Wait() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(eventually):
		p.t.Fatalf("%s has not ended after %s", p.cmd.Path, eventually)
	}
	return p.cmd.ProcessState.ExitCode()
}

// Ended tells whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Pid is the process's id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Output is everything that the process has written so far.
func (p *Process) Output() string { return p.out.String() }

// output is a buffer that may be read while it is written.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}
