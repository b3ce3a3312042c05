package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/plugin/internal/tunnel"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// realMembers starts a real etcd for each member of a cluster.
func realMembers(t *testing.T, c *v1beta2.EtcdCluster) []*etcdtest.Member {
	t.Helper()
	members, _ := startMembers(t, c)
	return members
}

// startMembers is realMembers for a test that ends some of them.
func startMembers(t *testing.T, c *v1beta2.EtcdCluster) (members []*etcdtest.Member, processes []*etcdtest.Process) {
	t.Helper()
	for _, m := range c.Status.MemberDetails {
		members = append(members, etcdtest.NewMember(t, etcdtest.Newest(), m.Name))
	}
	for _, m := range members {
		processes = append(processes, m.Start(t, "new", members...))
	}
	for _, m := range members {
		m.WaitReady(t)
	}
	return members, processes
}

// forwardTo stands for the port-forwards of the API server: each leads to a real member.
func forwardTo(members []*etcdtest.Member) tunnel.Forward {
	return func(_ context.Context, pod string, _, port int) (*tunnel.Port, error) {
		for _, m := range members {
			if m.Name != pod {
				continue
			}
			addr := map[int]string{member.ClientPort: m.Client, member.MetricsPort: m.Metrics}[port]
			_, local, _ := strings.Cut(addr, ":")
			n, err := strconv.Atoi(local)
			return &tunnel.Port{Local: n, Lost: make(chan struct{}), Stop: func() {}}, err
		}
		return nil, fmt.Errorf("forward a port to Pod %s: it has no node", pod)
	}
}

// forwardInstead leads one of the members' ports to a port of this machine.
func forwardInstead(forward tunnel.Forward, port, local int) tunnel.Forward {
	return func(ctx context.Context, pod string, at, to int) (*tunnel.Port, error) {
		p, err := forward(ctx, pod, at, to)
		if err == nil && to == port {
			p.Local = local
		}
		return p, err
	}
}

// breaksOnce stands for port-forwards that end and are opened again: the first connection through each
// breaks when etcd's answer has begun, and for a moment nobody listens at its port.
func breaksOnce(t *testing.T, forward tunnel.Forward) tunnel.Forward {
	return func(ctx context.Context, pod string, local, port int) (*tunnel.Port, error) {
		p, err := forward(ctx, pod, local, port)
		if err != nil {
			return nil, err
		}
		target := net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Local))
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		p.Local = listener.Addr().(*net.TCPAddr).Port
		go func() {
			first, err := listener.Accept()
			listener.Close()
			if err != nil {
				return
			}
			proxy(first, target, 64)           // HTTP/2's settings, and a part of the answer
			time.Sleep(600 * time.Millisecond) // as a busy API server may take
			if listener, err = net.Listen("tcp", listener.Addr().String()); err != nil {
				return
			}
			context.AfterFunc(t.Context(), func() { listener.Close() })
			for {
				next, err := listener.Accept()
				if err != nil {
					return
				}
				go proxy(next, target, math.MaxInt64)
			}
		}()
		return p, nil
	}
}

// proxy leads a connection to an address until so many bytes have come back from there.
func proxy(from net.Conn, target string, most int64) {
	defer from.Close()
	to, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		defer to.Close()
		_, _ = io.Copy(to, from)
	}()
	_, _ = io.CopyN(from, to, most)
}

// A screen that is drawn again asks through the same port-forwards, while the same Pods run and answer.
func TestKeptPortForwards(t *testing.T) {
	c := aCluster("example")
	members := realMembers(t, c)
	w := aWorld(t, append(podsOf(c), c)...)
	var opened atomic.Int32
	broken := members[2].Name
	w.forward = func(ctx context.Context, pod string, local, port int) (*tunnel.Port, error) {
		opened.Add(1)
		p, err := forwardTo(members)(ctx, pod, local, port)
		if pod == broken {
			p.Local = 1 // nobody listens there
		}
		return p, err
	}
	app := w.app(io.Discard)
	k := &kept{}
	defer k.close()
	var pods []corev1.Pod
	for _, p := range podsOf(c) {
		pods = append(pods, *p.(*corev1.Pod))
	}
	draw := func(what string, answering, opens int) {
		t.Helper()
		opened.Store(0)
		s, err := app.open(t.Context(), "example")
		if err != nil {
			t.Fatal(err)
		}
		answers, err := app.ask(t.Context(), s, pods, k)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, a := range answers {
			if a.Reached {
				n++
			}
		}
		if got := int(opened.Load()); n != answering || got != opens {
			t.Errorf("%s: %d members answer, and %d port-forwards are opened; want %d and %d", what, n, got, answering, opens)
		}
	}
	draw("a member does not answer", 2, 6)
	broken = ""
	draw("it is asked anew", 3, 6)
	draw("nothing has changed", 3, 0)
	pods[1].UID += "-again"
	draw("a Pod was recreated", 3, 6)
}

// Against a real cluster of three: what its members say of themselves is shown, their data is
// compared, and a snapshot is saved.
func TestRealCluster(t *testing.T) {
	c := aCluster("example")
	members := realMembers(t, c)
	w := aWorld(t, append(podsOf(c), c)...)
	w.forward = forwardTo(members)
	cli := members[0].Dial(t, "", "")
	for i := range 30 {
		if _, err := cli.Put(t.Context(), fmt.Sprintf("/registry/pods/%d", i), strings.Repeat("x", 1000)); err != nil {
			t.Fatal(err)
		}
	}
	leader := w.leads()
	// told is what a command shows, without what differs between runs.
	told := func(line string, more ...string) string { return stable(w.run(line, more...), leader) }
	if got := w.run("status example"); !strings.Contains(got, "0% of 2.0 GiB") || strings.Contains(got, "not asked") {
		t.Errorf("etcd's own words are not shown:\n%s", got)
	}

	if got := w.run("check example"); !strings.Contains(got, "3 members have the same data at revision 31") || !strings.Contains(got, "ms") {
		t.Error(got)
	}
	w.forward = breaksOnce(t, w.forward)
	if got := w.run("check example"); !strings.Contains(got, "3 members have the same data at revision 31") {
		t.Errorf("connections that broke once:\n%s", got)
	}
	w.forward = forwardTo(members)
	golden(t, "top", told("top example --for 0s"), told("top example --depth 1 --limit 10 --page 5 --for 0s"), told("top example --depth 0"))

	dir := t.TempDir()
	file := filepath.Join(dir, "example.db")
	saved := []string{told("snapshot example", file), told("snapshot example", file), told("snapshot example --overwrite", file)}
	for i := range saved {
		// Since the defragmentation another one leads, and any of the others is read from.
		saved[i] = strings.NewReplacer(dir, "/backups", "FOLLOWER", "MEMBER", "LEADER", "MEMBER").Replace(saved[i])
	}
	golden(t, "snapshot", saved...)
	if keys := etcdtest.SnapshotKeys(t, etcdtest.Newest(), file); len(keys) != 30 {
		t.Errorf("the snapshot has %d keys", len(keys))
	}
	if left, _ := filepath.Glob(file + ".part-*"); len(left) > 0 {
		t.Errorf("%v is left", left)
	}

	w.forward = forwardTo(members[:2])
	if got := w.run("check example"); !strings.Contains(got, "not compared: example-cccccccccc") || !strings.Contains(got, "2 members have the same data") || !strings.Contains(got, "error: exit code 1") {
		t.Error(got)
	}
}

// memberName is that of a member of aCluster.
var memberName = regexp.MustCompile(`example-(aaaaaaaaaa|bbbbbbbbbb|cccccccccc)`)

// databaseSize is one that etcd tells: it has as many free pages as its timing makes.
var databaseSize = regexp.MustCompile(`[0-9.]+ (B|[KM]iB)`)

// stable takes out of a screen of a real cluster what differs between runs: which of the followers
// it is about, and how much its database takes.
func stable(text, leader string) string {
	text = memberName.ReplaceAllStringFunc(text, func(name string) string {
		if name == leader {
			return "LEADER"
		}
		return "FOLLOWER"
	})
	if strings.Contains(text, "etcd top") {
		return text
	}
	return databaseSize.ReplaceAllString(text, "SIZE")
}

// leads is the member that leads.
func (w *world) leads() string {
	w.t.Helper()
	got := w.run("members example -o json")
	var members []struct{ Name, Role string }
	_, text, _ := strings.Cut(got, "\n")
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		w.t.Fatalf("%v: %s", err, got)
	}
	i := slices.IndexFunc(members, func(m struct{ Name, Role string }) bool { return m.Role == "Leader" })
	if i < 0 {
		w.t.Fatalf("nobody leads: %s", got)
	}
	return members[i].Name
}

// change writes a cluster anew.
func (w *world) change(name string, change func(*v1beta2.EtcdCluster)) {
	w.t.Helper()
	c := w.read(name)
	change(c)
	if err := w.Update(w.t.Context(), c); err != nil {
		w.t.Fatal(err)
	}
}

// Members with TLS and authentication are reached with the certificate and the user that the
// EtcdCluster names, and are known by their own names.
func TestSecureMember(t *testing.T) {
	c := aCluster("example")
	c.Status.MemberDetails = c.Status.MemberDetails[:1]
	c.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{Member: &v1beta2.MemberSecret{ServerSecret: "server"}, OperatorSecret: "operator"}}
	c.Spec.Auth = &v1beta2.AuthPolicy{RootSecret: "etcd-root"}
	name := c.Status.MemberDetails[0].Name
	ca := etcdtest.NewCA(t, "ca")
	dir := t.TempDir()
	etcdtest.Mount(t, dir, ca.Issue(t, "server", name+".example.default.svc", "localhost", "127.0.0.1").Files(ca))
	m := etcdtest.NewMember(t, etcdtest.Newest(), name)
	m.StartSecure(t, dir, "new", m)
	m.WaitReady(t)
	etcdtest.EnableAuthOf(t, m.DialSecure(t, ca.Issue(t, "somebody").Config(t, ca)), "a-secret")

	secret := func(name string, data map[string][]byte) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: data}
	}
	client := ca.Issue(t, "somebody").Files(ca)
	w := aWorld(t, append(podsOf(c), c, secret("operator", client), secret("etcd-root", map[string][]byte{"password": []byte("a-secret")}))...)
	w.forward = forwardTo([]*etcdtest.Member{m})
	if got := w.run("check example"); !strings.Contains(got, "1 members have the same data") {
		t.Error(got)
	}
	if got := w.run("snapshot example", filepath.Join(t.TempDir(), "x.db")); !strings.Contains(got, "Its digest is right") {
		t.Error(got)
	}
	var env []string
	w.etcdctl = func(args, e []string) int {
		env = e
		for _, v := range e {
			if file, ok := strings.CutPrefix(v, "ETCDCTL_KEY="); ok {
				info, err := os.Stat(file)
				if err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("the key is in %v: %v", info, err)
				}
			}
		}
		return len(args)
	}
	if got := w.run("ctl example -- get /"); !strings.Contains(got, "exit code 2") {
		t.Error(got)
	}
	_, port, _ := strings.Cut(m.Client, ":")
	joined := strings.Join(env, "\n")
	for _, want := range []string{"ETCDCTL_ENDPOINTS=https://localhost:" + port, "ETCDCTL_USER=root", "ETCDCTL_PASSWORD=a-secret", "tls.crt", "ca.crt"} {
		if !strings.Contains(joined, want) {
			t.Errorf("%s is not among the variables:\n%s", want, joined)
		}
	}
	for _, v := range env {
		if file, ok := strings.CutPrefix(v, "ETCDCTL_KEY="); ok {
			if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the key is still there: %v", err)
			}
		}
	}

	// Without the right to read the Secret it is said which one is needed.
	bare := aWorld(t, append(podsOf(c), c)...)
	bare.forward = w.forward
	if got := bare.run("status example"); !strings.Contains(got, "etcd was not asked: read Secret operator (the operators' client certificate)") {
		t.Error(got)
	}
}

// What bypasses the operator is refused, however it is written; what etcdctl does otherwise is
// not looked at.
func TestRefusedByCtl(t *testing.T) {
	c := aCluster("example")
	for line, isRefused := range map[string]bool{
		"member add x --peer-urls=http://x":   true,
		"-w json member add x":                true,
		"--write-out=json member remove 0b":   true,
		"-wjson member remove 0b":             true,
		"-w=json member remove 0b":            true,
		"-- member remove 0b":                 false, // not a command for etcdctl, which shows its help
		"member --debug remove 0b":            true,
		"member promote 0b":                   true,
		"downgrade enable 3.5":                true,
		"member list":                         false,
		"get member":                          false,
		"put member add":                      false,
		"--endpoints member get add":          false,
		"downgrade validate 3.5":              false,
		"defrag":                              true,
		"-w table move-leader 0b":             true,
		"get defrag":                          false,
		"alarm disarm":                        false,
		"member update 000000000000000b":      true,
		"snapshot save x":                     false,
		"--command-timeout 5s member rem":     false, // no such command: etcdctl says so
		"--hex --debug get --prefix /members": false,
		"endpoint status -w table --cluster":  true,
		"endpoint --cluster=true hashkv":      true,
		"endpoint health":                     false,
	} {
		if err := refuse(c, strings.Fields(line)); (err != nil) != isRefused {
			t.Errorf("%s: %v", line, err)
		}
	}
	paused, full := c.DeepCopy(), c.DeepCopy()
	paused.Spec.Paused = true
	full.Status.Alarms = []v1beta2.AlarmStatus{{}}
	for _, c := range []*v1beta2.EtcdCluster{paused, full} { // as the runbook of a full database says
		if err := refuse(c, []string{"defrag"}); err != nil {
			t.Error(err)
		}
	}
	if err := refuse(c, []string{"", "member", "remove", "0b"}); err == nil {
		t.Error("an empty argument, which etcdctl passes over, hides the command")
	}
	// The operator itself asks for the removal of members that it does not manage.
	c.Status.MemberDetails[1].Unmanaged = true
	says(c, "UnmanagedMembers", "True", "UnmanagedMembers", "etcdctl member remove 000000000000000b")
	if err := refuse(c, []string{"member", "remove", "000000000000000b"}); err != nil {
		t.Error(err)
	}
	if err := refuse(c, []string{"member", "remove", "000000000000000a"}); err == nil {
		t.Error("a member of the operator's can be removed")
	}
}

// A port-forward that is lost is opened again, to a member that serves, as soon as there is one.
func TestPortForward(t *testing.T) {
	c := aCluster("example")
	pods := podsOf(c)
	pods[1].(*corev1.Pod).Status.Conditions[0].Status = corev1.ConditionFalse // it does not serve
	w := aWorld(t, append(pods, c)...)
	opened := 0
	ctx, cancel := context.WithCancel(t.Context())
	w.ctx = ctx
	serves := func(name string, is corev1.ConditionStatus) {
		p := &corev1.Pod{}
		if err := w.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, p); err != nil {
			t.Error(err)
		}
		p.Status.Conditions[0].Status = is
		if err := w.Update(t.Context(), p); err != nil {
			t.Error(err)
		}
	}
	w.forward = func(_ context.Context, pod string, local, port int) (*tunnel.Port, error) {
		lost := make(chan struct{})
		if opened++; opened == 1 {
			if err := w.Delete(t.Context(), pods[0]); err != nil {
				t.Error(err)
			}
			serves(pods[2].GetName(), corev1.ConditionFalse)
			time.AfterFunc(50*time.Millisecond, func() { serves(pods[2].GetName(), corev1.ConditionTrue) })
			close(lost)
			return &tunnel.Port{Local: 12379, Lost: lost, Stop: func() {}}, nil
		}
		if local != 12379 || port != member.ClientPort {
			t.Errorf("port %d leads to %d", local, port)
		}
		time.AfterFunc(10*time.Millisecond, cancel)
		return &tunnel.Port{Local: local, Lost: lost, Stop: func() {}}, nil
	}
	golden(t, "port-forward", w.run("port-forward example --port 12379"), aWorld(t, append(podsOf(c), c)...).run("port-forward example nobody"))
}

// What ctl says itself; all else is etcdctl's.
func TestCtl(t *testing.T) {
	c := aCluster("example")
	w := aWorld(t, append(podsOf(c), c)...)
	screens := []string{
		w.run("ctl example -- member add x --peer-urls=http://x"), w.run("ctl example -- member remove 000000000000000b"),
		w.run("ctl example -- downgrade enable 3.5"), w.run("ctl example -- get /"), w.run("ctl example"),
	}
	w.forward = func(context.Context, string, int, int) (*tunnel.Port, error) {
		return &tunnel.Port{Local: 12379, Lost: make(chan struct{}), Stop: func() {}}, nil
	}
	w.etcdctl = func([]string, []string) int { return 3 }
	golden(t, "ctl", append(screens, w.run("ctl example -- get /"))...)
}
