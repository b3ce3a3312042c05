package launcher

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// The test binary is also the launcher, and a stand-in for etcd.
const asLauncher = "TEST_AS_LAUNCHER"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "etcd" {
		os.Exit(fakeEtcd())
	}
	if os.Getenv(asLauncher) != "" {
		os.Exit(Main(os.Args[1:], os.Stderr))
	}
	os.Exit(m.Run())
}

// fakeEtcd says how it was called, takes the metrics port at once, as etcd
// does, and ends at SIGTERM, or badly when it is asked for /exit.
func fakeEtcd() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	fmt.Printf("etcd runs with %q\n", os.Args[1:])
	var addr string
	for _, arg := range os.Args[1:] {
		if v, ok := strings.CutPrefix(arg, "--listen-metrics-urls=http://"); ok {
			addr = v
		}
	}
	failed := make(chan error, 2)
	srv := &http.Server{Addr: addr, Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		http.NotFound(rw, r)
		_ = http.NewResponseController(rw).Flush() // before it exits
		if r.URL.Path == "/exit" {
			failed <- errors.New("it was asked to exit")
		}
	})}
	go func() { failed <- srv.ListenAndServe() }()
	select {
	case err := <-failed:
		fmt.Println("etcd fails:", err)
		return 3
	case <-ctx.Done():
		fmt.Println("etcd ends")
		return 0
	}
}

// pod is what a Pod gives the launcher: volumes, and a downward API file that
// changes as the kubelet changes it.
type pod struct {
	t         *testing.T
	member    *etcdtest.Member
	permitDir string
	used      string
	path      string // of the folder with the program etcd
	swaps     int
	// flags are more of the launcher's own.
	flags []string
}

func newPod(t *testing.T, version, name string) *pod {
	p := &pod{
		t:         t,
		member:    etcdtest.NewMember(t, version, name),
		permitDir: t.TempDir(),
		used:      filepath.Join(t.TempDir(), "used"),
		path:      t.TempDir(),
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if version == fake {
		if err := os.Symlink(self, filepath.Join(p.path, "etcd")); err != nil {
			t.Fatal(err)
		}
	} else {
		if err := os.Symlink(etcdtest.Binary(t, version), filepath.Join(p.path, "etcd")); err != nil {
			t.Fatal(err)
		}
	}
	p.setPermit("")
	return p
}

// fake stands for the version of an etcd that is not one.
const fake = "fake"

// setPermit replaces the annotation's file as the kubelet does.
func (p *pod) setPermit(value string) {
	p.t.Helper()
	p.swaps++
	swap(p.t, p.permitDir, p.swaps, value)
}

// swap replaces the file permit in a folder as the kubelet's AtomicWriter does: a new folder,
// and a symbolic link renamed over the old one.
func swap(t *testing.T, dir string, n int, value string) {
	t.Helper()
	folder := fmt.Sprintf("..folder%d", n)
	write(t, filepath.Join(dir, folder, "permit"), value)
	tmp := filepath.Join(dir, "..data_tmp")
	if err := os.Symlink(folder, tmp); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(tmp, filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	visible := filepath.Join(dir, "permit")
	if _, err := os.Lstat(visible); err == nil {
		return
	}
	if err := os.Symlink(filepath.Join("..data", "permit"), visible); err != nil {
		t.Fatal(err)
	}
}

func (p *pod) givePermit(attempt int64, state StartState, members ...*etcdtest.Member) {
	p.t.Helper()
	g := StartPermit{Attempt: attempt, State: state, InitialCluster: etcdtest.InitialCluster(members...), Token: "token"}
	p.setPermit(g.String())
}

// start starts the container, with more of an environment than it always has.
func (p *pod) start(env ...string) *etcdtest.Process {
	p.t.Helper()
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	argv := append([]string{self, "run"}, p.flags...)
	argv = append(argv,
		"--data-dir="+p.member.Dir,
		"--permit-file="+filepath.Join(p.permitDir, "permit"),
		"--used-file="+p.used,
		"--listen="+p.member.Metrics,
		"--name="+p.member.Name,
		"--peer-url="+p.member.PeerURL,
		"--", "etcd",
		"--name="+p.member.Name,
		"--data-dir="+p.member.Dir,
		"--listen-client-urls=http://"+p.member.Client,
		"--listen-peer-urls=http://"+p.member.Peer,
		"--listen-metrics-urls=http://"+p.member.Metrics,
		"--advertise-client-urls=http://"+p.member.Client,
		"--initial-advertise-peer-urls="+p.member.PeerURL,
	)
	env = append(env, asLauncher+"=1", "PATH="+p.path, "ETCD_MAX_LEARNERS=6", "GORACE=atexit_sleep_ms=0")
	return etcdtest.Start(p.t, env, argv...)
}

func (p *pod) ask() (State, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	tr := &http.Transport{DisableKeepAlives: true}
	defer tr.CloseIdleConnections()
	return Ask(ctx, &http.Client{Transport: tr}, p.member.Metrics)
}

// isLauncher fails the test if etcd answers instead of the launcher: the launcher never comes back.
func (p *pod) isLauncher(err error) {
	p.t.Helper()
	if errors.Is(err, ErrNotWaiting) {
		p.t.Fatalf("etcd was started: %v", err)
	}
}

// waits waits until the launcher has used attempt and waits for this reason. It fails at once if etcd was
// started.
func (p *pod) waits(attempt int64, reason Reason) {
	p.t.Helper()
	etcdtest.Eventually(p.t, fmt.Sprintf("the launcher to wait after attempt %d: %s", attempt, reason), func() error {
		s, err := p.ask()
		if err != nil {
			p.isLauncher(err)
			return err
		}
		if s.Attempt != attempt || s.Reason != reason {
			return fmt.Errorf("it says %+v", s)
		}
		return nil
	})
}

// runsEtcd waits until etcd has replaced the launcher. It fails at once if the launcher refuses the data.
func (p *pod) runsEtcd(proc *etcdtest.Process) {
	p.t.Helper()
	etcdtest.Eventually(p.t, "etcd to take the launcher's place", func() error {
		if proc.Ended() {
			p.t.Fatalf("it ended:\n%s", proc.Output())
		}
		s, err := p.ask()
		if s.State == Refusing {
			p.t.Fatalf("the launcher refuses to start etcd: %s", s.Message)
		}
		if !errors.Is(err, ErrNotWaiting) {
			return fmt.Errorf("the launcher says %+v, %w", s, err)
		}
		return nil
	})
}

func TestLauncherWaitsForAStartPermitAndUsesItOnce(t *testing.T) {
	p := newPod(t, fake, "a")
	c := p.start()
	p.waits(0, ReasonNoPermit)
	for path, want := range map[string]int{
		"/health?serializable=true&exclude=NOSPACE&exclude=CORRUPT": 200, "/livez": 200, "/readyz": 503, "/metrics": 404,
	} {
		if err := etcdtest.CheckHTTP(p.member.Metrics, path, want); err != nil {
			t.Error(err)
		}
	}

	p.setPermit(`{"attempt":1`)
	p.waits(0, ReasonPermitInvalid)
	p.setPermit(StartPermit{Attempt: 1, State: StateNew, InitialCluster: onlyA, Token: "t"}.String())
	p.waits(0, ReasonPermitInvalid) // another's URL

	pid := c.Pid()
	p.givePermit(1, StateNew, p.member)
	p.runsEtcd(c)
	if c.Pid() != pid {
		t.Error("etcd is not the container's first process")
	}
	for _, flag := range []string{"--name=a", "--initial-cluster=a=" + p.member.PeerURL, "--initial-cluster-state=new", "--initial-cluster-token=token"} {
		if !strings.Contains(c.Output(), `"`+flag+`"`) {
			t.Errorf("etcd was started without %s", flag)
		}
	}
	if code := c.Terminate(); code != 0 || !strings.Contains(c.Output(), "etcd ends") {
		t.Errorf("SIGTERM did not reach etcd: exit code %d", code)
	}

	// The fake leaves no data: the container restarts on an empty disk.
	c = p.start()
	p.waits(1, ReasonPermitUsed)
	p.setPermit("")
	p.waits(1, ReasonNoPermit)
	p.givePermit(1, StateNew, p.member)
	p.waits(1, ReasonPermitUsed)
	p.givePermit(2, StateNew, p.member)
	p.runsEtcd(c)
}

func TestLauncherNeedsNothingWithData(t *testing.T) {
	p := newPod(t, fake, "a")
	write(t, filepath.Join(p.member.Dir, "member", "wal", "0.wal"), "")
	write(t, p.used, "not a number")
	p.setPermit("not a permit")
	c := p.start()
	p.runsEtcd(c)
	if !strings.Contains(c.Output(), `"--initial-cluster-state=existing"`) {
		t.Error("etcd was started without --initial-cluster-state=existing")
	}
}

func TestLauncherEndsWhenItCannotTell(t *testing.T) {
	for name, spoil := range map[string]func(*pod){
		"used-file":       func(p *pod) { write(t, p.used, "not a number") },
		"data dir":        func(p *pod) { write(t, filepath.Join(p.member.Dir, "member"), "") },
		"used-file's dir": func(p *pod) { p.used = filepath.Join(p.used, "missing", "used") },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t, fake, "a")
			spoil(p)
			p.givePermit(1, StateNew, p.member)
			c := p.start()
			if code := c.Wait(); code != exitError {
				t.Errorf("exit code %d, want %d", code, exitError)
			}
			if strings.Contains(c.Output(), "etcd runs") {
				t.Error("it started etcd")
			}
		})
	}
}

func TestLauncherEndsPromptlyAtSIGTERM(t *testing.T) {
	p := newPod(t, fake, "a")
	c := p.start()
	p.waits(0, ReasonNoPermit)
	begin := time.Now()
	if code := c.Terminate(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %s to end", took)
	}
	if _, err := os.Stat(p.used); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a permit was used: %v", err)
	}
}

// The kubelet holds the liveness probe off for some time from the start of the container: what
// the launcher has waited of it is not left for etcd to open its database.
func TestLauncherThatWaitedLongLeavesTheStartToAnother(t *testing.T) {
	p := newPod(t, fake, "a")
	p.flags = []string{"--longest-wait=1ms"}
	c := p.start()
	p.waits(0, ReasonNoPermit)
	p.givePermit(1, StateNew, p.member)
	if code := c.Wait(); code != exitOK || strings.Contains(c.Output(), "etcd runs") {
		t.Errorf("exit code %d, want 0 without a start of etcd:\n%s", code, c.Output())
	}

	p.flags = nil
	p.runsEtcd(p.start())
}

// etcd must find its port free however many probes and operators have asked the
// launcher, and however many connections they hold open.
func TestPortIsFreeForEtcdUnderLoad(t *testing.T) {
	p := newPod(t, fake, "a")
	c := p.start()
	p.waits(0, ReasonNoPermit)

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	tr := &http.Transport{MaxIdleConnsPerHost: 20}
	defer tr.CloseIdleConnections()
	for range 20 {
		go func() {
			for ctx.Err() == nil {
				_, _ = Ask(ctx, &http.Client{Transport: tr}, p.member.Metrics)
			}
		}()
	}
	time.Sleep(200 * time.Millisecond)
	begin := time.Now()
	p.givePermit(1, StateNew, p.member)
	p.runsEtcd(c)
	t.Logf("from permit to etcd's answer: %s", time.Since(begin))
	if c.Ended() {
		t.Errorf("etcd ended:\n%s", c.Output())
	}
}

func TestCommandLine(t *testing.T) {
	full := []string{"run", "--data-dir=d", "--permit-file=g", "--used-file=u", "--listen=:0", "--name=a", "--peer-url=http://a:1", "--", "etcd"}
	cases := map[string]struct {
		args []string
		want int
	}{
		"nothing":                {nil, exitUsage},
		"unknown command":        {[]string{"start"}, exitUsage},
		"install nowhere":        {[]string{"install"}, exitUsage},
		"no command":             {full[:len(full)-1], exitUsage},
		"no name":                {slices.DeleteFunc(slices.Clone(full), func(s string) bool { return s == "--name=a" }), exitUsage},
		"unknown flag":           {append([]string{"run", "--force"}, full[1:]...), exitUsage},
		"half a restore":         {append([]string{"run", "--restore-uid=u"}, full[1:]...), exitUsage},
		"a uid that is a way":    {append([]string{"run", "--restore=ns/r", "--restore-uid=../u", "--restore-permit-file=f"}, full[1:]...), exitUsage},
		"no such program":        {append(slices.Clone(full[:len(full)-1]), "no-such-etcd"), exitError},
		"install into no folder": {[]string{"install", filepath.Join(t.TempDir(), "no", "x")}, exitError},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if got := Main(tc.args, &out); got != tc.want {
				t.Errorf("exit code %d, want %d:\n%s", got, tc.want, &out)
			}
			if out.Len() == 0 {
				t.Error("it failed without a word")
			}
		})
	}
}

func TestInstall(t *testing.T) {
	dest := filepath.Join(t.TempDir(), "etcd-launcher")
	for range 2 { // init containers run again
		if err := Install(dest); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(dest)
	if err != nil || info.Mode() != 0o555 {
		t.Fatalf("mode %v, %v, want 0555", info.Mode(), err)
	}
	// Also while the copy runs.
	c := etcdtest.Start(t, []string{asLauncher + "=1"}, dest, "install", dest)
	if code := c.Wait(); code != 0 {
		t.Errorf("the copy does not run: exit code %d", code)
	}
	entries, err := os.ReadDir(filepath.Dir(dest))
	if err != nil || len(entries) != 1 {
		t.Errorf("temporary files were left: %v, %v", entries, err)
	}
}

// While etcd catches up, the launcher is its parent: it ends with the container, and
// when etcd ends, so does the launcher.
func TestCatchingUpEnds(t *testing.T) {
	catchUp := func(t *testing.T) (*pod, *etcdtest.Process) {
		p, other := newPod(t, fake, "a"), etcdtest.NewMember(t, fake, "b")
		p.setPermit(StartPermit{Attempt: 1, State: StateExisting, InitialCluster: etcdtest.InitialCluster(p.member, other), CatchUp: true}.String())
		c := p.start()
		p.runsEtcd(c)
		return p, c
	}
	t.Run("with the container", func(t *testing.T) {
		_, c := catchUp(t)
		if code := c.Terminate(); code != 0 || !strings.Contains(c.Output(), "etcd ends") {
			t.Errorf("exit code %d, want 0 after etcd has ended:\n%s", code, c.Output())
		}
	})
	t.Run("with etcd", func(t *testing.T) {
		p, c := catchUp(t)
		if err := etcdtest.CheckHTTP(p.member.Metrics, "/exit", 404); err != nil {
			t.Fatal(err)
		}
		if code := c.Wait(); code != exitError {
			t.Errorf("exit code %d, want %d:\n%s", code, exitError, c.Output())
		}
		p.start()
		p.waits(1, ReasonPermitUsed)
	})
}
