package simulate

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/launcher"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// S9, S11: what counts of a Pod that no list shows is the last look at it.
func TestTheLastLookCounts(t *testing.T) {
	notFound := apierrors.NewNotFound(corev1.Resource("pods"), "c-a")
	for name, row := range map[string]struct {
		reads  []error
		reason string
		broken string
	}{
		"never there":      {[]error{notFound}, "its name is free", ""},
		"gone since":       {[]error{nil, notFound}, "it was deleted between the two looks", ""},
		"there":            {[]error{nil}, "a label was taken from it, and the member is not gone", "S9"},
		"back at the last": {[]error{notFound, nil}, "another operator has created it", "S9"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(Config{Meddles: 1}, 1, nil, nil)
			op := newOperator(w, "a")
			op.todo = &todo{decision: plan.Decision{Action: action.CreatePods{Pods: []action.NewPod{{Name: "c-a"}}}}}
			s := &shipped{w: w, op: op}
			s.looks.base = w.cluster
			_ = s.carry("listing *v1.PartialObjectMetadataList", func() error { return nil })
			for _, err := range row.reads {
				_ = s.carry("reading *v1.Pod c-a", func() error { return err })
			}
			_ = s.carry("reading *v1beta2.EtcdCluster c", func() error { return nil })
			_ = s.carry("creating Pod c-a", func() error {
				w.pods = append(w.pods, &pod{name: "c-a", uid: "u1", object: &corev1.Pod{}})
				return nil
			})
			broken := ""
			if w.broken != nil {
				broken = w.broken.invariant
			}
			if broken != row.broken {
				t.Errorf("%q is broken, want %q: %s", broken, row.broken, row.reason)
			}
		})
	}
}

// A PVC that another operator has just made for the same Pod is used for that; one of another
// member is not overlooked.
func TestAVolumeMayBeThereAlready(t *testing.T) {
	exists := apierrors.NewAlreadyExists(corev1.Resource("persistentvolumeclaims"), "c-a")
	for name, row := range map[string]struct {
		created bool
		broken  string
	}{
		"the Pod's own": {true, ""},
		"a member's":    {false, "S9"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(Config{Meddles: 1, Persistent: true}, 1, nil, nil)
			op := newOperator(w, "a")
			op.todo = &todo{decision: plan.Decision{Action: action.CreatePods{Pods: []action.NewPod{{Name: "c-a"}, {Name: "c-b"}}}}}
			s := &shipped{w: w, op: op}
			s.looks.base = w.cluster
			w.createClaim("c-a")
			w.claim("c-a").object = member.NewClaim(w.object(&w.cluster), "c-a")
			_ = s.carry("listing *v1.PartialObjectMetadataList", func() error { return nil })
			_ = s.carry("reading *v1beta2.EtcdCluster c", func() error { return nil })
			if row.created {
				_ = s.carry("creating PVC c-a", func() error { return exists })
			}
			_ = s.carry("reading *v1.PersistentVolumeClaim c-a", func() error { return nil })
			_ = s.carry("reading *v1beta2.EtcdCluster c", func() error { return nil })
			_ = s.carry("creating PVC c-b", func() error { return nil })
			broken := ""
			if w.broken != nil {
				broken = w.broken.invariant
			}
			if broken != row.broken {
				t.Errorf("%q is broken, want %q", broken, row.broken)
			}
		})
	}
}

// S7: the name of a member that was removed is used up once its Pod may have started.
func TestNamesAreUsedUpByAPermit(t *testing.T) {
	for name, row := range map[string]struct {
		permitted bool
		asked     *asked
		broken    bool
	}{
		"it never had a permit":       {},
		"it had one":                  {permitted: true, broken: true},
		"it had one at the last look": {permitted: true, asked: &asked{removed: []string{"c-a"}}, broken: true},
		"it was removed since":        {permitted: true, asked: &asked{}},
	} {
		t.Run(name, func(t *testing.T) {
			w := formed(t, func(*Config) {})
			w.acting = &shipped{w: w}
			w.births[w.main].removed = []string{"c-a"}
			if row.permitted {
				w.checkPermit("c-a", &facts.StartPermit{Attempt: 1})
			}
			w.checkAddition(&todo{decision: plan.Decision{Action: action.AddLearner{Name: "c-a"}}, asked: row.asked}, "c-a")
			if broken := w.broken != nil; broken != row.broken {
				t.Errorf("S7 is broken: %t, want %t", broken, row.broken)
			}
		})
	}
}

// A member whose mounted certificate was spoilt shows none, whatever CA there is by then.
func TestASpoiltCertificateIsNotShown(t *testing.T) {
	for name, usable := range map[string]bool{"of a CA that is gone": true, "spoilt": false} {
		t.Run(name, func(t *testing.T) {
			w := formed(t, func(*Config) {})
			w.issued.sides[peerTLS] = side{usable: true, leaf: 1, trusted: 2}
			w.runs[0].issued[peerTLS] = side{usable: usable, trusted: 3}
			for _, r := range w.runs[1:] {
				r.issued[peerTLS] = side{usable: true, leaf: 1, trusted: 2}
			}
			w.checkIssued()
			if broken := w.broken != nil; broken != usable {
				t.Errorf("Trust is broken: %t, want %t", broken, usable)
			}
		})
	}
}

// etcd refuses a peer URL that another member has (ErrPeerURLexists).
func TestMovedMembersHaveTheirOwnPeerURLs(t *testing.T) {
	w := formed(t, func(*Config) {})
	for i := range 3 {
		if !w.useEtcdctl(Fault{Kind: ChangePeerURL, A: i, For: 100}) {
			t.Fatalf("member %d was not moved", i)
		}
		w.steps(1)
	}
	urls := map[string]bool{}
	for _, m := range w.leader().disk.data.view {
		urls[m.At] = true
	}
	if len(urls) != 3 || urls[""] {
		t.Errorf("the peer URLs are %v, want three", urls)
	}
}

// S6 protects a healthy member: not one that was seen to crash-loop, and whose etcd started while the
// operator looked.
func TestAnEtcdThatHasJustStartedMayBeRestarted(t *testing.T) {
	w := formed(t, func(*Config) {})
	r := w.follower()
	p := w.pod(r.name)
	now := epoch.Add(w.now)
	for name, row := range map[string]struct {
		since  time.Duration
		seen   facts.Pod
		excuse bool
	}{
		"it crash-looped":               {w.now, facts.Pod{UID: p.uid, UnreadySince: now}, true},
		"it ran, and was not ready yet": {w.now - time.Second, facts.Pod{UID: p.uid, UnreadySince: now}, false},
		"it answered":                   {w.now, facts.Pod{UID: p.uid, UnreadySince: now, Answer: facts.Answer{Reached: true}}, false},
		"it was ready":                  {w.now, facts.Pod{UID: p.uid}, false},
		"it is another Pod":             {w.now, facts.Pod{UID: "other", UnreadySince: now}, false},
	} {
		r.etcd.since = row.since
		if got := w.startedSince(r, &facts.Observation{Now: now, Pods: []facts.Pod{row.seen}}); got != row.excuse {
			t.Errorf("%s: %t, want %t", name, got, row.excuse)
		}
	}
}

// What a seed makes of the write that is tried is what it makes of it then, not what it would have
// when it was asked for its status.
func TestAWriteIsOfItsMoment(t *testing.T) {
	w := formed(t, func(*Config) {})
	r := w.leader()
	w.births[w.main].restored = true
	op := newOperator(w, "a")
	op.todo = &todo{}
	s := &shipped{w: w, op: op, mishap: numFaults, coroutine: coroutine{yield: func(string) bool { return true }}, likened: likened{told: map[string]facts.Answer{
		r.name: {Reached: true, Write: facts.Write{Refused: errNoSpace.Error()}},
	}}}
	if err := (&members{s}).TryWrite(context.Background(), etcdclient.Endpoint{Name: r.name, Addr: address(r.uid) + ":2379"}); err != nil {
		t.Fatal(err)
	}
	if got := s.likened.told[r.name].Write; !got.Acknowledged || got.Refused != "" {
		t.Errorf("the write is told as %+v", got)
	}
}

// S1: a new EtcdCluster of the name begins no cluster over volumes that are there. Once all have been
// lost, or deleted by the user, none is.
func TestVolumesOfAnEarlierCluster(t *testing.T) {
	for name, row := range map[string]struct {
		change func(w *world)
		broken bool
	}{
		"all are gone": {func(w *world) { w.claims = nil }, false},
		"one is left":  {func(w *world) { w.claims = w.claims[:1] }, true},
		"one is taken, and has data": {func(w *world) {
			w.claims = w.claims[:1]
			w.claims[0].owner = w.cluster.number
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := formed(t, func(*Config) {})
			w.cluster.number, w.cluster.clusterID = 1, 0
			w.cluster.bootstrap = facts.Bootstrap{Member: "c-new", Token: "token"}
			row.change(w)
			w.checkBirth(&run{name: "c-new", disk: &disk{}}, &facts.StartPermit{New: true, Token: "token"})
			if broken := w.broken != nil && w.broken.invariant == "S1"; broken != row.broken {
				t.Errorf("S1 is broken: %t, want %t: %+v", broken, row.broken, w.broken)
			}
		})
	}
}

// S1: the cluster id that is latched is the seed's own. Its data dir may have been prepared on its
// volume in a Pod that was drained since.
func TestASeedsClusterIsItsOwn(t *testing.T) {
	for name, row := range map[string]struct {
		birth      birth
		persistent bool
		broken     bool
	}{
		"prepared in this Pod":               {birth{member: "c-seed", uid: "u2", cluster: 7, restored: true}, false, false},
		"prepared in an earlier Pod":         {birth{member: "c-seed", uid: "u1", cluster: 7, restored: true}, true, false},
		"prepared on a disk that went":       {birth{member: "c-seed", uid: "u1", cluster: 7, restored: true}, false, true},
		"another cluster":                    {birth{member: "c-seed", uid: "u1", cluster: 8, restored: true}, true, true},
		"another seed's":                     {birth{member: "c-other", uid: "u1", cluster: 7, restored: true}, true, true},
		"one that was not made by a restore": {birth{member: "c-seed", uid: "u1", cluster: 7}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(Config{Persistent: row.persistent}, 1, nil, nil)
			w.births = []birth{row.birth}
			w.restores = []*restore{{uid: "r0", seed: "c-seed", seedUID: "u2", stage: offering}}
			w.checkAdoption(action.AdoptSeed{Restore: "r0", Name: "c-seed", UID: "u2", ClusterID: 7})
			if broken := w.broken != nil; broken != row.broken {
				t.Errorf("S1 is broken: %t, want %t", broken, row.broken)
			}
		})
	}
}

// The API server takes no time of deletion over from a manifest: what somebody creates again with that
// of an object that was being deleted is not being deleted.
func TestCreatedAgainIsNotBeingDeleted(t *testing.T) {
	w := newWorld(Config{Persistent: true}, 1, nil, nil)
	ending := metav1.ObjectMeta{Name: "c-a", Namespace: namespace, DeletionTimestamp: new(timeAt(0)), DeletionGracePeriodSeconds: new(int64(30))}
	p := &pod{name: "c-a", object: &corev1.Pod{ObjectMeta: ending}}
	w.createPod(p)
	if o := w.podObject(p); o.DeletionTimestamp != nil || o.DeletionGracePeriodSeconds != nil {
		t.Errorf("the Pod is being deleted: %v", o.DeletionTimestamp)
	}
	p.deleting = w.now
	if w.podObject(p).DeletionTimestamp == nil {
		t.Error("the Pod is being deleted, and does not show it")
	}
	c := w.createClaim("c-a")
	c.set(&corev1.PersistentVolumeClaim{ObjectMeta: ending})
	if o := w.claimAsObject(&c.claimObject); o.DeletionTimestamp != nil {
		t.Errorf("the PVC is being deleted: %v", o.DeletionTimestamp)
	}
}

// S4: a voter counts for those who stay if it has its data, or if it had at the last looks: it answered,
// and its Pod was listed after that.
func TestVotersWholeWhenSeen(t *testing.T) {
	for name, row := range map[string]struct {
		before, between, after func(*world, *run)
		excused                bool
		reason                 string
	}{
		"lost before it was asked":        {before: func(w *world, r *run) { w.wipe(r.disk) }, reason: "it did not answer"},
		"its Pod is gone before the list": {between: func(w *world, r *run) { w.loseRun(w.pod(r.name)) }, reason: "the list showed it"},
		"its Pod is gone after the list":  {after: func(w *world, r *run) { w.loseRun(w.pod(r.name)) }, excused: true, reason: "nothing showed it"},
		"its disk broke after the answer": {between: func(w *world, r *run) { r.disk.corrupt = true }, excused: true, reason: "only it could have said so"},
	} {
		t.Run(name, func(t *testing.T) {
			w := formed(t, func(c *Config) { c.Persistent = false })
			r, view := w.follower(), w.births[w.main].view
			do := func(what func(*world, *run)) {
				if what != nil {
					what(w, r)
				}
			}
			do(row.before)
			m := &members{&shipped{w: w}}
			answers := map[string]etcdclient.Answer{}
			for _, q := range w.etcds() {
				answers[q.name] = etcdclient.Answer{Reached: true, MemberID: q.disk.data.id, Leader: q.etcd.leader}
			}
			heard := m.heard(answers)
			do(row.between)
			heard.seesPods(w)
			do(row.after)
			w.acting = m.shipped
			want := countVoters(view) - boolInt(!row.excused)
			if n := w.intactWhenSeen(view, &todo{asked: heard}); n != want {
				t.Errorf("%d voters are whole, want %d: %s", n, want, row.reason)
			}
		})
	}
}

// Budget: it is raised for one voter more than the last look right before a promotion has shown.
func TestBudgetOfTheVotersThatWereSeen(t *testing.T) {
	voters := func(n int) []facts.Member { return make([]facts.Member, n) }
	for name, row := range map[string]struct {
		asked  *asked
		budget int
		broken bool
		reason string
	}{
		"raised":                     {&asked{view: voters(3)}, 3, false, "three of four are a quorum"},
		"not raised":                 {&asked{view: voters(3)}, 2, true, "the third voter was seen"},
		"not raised, without a look": {nil, 2, true, "nothing tells of fewer"},
		"another one since the look": {&asked{view: voters(2)}, 2, false, "a promotion that was not answered was committed after it"},
		"too low for what was seen":  {&asked{view: voters(2)}, 1, true, "two of three are a quorum"},
		"deleted since the look":     {&asked{view: voters(3), number: -1}, 0, false, "it went with its EtcdCluster"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(Config{DisruptionBudget: true}, 1, nil, nil)
			w.budget, w.disturbed, w.acting = row.budget, 1, &shipped{w: w}
			w.checkPromotion(&todo{asked: row.asked}, truth{view: voters(3)}, action.Promote{Name: "c-a"})
			if broken := w.broken != nil; broken != row.broken {
				t.Errorf("Budget is broken: %t, want %t: %s", broken, row.broken, row.reason)
			}
		})
	}
}

// A Pod that has lost its labels waits for a person if it is no member's. If it is a member's, the cluster
// is not whole.
func TestUnlabelledPodsAreLeft(t *testing.T) {
	w := formed(t, func(*Config) {})
	w.createPod(&pod{name: "c-given-up", object: &corev1.Pod{}})
	w.pods[0].object = &corev1.Pod{}
	if n := w.leftUnlabelled(); n != 1 {
		t.Errorf("%d Pods are left, want that of no member", n)
	}
}

// What a Pod's status tells of its container stays when its node is lost, and nobody reports any more.
func TestALostNodeTakesNoStatusAway(t *testing.T) {
	w := formed(t, func(c *Config) { c.Persistent = false })
	r := w.follower()
	p := w.pod(r.name)
	r.started = true
	p.object = &corev1.Pod{}
	before := observe.ContainerID(w.podObject(p))
	w.removeNode(r.node)
	if after := observe.ContainerID(w.podObject(p)); before == "" || after != before {
		t.Errorf("the container is %q, was %q", after, before)
	}
}

// A launcher that refuses its data does not wait for a start permit.
func TestARefusingLauncherDoesNotWait(t *testing.T) {
	w := &world{}
	for state, waits := range map[string]bool{launcher.Waiting: true, launcher.Refusing: false} {
		a := w.answer(&run{state: waiting, said: launcher.State{State: state}})
		if a.Waiting != waits || (a.Blocked == "") != waits {
			t.Errorf("%s is told as %+v", state, a)
		}
	}
}

// A volume that an earlier EtcdCluster has left counts as retained once the cache shows that it is.
func TestRetainedAsTheCacheShows(t *testing.T) {
	w := newWorld(Config{Persistent: true}, 1, nil, nil)
	for _, retained := range []bool{true, false} {
		o := &facts.Observation{}
		w.observeClaim(o, &etcdCluster{number: 1}, &claimObject{name: "c-a", owner: 0, retained: retained})
		if (len(o.Retained) == 1) != retained || o.Cluster.Existed == "" {
			t.Errorf("retained %t is observed as %+v, existed %q", retained, o.Retained, o.Cluster.Existed)
		}
	}
}
