package act_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/act"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/launcher"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// The API server takes the Pods as we build them, and they are observed as they were
// meant.
func TestCreatePods(t *testing.T) {
	b := newBench(t)
	permit := &facts.StartPermit{Attempt: 1, New: true, Members: []string{"x-seed"}, Token: "token"}
	obs := b.make(action.NewPod{Name: "x-seed", Role: facts.Seed, StartPermit: permit}, action.NewPod{Name: "x-joiner", Role: facts.Joiner})

	seed, joiner := podIn(obs, "x-seed"), podIn(obs, "x-joiner")
	if seed == nil || joiner == nil || len(obs.Pods) != 2 {
		t.Fatalf("Pods %v, want x-joiner and x-seed", obs.Pods)
	}
	if diff := cmp.Diff(permit, seed.StartPermit); diff != "" || seed.Role != facts.Seed || seed.Persistent {
		t.Errorf("the seed is %+v; start permit (-want +got):\n%s", seed, diff)
	}
	if joiner.StartPermit != nil || joiner.Role != facts.Joiner || joiner.Version != "3.6.16" || joiner.Learners != member.MaxLearners {
		t.Errorf("the joiner is %+v", joiner)
	}
	if !metav1.IsControlledBy(b.pod("x-seed"), b.cluster) {
		t.Error("the EtcdCluster does not control its Pod")
	}
	if b.exists(&corev1.PersistentVolumeClaim{}, "x-seed") {
		t.Error("there is a volume, and the spec asks for none")
	}
	g, err := launcher.ParseStartPermit([]byte(b.pod("x-seed").Annotations[v1beta2.AnnotationStartPermit]))
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Validate("x-seed", member.PeerURL(b.cluster, "x-seed")); err != nil {
		t.Errorf("the launcher would not use the start permit: %v", err)
	}
}

// With volumes each new member gets a claim before its Pod; one that returns has it.
func TestCreatePodsWithVolumes(t *testing.T) {
	b := newBench(t, withVolumes)
	there := member.NewClaim(b.cluster, "x-b")
	apiservertest.Create(t, b.client, there)
	obs := b.make(action.NewPod{Name: "x-a", Role: facts.Joiner}, action.NewPod{Name: "x-b", Role: facts.Returning})
	if !podIn(obs, "x-a").Persistent || !podIn(obs, "x-b").Persistent {
		t.Errorf("Pods %+v, want them to use volumes", obs.Pods)
	}
	if len(obs.Claims) != 2 || obs.Claims[1].UID != string(there.UID) {
		t.Errorf("claims %+v, want a new x-a, and x-b as it was", obs.Claims)
	}
	wantStale(t, "a volume that is gone", b.act(obs, creating(action.NewPod{Name: "x-c", Role: facts.Returning})))
	if b.exists(&corev1.PersistentVolumeClaim{}, "x-c") {
		t.Error("a Pod that returns is for a volume that there is, and never for a new one")
	}
}

// Only a new member's launcher refuses unmarked data: S2. On a volume that exists, an earlier release might have
// written data without a mark.
func TestNewMembersRefuseUnmarkedData(t *testing.T) {
	permit := &facts.StartPermit{Attempt: 1, New: true, Members: []string{"x-a"}, Token: "token"}
	volumes := []func(*v1beta2.EtcdCluster){withVolumes}
	rows := map[string]struct {
		reason string
		spec   []func(*v1beta2.EtcdCluster)
		claim  bool
		pod    action.NewPod
		isNew  bool
	}{
		"a joiner":                            {"it has never run", volumes, false, action.NewPod{Role: facts.Joiner}, true},
		"a joiner on the PVC of another try":  {"its name is new, so no earlier release ran it", volumes, true, action.NewPod{Role: facts.Joiner}, true},
		"a member that returns":               {"its data might have no mark", volumes, true, action.NewPod{Role: facts.Returning}, false},
		"a seed on a new PVC":                 {"no cluster exists, so there is no data of it", volumes, false, action.NewPod{Role: facts.Seed, StartPermit: permit}, true},
		"a seed on an emptyDir":               {"its volume is as new as its Pod", nil, false, action.NewPod{Role: facts.Seed, StartPermit: permit}, true},
		"a seed on a PVC that exists":         {"its first Pod might have started etcd, and its mark might be missing", volumes, true, action.NewPod{Role: facts.Seed}, false},
		"a seed that the cache had no PVC of": {"the PVC is found only when it is created", volumes, true, action.NewPod{Role: facts.Seed, StartPermit: permit}, false},
		"a seed with a survivor's data": {"the launcher puts the data in place itself", volumes, false, action.NewPod{Role: facts.Seed, Recovery: &facts.Recovery{
			Seed: "x-a", Survivor: "x-b", Token: "token", Version: "3.6.16"}}, false},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, row.spec...)
			if row.claim {
				apiservertest.Create(t, b.client, member.NewClaim(b.cluster, "x-a"))
			}
			row.pod.Name = "x-a"
			b.make(row.pod)
			got := slices.Contains(b.pod("x-a").Spec.Containers[0].Command, "--new-member")
			if got != row.isNew {
				t.Errorf("the launcher refuses unmarked data: got %t, want %t: %s", got, row.isNew, row.reason)
			}
		})
	}
}

// A claim that an earlier try left behind is used.
func TestCreatePodsAfterACrash(t *testing.T) {
	b := newBench(t, withVolumes)
	apiservertest.Create(t, b.client, member.NewClaim(b.cluster, "x-a"))
	obs := b.make(action.NewPod{Name: "x-a", Role: facts.Joiner})
	if podIn(obs, "x-a") == nil {
		t.Error("there is no Pod x-a")
	}
}

func TestVolumesOfOthersAreNotUsed(t *testing.T) {
	b := newBench(t, withVolumes)
	foreign := member.NewClaim(b.cluster, "x-a")
	foreign.OwnerReferences, foreign.Labels = nil, nil
	apiservertest.Create(t, b.client, foreign)
	err := b.act(b.observe(), creating(action.NewPod{Name: "x-a", Role: facts.Joiner}))
	if err == nil || errors.Is(err, act.ErrStale) {
		t.Errorf("error %v, want one that says whose the volume is", err)
	}
	if b.exists(&corev1.Pod{}, "x-a") {
		t.Error("a Pod was made for a volume of somebody else")
	}
}

// S11: a cache that lags must not make Pods twice.
func TestCreatePodsOnlyBesideThoseThatWereObserved(t *testing.T) {
	b := newBench(t)
	before := b.observe()
	after := b.make(action.NewPod{Name: "x-a", Role: facts.Joiner})
	another := creating(action.NewPod{Name: "x-b", Role: facts.Joiner})

	wantStale(t, "a Pod has come", b.act(before, another))
	a := b.pod("x-a")
	if err := b.client.Delete(apiservertest.Context(t), a); err != nil {
		t.Fatal(err)
	}
	wantStale(t, "a Pod has gone", b.act(after, another))
	if b.exists(&corev1.Pod{}, "x-b") {
		t.Error("a Pod was made")
	}
}

// Pods of others do not count, and are not taken for ours.
func TestCreatePodsBesideThoseOfOthers(t *testing.T) {
	b := newBench(t)
	foreign := func(name string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.cluster.Namespace, Labels: member.Selector("x")},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "etcd", Image: "other"}}},
		}
	}
	apiservertest.Create(t, b.client, foreign("x-foreign"), foreign("x-b"))
	obs := b.make(action.NewPod{Name: "x-a", Role: facts.Joiner})
	if len(obs.Pods) != 1 {
		t.Errorf("Pods %+v, want x-a only", obs.Pods)
	}
	wantStale(t, "the name is taken", b.act(obs, creating(action.NewPod{Name: "x-b", Role: facts.Joiner})))
	if got := b.pod("x-b"); got.Spec.Containers[0].Image != "other" || len(got.OwnerReferences) != 0 {
		t.Error("the Pod of somebody else was changed")
	}
}

func TestSetRoles(t *testing.T) {
	b := newBench(t)
	obs := b.make(action.NewPod{Name: "x-a", Role: facts.Joiner}, action.NewPod{Name: "x-b", Role: facts.Joiner})
	to := func(name, uid string, r facts.Role) action.SetRoles {
		return action.SetRoles{Roles: []action.PodRole{{Name: name, UID: uid, Role: r}}}
	}
	uid := podIn(obs, "x-a").UID

	wantStale(t, "another Pod of the name", b.act(obs, to("x-a", "other", facts.Voter)))
	wantStale(t, "no Pod of the name was observed", b.act(obs, to("x-z", uid, facts.Voter)))
	if got := b.pod("x-a").Labels[v1beta2.LabelRole]; got != v1beta2.RoleJoiner {
		t.Fatalf("the role is %s, want it unchanged", got)
	}
	both := action.SetRoles{Roles: []action.PodRole{{Name: "x-a", UID: uid, Role: facts.Learner}, {Name: "x-b", UID: podIn(obs, "x-b").UID, Role: facts.Voter}}}
	if err := b.act(obs, both); err != nil {
		t.Fatal(err)
	}
	if a, bb := b.pod("x-a").Labels[v1beta2.LabelRole], b.pod("x-b").Labels[v1beta2.LabelRole]; a != v1beta2.RoleLearner || bb != v1beta2.RoleVoter {
		t.Errorf("the roles are %s and %s, want learner and voter", a, bb)
	}
	wantStale(t, "the role was changed by another operator", b.act(obs, to("x-a", uid, facts.Voter)))
	if got := b.pod("x-a").Labels[v1beta2.LabelRole]; got != v1beta2.RoleLearner {
		t.Errorf("the role is %s, want what the other operator made it", got)
	}
	if err := b.client.Delete(apiservertest.Context(t), b.pod("x-a")); err != nil {
		t.Fatal(err)
	}
	wantStale(t, "the Pod is gone", b.act(obs, to("x-a", uid, facts.Voter)))
}

// changing is a live reader whose Pods change as soon as they are read.
type changing struct {
	client.Client
	change func(*corev1.Pod)
}

func (c changing) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if err := c.Client.Get(ctx, key, into, opts...); err != nil {
		return err
	}
	pod, ok := into.(*corev1.Pod)
	if !ok {
		return nil
	}
	next := pod.DeepCopy()
	c.change(next)
	return c.Update(ctx, next)
}

// A start permit that comes late, after another operator has withdrawn the first one or given
// the seed up, is refused (S2).
func TestALateStartPermitIsRefused(t *testing.T) {
	b := newBench(t)
	obs := b.make(action.NewPod{Name: "x-a", Role: facts.Joiner})
	b.actor.Live = changing{b.client, func(p *corev1.Pod) { p.Annotations["example.com/changed"] = "meanwhile" }}
	grant := action.GrantStartPermit{Name: "x-a", UID: podIn(obs, "x-a").UID, StartPermit: facts.StartPermit{Attempt: 3, Members: []string{"x-a"}}}
	wantStale(t, "the Pod has changed since it was read", b.act(obs, grant))
	if podIn(b.observe(), "x-a").StartPermit != nil {
		t.Error("the Pod has a permit to start")
	}
}

func TestStartPermits(t *testing.T) {
	b := newBench(t)
	obs := b.make(action.NewPod{Name: "x-a", Role: facts.Joiner})
	uid := podIn(obs, "x-a").UID
	permit := facts.StartPermit{Attempt: 3, Members: []string{"x-a", "x-b"}}

	wantStale(t, "another Pod of the name", b.act(obs, action.GrantStartPermit{Name: "x-a", UID: "other", StartPermit: permit}))
	if podIn(b.observe(), "x-a").StartPermit != nil {
		t.Fatal("the Pod has a permit to start")
	}
	for range 2 { // repetition is harmless
		if err := b.act(obs, action.GrantStartPermit{Name: "x-a", UID: uid, StartPermit: permit}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(&permit, podIn(b.observe(), "x-a").StartPermit); diff != "" {
		t.Errorf("start permit (-want +got):\n%s", diff)
	}
	g, err := launcher.ParseStartPermit([]byte(b.pod("x-a").Annotations[v1beta2.AnnotationStartPermit]))
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Validate("x-a", member.PeerURL(b.cluster, "x-a")); err != nil {
		t.Errorf("the launcher would not use the start permit: %v", err)
	}

	permit = facts.StartPermit{Attempt: 4, Members: []string{"x-a", "x-b", "x-c"}, After: []string{"x-c"}, CatchUp: true}
	if err := b.act(obs, action.GrantStartPermit{Name: "x-a", UID: uid, StartPermit: permit}); err != nil {
		t.Fatal(err)
	}
	g, err = launcher.ParseStartPermit([]byte(b.pod("x-a").Annotations[v1beta2.AnnotationStartPermit]))
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Validate("x-a", member.PeerURL(b.cluster, "x-a")); err != nil || len(g.After) != 1 || !g.CatchUp {
		t.Errorf("the launcher would not start after x-c, or not catch up first: %+v, %v", g, err)
	}

	wantStale(t, "another Pod of the name", b.act(obs, action.RevokeStartPermits{Pods: []action.PodRef{{Name: "x-a", UID: "other"}}}))
	if podIn(b.observe(), "x-a").StartPermit == nil {
		t.Fatal("the start permit of another Pod was withdrawn")
	}
	closing := action.RevokeStartPermits{Pods: []action.PodRef{{Name: "x-a", UID: uid}}}
	if err := b.act(obs, closing); err != nil {
		t.Fatal(err)
	}
	if podIn(b.observe(), "x-a").StartPermit != nil {
		t.Error("the start permit is still there")
	}
	wantStale(t, "the start permit was withdrawn already", b.act(obs, closing))
	if b.pod("x-a").Annotations[member.AnnotationVersion] == "" {
		t.Error("other annotations were lost")
	}
}

// A member's Pod is deleted by uid, and never by force.
func TestDeletePod(t *testing.T) {
	b := newBench(t)
	obs := b.make(action.NewPod{Name: "x-a", Role: facts.Joiner})
	apiservertest.Bind(t, b.client, b.pod("x-a"), "node")
	uid := podIn(obs, "x-a").UID

	wantStale(t, "another Pod of the name", b.act(obs, action.DeletePod{Name: "x-a", UID: "other"}))
	if !b.exists(&corev1.Pod{}, "x-a") {
		t.Fatal("another Pod was deleted")
	}
	if err := b.act(obs, action.DeletePod{Name: "x-a", UID: uid}); err != nil {
		t.Fatal(err)
	}
	p := b.pod("x-a")
	if p.DeletionTimestamp == nil || p.DeletionGracePeriodSeconds == nil || *p.DeletionGracePeriodSeconds == 0 {
		t.Error("the Pod is to go without grace")
	}
	if seen := podIn(b.observe(), "x-a"); seen == nil || seen.DeletingSince.IsZero() {
		t.Errorf("the Pod is observed as %+v, want one that is being deleted", seen)
	}
	if err := b.client.Delete(apiservertest.Context(t), p, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	wantStale(t, "the Pod is gone", b.act(obs, action.DeletePod{Name: "x-a", UID: uid}))
}

// S7: the Pod of no member, and its volume, are deleted only while a linearizable
// member list is the one that it was decided on.
func TestLeftoversAreDeletedByTheMemberListOnly(t *testing.T) {
	b := newBench(t, withVolumes)
	obs := b.make(action.NewPod{Name: "x-a", Role: facts.Leaving}, action.NewPod{Name: "x-b", Role: facts.Voter})
	obs.Cluster.ClusterID = 0xc1
	for i := range obs.Pods {
		if p := &obs.Pods[i]; p.Name == "x-b" {
			p.IP, p.Answer = "192.0.2.1", facts.Answer{Reached: true, Read: true, ClusterID: 0xc1}
		}
	}
	now := []etcdclient.Member{{ID: 2, Name: "x-b", PeerURLs: []string{member.PeerURL(b.cluster, "x-b")}, Started: true}}
	list := observe.Members(b.cluster, now)
	more := append([]etcdclient.Member{{ID: 1, Name: "x-a", PeerURLs: []string{member.PeerURL(b.cluster, "x-a")}, Started: true}}, now...)
	pod := action.DeletePod{Name: "x-a", UID: podIn(obs, "x-a").UID, Members: list}
	claim := action.DeleteClaim{Name: "x-a", UID: obs.Claims[0].UID, Members: list}

	b.actor.Etcd = listing{untouched{t}, more}
	wantStale(t, "it is a member again", b.act(obs, pod))
	wantStale(t, "it is a member again", b.act(obs, claim))
	b.actor.Etcd = listing{untouched{t}, nil}
	wantStale(t, "no list can be read", b.act(obs, pod))
	wantStale(t, "no list can be read", b.act(obs, claim))
	b.actor.Etcd = listing{untouched{t}, now}
	wantStale(t, "its Pod exists", b.act(obs, claim))
	if !b.exists(&corev1.Pod{}, "x-a") || !b.exists(&corev1.PersistentVolumeClaim{}, "x-a") {
		t.Fatal("something was deleted")
	}

	if err := b.act(obs, pod); err != nil {
		t.Fatal(err)
	}
	if b.exists(&corev1.Pod{}, "x-a") {
		t.Fatal("the Pod is still there")
	}
	other := claim
	other.UID = "other"
	wantStale(t, "another volume of the name", b.act(obs, other))
	if !b.exists(&corev1.PersistentVolumeClaim{}, "x-a") {
		t.Fatal("another volume was deleted")
	}
	if err := b.act(obs, claim); err != nil {
		t.Fatal(err)
	}
	if b.exists(&corev1.PersistentVolumeClaim{}, "x-a") {
		t.Error("the volume is still there")
	}
	if !b.exists(&corev1.PersistentVolumeClaim{}, "x-b") {
		t.Error("the volume of a member was deleted")
	}
}
