package act_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/podtest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// live is a bench whose EtcdCluster has real members.
type live struct {
	*bench
	etcd etcdclient.Client
	// ips of the members that run, by name.
	ips map[string]string
}

// see is what is observed now: of Kubernetes, and of the members that run.
func (l *live) see() *facts.Observation {
	l.t.Helper()
	obs := l.observe()
	var endpoints []etcdclient.Endpoint
	for name, ip := range l.ips {
		endpoints = append(endpoints, observe.Endpoint(l.cluster, name, ip))
	}
	answers := l.etcd.Ask(apiservertest.Context(l.t), endpoints)
	for i := range obs.Pods {
		p := &obs.Pods[i]
		a, ok := answers[p.Name]
		if !ok {
			continue
		}
		p.IP = l.ips[p.Name]
		p.Answer = facts.Answer{Reached: a.Reached, ClusterID: a.ClusterID, MemberID: a.MemberID, Leader: a.Leader, Learner: a.Learner, Read: a.Read, Members: observe.Members(l.cluster, a.Members)}
		obs.Cluster.ClusterID = a.ClusterID
	}
	return obs
}

// list is the member list as a member tells it.
func list(obs *facts.Observation) []facts.Member {
	for i := range obs.Pods {
		if a := &obs.Pods[i].Answer; a.Read {
			return a.Members
		}
	}
	return nil
}

func named(list []facts.Member, name string) *facts.Member {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// eventually carries an action out on what is observed at that time, and again while
// etcd asks to wait.
func (l *live) eventually(what string, act func(*facts.Observation) action.Action) {
	l.t.Helper()
	etcdtest.Eventually(l.t, what, func() error {
		obs := l.see()
		return l.bench.act(obs, act(obs))
	})
}

// Changes of the member list are made on a real etcd, and only while its own list is
// the one that was decided on (S3, S11).
func TestMembership(t *testing.T) {
	etcdtest.EachVersion(t, testMembership)
}

func testMembership(t *testing.T, version string) {
	t.Parallel() // etcd waits for 5 s after a change
	b := newBench(t)
	l := &live{bench: b, ips: map[string]string{}}
	b.actor.Etcd = l.etcd
	seed, ip := podtest.Member(t, version, "x-a")
	l.ips["x-a"] = ip
	seed.Start(t, "new", seed)
	seed.WaitReady(t)
	b.make(action.NewPod{Name: "x-a", Role: facts.Voter}, action.NewPod{Name: "x-b", Role: facts.Joiner})

	obs := l.see()
	alone := list(obs)
	if len(alone) != 1 || !alone[0].Started {
		t.Fatalf("the member list is %+v", alone)
	}
	other := []facts.Member{{ID: 1, Name: "x-z", Started: true}}
	wantStale(t, "another list", b.act(obs, action.AddLearner{Name: "x-b", Members: other}))
	wantStale(t, "another list", b.act(obs, action.Promote{ID: alone[0].ID, Name: "x-a", Members: other}))
	if got := list(l.see()); !slices.Equal(got, alone) {
		t.Fatalf("the member list is %+v, want it unchanged", got)
	}

	add := action.AddLearner{Name: "x-b", Members: alone}
	if err := b.act(obs, add); err != nil {
		t.Fatal(err)
	}
	wantStale(t, "it was added already", b.act(obs, add))
	obs = l.see()
	both := list(obs)
	added := named(both, "x-b")
	if len(both) != 2 || added == nil || !added.Learner || added.Started {
		t.Fatalf("the member list is %+v, want x-b in it as an unstarted learner: its name is in its peer URL", both)
	}
	if err := b.act(obs, action.Promote{ID: added.ID, Name: "x-b", Members: both}); !errors.Is(err, etcdclient.ErrLearnerNotReady) {
		t.Errorf("promoting a learner that has not started: %v, want ErrLearnerNotReady", err)
	}

	removal := action.RemoveMember{ID: added.ID, Name: "x-b", Members: both, Pod: podIn(obs, "x-b")}
	t.Run("a member is removed only while all Pods are as they were observed", func(t *testing.T) {
		for name, pod := range map[string]*facts.Pod{
			"there was none":      nil,
			"another one":         {Name: "x-b", UID: "other"},
			"with a start permit": {Name: "x-b", UID: removal.Pod.UID, StartPermit: &facts.StartPermit{Attempt: 1}},
		} {
			wantStale(t, name, b.act(obs, action.RemoveMember{ID: added.ID, Name: "x-b", Members: both, Pod: pod}))
		}
		wantStale(t, "its Pod is gone", b.act(obs, action.RemoveMember{ID: added.ID, Name: "x-gone", Members: both, Pod: removal.Pod}))
		wantStale(t, "another list", b.act(obs, action.RemoveMember{ID: added.ID, Name: "x-b", Members: alone, Pod: removal.Pod}))
		three := *obs
		three.Pods = append(slices.Clone(obs.Pods), facts.Pod{Name: "x-c", UID: "u"})
		wantStale(t, "another member's Pod is gone", b.act(&three, removal))
		if err := b.act(obs, action.GrantStartPermit{Name: "x-b", UID: removal.Pod.UID, StartPermit: facts.StartPermit{Attempt: 1, Members: []string{"x-a", "x-b"}}}); err != nil {
			t.Fatal(err)
		}
		wantStale(t, "it got a start permit meanwhile", b.act(obs, removal))
		if got := list(l.see()); !slices.Equal(got, both) {
			t.Fatalf("the member list is %+v, want it unchanged", got)
		}
	})
	removal.Pod = podIn(l.see(), "x-b")
	if err := b.act(obs, removal); err != nil {
		t.Fatal(err)
	}
	wantStale(t, "it was removed already", b.act(obs, removal))

	l.secondVoter(seed)
}

// secondVoter lets a real second member join, lead and leave.
func (l *live) secondVoter(seed *etcdtest.Member) {
	t := l.t
	t.Helper()
	second, ip := podtest.Member(t, seed.Version, "x-b")
	id, err := l.etcd.AddLearner(apiservertest.Context(t), []etcdclient.Endpoint{{Name: "x-a", Addr: seed.Client}}, second.PeerURL)
	if err != nil {
		t.Fatal(err)
	}
	second.Start(t, "existing", seed, second)
	second.WaitServing(t)
	l.ips["x-b"] = ip

	l.eventually("x-b to be promoted", func(obs *facts.Observation) action.Action {
		return action.Promote{ID: id, Name: "x-b", Members: list(obs)}
	})
	second.WaitReady(t)
	l.eventually("x-b to lead", func(*facts.Observation) action.Action {
		return action.TransferLeadership{From: "x-a", To: "x-b", ToID: id}
	})
	if a := podIn(l.see(), "x-b").Answer; a.Leader != id {
		t.Errorf("the leader is %x, want x-b, %x", a.Leader, id)
	}
	obs := l.see()
	wantStale(t, "it leads: a leader that is removed from two may end before the other knows",
		l.bench.act(obs, action.RemoveMember{ID: id, Name: "x-b", Members: list(obs), Pod: podIn(obs, "x-b")}))
	if got := list(l.see()); len(got) != 2 {
		t.Fatalf("the member list is %+v, want it unchanged", got)
	}
	first := podIn(obs, "x-a").Answer.MemberID
	l.eventually("x-a to lead", func(*facts.Observation) action.Action {
		return action.TransferLeadership{From: "x-b", To: "x-a", ToID: first}
	})
	l.eventually("x-b to be removed", func(obs *facts.Observation) action.Action {
		return action.RemoveMember{ID: id, Name: "x-b", Members: list(obs), Pod: podIn(obs, "x-b")}
	})
	if got := list(l.see()); len(got) != 1 || got[0].ID == id {
		t.Errorf("the member list is %+v, want x-a only", got)
	}
}

// Without a voter that answers nothing is changed.
func TestMembershipWithoutAnAnswer(t *testing.T) {
	b := newBench(t)
	b.actor.Etcd = etcdclient.Client{}
	obs := b.make(action.NewPod{Name: "x-a", Role: facts.Voter})
	list := []facts.Member{{ID: 1, Name: "x-a", Started: true}}
	obs.Cluster.ClusterID = 0xc1
	p := podIn(obs, "x-a")
	p.IP, p.Answer = podtest.Address(t), facts.Answer{Reached: true, Read: true, ClusterID: 0xc1, Members: list}
	for _, a := range []action.Action{
		action.AddLearner{Name: "x-b", Members: list}, action.Promote{ID: 1, Name: "x-a", Members: list},
		action.RemoveMember{ID: 1, Name: "x-a", Members: list, Pod: p}, action.DeletePod{Name: "x-a", UID: p.UID, Members: list},
	} {
		wantStale(t, action.KindOf(a), b.act(obs, a))
	}
	p.Answer.ClusterID = 0xc2
	wantStale(t, "the voter is of another cluster", b.act(obs, action.AddLearner{Name: "x-b", Members: list}))
	wantStale(t, "the leader was not observed", b.act(obs, action.TransferLeadership{From: "x-z", To: "x-a", ToID: 1}))
	if !b.exists(&corev1.Pod{}, "x-a") {
		t.Error("a Pod was deleted")
	}
}

// forcing is an etcd that answers while a person deletes a Pod by force, and counts removals.
type forcing struct {
	answering
	drop    func()
	removed *int
}

func (f forcing) Ask(ctx context.Context, endpoints []etcdclient.Endpoint) map[string]etcdclient.Answer {
	f.drop()
	return f.answering.Ask(ctx, endpoints)
}

func (f forcing) Remove(context.Context, []etcdclient.Endpoint, uint64) error {
	*f.removed++
	return nil
}

// S4: a member is removed only while those who stay are a quorum at the last look: they answer, and
// their Pods are there after they have answered.
func TestRemovalLeavesAQuorum(t *testing.T) {
	names := []string{"x-a", "x-b", "x-c"}
	members := []facts.Member{{ID: 1, Name: "x-a", Started: true}, {ID: 2, Name: "x-b", Started: true}, {ID: 3, Name: "x-c", Started: true}}
	for name, row := range map[string]struct {
		up      []string
		drops   string
		removed int
		reason  string
	}{
		"all answer":                     {names, "", 1, "two of the two who stay do"},
		"the one that leaves is down":    {[]string{"x-a", "x-b"}, "", 1, "two of the two who stay answer"},
		"one of those who stay is down":  {[]string{"x-a", "x-c"}, "", 0, "with the one that leaves, which is up, goes the quorum"},
		"the Pod of one who stays goes":  {names, "x-b", 0, "etcd runs on where its kubelet is not heard of, and its data goes with the Pod"},
		"the Pod of the one that leaves": {names, "x-c", 0, "it is not the one that was decided on"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			obs := b.make(action.NewPod{Name: "x-a", Role: facts.Voter}, action.NewPod{Name: "x-b", Role: facts.Voter}, action.NewPod{Name: "x-c", Role: facts.Voter})
			removed := 0
			b.actor.Etcd = forcing{answering{untouched{t}, following(b.cluster, names, row.up...)}, func() {
				if row.drops == "" {
					return
				}
				if err := b.client.Delete(apiservertest.Context(t), b.pod(row.drops), client.GracePeriodSeconds(0)); err != nil {
					t.Fatal(err)
				}
			}, &removed}
			err := b.act(obs, action.RemoveMember{ID: 3, Name: "x-c", Members: members, Pod: podIn(obs, "x-c")})
			if removed != row.removed {
				t.Errorf("removed %d times, want %d: %s (%v)", removed, row.removed, row.reason, err)
			}
			if row.removed == 0 {
				wantStale(t, row.reason, err)
			}
		})
	}
}
