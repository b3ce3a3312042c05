package simulate

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// formed is a calm world with a cluster of some size.
func formed(t *testing.T, change func(*Config)) *world {
	t.Helper()
	cfg := Config{
		Size: 3, Nodes: 5, Persistent: true, AntiAffinity: true, Version: "3.6.16", Learners: 7, Weight: 1,
		NodesReadable: true, MemberTimeout: time.Minute, Calm: true,
	}
	change(&cfg)
	w := newWorld(cfg, 1, plan.Plan, nil)
	w.form()
	if w.broken != nil || !w.asItShouldBe() {
		t.Fatalf("no cluster formed: %+v, %s", w.broken, w.whatIsWrong())
	}
	w.operators = nil // from here on nobody acts
	return w
}

func (w *world) leader() *run {
	for _, r := range w.runs {
		if r.etcd != nil && r.etcd.leading {
			return r
		}
	}
	return nil
}

func (w *world) follower() *run {
	for _, r := range w.runs {
		if r.etcd != nil && !r.etcd.leading {
			return r
		}
	}
	return nil
}

func (w *world) steps(n int) {
	for range n {
		w.advance()
	}
}

// TestModel states what was found out of etcd (docs/design/invariants.md, and its source),
// and that the model does the same.
func TestModel(t *testing.T) {
	rows := map[string]struct {
		reason string
		size   int
		do     func(*world) error
		want   error
	}{
		"a learner is added to a healthy cluster": {
			"all have been connected for five seconds", 3,
			func(w *world) error { w.steps(6); return w.addMember(w.leader(), "c-x") }, nil,
		},
		"not within five seconds of a connection": {
			"strict-reconfig-check counts members connected for the health interval", 3,
			func(w *world) error {
				w.crash(w.follower())
				w.steps(6)
				return w.addMember(w.leader(), "c-x")
			}, errUnhealthy,
		},
		"not while one of three is dead": {
			"two of four would be no quorum", 3,
			func(w *world) error {
				w.hold(w.follower())
				w.steps(8)
				return w.addMember(w.leader(), "c-x")
			}, errUnhealthy,
		},
		"but while one of five is dead": {
			"four of six are a quorum", 5,
			func(w *world) error {
				w.hold(w.follower())
				w.steps(8)
				return w.addMember(w.leader(), "c-x")
			}, nil,
		},
		"a dead one of three is removed": {
			"it is not part of the quorum", 3,
			func(w *world) error {
				dead := w.follower().disk.data.id
				w.hold(w.follower())
				w.steps(8)
				return w.removeMember(w.leader(), dead)
			}, nil,
		},
		"a live one of three with one dead is not": {
			"one would be left of two", 3,
			func(w *world) error {
				w.hold(w.follower())
				w.steps(8)
				return w.removeMember(w.leader(), w.follower().disk.data.id)
			}, errUnhealthy,
		},
		"without quorum nothing is changed": {
			"the proposal is not committed", 3,
			func(w *world) error {
				l := w.leader()
				w.hold(w.follower())
				w.hold(w.follower())
				return w.removeMember(l, l.disk.data.id)
			}, errUnhealthy,
		},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			w := formed(t, func(c *Config) { c.Size, c.Nodes = r.size, r.size+2 })
			if err := r.do(w); !errors.Is(err, r.want) {
				t.Errorf("%s: got %v, want %v", r.reason, err, r.want)
			}
		})
	}
}

// hold ends a container for good.
func (w *world) hold(r *run) {
	w.crash(r)
	r.due = w.now + 24*time.Hour
}

// TestDeadLearnerIsPromoted: etcd promotes by what the leader knows of the log.
func TestDeadLearnerIsPromoted(t *testing.T) {
	w := formed(t, func(*Config) {})
	w.steps(6)
	l := w.leader()
	if err := w.addMember(l, "c-x"); err != nil {
		t.Fatal(err)
	}
	learner := w.joiner(t, "c-x", l)
	w.steps(3)
	w.hold(learner)
	w.steps(1)
	if err := w.promoteMember(l, learner.disk.data.id); err != nil {
		t.Errorf("a dead learner that had caught up was not promoted: %v", err)
	}
}

// joiner starts a member that was added.
func (w *world) joiner(t *testing.T, name string, l *run) *run {
	t.Helper()
	w.createClaim(name)
	w.createPod(&pod{name: name, role: facts.Joiner, persistent: true, version: w.cfg.Version, learners: w.cfg.Learners})
	g := facts.StartPermit{Attempt: 1}
	for _, m := range l.disk.data.view {
		g.Members = append(g.Members, m.Name)
	}
	slices.Sort(g.Members)
	w.pod(name).permit = &g
	w.steps(6)
	r := w.runOf(w.pod(name).uid)
	if r == nil || r.etcd == nil {
		t.Fatalf("%s has not joined", name)
	}
	return r
}

// TestWipedVoter: one that joins again under its old name panics while the leader
// remembers its log, and is let in without memory once the leader has changed.
func TestWipedVoter(t *testing.T) {
	w := formed(t, func(c *Config) { c.Only, c.Planted = []string{history}, []Bug{TrustingLauncher} }) // another one keeps it out
	r := w.follower()
	w.wipe(r.disk)
	g := facts.StartPermit{Attempt: r.used + 1}
	for _, m := range w.births[w.main].view {
		g.Members = append(g.Members, m.Name)
	}
	slices.Sort(g.Members)
	w.pod(r.name).permit = &g
	w.steps(6)
	if r.etcd != nil && r.etcd.serves {
		t.Fatal("it serves under the leader that knows its log")
	}
	if !w.moveSomewhere(w.leader(), 0) {
		t.Fatal("the lead did not move")
	}
	w.steps(80)
	if r.etcd == nil || !r.etcd.serves {
		t.Fatal("it is not let in after the leader has changed")
	}
}

// TestRunsAreTheSame: the same seed tells the same story.
func TestRunsAreTheSame(t *testing.T) {
	for seed := range int64(20) {
		cfg := RandomConfig(seed)
		var first, second story
		_, a := play(cfg, seed, plan.Plan, RandomFaults(cfg, seed), &first)
		_, b := play(cfg, seed, plan.Plan, RandomFaults(cfg, seed), &second)
		if (a == nil) != (b == nil) {
			t.Fatalf("seed %d: got %v and %v", seed, a, b)
		}
		if diff := cmp.Diff(first.lines, second.lines); diff != "" {
			t.Fatalf("seed %d (-first +second):\n%s", seed, diff)
		}
	}
}

// TestCloneGoesOnAlike: a copied world and its original go on in the same way, and
// neither disturbs the other.
func TestCloneGoesOnAlike(t *testing.T) {
	cfg := RandomConfig(7)
	cfg.Faults, cfg.Kinds = 20, nil
	w := newWorld(cfg, 7, plan.Plan, RandomFaults(cfg, 7))
	for range 200 {
		c := w.clone()
		c.advance()
		w.advance()
		if c.key() != w.key() {
			t.Fatalf("step %d: the copy went on in another way", w.step)
		}
	}
}

// TestMinimise: a story needs no more faults than the bug does.
func TestMinimise(t *testing.T) {
	config := func(seed int64) Config {
		cfg := RandomConfig(seed)
		cfg.Kinds = []FaultKind{WipeSeed, KillContainer, KillLeader, SlowMember, LagPods, PassTime}
		return cfg
	}
	_, failures := runSeeds(0, 500, false, config, restartSeed)
	if len(failures) == 0 {
		t.Fatal("the planted bug was not noticed")
	}
	f := Minimise(failures[0], restartSeed)
	if len(f.Faults) > 1 || len(f.Trace) == 0 {
		t.Errorf("got a story of %d lines with %d faults, want one fault that empties the seed's disk:\n%v", len(f.Trace), len(f.Faults), f)
	}
}

// The shipped code lists its own Pods: those of an earlier EtcdCluster are noticed when a Pod of such
// a name is created, after those before it.
func TestPodsOfAnEarlierClusterAreInNoList(t *testing.T) {
	w := formed(t, func(*Config) {})
	w.cluster.number++
	w.claims = nil
	create := action.CreatePods{Pods: []action.NewPod{{Name: "c-a", Role: facts.Joiner}, {Name: w.pods[0].name, Role: facts.Joiner}}}
	for n, want := range []error{nil, nil, nil, errThere} {
		if _, err := w.createPods(&facts.Observation{}, create, n, false); !errors.Is(err, want) {
			t.Errorf("call %d: %v, want %v", n, err, want)
		}
	}
}

// A volume of a member that only the status still names, as right after a restore has given the
// volumes back, keeps Pods from being created before it is observed.
func TestVolumesOfMembersInTheStatusAreLookedFor(t *testing.T) {
	w := formed(t, func(*Config) {})
	name := w.pods[0].name
	for reported, want := range map[string]bool{name: true, "c-other": false} {
		seen := &facts.Observation{}
		seen.Cluster.LastStatus.MemberDetails = []v1beta2.MemberDetail{{Name: reported}, {Name: w.pods[1].name, Unmanaged: true}}
		if got := w.hasUnseenClaim(seen, nil); got != want {
			t.Errorf("the status names %s: %t, want %t", reported, got, want)
		}
	}
}

// An operator knows by its id a container that came after its Pod's image was changed. One that
// crashed, and was restarted before its kubelet heard of the image, has another id too; an agent that
// runs before it has none.
func TestAContainerIsKnownByItsID(t *testing.T) {
	w := formed(t, func(*Config) {})
	r := w.leader()
	p := w.pod(r.name)
	for _, row := range []struct {
		name       string
		happens    func()
		from, seen string
	}{
		{"its agent fails", func() { r.unseeded = "why" }, "", ""},
		{"its image is changed", func() { p.changeTo(r.repository, "3.7.3") }, "3.6.16", "3.6.16"},
		{"its agent is started again", func() { r.version, r.restarts = "3.7.3", 1 }, "3.6.16", "3.6.16"},
		{"it runs that image", func() { r.unseeded = "" }, "", ""},
		{"its image is changed again", func() { p.changeTo(r.repository, "3.7.4") }, "3.7.3", "3.7.3"},
		{"it crashes before its kubelet hears", func() { r.restarts = 2 }, "3.7.3", ""},
		{"it runs the last image", func() { r.version, r.restarts = "3.7.4", 3 }, "", ""},
	} {
		row.happens()
		w.reportRun(r, p)
		if seen := w.observePod(p).From; p.from != row.from || seen != row.seen {
			t.Errorf("%s: it runs %q and is taken for %q, want %q and %q", row.name, p.from, seen, row.from, row.seen)
		}
	}
}
