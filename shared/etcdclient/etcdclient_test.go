package etcdclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/launcher"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// unhurried is for tests on a busy machine; production waits DefaultDeadline.
var unhurried = Client{Deadline: 10 * time.Second}

func endpoint(m *etcdtest.Member) Endpoint {
	return Endpoint{Name: m.Name, Addr: m.Client, MetricsAddr: m.Metrics}
}

func endpoints(members ...*etcdtest.Member) []Endpoint {
	var es []Endpoint
	for _, m := range members {
		es = append(es, endpoint(m))
	}
	return es
}

func within(t *testing.T) context.Context { return etcdtest.Context(t) }

// eventually repeats a change while etcd says wait.
func eventually(t *testing.T, what string, change func() error) {
	t.Helper()
	etcdtest.Eventually(t, what, func() error {
		err := change()
		if err != nil && !errors.Is(err, ErrUnhealthy) && !errors.Is(err, ErrLearnerNotReady) {
			t.Fatalf("%s: %v", what, err)
		}
		return err
	})
}

// grow starts a cluster of n voters, the way the operator does.
func grow(t *testing.T, version string, n int) ([]*etcdtest.Member, []*etcdtest.Process) {
	t.Helper()
	seed := etcdtest.NewMember(t, version, "m0")
	members := []*etcdtest.Member{seed}
	processes := []*etcdtest.Process{seed.Start(t, "new", seed)}
	seed.WaitReady(t)
	for len(members) < n {
		m := etcdtest.NewMember(t, version, fmt.Sprintf("m%d", len(members)))
		var id uint64
		eventually(t, "add "+m.Name, func() (err error) {
			id, err = unhurried.AddLearner(within(t), endpoints(seed), m.PeerURL)
			return err
		})
		members = append(members, m)
		processes = append(processes, m.Start(t, "existing", members...))
		m.WaitServing(t)
		eventually(t, "promote "+m.Name, func() error {
			return unhurried.Promote(within(t), endpoints(seed), id)
		})
		m.WaitReady(t)
	}
	return members, processes
}

func TestAskHealthyCluster(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		members, _ := grow(t, version, 3)
		learner := etcdtest.NewMember(t, version, "learner")
		eventually(t, "add the learner", func() error {
			_, err := unhurried.AddLearner(within(t), endpoints(members...), learner.PeerURL)
			return err
		})
		unstarted := unhurried.Ask(within(t), endpoints(members...))
		learner.Start(t, "existing", append(members, learner)...)
		learner.WaitServing(t)

		var answers map[string]Answer
		etcdtest.Eventually(t, "the learner to be known by its name", func() error {
			answers = unhurried.Ask(within(t), endpoints(append(members, learner)...))
			for _, m := range members {
				a := answers[m.Name]
				for _, list := range [][]Member{a.Members, a.LocalMembers} {
					if !slices.ContainsFunc(list, func(m Member) bool { return m.Learner && m.Started }) {
						return fmt.Errorf("%s says %+v", m.Name, list)
					}
				}
			}
			return nil
		})

		first := answers["m0"]
		if first.ClusterID == 0 || first.Leader == 0 || len(answers) != 4 {
			t.Fatalf("answers: %+v", answers)
		}
		for name, a := range answers {
			if !a.Reached || a.Err != "" || a.Launcher != nil {
				t.Errorf("%s was not reached: %+v", name, a)
			}
			if a.ClusterID != first.ClusterID || a.Leader != first.Leader || a.Term != first.Term || a.Version != version || a.ClusterVersion != version[:3]+".0" {
				t.Errorf("%s disagrees with m0:\n%+v\n%+v", name, a, first)
			}
			if a.AppliedIndex == 0 || a.RaftIndex < a.AppliedIndex || a.DBSize == 0 || a.Revision == 0 || len(a.Errors) > 0 {
				t.Errorf("%s: %+v", name, a)
			}
			if name == "learner" {
				if !a.Learner || a.Read || a.Members != nil {
					t.Errorf("a learner gives neither members nor reads: %+v", a)
				}
				continue
			}
			if a.Learner || !a.Read {
				t.Errorf("%s: %+v", name, a)
			}
			if diff := cmp.Diff(first.Members, a.Members); diff != "" {
				t.Errorf("%s has another member list than m0:\n%s", name, diff)
			}
			if diff := cmp.Diff(a.Members, a.LocalMembers); diff != "" {
				t.Errorf("%s has another list of its own:\n%s", name, diff)
			}
		}
		if len(first.Members) != 4 {
			t.Errorf("members: %+v, want 4", first.Members)
		}

		// Between its addition and its start, a member has a URL and no name.
		i := slices.IndexFunc(unstarted["m0"].Members, func(m Member) bool { return !m.Started })
		if i < 0 {
			t.Fatalf("no unstarted member in %+v", unstarted["m0"].Members)
		}
		m := unstarted["m0"].Members[i]
		if m.Name != "" || !m.Learner || !slices.Equal(m.PeerURLs, []string{learner.PeerURL}) || m.ID == 0 {
			t.Errorf("the unstarted member is %+v", m)
		}
	})
}

func TestAskWithoutQuorum(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		members, processes := grow(t, version, 3)
		processes[1].Kill()
		processes[2].Kill()
		survivor := Client{Deadline: time.Second}
		var a map[string]Answer
		etcdtest.Eventually(t, "the survivor to notice", func() error {
			a = survivor.Ask(within(t), endpoints(members...))
			if a["m0"].Leader != 0 {
				return errors.New("it still has a leader")
			}
			return nil
		})
		m0 := a["m0"]
		if !m0.Reached || m0.Read || m0.Members != nil || len(m0.LocalMembers) != 3 || m0.Term == 0 || m0.AppliedIndex == 0 {
			t.Errorf("the survivor says %+v", m0)
		}
		if len(m0.Errors) != 1 || !strings.Contains(m0.Errors[0], "no leader") {
			t.Errorf("the survivor complains of %q", m0.Errors)
		}
		if a["m1"].Reached || a["m1"].Err == "" || a["m1"].Launcher != nil {
			t.Errorf("a dead member says %+v", a["m1"])
		}
		_, err := unhurried.AddLearner(within(t), endpoints(members[0]), "http://127.0.0.1:1")
		if !errors.Is(err, ErrUnhealthy) && !errors.Is(err, ErrOutcomeUnknown) {
			t.Errorf("adding a member without quorum: %v", err)
		}
	})
}

func TestChanges(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		members, _ := grow(t, version, 3)
		all := endpoints(members...)
		a := unhurried.Ask(within(t), all)
		ids := map[string]uint64{}
		for name := range a {
			ids[name] = a[name].MemberID
		}
		leader, follower := "", ""
		for name, id := range ids {
			if id == a["m0"].Leader {
				leader = name
			} else {
				follower = name
			}
		}
		at := func(name string) []Endpoint {
			return slices.DeleteFunc(slices.Clone(all), func(e Endpoint) bool { return e.Name != name })
		}

		if err := unhurried.MoveLeader(within(t), at(follower)[0], ids[follower]); !errors.Is(err, ErrNotLeader) {
			t.Errorf("a follower moves the leader: %v", err)
		}
		if err := unhurried.MoveLeader(within(t), at(leader)[0], 1); !errors.Is(err, ErrBadTransferee) {
			t.Errorf("leadership to nobody: %v", err)
		}
		if err := unhurried.MoveLeader(within(t), at(leader)[0], ids[follower]); err != nil {
			t.Error(err)
		}
		etcdtest.Eventually(t, "all to name the new leader", func() error {
			for name, a := range unhurried.Ask(within(t), all) {
				if a.Leader != ids[follower] {
					return fmt.Errorf("%s names %x", name, a.Leader)
				}
			}
			return nil
		})
		leader = follower
		lead := append(at(leader), all...)
		// For 5 s, the new leader has not been connected to the others long enough
		// to add anyone.
		var first uint64
		eventually(t, "add a learner", func() (err error) {
			first, err = unhurried.AddLearner(within(t), lead, "http://127.0.0.1:99")
			return err
		})
		if err := unhurried.Remove(within(t), lead, first); err != nil {
			t.Error(err)
		}

		// etcd first looks whether the member is behind, as a voter may be for a moment.
		etcdtest.Eventually(t, "a voter's promotion to be refused for what it is", func() error {
			if err := unhurried.Promote(within(t), lead, ids["m0"]); !errors.Is(err, ErrNotLearner) {
				return fmt.Errorf("promoting a voter: %w", err)
			}
			return nil
		})
		if err := unhurried.Promote(within(t), lead, 1); !errors.Is(err, ErrNotFound) {
			t.Errorf("promoting nobody: %v", err)
		}
		if err := unhurried.Remove(within(t), lead, 1); !errors.Is(err, ErrNotFound) {
			t.Errorf("removing nobody: %v", err)
		}
		if _, err := unhurried.AddLearner(within(t), lead, members[0].PeerURL); !errors.Is(err, ErrAlreadyExists) {
			t.Errorf("adding a member's URL: %v", err)
		}

		limit := 6
		if strings.HasPrefix(version, "3.5.") {
			limit = 1
		}
		var learner uint64
		for i := range limit + 1 {
			url := fmt.Sprintf("http://127.0.0.1:%d", i+1)
			id, err := unhurried.AddLearner(within(t), lead, url)
			if i < limit {
				if err != nil {
					t.Fatalf("learner %d of %d: %v", i+1, limit, err)
				}
				learner = id
				continue
			}
			if !errors.Is(err, ErrTooManyLearners) {
				t.Errorf("learner %d of %d: %v", i+1, limit, err)
			}
		}
		if err := unhurried.Promote(within(t), lead, learner); !errors.Is(err, ErrLearnerNotReady) {
			t.Errorf("promoting a learner that never started: %v", err)
		}
		// The first endpoint is dead: the next is asked.
		dead := Endpoint{Name: "dead", Addr: etcdtest.FreeAddrs(t, 1)[0]}
		if err := unhurried.Remove(within(t), append([]Endpoint{dead}, lead...), learner); err != nil {
			t.Error(err)
		}
		if err := unhurried.Remove(within(t), lead, learner); !errors.Is(err, ErrNotFound) {
			t.Errorf("removing it again: %v", err)
		}
	})
}

func TestNobodyThere(t *testing.T) {
	free := etcdtest.FreeAddrs(t, 2)
	e := Endpoint{Name: "m", Addr: free[0], MetricsAddr: free[1]}
	begin := time.Now()
	a := unhurried.Ask(within(t), []Endpoint{e})["m"]
	if a.Reached || !strings.Contains(a.Err, "refused") || a.Launcher != nil {
		t.Errorf("%+v", a)
	}
	for name, err := range map[string]error{
		"promote": unhurried.Promote(within(t), []Endpoint{e}, 1),
		"nobody":  unhurried.Remove(within(t), nil, 1),
	} {
		if !errors.Is(err, ErrUnreachable) || errors.Is(err, ErrOutcomeUnknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if took := time.Since(begin); took > unhurried.Deadline {
		t.Errorf("refused connections took %s to report", took)
	}
	if got := unhurried.Ask(within(t), nil); len(got) != 0 {
		t.Errorf("nobody asked, and %v answered", got)
	}
}

// A listener that never answers, as that of an etcd that is still starting.
func TestSilentMember(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	e := Endpoint{Name: "silent", Addr: l.Addr().String()}
	begin := time.Now()
	a := Client{Deadline: 300 * time.Millisecond}.Ask(within(t), []Endpoint{e})["silent"]
	if a.Reached || a.Err == "" {
		t.Errorf("%+v", a)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("asking took %s, with a deadline of 300 ms", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := (Client{}).Remove(ctx, []Endpoint{e}, 1); !errors.Is(err, ErrOutcomeUnknown) {
		t.Errorf("a change that was sent and not answered: %v", err)
	}
}

// One that is not expected to answer does not hold up the others' answers: not until
// the deadline, nor for as long as one that was expected to.
func TestDoubtfulMember(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	members, _ := grow(t, etcdtest.Newest(), 1)
	for name, doubtful := range map[string]bool{"doubtful": true, "expected": false} {
		silent := Endpoint{Name: name, Addr: l.Addr().String(), Doubtful: doubtful}
		begin := time.Now()
		a := unhurried.Ask(within(t), append(endpoints(members...), silent))
		took := time.Since(begin)
		if !a["m0"].Reached || a[name].Reached || a[name].Err == "" {
			t.Errorf("%s: %+v", name, a)
		}
		if doubtful && took > unhurried.Deadline-time.Second {
			t.Errorf("the others' answers took %s", took)
		}
		if !doubtful && took < unhurried.Deadline {
			t.Errorf("it was given only %s", took)
		}
	}
}

func TestWaitingLauncher(t *testing.T) {
	want := launcher.State{State: launcher.Waiting, Attempt: 3, Reason: launcher.ReasonPermitUsed, Message: "m"}
	mux := http.NewServeMux()
	mux.HandleFunc(launcher.StatePath, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"state":"Waiting","attempt":3,"reason":"PermitUsed","message":"m"}`)
	})
	srv := httptest.NewServer(mux)
	defer srv.Close()
	e := Endpoint{Name: "m", Addr: etcdtest.FreeAddrs(t, 1)[0], MetricsAddr: strings.TrimPrefix(srv.URL, "http://")}
	a := unhurried.Ask(within(t), []Endpoint{e})["m"]
	if a.Reached || a.Launcher == nil {
		t.Fatalf("%+v", a)
	}
	if diff := cmp.Diff(want, *a.Launcher); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestMetricsAddr(t *testing.T) {
	for in, want := range map[Endpoint]string{
		{Addr: "10.0.0.1:2379"}:                         "10.0.0.1:2381",
		{Addr: "[fd00::1]:2379"}:                        "[fd00::1]:2381",
		{Addr: "10.0.0.1:2379", MetricsAddr: "elsew:1"}: "elsew:1",
	} {
		if got := in.metricsAddr(); got != want {
			t.Errorf("%+v: %s, want %s", in, got, want)
		}
	}
}

// Each member is asked under its own name, and the caller's config is not kept.
func TestTLSServerName(t *testing.T) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	names := make(chan string, 10)
	server := &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		names <- h.ServerName
		return nil, errors.New("no certificate")
	}}
	l, err := tls.Listen("tcp", "127.0.0.1:0", server)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.(*tls.Conn).Handshake() // fails, as it should
			conn.Close()
		}
	}()
	defer func() { l.Close(); <-done }()
	c := Client{Deadline: 2 * time.Second}
	a := c.Ask(By(within(t), cfg), []Endpoint{{Name: "m", Addr: l.Addr().String(), ServerName: "m.c.ns.svc"}})
	select {
	case got := <-names:
		if got != "m.c.ns.svc" {
			t.Errorf("server name %q", got)
		}
	default:
		t.Errorf("it was not connected to: %+v", a)
	}
	if cfg.ServerName != "" {
		t.Error("the caller's TLS config was changed")
	}
}
