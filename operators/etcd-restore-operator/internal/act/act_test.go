package act

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/build"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/launchertest"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/launcher"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// actionCase is an action, ready to be carried out in a fixture.
type actionCase struct {
	// make makes what the action needs; it is observed after that. did then says
	// whether the action has had its effect.
	make func(*fixture) (a plan.Action, did func() bool)
	// cluster is true of an action on the cluster, fenced of one that needs its fence.
	cluster, fenced bool
}

var actionCases = map[string]actionCase{
	"AddFinalizer": {make: func(f *fixture) (plan.Action, func() bool) {
		return plan.AddFinalizer{}, func() bool {
			apiservertest.Read(f.t, f.client, f.restore)
			return slices.Contains(f.restore.Finalizers, v1beta2.FinalizerRestore)
		}
	}},
	"RemoveFinalizer": {make: func(f *fixture) (plan.Action, func() bool) {
		f.restore.Finalizers = []string{v1beta2.FinalizerRestore, "example.com/theirs"}
		f.update(f.restore)
		return plan.RemoveFinalizer{}, func() bool {
			apiservertest.Read(f.t, f.client, f.restore)
			return slices.Equal(f.restore.Finalizers, []string{"example.com/theirs"})
		}
	}},
	"StartJob": {make: func(f *fixture) (plan.Action, func() bool) {
		return f.start(), func() bool {
			return !f.gone(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: f.start().Name, Namespace: f.namespace}})
		}
	}},
	"DeleteJob": {make: func(f *fixture) (plan.Action, func() bool) {
		j := f.job()
		return plan.DeleteJob{Name: j.Name, UID: string(j.UID)}, func() bool { return f.gone(j) }
	}},
	"CreateCluster": {make: func(f *fixture) (plan.Action, func() bool) {
		apiservertest.Delete(f.t, f.client, f.cluster)
		return plan.CreateCluster{Spec: f.cluster.Spec}, func() bool {
			a := f.annotations()
			return a[v1beta2.AnnotationFence] == string(f.restore.UID) && a[v1beta2.AnnotationRestoredBy] == string(f.restore.UID)
		}
	}},
	"DeleteCluster": {cluster: true, make: func(f *fixture) (plan.Action, func() bool) {
		f.mark(v1beta2.AnnotationRestoredBy, string(f.restore.UID))
		return plan.DeleteCluster{UID: string(f.cluster.UID)}, func() bool { return f.gone(f.cluster) }
	}},
	"AskFence": {cluster: true, make: func(f *fixture) (plan.Action, func() bool) {
		f.fencedBy("")
		f.mark(v1beta2.AnnotationFence, "")
		return plan.AskFence{}, func() bool { return f.annotations()[v1beta2.AnnotationFence] == string(f.restore.UID) }
	}},
	"WithdrawFence": {cluster: true, make: func(f *fixture) (plan.Action, func() bool) {
		f.fencedBy("")
		return plan.WithdrawFence{}, func() bool {
			a := f.annotations()
			return a[v1beta2.AnnotationFence] == "" && a[v1beta2.AnnotationFenceLifted] == string(f.restore.UID)
		}
	}},
	"StopPods": {cluster: true, fenced: true, make: func(f *fixture) (plan.Action, func() bool) {
		a, b := f.pod("x-a"), f.pod("x-b")
		return plan.StopPods{Pods: []plan.Ref{refOf(a), refOf(b)}}, func() bool { return f.gone(a) && f.gone(b) }
	}},
	"RetireClaims": {cluster: true, fenced: true, make: func(f *fixture) (plan.Action, func() bool) {
		c := f.claim("x-a", false)
		return plan.RetireClaims{Claims: []plan.Ref{refOf(c)}}, func() bool {
			l := f.labels("x-a")
			return l[v1beta2.LabelCluster] == "" && l[v1beta2.LabelRetiredBy] == string(f.restore.UID)
		}
	}},
	"ReturnClaims": {cluster: true, fenced: true, make: func(f *fixture) (plan.Action, func() bool) {
		c := f.claim("x-a", true)
		return plan.ReturnClaims{Claims: []plan.Ref{refOf(c)}}, func() bool {
			l := f.labels("x-a")
			return l[v1beta2.LabelCluster] == "x" && l[v1beta2.LabelRetiredBy] == ""
		}
	}},
	"CreateSeedClaim": {cluster: true, fenced: true, make: func(f *fixture) (plan.Action, func() bool) {
		return plan.CreateSeedClaim{Name: "x-s"}, func() bool { return f.labels("x-s")[v1beta2.LabelMember] == "x-s" }
	}},
	"CreateSeed": {cluster: true, fenced: true, make: func(f *fixture) (plan.Action, func() bool) {
		return f.createSeed(), func() bool {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x-s", Namespace: f.namespace}}
			apiservertest.Read(f.t, f.client, p)
			return metav1.IsControlledBy(p, f.cluster) && p.Annotations[v1beta2.AnnotationRestorePermit] == string(f.restore.UID)+task.Prepare &&
				p.Labels[v1beta2.LabelOwner] == ""
		}
	}},
	"PermitStart": {cluster: true, fenced: true, make: func(f *fixture) (plan.Action, func() bool) {
		p := f.seed()
		return plan.PermitStart{Ref: refOf(p)}, func() bool {
			apiservertest.Read(f.t, f.client, p)
			return p.Annotations[v1beta2.AnnotationRestorePermit] == string(f.restore.UID) && p.Labels[v1beta2.LabelOwner] == string(f.cluster.UID)
		}
	}},
	"DeleteSeed": {cluster: true, fenced: true, make: func(f *fixture) (plan.Action, func() bool) {
		p := f.seed()
		return plan.DeleteSeed{Ref: refOf(p)}, func() bool { return f.gone(p) }
	}},
	"DeleteSeedClaim": {cluster: true, fenced: true, make: func(f *fixture) (plan.Action, func() bool) {
		c := f.claim("x-s", false)
		return plan.DeleteSeedClaim{Ref: refOf(c)}, func() bool { return f.gone(c) }
	}},
	"WithdrawPermit": {cluster: true, make: func(f *fixture) (plan.Action, func() bool) {
		p := f.seed()
		return plan.WithdrawPermit{Ref: refOf(p)}, func() bool {
			apiservertest.Read(f.t, f.client, p)
			_, permitted := p.Annotations[v1beta2.AnnotationRestorePermit]
			return !permitted && p.Annotations[v1beta2.AnnotationRestore] == "x"
		}
	}},
	"HandOff": {cluster: true, fenced: true, make: func(f *fixture) (plan.Action, func() bool) {
		p := f.seed()
		return plan.HandOff{Ref: refOf(p)}, func() bool {
			a := f.annotations()
			return a[v1beta2.AnnotationSeeded] == f.offer(p) && a[v1beta2.AnnotationFence] == ""
		}
	}},
	"HandOff, unmarked": {cluster: true, fenced: true, make: func(f *fixture) (plan.Action, func() bool) {
		f.mark(v1beta2.AnnotationFence, "")
		p := f.seed()
		return plan.HandOff{Ref: refOf(p)}, func() bool { return f.annotations()[v1beta2.AnnotationSeeded] == f.offer(p) }
	}},
	"WithdrawSeed": {cluster: true, fenced: true, make: func(f *fixture) (plan.Action, func() bool) {
		f.mark(v1beta2.AnnotationSeeded, f.offer(f.seed()))
		return plan.WithdrawSeed{}, func() bool { return f.annotations()[v1beta2.AnnotationSeeded] == "" }
	}},
	"LiftFence": {cluster: true, fenced: true, make: func(f *fixture) (plan.Action, func() bool) {
		return plan.LiftFence{}, func() bool {
			a := f.annotations()
			return a[v1beta2.AnnotationFenceLifted] == string(f.restore.UID) && a[v1beta2.AnnotationFence] == ""
		}
	}},
	"DeleteRetired": {cluster: true, make: func(f *fixture) (plan.Action, func() bool) {
		c := f.claim("x-a", true)
		return plan.DeleteRetired{Claims: []plan.Ref{refOf(c)}}, func() bool { return f.gone(c) }
	}},
}

// Each action has its effect, and to repeat it does no harm.
func TestActions(t *testing.T) {
	for label, tc := range actionCases {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			a, did := tc.make(f)
			e, obs := f.observed()
			if err := f.a.Act(apiservertest.Context(t), e, obs, a); err != nil {
				t.Fatal(err)
			}
			if !did() {
				t.Fatal("it did nothing")
			}
			before := f.state()
			e, obs = f.observed()
			if err := f.a.Act(apiservertest.Context(t), e, obs, a); err != nil && !errors.Is(err, ErrStale) {
				t.Errorf("again: %v", err)
			}
			if after := f.state(); !maps.Equal(before, after) && label != "LiftFence" && label != "HandOff" {
				t.Errorf("again, it did something: %v became %v", before, after)
			}
		})
	}
}

// Volumes that outlive their EtcdCluster, and have no owner reference, are its own all the
// same.
func TestVolumesThatAreKept(t *testing.T) {
	for _, label := range []string{"RetireClaims", "ReturnClaims", "CreateSeedClaim", "DeleteSeedClaim", "DeleteRetired"} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.cluster.Spec.Storage = &v1beta2.StoragePolicy{DeletionPolicy: v1beta2.VolumesRetain}
			f.update(f.cluster)
			a, did := actionCases[label].make(f)
			for _, when := range []string{"at first", "again"} {
				e, obs := f.observed()
				if err := f.a.Act(apiservertest.Context(t), e, obs, a); err != nil && (when == "at first" || !errors.Is(err, ErrStale)) {
					t.Fatalf("%s: %v", when, err)
				}
				if !did() {
					t.Fatalf("%s: it is not done", when)
				}
			}
		})
	}
}

// wantNothing carries an action out that must find the world changed.
func (f *fixture) wantNothing(why string, e *v1beta2.EtcdRestore, obs *plan.Observation, a plan.Action) {
	f.t.Helper()
	before := f.state()
	if err := f.a.Act(apiservertest.Context(f.t), e, obs, a); err != nil && !errors.Is(err, ErrStale) {
		f.t.Errorf("%s: error %v, want %v", why, err, ErrStale)
	}
	if after := f.state(); !maps.Equal(before, after) {
		f.t.Errorf("%s: %v became %v", why, before, after)
	}
}

// No action is carried out on an EtcdRestore that has changed since it was observed.
func TestTheRestoreIsReadLive(t *testing.T) {
	for label, tc := range actionCases {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			a, _ := tc.make(f)
			e, obs := f.observed()
			f.restore.Annotations = map[string]string{"example.com/changed": "true"}
			f.update(f.restore)
			f.wantNothing("changed", e, obs, a)

			f.restore.Finalizers = nil
			f.update(f.restore)
			apiservertest.Delete(t, f.client, f.restore)
			f.wantNothing("gone", e, obs, a)
		})
	}
}

// No action on a cluster is carried out on another of its name.
func TestTheClusterIsReadLive(t *testing.T) {
	for label, tc := range actionCases {
		if !tc.cluster {
			continue
		}
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			a, _ := tc.make(f)
			e, obs := f.observed()
			marks := maps.Clone(f.cluster.Annotations)
			apiservertest.Delete(t, f.client, f.cluster)
			f.wantNothing("gone", e, obs, a)
			f.makeCluster()
			f.cluster.Annotations = marks
			f.update(f.cluster)
			f.wantNothing("another", e, obs, a)
		})
	}
}

// What is the fencing restore's to do is done by no other.
func TestTheFenceIsReadLive(t *testing.T) {
	for label, tc := range actionCases {
		if !tc.fenced {
			continue
		}
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			a, _ := tc.make(f)
			e, obs := f.observed()
			for _, by := range []string{"", "another"} {
				f.fencedBy(by)
				f.wantNothing(fmt.Sprintf("fenced by %q", by), e, obs, a)
			}
		})
	}
}

// The patches test the fence themselves: it may go between the look and the patch.
func TestPatchesTestTheFence(t *testing.T) {
	for _, label := range []string{"HandOff", "HandOff, unmarked", "WithdrawSeed", "LiftFence"} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			a, _ := actionCases[label].make(f)
			e, _ := f.observed()
			seen := &target{restore: e, cluster: f.cluster.DeepCopy(), observed: f.cluster.DeepCopy()}
			f.fencedBy("another")
			before := f.state()
			if err := f.a.actWhileFenced(apiservertest.Context(t), seen, a); !errors.Is(err, ErrStale) {
				t.Errorf("error %v, want %v", err, ErrStale)
			}
			if after := f.state(); !maps.Equal(before, after) {
				t.Errorf("%v became %v", before, after)
			}
		})
	}
}

// What is true of one action alone.
func TestPreconditions(t *testing.T) {
	cases := map[string]struct {
		action string
		// then changes the world after it was observed.
		then func(*fixture)
	}{
		"a fence that is acknowledged":       {"WithdrawFence", func(f *fixture) { f.fencedBy(string(f.restore.UID)) }},
		"a fence of another":                 {"WithdrawFence", func(f *fixture) { f.mark(v1beta2.AnnotationFence, "another") }},
		"a cluster that has changed":         {"AskFence", func(f *fixture) { f.mark(v1beta2.AnnotationFence, "another") }},
		"a cluster that was not made for it": {"DeleteCluster", func(f *fixture) { f.mark(v1beta2.AnnotationRestoredBy, "another") }},
		"a cluster that is handed over": {"DeleteCluster", func(f *fixture) {
			f.mark(v1beta2.AnnotationSeeded, string(f.restore.UID)+"/x-s/uid")
		}},
		"a cluster that adopted the seed": {"DeleteCluster", func(f *fixture) {
			f.cluster.Status.AdoptedSeed = &v1beta2.AdoptedSeed{Restore: string(f.restore.UID), Pod: "x-s", PodUID: "uid"}
			f.fencedBy("")
		}},
		"another Pod": {"PermitStart", func(f *fixture) { f.pod("x-new") }},
		"another Pod that has lost its labels": {"PermitStart", func(f *fixture) {
			p := f.pod("x-new")
			p.Labels = nil
			f.update(p)
		}},
		"another Pod that has lost its owner reference": {"PermitStart", func(f *fixture) {
			p := f.pod("x-new")
			p.OwnerReferences = nil
			f.update(p)
		}},
		"a permit that was withdrawn": {"PermitStart", func(f *fixture) {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x-s", Namespace: f.namespace}}
			apiservertest.Read(f.t, f.client, p)
			delete(p.Annotations, v1beta2.AnnotationRestorePermit)
			f.update(p)
		}},
		"a seed of another uid that may start": {"PermitStart", func(f *fixture) {
			apiservertest.Delete(f.t, f.client, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x-s", Namespace: f.namespace}})
			f.seed()
		}},
		"a seed that is handed over": {"DeleteSeed", func(f *fixture) {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x-s", Namespace: f.namespace}}
			apiservertest.Read(f.t, f.client, p)
			f.mark(v1beta2.AnnotationSeeded, f.offer(p))
		}},
		"the volume of a seed that is handed over": {"DeleteSeedClaim", func(f *fixture) {
			f.mark(v1beta2.AnnotationSeeded, string(f.restore.UID)+"/x-s/uid")
		}},
		"a seed that a person has created again": {"LiftFence", func(f *fixture) { f.seed() }},
		"a seed of another restore":              {"WithdrawSeed", func(f *fixture) { f.mark(v1beta2.AnnotationSeeded, "another/x-s/uid") }},
		"a volume that was given back": {"DeleteRetired", func(f *fixture) {
			c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "x-a", Namespace: f.namespace}}
			apiservertest.Read(f.t, f.client, c)
			delete(c.Labels, v1beta2.LabelRetiredBy)
			f.update(c)
		}},
		"a volume that another restore has retired": {"RetireClaims", func(f *fixture) {
			c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "x-a", Namespace: f.namespace}}
			apiservertest.Read(f.t, f.client, c)
			delete(c.Labels, v1beta2.LabelCluster)
			c.Labels[v1beta2.LabelRetiredBy] = "another"
			f.update(c)
		}},
		"a volume of another uid": {"RetireClaims", func(f *fixture) {
			c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "x-a", Namespace: f.namespace}}
			apiservertest.Delete(f.t, f.client, c)
			f.claim("x-a", false)
		}},
		"a Pod of another uid": {"StopPods", func(f *fixture) {
			for _, name := range []string{"x-a", "x-b"} {
				apiservertest.Delete(f.t, f.client, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.namespace}})
				f.pod(name)
			}
		}},
		"a seed of another uid": {"WithdrawPermit", func(f *fixture) {
			apiservertest.Delete(f.t, f.client, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x-s", Namespace: f.namespace}})
			f.seed()
		}},
	}
	for label, tc := range cases {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			a, _ := actionCases[tc.action].make(f)
			e, obs := f.observed()
			tc.then(f)
			f.wantNothing(label, e, obs, a)
		})
	}
}

// A seed is made from the CAs that the cluster, read live, trusts, and from none if
// it trusts none.
func TestASeedNeedsCertificates(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	apiservertest.Delete(t, f.client, f.cluster)
	f.makeCluster(func(c *v1beta2.EtcdCluster) { c.Spec.TLS = &v1beta2.TLSPolicy{Auto: &v1beta2.AutoTLS{}} })
	e, obs := f.observed()
	obs.Cluster.Status.TLS = &v1beta2.TLSStatus{Trust: "observed"}
	f.wantNothing("no certificates", e, obs, f.createSeed())

	f.cluster.Status.TLS = &v1beta2.TLSStatus{Trust: "live"}
	apiservertest.SetStatus(t, f.client, f.cluster)
	if err := f.a.Act(apiservertest.Context(t), e, obs, f.createSeed()); err != nil {
		t.Fatal(err)
	}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x-s", Namespace: f.namespace}}
	apiservertest.Read(t, f.client, p)
	if got := p.Annotations; got[v1beta2.AnnotationTrust] != "live" || got[v1beta2.AnnotationTemplate] != member.TemplateHash(f.cluster) {
		t.Errorf("the seed's annotations are %v, want those of a member of this cluster", got)
	}
}

// Old members that are being deleted are let be if the user says so, and no others.
func TestAcceptRunningOldMembers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.restore.Spec.AcceptRunningOldMembers = true
	f.update(f.restore)
	old, seed := f.pod("x-a"), f.seed()
	start := plan.PermitStart{Ref: refOf(seed)}
	e, obs := f.observed()
	f.wantNothing("a Pod that was not told to stop", e, obs, start)

	apiservertest.Bind(t, f.client, old, "node")
	apiservertest.Delete(t, f.client, old) // it stays: there is no kubelet
	if err := f.a.Act(apiservertest.Context(t), e, obs, start); err != nil {
		t.Error(err)
	}
}

// Members are stopped for a seed only if that is ready at this very moment.
func TestMembersAreStoppedForASeedThatIsReady(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	old, seed := f.pod("x-a"), f.seed()
	stop := plan.StopPods{Pods: []plan.Ref{refOf(old)}, Seed: refOf(seed)}
	e, obs := f.observed()
	f.wantNothing("a seed that prepares", e, obs, stop)
	f.wantNothing("another seed", e, obs, plan.StopPods{Pods: stop.Pods, Seed: plan.Ref{Name: seed.Name, UID: "another"}})

	seed.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: task.ContainerRestore, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}
	apiservertest.SetStatus(t, f.client, seed)
	f.wantNothing("a seed whose launcher does not run", e, obs, stop)

	says := launcher.State{State: launcher.Waiting, Identity: launcher.Identity{PodUID: string(seed.UID)}, Reason: launcher.ReasonNotPrepared}
	seed.Status.PodIP = launchertest.ServeState(t, func() launcher.State { return says })
	seed.Status.PodIPs = []corev1.PodIP{{IP: seed.Status.PodIP}}
	seed.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: member.ContainerEtcd, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	apiservertest.SetStatus(t, f.client, seed)
	f.wantNothing("a seed whose launcher could not start etcd", e, obs, stop)

	says.Reason = launcher.ReasonNoPermit
	if err := f.a.Act(apiservertest.Context(t), e, obs, stop); err != nil || !f.gone(old) {
		t.Errorf("error %v, gone %t", err, f.gone(old))
	}
}

// Where there is no annotation at all, a JSON patch can't add one.
func TestHandOffWithoutAnnotations(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mark(v1beta2.AnnotationFence, "")
	if len(f.annotations()) > 0 {
		t.Fatalf("the annotations are %v", f.cluster.Annotations)
	}
	p := f.seed()
	e, _ := f.observed()
	seen := &target{restore: e, cluster: f.cluster.DeepCopy(), observed: f.cluster.DeepCopy()}
	f.mark("example.com/a", "b")
	if err := f.a.handOff(apiservertest.Context(t), seen, plan.HandOff{Ref: refOf(p)}); !errors.Is(err, ErrStale) {
		t.Errorf("with an annotation that has come meanwhile: error %v, want %v", err, ErrStale)
	}
	if got := f.annotations(); got["example.com/a"] != "b" || got[v1beta2.AnnotationSeeded] != "" {
		t.Errorf("the annotations are %v", got)
	}
}

// What belongs to somebody else under our name is in the way, and is not taken.
func TestForeignObjects(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*fixture) (client.Object, plan.Action){
		"Job": func(f *fixture) (client.Object, plan.Action) {
			j, err := build.Job(f.restore, f.start(), f.a.Images)
			if err != nil {
				t.Fatal(err)
			}
			return j, f.start()
		},
		"volume": func(f *fixture) (client.Object, plan.Action) {
			return member.NewClaim(f.cluster, "x-s"), plan.CreateSeedClaim{Name: "x-s"}
		},
		"seed": func(f *fixture) (client.Object, plan.Action) {
			p, err := build.Seed(f.restore, f.cluster, f.createSeed(), image)
			if err != nil {
				t.Fatal(err)
			}
			return p, f.createSeed()
		},
	}
	for label, make := range cases {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			o, a := make(f)
			o.SetOwnerReferences(nil)
			apiservertest.Create(t, f.client, o)
			e, obs := f.observed()
			if err := f.a.Act(apiservertest.Context(t), e, obs, a); !errors.Is(err, ErrRefused) {
				t.Errorf("error %v, want %v", err, ErrRefused)
			}
		})
	}
}
