package act_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/act"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// claimed makes the claim of a member, as the EtcdCluster has it, with changes.
func (b *bench) claimed(name string, changes ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	b.t.Helper()
	apiservertest.Read(b.t, b.client, b.cluster)
	claim := member.NewClaim(b.cluster, name)
	for _, change := range changes {
		change(claim)
	}
	apiservertest.Create(b.t, b.client, claim)
	return claim
}

func (b *bench) live(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	b.t.Helper()
	apiservertest.Read(b.t, b.client, claim)
	return claim
}

func ref(claim *corev1.PersistentVolumeClaim) []action.ClaimRef {
	return []action.ClaimRef{{Name: claim.Name, UID: string(claim.UID)}}
}

// leftBy makes a claim one that an earlier EtcdCluster has left.
func leftBy(uid string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) {
		c.OwnerReferences, c.Labels[v1beta2.LabelOwner] = nil, uid
	}
}

// Claims change their form, and are the cluster's in both.
func TestKeepClaims(t *testing.T) {
	b := newBench(t, withVolumes)
	claim := b.claimed("x-a")
	keep := action.KeepClaims{Claims: ref(claim), Retain: true, Version: "3.6.16"}
	for range 2 { // S11
		if err := b.act(b.observe(), keep); err != nil {
			t.Fatal(err)
		}
		b.live(claim)
		if !member.IsRetained(claim) || !member.Owns(b.cluster, claim) || claim.Annotations[member.AnnotationVersion] != "3.6.16" {
			t.Errorf("the claim has the owners %v, labels %v, annotations %v", claim.OwnerReferences, claim.Labels, claim.Annotations)
		}
	}
	if err := b.act(b.observe(), action.KeepClaims{Claims: ref(claim)}); err != nil {
		t.Fatal(err)
	}
	if b.live(claim); member.IsRetained(claim) || !metav1.IsControlledBy(claim, b.cluster) {
		t.Errorf("the claim has the owners %v, labels %v", claim.OwnerReferences, claim.Labels)
	}
	seeds := b.claimed("x-s", func(p *corev1.PersistentVolumeClaim) {
		p.Annotations = map[string]string{v1beta2.AnnotationSurvivorPermit: "token"}
	})
	if err := b.act(b.observe(), action.KeepClaims{Claims: ref(seeds)}); err != nil {
		t.Fatal(err)
	}
	if b.live(seeds); seeds.Annotations[v1beta2.AnnotationSurvivorPermit] != "token" {
		t.Error("the volume of a seed has lost its mark")
	}
	if err := b.act(b.observe(), action.KeepClaims{Claims: ref(seeds), Recovered: true}); err != nil {
		t.Fatal(err)
	}
	if b.live(seeds); seeds.Annotations[v1beta2.AnnotationSurvivorPermit] != "" {
		t.Error("the volume of a recovered cluster is marked as a seed's")
	}
	keep.Claims[0].UID = "another"
	wantStale(t, "a claim of another uid", b.act(b.observe(), keep))
	theirs := b.claimed("x-b", leftBy("before"))
	wantStale(t, "somebody else's claim", b.act(b.observe(), action.KeepClaims{Claims: ref(theirs)}))
}

// A member whose volume is there is not removed, though the cache does not show it (S9).
func TestNoRemovalOverAClaim(t *testing.T) {
	b := newBench(t, withVolumes)
	unseen := b.observe()
	b.claimed("x-a")
	b.actor.Etcd = b.serves()
	err := b.act(unseen, action.RemoveMember{ID: 2, Name: "x-a", Members: xbAndXA})
	if !errors.Is(err, act.ErrStale) || !strings.Contains(err.Error(), "PVC x-a exists") {
		t.Errorf("the member is removed: %v, want it to be stale, since its volume is there", err)
	}
}

// Only what was left by whom it is asked of is taken.
func TestTakeClaims(t *testing.T) {
	b := newBench(t, withVolumes)
	left, other, owned := b.claimed("x-a", leftBy("before")), b.claimed("x-b", leftBy("another")), b.claimed("x-c")
	for _, claim := range []*corev1.PersistentVolumeClaim{other, owned} {
		wantStale(t, claim.Name, b.act(b.observe(), action.TakeClaims{From: "before", Claims: ref(claim)}))
	}
	if err := b.act(b.observe(), action.TakeClaims{From: "before", Claims: ref(left)}); err != nil {
		t.Fatal(err)
	}
	if b.live(left); !metav1.IsControlledBy(left, b.cluster) || left.Labels[v1beta2.LabelOwner] != "" {
		t.Errorf("the claim has the owners %v, labels %v", left.OwnerReferences, left.Labels)
	}
	wantStale(t, "a second time", b.act(b.observe(), action.TakeClaims{From: "before", Claims: ref(left)}))

	// Its launcher is told whose data it finds there.
	if err := b.act(b.observe(), action.CreatePods{Pods: []action.NewPod{{Name: "x-a", Role: facts.Returning, Version: "3.6.16"}}}); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{}
	if err := b.client.Get(apiservertest.Context(t), client.ObjectKey{Namespace: b.cluster.Namespace, Name: "x-a"}, pod); err != nil {
		t.Fatal(err)
	}
	if command := pod.Spec.Containers[0].Command; !slices.Contains(command, "--former-cluster-uid=before") || !slices.Contains(command, "--cluster-uid="+string(b.cluster.UID)) {
		t.Errorf("its launcher is started by %q", command)
	}
}

// A beginning is recorded over no claim (S1), whatever the cache showed.
func TestNoBeginningOverClaims(t *testing.T) {
	b := newBench(t, withVolumes)
	obs := b.observe()
	record := action.RecordBootstrap{Bootstrap: facts.Bootstrap{Member: "x-a", Token: "t"}, Version: "3.6.16"}
	if err := b.act(obs, record); err != nil {
		t.Fatal(err)
	}
	left := b.claimed("x-a", leftBy("before"))
	wantStale(t, "over a claim that was left", b.act(obs, record))
	if err := b.act(b.observe(), action.TakeClaims{From: "before", Claims: ref(left)}); err != nil {
		t.Fatal(err)
	}
	wantStale(t, "over a claim that was taken", b.act(b.observe(), record))
	record.Adopted = true
	if err := b.act(b.observe(), record); err != nil {
		t.Errorf("on the claim that was taken: %v", err)
	}
}

// What the API server refuses is noted, and nothing grows beside another that does.
func TestGrowClaim(t *testing.T) {
	b := newBench(t, withVolumes)
	claim := b.claimed("x-a")
	grow := action.GrowClaim{Name: "x-a", UID: string(claim.UID), From: 1 << 30, Size: 2 << 30}
	if err := b.act(b.observe(), grow); err == nil {
		t.Error("a claim without a class grows")
	}
	c := b.observe().Claims[0]
	if c.RefusedSize != 2<<30 || time.Since(c.RefusedAt) > time.Minute || c.Refusal == "" {
		t.Errorf("the refusal is seen as %+v", c)
	}
	stale := grow
	stale.From = 3 << 30
	wantStale(t, "another size", b.act(b.observe(), stale))
	stale = grow
	stale.UID = "another"
	wantStale(t, "another uid", b.act(b.observe(), stale))

	growing := b.claimed("x-b")
	growing.Status.Phase = corev1.ClaimBound
	growing.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("512Mi")}
	apiservertest.SetStatus(t, b.client, growing)
	wantStale(t, "beside another that grows", b.act(b.observe(), grow))
}

// A volume grows only while all Pods are as they were observed: one that another operator restarts at
// this moment is not joined by a second disruption (S6).
func TestGrowClaimOnlyBesideOthersAsTheyWere(t *testing.T) {
	b := newBench(t, withVolumes)
	obs := b.make(action.NewPod{Name: "x-a", Role: facts.Joiner}, action.NewPod{Name: "x-b", Role: facts.Joiner})
	claim := b.claim("x-a")
	grow := action.GrowClaim{Name: "x-a", UID: string(claim.UID), From: 1 << 30, Size: 2 << 30}
	change := action.ChangeImage{Name: "x-b", UID: string(b.pod("x-b").UID), Repository: "mirror/etcd", Version: "3.6.16"}
	if err := b.act(obs, change); err != nil {
		t.Fatal(err)
	}
	wantStale(t, "beside a Pod that has got another image since", b.act(obs, grow))
	if err := b.act(b.observe(), grow); errors.Is(err, act.ErrStale) { // its class does not let it grow
		t.Errorf("as observed: %v", err)
	}
}
