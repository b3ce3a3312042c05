package member

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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
func peerLeaf(t *testing.T, a *etcdtest.Authority, cluster string) etcdtest.Leaf {
	return a.Issue(t, cluster+"-peer", "*."+cluster+".ns.svc")
}

func serverLeaf(t *testing.T, a *etcdtest.Authority, cluster string) etcdtest.Leaf {
	return a.Issue(t, cluster+"-server", "*."+cluster+".ns.svc", "localhost", "127.0.0.1")
}

// A cluster under TLS grows, restarts on its volumes, takes new certificates without a
// restart, and answers nobody who has none that is meant for it.
func TestMembersWithTLS(t *testing.T) {
	etcdtest.EachVersion(t, func(t *testing.T, version string) {
		ours, theirs := etcdtest.NewAuthority(t, "ours"), etcdtest.NewAuthority(t, "theirs")
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
func checkDoors(t *testing.T, m *running, ours, theirs *etcdtest.Authority) {
	t.Helper()
	other := peerLeaf(t, ours, "other")
	for name, tc := range map[string]struct {
		port int
		by   *tls.Config
		open bool
	}{
		"a client":                        {ClientPort, ours.Issue(t, "root").Config(t, ours), true},
		"a client in the clear":           {ClientPort, nil, false},
		"a client without certificate":    {ClientPort, etcdtest.Trusting(ours), false},
		"a client of another authority":   {ClientPort, theirs.Issue(t, "root").Config(t, ours), false},
		"a client whose time is over":     {ClientPort, ours.IssueUntil(t, time.Now().Add(-time.Minute), "root").Config(t, ours), false},
		"a member":                        {PeerPort, peerLeaf(t, ours, "c").Config(t, ours), true},
		"a member in the clear":           {PeerPort, nil, false},
		"a member without certificate":    {PeerPort, etcdtest.Trusting(ours), false},
		"a member of another authority":   {PeerPort, peerLeaf(t, theirs, "c").Config(t, ours), false},
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
		"in the clear": nil, "without certificate": etcdtest.Trusting(ours), "of another authority": theirs.Issue(t, "root").Config(t, ours),
		"that does not trust the member": ours.Issue(t, "root").Config(t, theirs),
	} {
		if a := m.ask(by); a.Reached || a.Read || len(a.Members)+len(a.LocalMembers) > 0 {
			t.Errorf("an operator %s gets %+v", name, a)
		}
	}
}

// checkGateway: etcd serves its API in JSON, too, for which it is its own client with the
// server's certificate.
func checkGateway(t *testing.T, m *running, by *tls.Config) {
	t.Helper()
	config := by.Clone()
	config.ServerName = Host(m.c, m.name)
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+m.at(ClientPort)+"/v3/kv/range", strings.NewReader(`{"key":"YQ=="}`))
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("etcd's gateway: %s", response.Status)
	}
}

// Six members that join at once take turns by TLS, too, as they do in the clear: an etcd
// that only listens shakes hands already.
func TestTurnsWithTLS(t *testing.T) {
	ours := etcdtest.NewAuthority(t, "ours")
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
	t.Logf("from grants to six learners serving: %s", took)
	if took > 7*time.Second {
		t.Errorf("it took %s: one waited for another until a timeout of etcd's", took)
	}
}

// An authority is replaced in three steps, with a restart of each member in the first and
// in the last, and members that have taken a step talk to those that have not.
func TestAuthorityIsReplaced(t *testing.T) {
	etcdtest.EachVersion(t, func(t *testing.T, version string) {
		old, new := etcdtest.NewAuthority(t, "authority"), etcdtest.NewAuthority(t, "authority")
		p, c := newPlace(t, version), secured("c")
		deliver := func(by *etcdtest.Authority, trusted ...*etcdtest.Authority) {
			for _, m := range p.members {
				m.deliver(peerLeaf(t, by, "c").Files(trusted...), serverLeaf(t, by, "c").Files(trusted...))
			}
		}
		for _, suffix := range []string{"one", "two", "three"} {
			p.member(c, suffix, nil, nil)
		}
		deliver(old, old)
		root := old.Issue(t, "root").Config(t, old, new)
		p.seed(p.members[0])
		p.add(root, false, p.members[:1], p.members[1:2])
		p.add(root, false, p.members[:2], p.members[2:])
		renewed := new.Issue(t, "root").Config(t, old, new)
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
			t.Error("the new authority is trusted before it is anybody's")
		}
		deliver(old, old, new)
		roll("trust both", root)
		deliver(new, old, new)
		for _, by := range []*tls.Config{root, renewed} {
			if a := p.members[0].ask(by); !a.Read {
				t.Errorf("both are trusted, but %+v", a)
			}
		}
		deliver(new, new)
		roll("drop the old", renewed)
		if a := p.members[0].ask(root); a.Reached {
			t.Error("the old authority is trusted still")
		}
	})
}

// A Pod with another cluster's certificate, even of the same authority, is nobody's
// member, though the member list has its address.
func TestNobodyIsImpersonated(t *testing.T) {
	ours := etcdtest.NewAuthority(t, "ours")
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
	spy.grant(joining(1, seed, spy))
	spy.start()
	if code := spy.process.Wait(); code == 0 {
		t.Error("it has ended well")
	}
	if a := seed.ask(root); !a.Read || len(a.Members) != 2 || a.Members[0].Started == a.Members[1].Started {
		t.Errorf("the member list is %+v, want one that has started and one that has not", a.Members)
	}
}

// What a member lacks of its Secrets is said, and costs no grant.
func TestSecretWithoutKeys(t *testing.T) {
	ours := etcdtest.NewAuthority(t, "ours")
	p, c := newPlace(t, etcdtest.Newest()), secured("c")
	peer, server := peerLeaf(t, ours, "c").Files(ours), serverLeaf(t, ours, "c").Files(ours)
	m := p.member(c, "seed", peer, map[string][]byte{"tls.crt": server["tls.crt"], "ca.crt": server["ca.crt"]})
	m.grant(founding(1, m))
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
		t.Errorf("the grant is used up: %v", err)
	}
	m.deliver(peer, server)
	m.start()
	m.waitReady()
}
