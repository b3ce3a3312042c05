package member

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// secured is a cluster whose certificates are the operator's.
func secured(name string) *v1beta2.EtcdCluster {
	c := newCluster(nil)
	c.Name = name
	c.Spec.TLS = &v1beta2.TLSPolicy{Auto: &v1beta2.AutoTLS{}}
	c.Status.TLS = &v1beta2.TLSStatus{Trust: "trust"}
	return c
}

// peerLeaf and serverLeaf are certificates for the members of a cluster.
func peerLeaf(t *testing.T, a *etcdtest.CA, cluster string) etcdtest.Leaf {
	return a.Issue(t, cluster+"-peer", "*."+cluster+".ns.svc")
}

func serverLeaf(t *testing.T, a *etcdtest.CA, cluster string) etcdtest.Leaf {
	return a.Issue(t, cluster+"-server", "*."+cluster+".ns.svc", "localhost", "127.0.0.1")
}

// A cluster under TLS grows, restarts on its volumes, takes new certificates without a
// restart, and answers nobody who has none that is meant for it.
func TestMembersWithTLS(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		ours, theirs := etcdtest.NewCA(t, "ours"), etcdtest.NewCA(t, "theirs")
		root := ours.Issue(t, "root").Config(t, ours)
		p, c := newPlace(t, version), secured("c")
		standard := func() (peer, server map[string][]byte) {
			return peerLeaf(t, ours, "c").Files(ours), serverLeaf(t, ours, "c").Files(ours)
		}
		peer, server := standard()
		one := p.member(c, "one", peerLeaf(t, ours, "c").LegacyFiles("peer", ours), serverLeaf(t, ours, "c").LegacyFiles("server", ours))
		two := p.member(c, "two", peer, server)
		three := p.member(c, "three", peer, server)
		p.seed(one)
		p.add(root, false, []*running{one}, []*running{two})
		p.add(root, true, []*running{one, two}, []*running{three})
		for _, m := range p.members {
			if a := m.ask(root); !a.Reached || !a.Read || len(a.Members) != 3 {
				t.Fatalf("%s: %+v, want an answer with three members", m.name, a)
			}
			for _, member := range m.ask(root).Members {
				if len(member.PeerURLs) != 1 || !strings.HasPrefix(member.PeerURLs[0], "https://"+member.Name+".c.ns.svc:") {
					t.Errorf("%s has the peer URLs %v", member.Name, member.PeerURLs)
				}
			}
		}
		if out := three.process.Output(); !strings.Contains(out, "has caught up") {
			t.Errorf("%s has not caught up before it served", three.name)
		}
		checkDoors(t, two, ours, theirs)
		checkGateway(t, two, root)
		checkAuthentication(t, p.members, ours)

		before := map[string]int{}
		for _, m := range p.members {
			before[m.name] = m.process.Pid()
			newPeer, newServer := peerLeaf(t, ours, "c"), serverLeaf(t, ours, "c")
			if m == one {
				m.deliver(newPeer.LegacyFiles("peer", ours), newServer.LegacyFiles("server", ours))
			} else {
				m.deliver(newPeer.Files(ours), newServer.Files(ours))
			}
			for port, want := range map[int]string{PeerPort: newPeer.Serial, ClientPort: newServer.Serial} {
				if got, err := etcdtest.ShownSerial(m.at(port)); err != nil || got != want {
					t.Errorf("%s shows at port %d the certificate %s, want %s: %v", m.name, port, got, want, err)
				}
			}
		}
		two.restart()
		two.waitReady()
		for _, m := range []*running{one, three} {
			if m.process.Ended() || m.process.Pid() != before[m.name] {
				t.Errorf("%s was restarted for a new certificate", m.name)
			}
		}
		if a := two.ask(root); !a.Read || len(a.Members) != 3 {
			t.Errorf("after a restart: %+v", a)
		}
	})
}

// checkDoors: both ports of a member are shut to everybody but those that they are for.
func checkDoors(t *testing.T, m *running, ours, theirs *etcdtest.CA) {
	t.Helper()
	other := peerLeaf(t, ours, "other")
	for name, tc := range map[string]struct {
		port int
		by   *tls.Config
		open bool
	}{
		"a client":                        {ClientPort, ours.Issue(t, "root").Config(t, ours), true},
		"a client with a name of its own": {ClientPort, ours.Issue(t, "root", "backup.example.com").Config(t, ours), true},
		"a client in the clear":           {ClientPort, nil, false},
		"a client without certificate":    {ClientPort, etcdtest.Trusting(ours), false},
		"a client of another CA":          {ClientPort, theirs.Issue(t, "root").Config(t, ours), false},
		"a client whose time is over":     {ClientPort, ours.IssueUntil(t, time.Now().Add(-time.Minute), "root").Config(t, ours), false},
		"a member":                        {PeerPort, peerLeaf(t, ours, "c").Config(t, ours), true},
		"a member in the clear":           {PeerPort, nil, false},
		"a member without certificate":    {PeerPort, etcdtest.Trusting(ours), false},
		"a member of another CA":          {PeerPort, peerLeaf(t, theirs, "c").Config(t, ours), false},
		"a member of another cluster":     {PeerPort, other.Config(t, ours), false},
		"a client at the members' port":   {PeerPort, ours.Issue(t, "root").Config(t, ours), false},
		"a member of another namespace":   {PeerPort, ours.Issue(t, "c-peer", "*.c.elsewhere.svc").Config(t, ours), false},
		"a member whose time is over":     {PeerPort, ours.IssueUntil(t, time.Now().Add(-time.Minute), "c-peer", "*.c.ns.svc").Config(t, ours), false},
		"somebody at the metrics' port":   {MetricsPort, nil, true},
		"a server's certificate, as peer": {PeerPort, ours.Issue(t, "c-server", "c-client.ns.svc", "localhost").Config(t, ours), false},
	} {
		status, body, err := get(t, m, tc.port, "/version", tc.by)
		if open := err == nil && status == http.StatusOK && strings.Contains(body, "etcdserver"); tc.port != MetricsPort && open != tc.open {
			t.Errorf("%s: status %d, %v, %q: the door is open: %t, want %t", name, status, err, body, open, tc.open)
		}
		if tc.port == MetricsPort && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, by := range map[string]*tls.Config{
		"in the clear": nil, "without certificate": etcdtest.Trusting(ours), "of another CA": theirs.Issue(t, "root").Config(t, ours),
		"that does not trust the member": ours.Issue(t, "root").Config(t, theirs),
	} {
		if a := m.ask(by); a.Reached || a.Read || len(a.Members)+len(a.LocalMembers) > 0 {
			t.Errorf("an operator %s gets %+v", name, a)
		}
	}
}

// checkAuthentication: with etcd's authentication enabled, the operator is the user root by
// its certificate, without a password, and an application is not.
func checkAuthentication(t *testing.T, members []*running, ours *etcdtest.CA) {
	t.Helper()
	root, client := ours.Issue(t, "root").Config(t, ours), ours.Issue(t, "c-client").Config(t, ours)
	m := members[0]
	config := root.Clone()
	config.ServerName = Host(m.c, m.name)
	c, err := clientv3.New(clientv3.Config{
		Endpoints: []string{"https://" + m.at(ClientPort)}, TLS: config, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithAuthority(config.ServerName)},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, addUser := c.UserAddWithOptions(ctx, "root", "", &clientv3.UserAddOptions{NoPassword: true})
	_, addRole := c.RoleAdd(ctx, "root")
	_, grant := c.UserGrantRole(ctx, "root", "root")
	_, enable := c.AuthEnable(ctx)
	if err := errors.Join(addUser, addRole, grant, enable); err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		if a := m.ask(root); !a.Reached || !a.Read || a.Refused != "" || len(a.Members) != len(members) {
			t.Errorf("root by its certificate, at %s: %+v", m.name, a)
		}
		_, err := patient.AddLearner(etcdclient.By(ctx, client), []etcdclient.Endpoint{m.endpoint()}, "https://nobody.c.ns.svc:2380")
		if !errors.Is(err, etcdclient.ErrUnauthorized) {
			t.Errorf("an application adds a member, at %s: %v", m.name, err)
		}
	}
	checkGatewayAuthentication(t, m, c, ours)
	if _, err := c.AuthDisable(ctx); err != nil {
		t.Error(err)
	}
}

// checkGatewayAuthentication: with authentication enabled, etcd's gateway refuses whoever shows a
// certificate with a common name, which can be no user there. It takes a password, by a certificate
// without one. The page "Use as a datastore" says so.
func checkGatewayAuthentication(t *testing.T, m *running, root *clientv3.Client, ours *etcdtest.CA) {
	t.Helper()
	if _, err := root.UserAdd(t.Context(), "gateway", "password"); err != nil {
		t.Fatal(err)
	}
	const login = `{"name":"gateway","password":"password"}`
	for commonName, want := range map[string]int{"c-client": http.StatusBadRequest, "": http.StatusOK} {
		if got := askGateway(t, m, ours.Issue(t, commonName).Config(t, ours), "/v3/auth/authenticate", login); got != want {
			t.Errorf("a password by a certificate with the common name %q: %d, want %d", commonName, got, want)
		}
	}
}

// checkGateway: etcd serves its API in JSON, too, for which it is its own client with the
// server's certificate.
func checkGateway(t *testing.T, m *running, by *tls.Config) {
	t.Helper()
	if status := askGateway(t, m, by, "/v3/kv/range", `{"key":"YQ=="}`); status != http.StatusOK {
		t.Errorf("etcd's gateway: %d", status)
	}
}

// askGateway is the status with which etcd's gateway answers.
func askGateway(t *testing.T, m *running, by *tls.Config, path, body string) int {
	t.Helper()
	config := by.Clone()
	config.ServerName = Host(m.c, m.name)
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+m.at(ClientPort)+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}

// Six members that join at once take turns by TLS, too, as they do in the clear: an etcd
// that only listens shakes hands already.
func TestTurnsWithTLS(t *testing.T) {
	ours := etcdtest.NewCA(t, "ours")
	root := ours.Issue(t, "root").Config(t, ours)
	p, c := newPlace(t, etcdtest.Newest()), secured("c")
	peer, server := peerLeaf(t, ours, "c").Files(ours), serverLeaf(t, ours, "c").Files(ours)
	seed := p.member(c, "seed", peer, server)
	p.seed(seed)
	var joiners []*running
	for i := range MaxLearners {
		joiners = append(joiners, p.member(c, fmt.Sprintf("joiner%d", i), peer, server))
	}
	took := p.add(root, false, []*running{seed}, joiners)
	t.Logf("from permits to six learners serving: %s", took)
	for _, j := range joiners {
		if strings.Contains(j.process.Output(), etcdtest.PeerTimeout) {
			t.Errorf("%s waited for another one until a timeout of etcd's", j.name)
		}
	}
}

// A CA is replaced in three steps, with a restart of each member in the first and
// in the last, and members that have taken a step talk to those that have not.
func TestCAIsReplaced(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		old, fresh := etcdtest.NewCA(t, "CA"), etcdtest.NewCA(t, "CA")
		p, c := newPlace(t, version), secured("c")
		deliver := func(by *etcdtest.CA, trusted ...*etcdtest.CA) {
			for _, m := range p.members {
				m.deliver(peerLeaf(t, by, "c").Files(trusted...), serverLeaf(t, by, "c").Files(trusted...))
			}
		}
		for _, suffix := range []string{"one", "two", "three"} {
			p.member(c, suffix, nil, nil)
		}
		deliver(old, old)
		root := old.Issue(t, "root").Config(t, old, fresh)
		p.seed(p.members[0])
		p.add(root, false, p.members[:1], p.members[1:2])
		p.add(root, false, p.members[:2], p.members[2:])
		renewed := fresh.Issue(t, "root").Config(t, old, fresh)
		roll := func(step string, by *tls.Config) {
			for _, m := range p.members {
				m.restart()
				m.waitReady()
				for _, every := range p.members {
					if a := every.ask(by); !a.Read || len(a.Members) != 3 || a.Leader == 0 {
						t.Fatalf("%s: after a restart of %s, %s: %+v", step, m.name, every.name, a)
					}
				}
			}
		}
		if a := p.members[0].ask(renewed); a.Reached {
			t.Error("the new CA is trusted before it is anybody's")
		}
		deliver(old, old, fresh)
		roll("trust both", root)
		deliver(fresh, old, fresh)
		for _, by := range []*tls.Config{root, renewed} {
			if a := p.members[0].ask(by); !a.Read {
				t.Errorf("both are trusted, but %+v", a)
			}
		}
		deliver(fresh, fresh)
		roll("drop the old", renewed)
		if a := p.members[0].ask(root); a.Reached {
			t.Error("the old CA is trusted still")
		}
	})
}

// A Pod with another cluster's certificate, even of the same CA, is nobody's
// member, though the member list has its address.
func TestNobodyIsImpersonated(t *testing.T) {
	ours := etcdtest.NewCA(t, "ours")
	root := ours.Issue(t, "root").Config(t, ours)
	p, c := newPlace(t, etcdtest.Newest()), secured("c")
	seed := p.member(c, "seed", peerLeaf(t, ours, "c").Files(ours), serverLeaf(t, ours, "c").Files(ours))
	p.seed(seed)
	spy := p.member(c, "spy", peerLeaf(t, ours, "other").Files(ours), serverLeaf(t, ours, "other").Files(ours))
	// It would accept the others itself.
	args := spy.pod.Spec.Containers[0].Args
	spy.pod.Spec.Containers[0].Args = slices.DeleteFunc(args, func(a string) bool { return strings.HasPrefix(a, "--peer-cert-allowed-hostname") })
	ctx := etcdclient.By(t.Context(), root)
	etcdtest.Eventually(t, "add the spy", func() error {
		_, err := patient.AddLearner(ctx, []etcdclient.Endpoint{seed.endpoint()}, PeerURL(c, spy.name))
		return err
	})
	spy.givePermit(joining(1, seed, spy))
	spy.start()
	if code := spy.process.Wait(); code == 0 {
		t.Error("it has ended well")
	}
	if a := seed.ask(root); !a.Read || len(a.Members) != 2 || a.Members[0].Started == a.Members[1].Started {
		t.Errorf("the member list is %+v, want one that has started and one that has not", a.Members)
	}
}

// What a member lacks of its Secrets is said, and costs no permit.
func TestSecretWithoutKeys(t *testing.T) {
	ours := etcdtest.NewCA(t, "ours")
	p, c := newPlace(t, etcdtest.Newest()), secured("c")
	peer, server := peerLeaf(t, ours, "c").Files(ours), serverLeaf(t, ours, "c").Files(ours)
	m := p.member(c, "seed", peer, map[string][]byte{"tls.crt": server["tls.crt"], "ca.crt": server["ca.crt"]})
	m.givePermit(founding(1, m))
	m.start()
	if code := m.process.Wait(); code == 0 {
		t.Error("it has ended well")
	}
	for _, word := range []string{"--key-file", "server.key", "tls.key", "Secret"} {
		if out := m.process.Output(); !strings.Contains(out, word) {
			t.Errorf("%q does not say %s", out, word)
		}
	}
	if _, err := os.Stat(filepath.Join(m.dir, "used", filepath.Base(usedPath))); !os.IsNotExist(err) {
		t.Errorf("the permit is used up: %v", err)
	}
	m.deliver(peer, server)
	m.start()
	m.waitReady()
}

// Each kind of traffic is by TLS or in the clear, whatever the other is.
func TestEachSideForItself(t *testing.T) {
	for name, row := range map[string]struct {
		peer, server       string
		peerURL, clientURL string
		flags              []string
	}{
		"neither": {"", "", "http://m.c.ns.svc:2380", "http://m.c.ns.svc:2379", nil},
		"peers": {"p", "", "https://m.c.ns.svc:2380", "http://m.c.ns.svc:2379", []string{
			"--peer-cert-file", "--peer-key-file", "--peer-trusted-ca-file", "--peer-client-cert-auth", "--peer-cert-allowed-hostname",
		}},
		"clients": {"", "s", "http://m.c.ns.svc:2380", "https://m.c.ns.svc:2379", []string{
			"--cert-file", "--key-file", "--trusted-ca-file", "--client-cert-auth",
		}},
	} {
		c := newCluster(nil)
		c.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{Member: &v1beta2.MemberSecret{PeerSecret: row.peer, ServerSecret: row.server}}}
		if got := PeerURL(c, "m"); got != row.peerURL {
			t.Errorf("%s: peer URL %s, want %s", name, got, row.peerURL)
		}
		if got := ClientURL(c, "m"); got != row.clientURL {
			t.Errorf("%s: client URL %s, want %s", name, got, row.clientURL)
		}
		o := options(c)
		o.Name = "m"
		pod, err := NewPod(c, o)
		if err != nil {
			t.Fatal(err)
		}
		etcd := pod.Spec.Containers[0]
		var flags []string
		for _, arg := range etcd.Args {
			if flag, _, _ := strings.Cut(arg, "="); strings.Contains(flag, "cert") || strings.Contains(flag, "key") || strings.Contains(flag, "ca-file") {
				flags = append(flags, flag)
			}
		}
		if !slices.Equal(flags, row.flags) {
			t.Errorf("%s: flags %v, want %v", name, flags, row.flags)
		}
		for _, want := range []string{
			"--listen-peer-urls=" + strings.Replace(row.peerURL, "m.c.ns.svc", "0.0.0.0", 1), "--initial-advertise-peer-urls=" + row.peerURL,
			"--listen-client-urls=" + strings.Replace(row.clientURL, "m.c.ns.svc", "0.0.0.0", 1), "--advertise-client-urls=" + row.clientURL,
			"--listen-metrics-urls=http://0.0.0.0:2381",
		} {
			if !slices.Contains(etcd.Args, want) {
				t.Errorf("%s: the flags %v are without %s", name, etcd.Args, want)
			}
		}
		if !slices.Contains(etcd.Command, "--peer-url="+row.peerURL) {
			t.Errorf("%s: the launcher is told %v", name, etcd.Command)
		}
	}
}

// What the user sets himself is not set twice, and what has no meaning is not set.
func TestTLSSettings(t *testing.T) {
	own := []corev1.EnvVar{{Name: EnvCipherSuites, Value: "mine"}, {Name: EnvTLSMinVersion, Value: "mine"}}
	policy := &v1beta2.TLSPolicy{Auto: &v1beta2.AutoTLS{}, CipherSuites: []string{"a", "b"}, MinVersion: "TLS1.2"}
	skip := corev1.EnvVar{Name: "ETCD_PEER_SKIP_CLIENT_SAN_VERIFICATION", Value: "true"}
	for name, row := range map[string]struct {
		tls  *v1beta2.TLSPolicy
		user []corev1.EnvVar
		want []corev1.EnvVar
	}{
		"no TLS":             {nil, nil, nil},
		"a policy of none":   {&v1beta2.TLSPolicy{MinVersion: "TLS1.3"}, nil, nil},
		"defaults":           {&v1beta2.TLSPolicy{Auto: &v1beta2.AutoTLS{}}, nil, []corev1.EnvVar{skip}},
		"all":                {policy, nil, []corev1.EnvVar{skip, {Name: "ETCD_CIPHER_SUITES", Value: "a,b"}, {Name: "ETCD_TLS_MIN_VERSION", Value: "TLS1.2"}}},
		"the user's instead": {policy, own, []corev1.EnvVar{skip}},
		"peers in the clear": {&v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{Member: &v1beta2.MemberSecret{ServerSecret: "s"}}}, nil, nil},
	} {
		c := newCluster(nil)
		c.Spec.TLS = row.tls
		if diff := cmp.Diff(row.want, tlsSettings(c, row.user)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// etcd accepts no other cipher suite and no older TLS than the spec says.
func TestVersionAndCipherSuites(t *testing.T) {
	const suite = tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 // etcd does not start without it
	ours := etcdtest.NewCA(t, "ours")
	root := ours.Issue(t, "root").Config(t, ours)
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		for name, row := range map[string]struct {
			policy v1beta2.TLSPolicy
			change func(*tls.Config)
			open   bool
		}{
			"the suite": {v1beta2.TLSPolicy{CipherSuites: []string{tls.CipherSuiteName(suite)}}, func(c *tls.Config) { c.MaxVersion, c.CipherSuites = tls.VersionTLS12, []uint16{suite} }, true},
			"another suite": {v1beta2.TLSPolicy{CipherSuites: []string{tls.CipherSuiteName(suite)}}, func(c *tls.Config) {
				c.MaxVersion, c.CipherSuites = tls.VersionTLS12, []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384}
			}, false},
			"TLS 1.3":         {v1beta2.TLSPolicy{MinVersion: "TLS1.3"}, func(*tls.Config) {}, true},
			"TLS 1.2":         {v1beta2.TLSPolicy{MinVersion: "TLS1.3"}, func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }, false},
			"an outdated TLS": {v1beta2.TLSPolicy{}, func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS11, tls.VersionTLS11 }, false},
		} {
			c := secured("c")
			row.policy.Auto, c.Spec.TLS = c.Spec.TLS.Auto, &row.policy
			p := newPlace(t, version)
			m := p.member(c, "seed", peerLeaf(t, ours, "c").Files(ours), serverLeaf(t, ours, "c").Files(ours))
			p.seed(m)
			by := root.Clone()
			row.change(by)
			if _, _, err := get(t, m, ClientPort, "/version", by); (err == nil) != row.open {
				t.Errorf("%s: %v, open is to be %t", name, err, row.open)
			}
			m.process.Kill()
		}
	})
}
