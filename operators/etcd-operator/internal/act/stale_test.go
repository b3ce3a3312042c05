package act_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// everyAction is one action of each kind on the members x-a and x-b.
func everyAction(obs *facts.Observation) []action.Action {
	a := podIn(obs, "x-a")
	list := []facts.Member{{ID: 1, Name: "x-a", Started: true}}
	return []action.Action{
		action.ChangeImage{Name: "x-a", UID: podIn(obs, "x-a").UID, Repository: "other", Version: "3.7.3"},
		creating(action.NewPod{Name: "x-new", Role: facts.Joiner}),
		action.SetRoles{Roles: []action.PodRole{{Name: a.Name, UID: a.UID, Role: facts.Voter}}},
		action.GrantStartPermit{Name: a.Name, UID: a.UID, StartPermit: facts.StartPermit{Attempt: 9, Members: []string{"x-a", "x-b"}}},
		action.RevokeStartPermits{Pods: []action.PodRef{{Name: a.Name, UID: a.UID}}},
		action.AddLearner{Name: "x-b", Members: list},
		action.Promote{ID: 1, Name: "x-a", Members: list},
		action.RemoveMember{ID: 1, Name: "x-a", Members: list, Pod: a},
		action.TransferLeadership{From: "x-a", To: "x-b", ToID: 2},
		action.DeletePod{Name: a.Name, UID: a.UID},
		action.DeletePod{Name: a.Name, UID: a.UID, Members: list},
		action.DeleteClaim{Name: "x-a", UID: "uid", Members: list},
	}
}

// S11: the EtcdCluster is read live before each action. If it is not any more as it
// was decided on, nothing is done, whatever the action; etcd is not even asked.
func TestAChangedClusterIsLeftAlone(t *testing.T) {
	for name, change := range map[string]func(*bench){
		"paused meanwhile": func(b *bench) { b.update(func(c *v1beta2.EtcdCluster) { c.Spec.Paused = true }) },
		"scaled meanwhile": func(b *bench) { b.update(func(c *v1beta2.EtcdCluster) { c.Spec.Size = 5 }) },
		"deleted meanwhile": func(b *bench) {
			if err := b.client.Delete(apiservertest.Context(b.t), b.cluster.DeepCopy()); err != nil {
				b.t.Fatal(err)
			}
		},
		"being deleted meanwhile": func(b *bench) {
			b.update(func(c *v1beta2.EtcdCluster) { c.Finalizers = []string{"example.com/test"} })
			if err := b.client.Delete(apiservertest.Context(b.t), b.cluster.DeepCopy()); err != nil {
				b.t.Fatal(err)
			}
		},
		"deleted and recreated meanwhile": func(b *bench) {
			if err := b.client.Delete(apiservertest.Context(b.t), b.cluster.DeepCopy()); err != nil {
				b.t.Fatal(err)
			}
			again := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: b.cluster.Namespace}, Spec: v1beta2.ClusterSpec{Size: 3}}
			apiservertest.Create(b.t, b.client, again)
		},
		"begun by another operator meanwhile": func(b *bench) {
			b.status(func(s *v1beta2.ClusterStatus) {
				s.Bootstrap = &v1beta2.BootstrapStatus{Member: "x-other", Token: "t"}
			})
		},
		"fenced meanwhile": func(b *bench) { b.update(fence) },
		"left to a restore meanwhile": func(b *bench) {
			b.status(func(s *v1beta2.ClusterStatus) { s.FencedBy = "r1" })
		},
		"its version turned by another operator meanwhile": func(b *bench) {
			b.status(func(s *v1beta2.ClusterStatus) { s.TargetVersion = "3.7.3" })
		},
		"latched by another operator meanwhile": func(b *bench) {
			b.status(func(s *v1beta2.ClusterStatus) { s.ClusterID = "00000000000000c1" })
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			obs := b.make(
				action.NewPod{Name: "x-a", Role: facts.Joiner, StartPermit: &facts.StartPermit{Attempt: 1, Members: []string{"x-a"}}},
				action.NewPod{Name: "x-b", Role: facts.Joiner})
			before := b.everything()
			change(b)
			for _, a := range everyAction(obs) {
				wantStale(t, action.KindOf(a), b.act(obs, a))
			}
			if after := b.everything(); after != before {
				t.Errorf("something was done: before %s, after %s", before, after)
			}
		})
	}
}

func fence(c *v1beta2.EtcdCluster) {
	c.Annotations = map[string]string{v1beta2.AnnotationFence: "r1"}
}

// What is written in the status all the time does not make a decision stale.
func TestAReportIsNoChange(t *testing.T) {
	b := newBench(t)
	obs := b.make(action.NewPod{Name: "x-a", Role: facts.Joiner})
	b.status(func(s *v1beta2.ClusterStatus) { s.ReadyMembers, s.Leader = "1/3", "x-a" })
	if err := b.act(obs, action.SetRoles{Roles: []action.PodRole{{Name: "x-a", UID: podIn(obs, "x-a").UID, Role: facts.Learner}}}); err != nil {
		t.Error(err)
	}
}

// What is recorded in the status is not Act's to do, but its precondition is.
func TestLatchesAreLeftToReport(t *testing.T) {
	b := newBench(t)
	obs := b.observe()
	before := b.cluster.ResourceVersion
	for _, a := range []action.Action{action.RecordBootstrap{Bootstrap: facts.Bootstrap{Member: "x-a", Token: "t"}}, action.LatchClusterID{ClusterID: 1}} {
		if err := b.act(obs, a); err != nil {
			t.Errorf("%s: %v", action.KindOf(a), err)
		}
	}
	apiservertest.Read(t, b.client, b.cluster)
	if b.cluster.ResourceVersion != before {
		t.Error("Act wrote the EtcdCluster")
	}
	b.update(func(c *v1beta2.EtcdCluster) { c.Spec.Paused = true })
	wantStale(t, "RecordBootstrap", b.act(obs, action.RecordBootstrap{}))
}

// status writes the status as another operator does.
func (b *bench) status(change func(*v1beta2.ClusterStatus)) {
	b.t.Helper()
	live := b.cluster.DeepCopy()
	apiservertest.Read(b.t, b.client, live)
	change(&live.Status)
	apiservertest.SetStatus(b.t, b.client, live)
}

// everything names all Pods and claims with their versions.
func (b *bench) everything() string {
	b.t.Helper()
	var all []string
	var pods corev1.PodList
	var claims corev1.PersistentVolumeClaimList
	for _, list := range []client.ObjectList{&pods, &claims} {
		if err := b.client.List(apiservertest.Context(b.t), list, client.InNamespace(b.cluster.Namespace)); err != nil {
			b.t.Fatal(err)
		}
	}
	for _, p := range pods.Items {
		all = append(all, p.Name+"@"+p.ResourceVersion)
	}
	for _, p := range claims.Items {
		all = append(all, p.Name+"@"+p.ResourceVersion)
	}
	return fmt.Sprint(all)
}
