package observe_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// Members are asked at their addresses, and their certificates are for their names; nobody
// is asked without a certificate to show.
func TestMembersAreAskedWithACertificate(t *testing.T) {
	b := newBench(t)
	b.runs(b.pod("x-a"), "10.0.0.1")
	apiservertest.Read(t, b.client, b.cluster)
	known := facts.TLS{Wanted: true, Trust: "t1"}
	obs, err := b.observer.Observe(apiservertest.Context(t), b.cluster, known)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(known, obs.Cluster.TLS); diff != "" {
		t.Errorf("certificates (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"x-a at 10.0.0.1:2379"}, b.asked.endpoints); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{member.Host(b.cluster, "x-a")}, b.asked.certified); diff != "" {
		t.Errorf("whose certificates (-want +got):\n%s", diff)
	}

	b.asked.endpoints = nil
	known.NoClientCertificate = true
	if _, err := b.observer.Observe(apiservertest.Context(t), b.cluster, known); err != nil {
		t.Fatal(err)
	}
	if n := len(b.asked.endpoints); n != 0 {
		t.Errorf("%d members were asked without a certificate", n)
	}
}

// A Pod that is ready, or has found a node, is not any more what was given up.
func TestWhoHasComeBack(t *testing.T) {
	unready := facts.Pod{UnreadySince: time.Now()}
	placed := facts.Pod{UnreadySince: time.Now(), Node: "n"}
	ready := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	onNode := func(p *corev1.Pod) { p.Spec.NodeName = "n" }
	for name, tc := range map[string]struct {
		seen facts.Pod
		now  func(*corev1.Pod)
		want bool
	}{
		"as it was":              {unready, func(*corev1.Pod) {}, false},
		"on its node, as it was": {placed, onNode, false},
		"ready":                  {placed, ready, true},
		"on a node":              {unready, onNode, true},
	} {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Now()}}
		tc.now(&p)
		if got := observe.HasComeBack(&p, &tc.seen); got != tc.want {
			t.Errorf("%s: it has come back: %t, want %t", name, got, tc.want)
		}
	}
}
