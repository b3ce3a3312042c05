package act_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// A member's Pod is deleted with grace, its volume stays, and the next one is as the spec
// says.
func TestRecreatePod(t *testing.T) {
	b := newBench(t, withVolumes)
	obs := b.make(action.NewPod{Name: "x-a", Role: facts.Voter}, action.NewPod{Name: "x-b", Role: facts.Voter})
	before := podIn(obs, "x-a")
	if before.Template == "" || before.Template != obs.Cluster.Template {
		t.Errorf("the Pod is of template %q, and the cluster of %q", before.Template, obs.Cluster.Template)
	}
	b.update(func(c *v1beta2.EtcdCluster) { c.Spec.Pod.PriorityClassName = "system-cluster-critical" })
	wantStale(t, "an EtcdCluster that was edited", b.act(obs, action.RecreatePod{Name: "x-a", UID: before.UID}))
	obs = b.observe()
	if podIn(obs, "x-a").Template == obs.Cluster.Template {
		t.Error("the Pod is observed as the spec says now")
	}
	wantStale(t, "another Pod of the name", b.act(obs, action.RecreatePod{Name: "x-a", UID: "other"}))
	if err := b.act(obs, action.RecreatePod{Name: "x-a", UID: before.UID}); err != nil {
		t.Fatal(err)
	}
	if b.exists(&corev1.Pod{}, "x-a") || !b.exists(&corev1.PersistentVolumeClaim{}, "x-a") {
		t.Error("want no Pod, and its volume")
	}
	wantStale(t, "a Pod that is gone", b.act(obs, action.RecreatePod{Name: "x-a", UID: before.UID}))
	obs = b.make(action.NewPod{Name: "x-a", Role: facts.Returning})
	if p := podIn(obs, "x-a"); p.Template != obs.Cluster.Template || b.pod("x-a").Spec.PriorityClassName != "system-cluster-critical" {
		t.Errorf("the next Pod is of template %q, and the cluster of %q", p.Template, obs.Cluster.Template)
	}
}

// A member is not ended while another is not as it was observed, or without a volume to
// come back on (S6, S7, S11).
func TestRecreatePodOnlyBesideOthersAsTheyWere(t *testing.T) {
	for name, change := range map[string]func(*bench){
		"another role": func(b *bench) {
			seen := b.observe()
			if err := b.act(seen, action.SetRoles{Roles: []action.PodRole{{Name: "x-b", UID: podIn(seen, "x-b").UID, Role: facts.Restarting}}}); err != nil {
				b.t.Fatal(err)
			}
		},
		"being deleted": func(b *bench) {
			p := b.pod("x-b")
			apiservertest.Bind(b.t, b.client, p, "node")
			if err := b.client.Delete(apiservertest.Context(b.t), p); err != nil {
				b.t.Fatal(err)
			}
		},
		"beside another": func(b *bench) { b.make(action.NewPod{Name: "x-c", Role: facts.Joiner}) },
		"its volume is a restore's": func(b *bench) {
			claim := &corev1.PersistentVolumeClaim{}
			claim.Name, claim.Namespace = "x-a", b.cluster.Namespace
			apiservertest.Read(b.t, b.client, claim)
			claim.Labels[v1beta2.LabelRetiredBy] = "r1"
			if err := b.client.Update(apiservertest.Context(b.t), claim); err != nil {
				b.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, withVolumes)
			obs := b.make(action.NewPod{Name: "x-a", Role: facts.Voter}, action.NewPod{Name: "x-b", Role: facts.Voter})
			change(b)
			wantStale(t, name, b.act(obs, action.RecreatePod{Name: "x-a", UID: podIn(obs, "x-a").UID}))
			if !b.exists(&corev1.Pod{}, "x-a") {
				t.Error("the Pod is gone")
			}
		})
	}
}

// Labels and annotations of the spec are changed on the Pods that there are; what others
// have put there stays, and so does what the operator selects by.
func TestMetadataIsChangedInPlace(t *testing.T) {
	b := newBench(t, func(c *v1beta2.EtcdCluster) {
		c.Spec.Pod = &v1beta2.PodPolicy{Labels: map[string]string{"team": "a", "old": "x"}, Annotations: map[string]string{"example.com/note": "a", "example.com/old": "x"}}
	})
	b.make(action.NewPod{Name: "x-a", Role: facts.Voter})
	p := b.pod("x-a")
	p.Labels["theirs"], p.Annotations["example.com/theirs"] = "x", "x"
	if err := b.client.Update(apiservertest.Context(t), p); err != nil {
		t.Fatal(err)
	}
	before := b.pod("x-a")
	b.mustHaveChildren(facts.KeepBudget)
	if after := b.pod("x-a"); after.ResourceVersion != before.ResourceVersion {
		t.Error("a Pod that is as the spec says was written")
	}

	b.update(func(c *v1beta2.EtcdCluster) {
		c.Spec.Pod.Labels = map[string]string{"team": "b"}
		c.Spec.Pod.Annotations = map[string]string{"example.com/note": "b", "example.com/new": "y"}
	})
	b.mustHaveChildren(facts.KeepBudget)
	after := b.pod("x-a")
	if after.UID != before.UID || after.Labels[v1beta2.LabelRole] != v1beta2.RoleVoter || after.Annotations[v1beta2.AnnotationTemplate] != member.TemplateHash(b.cluster) {
		t.Errorf("the Pod is now %+v", after.ObjectMeta)
	}
	for key, want := range map[string]string{"team": "b", "theirs": "x", "old": ""} {
		if got := after.Labels[key]; got != want {
			t.Errorf("label %s is %q, want %q", key, got, want)
		}
	}
	for key, want := range map[string]string{"example.com/note": "b", "example.com/new": "y", "example.com/theirs": "x", "example.com/old": ""} {
		if got := after.Annotations[key]; got != want {
			t.Errorf("annotation %s is %q, want %q", key, got, want)
		}
	}

	b.update(func(c *v1beta2.EtcdCluster) {
		c.Spec.Pod = nil
		c.Annotations = map[string]string{v1beta2.AnnotationFence: "r1"}
	})
	wantStale(t, "a fence", b.children(facts.KeepBudget))
	if got := b.pod("x-a"); got.Labels["team"] != "b" {
		t.Errorf("the Pod of a cluster that is fenced has changed: %v", got.Labels)
	}
}
