package act_test

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// strip takes a label away, as a person or a webhook may, and adds one of theirs.
func (b *bench) strip(o client.Object, label string) {
	b.t.Helper()
	before := o.DeepCopyObject().(client.Object)
	labels := maps.Clone(o.GetLabels())
	delete(labels, label)
	labels["theirs"] = "1"
	o.SetLabels(labels)
	if err := b.client.Patch(apiservertest.Context(b.t), o, client.MergeFrom(before)); err != nil {
		b.t.Fatal(err)
	}
}

// members are the cluster's as its status names them.
func (b *bench) members(names ...string) {
	b.t.Helper()
	b.status(func(s *v1beta2.ClusterStatus) {
		for _, name := range names {
			s.MemberDetails = append(s.MemberDetails, v1beta2.MemberDetail{Name: name, Role: v1beta2.MemberVoter})
		}
	})
}

func (b *bench) claim(name string) *corev1.PersistentVolumeClaim {
	b.t.Helper()
	return b.live(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.cluster.Namespace}})
}

// A Pod or volume that has lost its labels is in no list. Whatever rests on its absence is
// not done; it gets its labels back, and is seen again (S9).
func TestWhatHasLostItsLabelsIsNotGone(t *testing.T) {
	actions := map[string]func(*facts.Observation) action.Action{
		"its member is not removed": func(*facts.Observation) action.Action {
			return action.RemoveMember{ID: 2, Name: "x-a", Members: xbAndXA}
		},
		"no other takes its place": func(*facts.Observation) action.Action {
			return creating(action.NewPod{Name: "x-new", Role: facts.Joiner})
		},
		"no other member is restarted": func(obs *facts.Observation) action.Action {
			return action.ChangeImage{Name: "x-b", UID: podIn(obs, "x-b").UID, Repository: "other", Version: "3.7.3"}
		},
		"no survivor is chosen without it": func(*facts.Observation) action.Action { return action.RecordSurvivor{} },
	}
	for _, label := range []string{v1beta2.LabelApp, v1beta2.LabelCluster} {
		for what, decided := range actions {
			t.Run("a Pod without "+label+": "+what, func(t *testing.T) {
				b := newBench(t)
				b.make(action.NewPod{Name: "x-a", Role: facts.Voter}, action.NewPod{Name: "x-b", Role: facts.Voter})
				b.members("x-a", "x-b")
				b.strip(b.pod("x-a"), label)
				obs := b.observe()
				b.actor.Etcd = b.serves()
				if podIn(obs, "x-a") != nil {
					t.Fatal("the Pod was observed")
				}
				wantStale(t, what, b.act(obs, decided(obs)))
				if b.exists(&corev1.Pod{}, "x-new") {
					t.Error("a Pod was made")
				}
				if p := podIn(b.observe(), "x-a"); p == nil || p.Role != facts.Voter {
					t.Errorf("the Pod is observed as %+v, want a voter: its labels are %v", p, b.pod("x-a").Labels)
				}
			})
			t.Run("a volume without "+label+": "+what, func(t *testing.T) {
				b := newBench(t, withVolumes)
				b.make(action.NewPod{Name: "x-a", Role: facts.Voter}, action.NewPod{Name: "x-b", Role: facts.Voter})
				b.members("x-a", "x-b")
				uid := b.pod("x-a").UID
				if err := b.client.Delete(apiservertest.Context(t), b.pod("x-a"), client.GracePeriodSeconds(0), client.Preconditions{UID: &uid}); err != nil {
					t.Fatal(err)
				}
				b.strip(b.claim("x-a"), label)
				obs := b.observe()
				b.actor.Etcd = b.serves()
				if len(obs.Claims) != 1 {
					t.Fatalf("%d volumes were observed, want that of x-b", len(obs.Claims))
				}
				wantStale(t, what, b.act(obs, decided(obs)))
				if n := len(b.observe().Claims); n != 2 {
					t.Errorf("%d volumes are observed, want both: the labels are %v", n, b.claim("x-a").Labels)
				}
			})
		}
	}
}

// Nothing is decided while a quorum seems to be lost, so nothing asks for a Pod that has lost its
// labels: it gets them back all the same. So does a seed that no status names as a member yet, and a
// member whose peer URL a person has changed.
func TestPodsGetTheirLabelsBackBesideAnyDecision(t *testing.T) {
	for _, label := range []string{v1beta2.LabelApp, v1beta2.LabelCluster} {
		t.Run(label, func(t *testing.T) {
			b := newBench(t)
			const moved = "x-0123456789"
			b.make(action.NewPod{Name: "x-a", Role: facts.Seed}, action.NewPod{Name: "x-b", Role: facts.Voter}, action.NewPod{Name: moved, Role: facts.Voter})
			b.members("x-b", moved, "a person's / member")
			b.status(func(s *v1beta2.ClusterStatus) {
				s.Bootstrap = &v1beta2.BootstrapStatus{Member: "x-a", Token: "t"}
				s.MemberDetails[1].Unmanaged, s.MemberDetails[2].Unmanaged = true, true
			})
			for _, name := range []string{"x-a", "x-b", moved} {
				b.strip(b.pod(name), label)
			}
			b.mustHaveChildren(facts.KeepBudget)
			for _, name := range []string{"x-a", "x-b", moved} {
				if podIn(b.observe(), name) == nil {
					t.Errorf("Pod %s is not observed: its labels are %v", name, b.pod(name).Labels)
				}
			}
		})
	}
}

// If the metadata of a PVC was edited, and no other controller owns the PVC, the operator does not take it
// over. It neither removes the PVC's member (S9) nor chooses a survivor (S13).
func TestAVolumeWithoutAnOwner(t *testing.T) {
	theirs := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "theirs", UID: "theirs"}
	for name, edit := range map[string]func(*v1beta2.EtcdCluster, *corev1.PersistentVolumeClaim){
		"no reference and no label": func(_ *v1beta2.EtcdCluster, p *corev1.PersistentVolumeClaim) { p.OwnerReferences, p.Labels = nil, nil },
		"our label and a foreign reference": func(c *v1beta2.EtcdCluster, p *corev1.PersistentVolumeClaim) {
			p.OwnerReferences, p.Labels[v1beta2.LabelOwner] = []metav1.OwnerReference{theirs}, string(c.UID)
		},
		"a foreign reference in place of ours": func(_ *v1beta2.EtcdCluster, p *corev1.PersistentVolumeClaim) {
			p.OwnerReferences = []metav1.OwnerReference{theirs}
		},
		"our reference, which does not control it": func(_ *v1beta2.EtcdCluster, p *corev1.PersistentVolumeClaim) { p.OwnerReferences[0].Controller = nil },
		"the label of another owner": func(_ *v1beta2.EtcdCluster, p *corev1.PersistentVolumeClaim) {
			p.OwnerReferences, p.Labels[v1beta2.LabelOwner] = nil, "edited"
		},
	} {
		for what, decided := range map[string]action.Action{
			"its member is not removed": action.RemoveMember{ID: 2, Name: "x-a", Members: xbAndXA}, "no survivor is chosen": action.RecordSurvivor{},
		} {
			t.Run(name+": "+what, func(t *testing.T) { aVolumeWithoutAnOwner(t, edit, decided) })
		}
	}
}

func aVolumeWithoutAnOwner(t *testing.T, edit func(*v1beta2.EtcdCluster, *corev1.PersistentVolumeClaim), decided action.Action) {
	b := newBench(t, withVolumes)
	b.make(action.NewPod{Name: "x-b", Role: facts.Voter})
	b.members("x-a", "x-b")
	claim := b.claimed("x-a", func(p *corev1.PersistentVolumeClaim) { edit(b.cluster, p) })
	before := claim.ResourceVersion
	b.actor.Etcd = b.serves()
	obs := b.observe()
	obs.Doubtful = nil // a cache that lags does not show it
	wantStale(t, "it may hold the member's data", b.act(obs, decided))
	if b.live(claim).ResourceVersion != before {
		t.Errorf("the volume was changed: %v", claim.Labels)
	}
}

// Labels that the operator owns are put back on Pods and volumes that it sees, and on the
// volume that a Pod uses; what others have added stays.
func TestLabelsArePutBack(t *testing.T) {
	for _, label := range []string{v1beta2.LabelMember, v1beta2.LabelManagedBy, v1beta2.LabelRole, v1beta2.LabelCluster, v1beta2.LabelApp} {
		t.Run(label, func(t *testing.T) {
			b := newBench(t, withVolumes)
			b.make(action.NewPod{Name: "x-a", Role: facts.Voter})
			pod := b.pod("x-a")
			hidden := label == v1beta2.LabelCluster || label == v1beta2.LabelApp
			if !hidden { // of a Pod that is in no list only noneUnseen knows
				b.strip(pod, label)
			}
			if label != v1beta2.LabelRole {
				b.strip(b.claim("x-a"), label)
			}
			b.mustHaveChildren(facts.KeepBudget)
			if _, ok := b.pod("x-a").Labels[label]; !ok {
				t.Errorf("the Pod has the labels %v", b.pod("x-a").Labels)
			}
			want := member.ClaimLabels(b.cluster, "x-a")
			if got := b.claim("x-a").Labels; label != v1beta2.LabelRole && (got[label] != want[label] || got["theirs"] != "1") {
				t.Errorf("the volume has the labels %v", got)
			}
			versions := b.everything()
			if b.mustHaveChildren(facts.KeepBudget); b.everything() != versions {
				t.Error("something was written although nothing was missing")
			}
		})
	}
}
