package member

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/launcher"
)

// asLauncher makes the test's own program a member's launcher, and lookUp, before that, one
// for which the file that it names is /etc/hosts.
const (
	asLauncher = "TEST_LAUNCHER"
	lookUp     = "TEST_HOSTS"
)

func TestMain(m *testing.M) {
	switch hosts := os.Getenv(lookUp); {
	case os.Getenv(asLauncher) != "":
		os.Exit(launcher.Main(os.Args[1:], os.Stderr))
	case hosts != "":
		fmt.Fprintf(os.Stderr, "let the member look up names, as only root may: %v\n", becomeLauncher(hosts))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// becomeLauncher starts the program anew in a mount namespace of its own, which is a
// thread's: all threads of a new program are of that which has started it.
func becomeLauncher(hosts string) error {
	runtime.LockOSThread()
	if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
		return err
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := syscall.Mount(hosts, "/etc/hosts", "", syscall.MS_BIND, ""); err != nil {
		return err
	}
	return syscall.Exec("/proc/self/exe", os.Args, append(os.Environ(), asLauncher+"=1"))
}

// addresses counts those that were given out.
var addresses atomic.Int64

// place runs members as their Pods say, each at a loopback address of its own.
type place struct {
	t       *testing.T
	version string
	hosts   string
	members []*running
}

// running is a member that runs, or may run.
type running struct {
	place *place
	c     *v1beta2.EtcdCluster
	// name is its name, ip its address, and dir the folder of its volumes.
	name, ip, dir string
	pod           *corev1.Pod
	process       *etcdtest.Process
}

func newPlace(t *testing.T, version string) *place {
	p := &place{t: t, version: version, hosts: filepath.Join(t.TempDir(), "hosts")}
	if err := os.WriteFile(p.hosts, []byte("127.0.0.1 localhost\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// member makes a member with a Pod, and its name can be looked up. peer and server are
// what is in its Secrets.
func (p *place) member(c *v1beta2.EtcdCluster, suffix string, peer, server map[string][]byte) *running {
	p.t.Helper()
	// Linux answers at all of 127.0.0.0/8; the process's id keeps packages apart.
	ip := fmt.Sprintf("127.%d.%d.%d", 1+os.Getpid()/256%250, os.Getpid()%256, 2+addresses.Add(1)%250)
	m := &running{place: p, c: c, name: Name(c.Name, suffix), ip: ip, dir: p.t.TempDir()}
	o := options(c)
	o.Name, o.Version = m.name, p.version
	pod, err := NewPod(c, o)
	if err != nil {
		p.t.Fatal(err)
	}
	m.pod = pod
	for _, dir := range []string{"data", "permit", "used"} {
		if err := os.MkdirAll(filepath.Join(m.dir, dir), 0o700); err != nil {
			p.t.Fatal(err)
		}
	}
	m.deliver(peer, server)
	m.givePermit(nil)
	p.addHost(Host(c, m.name), ip)
	p.members = append(p.members, m)
	return m
}

func (p *place) addHost(host, ip string) {
	f, err := os.OpenFile(p.hosts, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, ip, host); err != nil {
		p.t.Fatal(err)
	}
}

// deliver puts something else into the Secrets, where a member sees it.
func (m *running) deliver(peer, server map[string][]byte) {
	m.place.t.Helper()
	for folder, files := range map[string]map[string][]byte{"peer-tls": peer, "server-tls": server} {
		if files != nil {
			etcdtest.Mount(m.place.t, filepath.Join(m.dir, folder), files)
		}
	}
}

func (m *running) givePermit(g *launcher.StartPermit) {
	m.place.t.Helper()
	var content string
	if g != nil {
		content = g.String()
	}
	file := filepath.Join(m.dir, "permit", permitFile)
	if err := os.WriteFile(file+".new", []byte(content), 0o600); err != nil {
		m.place.t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		m.place.t.Fatal(err)
	}
}

// start starts the container as the Pod says, but for where its files are and where it
// listens.
func (m *running) start(env ...string) {
	t := m.place.t
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	here := strings.NewReplacer(
		DataDir, filepath.Join(m.dir, "data", "etcd"),
		permitMount+"/", filepath.Join(m.dir, "permit")+"/",
		usedMount+"/", filepath.Join(m.dir, "used")+"/",
		tlsMount, m.dir+"/",
		"0.0.0.0:", m.ip+":",
		"--listen=:", "--listen="+m.ip+":",
	)
	etcd := m.pod.Spec.Containers[0]
	argv := []string{self}
	for _, arg := range append(etcd.Command[1:], etcd.Args...) {
		argv = append(argv, here.Replace(arg))
	}
	for _, e := range etcd.Env {
		env = append(env, e.Name+"="+e.Value)
	}
	path := filepath.Dir(etcdtest.Binary(t, m.place.version))
	m.process = etcdtest.Start(t, append(env, lookUp+"="+m.place.hosts, "PATH="+path+":"+os.Getenv("PATH")), argv...)
}

// restart ends the container and starts it again, on its data.
func (m *running) restart() {
	m.process.Terminate()
	m.start()
}

func (m *running) at(port int) string { return net.JoinHostPort(m.ip, strconv.Itoa(port)) }

func (m *running) waitReady() {
	m.place.t.Helper()
	etcdtest.Eventually(m.place.t, m.name+" to be ready", func() error {
		return etcdtest.CheckHTTP(m.at(MetricsPort), "/readyz", http.StatusOK)
	})
}

func (m *running) endpoint() etcdclient.Endpoint {
	return etcdclient.Endpoint{Name: m.name, Addr: m.at(ClientPort), ServerName: Host(m.c, m.name)}
}

// patient is for a busy machine.
var patient = etcdclient.Client{Deadline: 10 * time.Second}

// ask asks the member as the owner of a certificate.
func (m *running) ask(by *tls.Config) etcdclient.Answer {
	return patient.Ask(etcdclient.By(m.place.t.Context(), by), []etcdclient.Endpoint{m.endpoint()})[m.name]
}

// seed starts the first member.
func (p *place) seed(m *running, env ...string) {
	p.t.Helper()
	m.givePermit(founding(1, m))
	m.start(env...)
	m.waitReady()
}

// founding is the permit to be the first member.
func founding(attempt int64, m *running) *launcher.StartPermit {
	return &launcher.StartPermit{Attempt: attempt, State: launcher.StateNew, Token: "token", InitialCluster: InitialCluster([]Peer{{m.name, PeerURL(m.c, m.name)}})}
}

// joining is the permit to join a cluster of these members.
func joining(attempt int64, all ...*running) *launcher.StartPermit {
	var peers []Peer
	for _, m := range all {
		peers = append(peers, Peer{m.name, PeerURL(m.c, m.name)})
	}
	return &launcher.StartPermit{Attempt: attempt, State: launcher.StateExisting, InitialCluster: InitialCluster(peers)}
}

// add adds members side by side as learners, and promotes them; by is the operator. It
// returns how long it took until all served.
func (p *place) add(by *tls.Config, catchUp bool, voters, joiners []*running) time.Duration {
	p.t.Helper()
	ctx := etcdclient.By(p.t.Context(), by)
	var known []etcdclient.Endpoint
	for _, m := range voters {
		known = append(known, m.endpoint())
	}
	ids := map[*running]uint64{}
	for _, m := range joiners {
		m.start()
		etcdtest.Eventually(p.t, "add "+m.name, func() (err error) {
			ids[m], err = patient.AddLearner(ctx, known, PeerURL(m.c, m.name))
			return err
		})
	}
	var before []string
	begin := time.Now()
	for _, m := range joiners {
		g := joining(1, slices.Concat(voters, joiners)...)
		g.After, g.CatchUp = before, catchUp
		m.givePermit(g)
		before = append(before, PeerURL(m.c, m.name))
	}
	for _, m := range joiners {
		etcdtest.Eventually(p.t, m.name+" to serve", func() error {
			return errors.Join(
				etcdtest.CheckHTTP(m.at(MetricsPort), "/metrics", http.StatusOK),
				etcdtest.CheckHTTP(m.at(MetricsPort), "/livez", http.StatusOK))
		})
	}
	took := time.Since(begin)
	for _, m := range joiners {
		etcdtest.Eventually(p.t, "promote "+m.name, func() error { return patient.Promote(ctx, known, ids[m]) })
		m.waitReady()
		// Ready may have been the etcd that only catches up.
		etcdtest.Eventually(p.t, m.name+" to serve clients", func() error {
			if a := m.ask(by); !a.Reached {
				return errors.New(a.Err)
			}
			return nil
		})
	}
	return took
}

// get asks for a path on one of the member's ports by HTTP. A TLS handshake that the
// server refuses shows only when something is read.
func get(t *testing.T, m *running, port int, path string, by *tls.Config) (status int, body string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	scheme := "http"
	transport := &http.Transport{DisableKeepAlives: true}
	if by != nil {
		scheme, transport.TLSClientConfig = "https", by.Clone()
		transport.TLSClientConfig.ServerName = Host(m.c, m.name)
	}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+m.at(port)+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}
