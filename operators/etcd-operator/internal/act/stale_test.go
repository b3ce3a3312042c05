package act_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// everyAction is one action of each kind on the members x-a and x-b.
func everyAction(obs *plan.Observation) []plan.Action {
	a := podIn(obs, "x-a")
	list := []plan.Member{{ID: 1, Name: "x-a", Started: true}}
	return []plan.Action{
		plan.ChangeImage{Name: "x-a", UID: podIn(obs, "x-a").UID, Repository: "other", Version: "3.7.3"},
		creating(plan.NewPod{Name: "x-new", Role: plan.Joiner}),
		plan.SetRoles{Roles: []plan.PodRole{{Name: a.Name, UID: a.UID, Role: plan.Voter}}},
		plan.GrantStartPermit{Name: a.Name, UID: a.UID, StartPermit: plan.StartPermit{Attempt: 9, Members: []string{"x-a", "x-b"}}},
		plan.RevokeStartPermits{Pods: []plan.PodRef{{Name: a.Name, UID: a.UID}}},
		plan.AddLearner{Name: "x-b", Members: list},
		plan.Promote{ID: 1, Name: "x-a", Members: list},
		plan.RemoveMember{ID: 1, Name: "x-a", Members: list, Pod: a},
		plan.TransferLeadership{From: "x-a", To: "x-b", ToID: 2},
		plan.DeletePod{Name: a.Name, UID: a.UID},
		plan.DeletePod{Name: a.Name, UID: a.UID, Members: list},
		plan.DeleteClaim{Name: "x-a", UID: "uid", Members: list},
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
				plan.NewPod{Name: "x-a", Role: plan.Joiner, StartPermit: &plan.StartPermit{Attempt: 1, Members: []string{"x-a"}}},
				plan.NewPod{Name: "x-b", Role: plan.Joiner})
			before := b.everything()
			change(b)
			for _, a := range everyAction(obs) {
				wantStale(t, plan.KindOf(a), b.act(obs, a))
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
	obs := b.make(plan.NewPod{Name: "x-a", Role: plan.Joiner})
	b.status(func(s *v1beta2.ClusterStatus) { s.ReadyMembers, s.Leader = "1/3", "x-a" })
	if err := b.act(obs, plan.SetRoles{Roles: []plan.PodRole{{Name: "x-a", UID: podIn(obs, "x-a").UID, Role: plan.Learner}}}); err != nil {
		t.Error(err)
	}
}

// What is recorded in the status is not Act's to do, but its precondition is.
func TestLatchesAreLeftToReport(t *testing.T) {
	b := newBench(t)
	obs := b.observe()
	before := b.cluster.ResourceVersion
	for _, a := range []plan.Action{plan.RecordBootstrap{Bootstrap: plan.Bootstrap{Member: "x-a", Token: "t"}}, plan.LatchClusterID{ClusterID: 1}} {
		if err := b.act(obs, a); err != nil {
			t.Errorf("%s: %v", plan.KindOf(a), err)
		}
	}
	apiservertest.Read(t, b.client, b.cluster)
	if b.cluster.ResourceVersion != before {
		t.Error("Act wrote the EtcdCluster")
	}
	b.update(func(c *v1beta2.EtcdCluster) { c.Spec.Paused = true })
	wantStale(t, "RecordBootstrap", b.act(obs, plan.RecordBootstrap{}))
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
