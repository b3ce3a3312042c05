package act_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// contained sets the id of the etcd container, as a kubelet does.
func (b *bench) contained(name, id string) {
	b.t.Helper()
	p := b.pod(name)
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: member.ContainerEtcd, ContainerID: id}}
	apiservertest.SetStatus(b.t, b.client, p)
}

// A Pod gets another image in place, and tells until when it was not started.
func TestChangeImage(t *testing.T) {
	b := newBench(t)
	b.make(action.NewPod{Name: "x-a", Role: facts.Voter}, action.NewPod{Name: "x-b", Role: facts.Voter})
	b.contained("x-a", "containerd://1")
	obs := b.observe()
	before := b.pod("x-a")
	change := func(version string) action.ChangeImage {
		return action.ChangeImage{Name: "x-a", UID: string(before.UID), Repository: "mirror/etcd", Version: version}
	}
	if err := b.act(obs, change("3.7.3")); err != nil {
		t.Fatal(err)
	}
	after := b.pod("x-a")
	if after.UID != before.UID || after.Spec.Containers[0].Image != "mirror/etcd:v3.7.3" || after.Annotations[member.AnnotationVersion] != "3.7.3" {
		t.Errorf("the Pod has image %s and annotations %v", after.Spec.Containers[0].Image, after.Annotations)
	}
	after.Spec.Containers[0].Image = before.Spec.Containers[0].Image
	if diff := cmp.Diff(before.Spec, after.Spec); diff != "" {
		t.Errorf("more of the Pod has changed (-before +after):\n%s", diff)
	}
	if p := podIn(b.observe(), "x-a"); p.From != "3.6.16" || p.Version != "3.7.3" || p.Repository != "mirror/etcd" {
		t.Errorf("it is observed as %+v", p)
	}

	wantStale(t, "a cache that does not show the change", b.act(obs, change("3.7.3")))
	wantStale(t, "another Pod of the name", b.act(b.observe(), action.ChangeImage{Name: "x-a", UID: "other", Repository: "mirror/etcd", Version: "3.7.4"}))

	// Changed again before it was started, it has still run what it ran before.
	if err := b.act(b.observe(), change("3.7.4")); err != nil {
		t.Fatal(err)
	}
	if p := podIn(b.observe(), "x-a"); p.From != "3.6.16" || p.Version != "3.7.4" {
		t.Errorf("it is observed as %+v", p)
	}
	b.contained("x-a", "containerd://2")
	if p := podIn(b.observe(), "x-a"); p.From != "" {
		t.Errorf("it has been started, and is observed as %+v", p)
	}
}

// A member is not restarted while another is not as it was observed (S6, S11).
func TestChangeImageOnlyBesideOthersAsTheyWere(t *testing.T) {
	for name, change := range map[string]func(*bench){
		"another image": func(b *bench) {
			seen := b.observe()
			if err := b.act(seen, action.ChangeImage{Name: "x-b", UID: podIn(seen, "x-b").UID, Repository: "mirror/etcd", Version: "3.7.3"}); err != nil {
				b.t.Fatal(err)
			}
		},
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
		"ready": func(b *bench) {
			p := b.pod("x-b")
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now())}}
			apiservertest.SetStatus(b.t, b.client, p)
		},
		"beside another": func(b *bench) { b.make(action.NewPod{Name: "x-c", Role: facts.Joiner}) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			obs := b.make(action.NewPod{Name: "x-a", Role: facts.Voter}, action.NewPod{Name: "x-b", Role: facts.Voter})
			change(b)
			wantStale(t, "the other Pod is "+name, b.act(obs, action.ChangeImage{Name: "x-a", UID: podIn(obs, "x-a").UID, Repository: "mirror/etcd", Version: "3.7.3"}))
			if got := b.pod("x-a").Annotations[v1beta2.AnnotationChangedFrom]; got != "" {
				t.Errorf("it is marked as changed from %s", got)
			}
		})
	}
}
