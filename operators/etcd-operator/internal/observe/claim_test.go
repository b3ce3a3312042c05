package observe_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// How far a volume has grown, and what was said to it, is seen.
func TestClaimThatGrows(t *testing.T) {
	b := newBench(t)
	at := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	c := claim(b, "x-a", "")
	c.OwnerReferences, c.Labels[v1beta2.LabelOwner] = nil, string(b.cluster.UID)
	c.Annotations = map[string]string{
		v1beta2.AnnotationGrowthRefused: observe.Refused(3<<30, at, "no more than that"), member.AnnotationVersion: "3.6.16",
		"volume.kubernetes.io/selected-node": "n1",
	}
	c.Spec.StorageClassName = new("fast-of-" + b.cluster.Namespace)
	c.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Gi")
	apiservertest.Create(t, b.client, c)
	c.Status = corev1.PersistentVolumeClaimStatus{
		Phase: corev1.ClaimLost, Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		Conditions: []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimResizing, Status: corev1.ConditionTrue, Message: "slowly"}},
	}
	apiservertest.SetStatus(t, b.client, c)
	want := facts.Claim{
		Name: "x-a", UID: string(c.UID), Created: c.CreationTimestamp.Time, Node: "n1", Lost: true, Retained: true, Version: "3.6.16",
		Requested: 2 << 30, Capacity: 1 << 30, Resizing: "it is being resized: slowly", Class: *c.Spec.StorageClassName,
		RefusedSize: 3 << 30, RefusedAt: at, Refusal: "no more than that",
	}
	if diff := cmp.Diff([]facts.Claim{want}, b.observe().Claims); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Whether a volume may grow is known where storage classes may be read.
func TestExpansion(t *testing.T) {
	b := newBench(t)
	for name, allow := range map[string]*bool{"fast": new(true), "slow": new(false), "old": nil} {
		class := &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: name + "-of-" + b.cluster.Namespace}, Provisioner: "example.com/test", AllowVolumeExpansion: allow,
		}
		apiservertest.Create(t, b.client, class)
		t.Cleanup(func() { _ = b.client.Delete(apiservertest.Context(t), class) }) // of no namespace
	}
	want := map[string]facts.Expansion{}
	for class, expansion := range map[string]facts.Expansion{
		"fast": facts.ExpansionAllowed, "slow": facts.ExpansionRefused, "old": facts.ExpansionRefused, "gone": facts.ExpansionUnknown,
	} {
		c := claim(b, "x-"+class, "")
		c.Spec.StorageClassName = new(class + "-of-" + b.cluster.Namespace)
		apiservertest.Create(t, b.client, c)
		want[c.Name] = expansion
	}
	none := claim(b, "x-none", "")
	none.Spec.StorageClassName = new("")
	apiservertest.Create(t, b.client, none)
	want["x-none"] = facts.ExpansionRefused

	o := observe.Observer{Reader: b.client, Classes: b.client, Etcd: b.asked, DefaultVersion: "3.6.16"}
	obs, err := o.Observe(apiservertest.Context(t), b.cluster, facts.TLS{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]facts.Expansion{}
	for _, c := range obs.Claims {
		got[c.Name] = c.Expansion
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, c := range b.observe().Claims {
		if c.Expansion != facts.ExpansionUnknown {
			t.Errorf("%s: %v is known without a right to know it", c.Name, c.Expansion)
		}
	}
}

// What an earlier EtcdCluster has left is told apart from what is this one's.
func TestRetained(t *testing.T) {
	b := newBench(t)
	left := claim(b, "x-a", "")
	left.OwnerReferences, left.Labels[v1beta2.LabelOwner] = nil, "before"
	left.Annotations = map[string]string{member.AnnotationVersion: "3.5.35"}
	apiservertest.Create(t, b.client, left, claim(b, "x-b", "another"))
	obs := b.observe()
	want := []facts.Retained{{Name: "x-a", UID: string(left.UID), Owner: "before", Version: "3.5.35"}}
	if diff := cmp.Diff(want, obs.Retained); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(obs.Claims) > 0 || obs.Cluster.Existed == "" {
		t.Errorf("claims %v, existed %q", obs.Claims, obs.Cluster.Existed)
	}
}

// How a member's etcd fares is read from what its kubelet says, and counted from when it
// was seen to serve.
func TestExits(t *testing.T) {
	b := newBench(t)
	p := b.pod("x-a")
	p.Annotations = map[string]string{v1beta2.AnnotationProven: observe.Proven(&facts.Pod{Restarts: 2, Repository: "quay.io/coreos/etcd", Version: "3.6.16"})}
	if err := b.client.Update(apiservertest.Context(t), p); err != nil {
		t.Fatal(err)
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: member.ContainerEtcd, RestartCount: 7,
		State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 2, Reason: "Error", Message: "panic: cannot use none as id\n\ngoroutine 1 [running]:\n"}},
	}}
	apiservertest.SetStatus(t, b.client, p)
	seen := b.observe().Pods[0]
	if seen.Restarts != 7 || seen.LastExit != (facts.Exit{Code: 2, Reason: "Error", Damage: "its write-ahead log has no beginning", Words: "panic: cannot use none as id"}) || !seen.Looping || seen.ProvenRestarts != 2 || seen.ProvenImage != "quay.io/coreos/etcd:v3.6.16" {
		t.Errorf("it is seen as %+v", seen)
	}
	started := metav1.Now().Rfc3339Copy()
	p.Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}}
	apiservertest.SetStatus(t, b.client, p)
	if seen := b.observe().Pods[0]; seen.Looping || !seen.RunningSince.Equal(started.Time) || seen.LastExit.Code != 2 {
		t.Errorf("started again it is seen as %+v", seen)
	}
}

// An object with a member's name belongs to the member unless another controller owns it or a restore has
// retired it (S9). Anyone who can write the object can edit its owner references and labels.
func TestDoubtful(t *testing.T) {
	theirs := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "theirs", UID: "theirs"}
	for name, tc := range map[string]struct {
		edit func(*metav1.ObjectMeta, string)
		want bool
	}{
		"as it was created": {func(*metav1.ObjectMeta, string) {}, false},
		"retained":          {func(m *metav1.ObjectMeta, uid string) { m.OwnerReferences, m.Labels[v1beta2.LabelOwner] = nil, uid }, false},
		"retained, with a foreign reference": {func(m *metav1.ObjectMeta, uid string) {
			m.OwnerReferences, m.Labels[v1beta2.LabelOwner] = []metav1.OwnerReference{theirs}, uid
		}, true},
		"a foreign reference in place of ours":     {func(m *metav1.ObjectMeta, _ string) { m.OwnerReferences = []metav1.OwnerReference{theirs} }, true},
		"our reference, which does not control it": {func(m *metav1.ObjectMeta, _ string) { m.OwnerReferences[0].Controller = nil }, true},
		"no reference and no label":                {func(m *metav1.ObjectMeta, _ string) { m.OwnerReferences = nil }, true},
		"retained, as that of another EtcdCluster": {func(m *metav1.ObjectMeta, _ string) { m.OwnerReferences, m.Labels[v1beta2.LabelOwner] = nil, "edited" }, true},
		"retired by a restore":                     {func(m *metav1.ObjectMeta, _ string) { m.OwnerReferences, m.Labels[v1beta2.LabelRetiredBy] = nil, "r" }, false},
		"controlled by another":                    {func(m *metav1.ObjectMeta, _ string) { m.OwnerReferences[0].UID = "another" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.status(func(s *v1beta2.ClusterStatus) {
				s.ClusterID, s.Bootstrap = "00000000000000c1", &v1beta2.BootstrapStatus{Member: "x-a", Token: "t"}
				s.MemberDetails = []v1beta2.MemberDetail{{Name: "x-a"}, {Name: "x-b"}}
			})
			c := claim(b, "x-a", "")
			tc.edit(&c.ObjectMeta, string(b.cluster.UID))
			apiservertest.Create(t, b.client, c)
			var want []facts.Doubtful
			if tc.want {
				want = append(want, facts.DoubtfulPVC(b.cluster.Namespace, "x-a", b.cluster.Name, string(b.cluster.UID)))
			}
			isPods := c.Labels[v1beta2.LabelRetiredBy] == "" // no restore retires Pods
			var doubtfulPod bool
			b.pod("x-b", func(p *corev1.Pod) {
				if isPods {
					tc.edit(&p.ObjectMeta, string(b.cluster.UID))
				}
				doubtfulPod = metav1.GetControllerOf(p) == nil
			})
			if doubtfulPod {
				want = append(want, facts.DoubtfulPod(b.cluster.Namespace, "x-b", "x", string(b.cluster.UID)))
			}
			if diff := cmp.Diff(want, b.observe().Doubtful); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
