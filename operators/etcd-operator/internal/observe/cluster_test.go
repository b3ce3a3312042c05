package observe_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// byItself leaves out what TestConsistency looks at: it depends on uid and time.
var byItself = cmpopts.IgnoreFields(facts.Cluster{}, "Consistency")

// What is left out of the spec has its default, and what is latched is read back.
func TestCluster(t *testing.T) {
	b := newBench(t)
	obs := b.observe()
	want := facts.Cluster{
		Name: "x", Generation: 1, Size: 3, Version: "3.6.16", WantedVersion: "3.6.16", Repository: v1beta2.DefaultRepository, Template: member.TemplateHash(b.cluster), MemberTimeout: 5 * time.Minute, DisruptionBudget: true,
		Maintenance: facts.Maintenance{Compacts: true}, Namespace: b.cluster.Namespace, PeerURLFormat: "http://%s.x." + b.cluster.Namespace + ".svc:2380",
	}
	if diff := cmp.Diff(want, obs.Cluster, byItself); diff != "" {
		t.Errorf("a new cluster (-want +got):\n%s", diff)
	}

	b.status(func(s *v1beta2.ClusterStatus) {
		s.Bootstrap, s.ClusterID, s.CurrentVersion = &v1beta2.BootstrapStatus{Member: "x-seed", Token: "token"}, "00000000000000c1", "3.5.35"
	})
	obs = b.observe()
	want.Version, want.WantedVersion, want.ClusterID, want.Maintenance.Compacts = "3.5.35", "3.5.35", 0xc1, false
	want.Bootstrap, want.LastStatus = &facts.Bootstrap{Member: "x-seed", Token: "token"}, b.cluster.Status
	if diff := cmp.Diff(want, obs.Cluster, byItself); diff != "" {
		t.Errorf("a cluster that runs (-want +got):\n%s", diff)
	}
}

// A version that is not written never moves a cluster, and does not stop one that moves.
func TestVersions(t *testing.T) {
	latched := func(current, target string) func(*v1beta2.ClusterStatus) {
		return func(s *v1beta2.ClusterStatus) {
			s.Bootstrap, s.ClusterID, s.CurrentVersion, s.TargetVersion = &v1beta2.BootstrapStatus{Member: "x-seed", Token: "token"}, "00000000000000c1", current, target
		}
	}
	for name, tc := range map[string]struct {
		spec                    string
		status                  func(*v1beta2.ClusterStatus)
		version, target, wanted string
	}{
		"a new cluster":                         {"3.5.35", nil, "3.5.35", "", "3.5.35"},
		"nothing is written":                    {"", latched("3.5.35", ""), "3.5.35", "", "3.5.35"},
		"another is written":                    {"v3.6.16", latched("3.5.35", ""), "3.5.35", "", "3.6.16"},
		"on the way":                            {"3.6.16", latched("3.5.35", "3.6.16"), "3.5.35", "3.6.16", "3.6.16"},
		"on the way, and nothing is written":    {"", latched("3.5.35", "3.6.16"), "3.5.35", "3.6.16", "3.6.16"},
		"left to a restore before it was begun": {"3.6.16", func(s *v1beta2.ClusterStatus) { s.FencedBy, s.TargetVersion = "r1", "3.5.35" }, "3.6.16", "", "3.6.16"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(c *v1beta2.EtcdCluster) { c.Spec.Version = tc.spec })
			if tc.status != nil {
				b.status(tc.status)
			}
			if c := b.observe().Cluster; c.Version != tc.version || c.Target != tc.target || c.WantedVersion != tc.wanted {
				t.Errorf("it runs %s on its way to %q, and %s is wanted; want %s, %q, %s", c.Version, c.Target, c.WantedVersion, tc.version, tc.target, tc.wanted)
			}
		})
	}
}

func TestClusterAsSpecified(t *testing.T) {
	no := false
	b := newBench(t, func(c *v1beta2.EtcdCluster) {
		c.Spec = v1beta2.ClusterSpec{
			Size: 5, Version: "v3.7.3", Repository: "mirror/etcd", Paused: true, PodDisruptionBudget: &no,
			Recovery: &v1beta2.RecoveryPolicy{MemberTimeout: &metav1.Duration{Duration: time.Minute}},
			Storage:  &v1beta2.StoragePolicy{DeletionPolicy: v1beta2.VolumesRetain},
			TLS:      &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{Member: &v1beta2.MemberSecret{PeerSecret: "s"}}},
			Pod: &v1beta2.PodPolicy{PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			}},
		}
		c.Finalizers = []string{"example.com/test"}
		c.Annotations = map[string]string{v1beta2.AnnotationAdoptVolumes: v1beta2.AdoptAny, v1beta2.AnnotationScope: v1beta2.ScopeClusterwide}
	})
	if err := b.client.Delete(apiservertest.Context(t), b.cluster.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	want := facts.Cluster{
		Name: "x", Generation: 2, Deleting: true, Finalizers: []string{"example.com/test"}, Paused: true, Size: 5, Version: "3.7.3", WantedVersion: "3.7.3", Repository: "mirror/etcd",
		Namespace: b.cluster.Namespace, Scope: v1beta2.ScopeClusterwide,
		Template: member.TemplateHash(b.cluster), Persistent: true, Storage: 1 << 30, Retain: true, AdoptVolumes: "true", VersionGiven: true, MemberTimeout: time.Minute,
		PeerURLFormat: "https://%s.x." + b.cluster.Namespace + ".svc:2380",
		Maintenance:   facts.Maintenance{Compacts: true},
	}
	if diff := cmp.Diff(want, b.observe().Cluster, byItself); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// S1: whatever stands in the latch, it is closed.
func TestAnUnreadableClusterIDIsALatch(t *testing.T) {
	for _, written := range []string{"not a number", "0", "0000000000000000"} {
		b := newBench(t)
		b.status(func(s *v1beta2.ClusterStatus) { s.ClusterID = written })
		if b.observe().Cluster.ClusterID == 0 {
			t.Errorf("cluster id %q counts as none", written)
		}
	}
}

// S1: what shows that a cluster of this name has existed before.
func TestExisted(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		given  func(*bench)
		want   string
	}{
		"nothing":                      {"there is nothing", func(*bench) {}, ""},
		"an empty legacy status":       {"old clients send empty strings", func(b *bench) { b.status(func(s *v1beta2.ClusterStatus) { s.Phase = "" }) }, ""},
		"it is being created":          {"by us, or it never got further", func(b *bench) { b.status(func(s *v1beta2.ClusterStatus) { s.Phase = v1beta2.PhaseCreating }) }, ""},
		"the phase is Running":         {"a status of the archived operator", func(b *bench) { b.status(func(s *v1beta2.ClusterStatus) { s.Phase = v1beta2.PhaseRunning }) }, "was running"},
		"a version is recorded":        {"a status of the archived operator", func(b *bench) { b.status(func(s *v1beta2.ClusterStatus) { s.CurrentVersion = "3.2.13" }) }, "3.2.13"},
		"ready members are recorded":   {"a status of the archived operator", func(b *bench) { b.status(func(s *v1beta2.ClusterStatus) { s.Members.Ready = []string{"x-0000"} }) }, "names members"},
		"unready members are recorded": {"a status of the archived operator", func(b *bench) { b.status(func(s *v1beta2.ClusterStatus) { s.Members.Unready = []string{"x-0000"} }) }, "names members"},
		"a Pod of it exists":           {"its status was lost", func(b *bench) { b.pod("x-a") }, "Pod x-a"},
		"a volume was kept": {"from an earlier cluster of that name", func(b *bench) {
			apiservertest.Create(b.t, b.client, claim(b, "x-kept", "an-earlier-uid"))
		}, "exist: x-kept"},
		"a volume without an owner": {"kept by somebody", func(b *bench) {
			c := claim(b, "x-kept", "")
			c.OwnerReferences = nil
			apiservertest.Create(b.t, b.client, c)
		}, "exist: x-kept"},
		"a volume of its own exists": {"taken over, and not recorded yet", func(b *bench) {
			apiservertest.Create(b.t, b.client, claim(b, "x-a", ""))
		}, "PVC x-a exists"},
		"a volume of another cluster": {"it is none of ours", func(b *bench) {
			c := claim(b, "y-a", "another-uid")
			c.Labels = member.Selector("y")
			apiservertest.Create(b.t, b.client, c)
		}, ""},
		"a restore's seed while it is fenced": {"there may never have been a cluster: the restore deletes it if it fails", func(b *bench) {
			b.status(func(s *v1beta2.ClusterStatus) { s.FencedBy = "r1" })
			b.pod("x-a", func(p *corev1.Pod) { p.Annotations[v1beta2.AnnotationRestore] = "r" })
			apiservertest.Create(b.t, b.client, claim(b, "x-a", ""))
		}, ""},
		"a Pod beside a restore's seed": {"its status was lost", func(b *bench) {
			b.status(func(s *v1beta2.ClusterStatus) { s.FencedBy = "r1" })
			b.pod("x-a", func(p *corev1.Pod) { p.Annotations[v1beta2.AnnotationRestore] = "r" })
			b.pod("x-b")
		}, "Pod x-b"},
		"what an earlier restore has made": {"its status was lost", func(b *bench) {
			b.pod("x-a", func(p *corev1.Pod) { p.Annotations[v1beta2.AnnotationRestore] = "r" })
		}, "Pod x-a"},
		"a beginning is recorded": {"it is this operator's own", func(b *bench) {
			b.status(func(s *v1beta2.ClusterStatus) {
				s.Bootstrap, s.CurrentVersion, s.Phase = &v1beta2.BootstrapStatus{Member: "x-a", Token: "t"}, "3.6.16", v1beta2.PhaseRunning
			})
			b.pod("x-a")
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			tc.given(b)
			got := b.observe().Cluster.Existed
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("existed: %q, want %q in it (%s)", got, tc.want, tc.reason)
			}
		})
	}
}

// claim is the volume of a member; with uid it belongs to an EtcdCluster of that uid.
func claim(b *bench, name, uid string) *corev1.PersistentVolumeClaim {
	owner := member.Owner(b.cluster)
	if uid != "" {
		owner.UID = "00000000-0000-0000-0000-000000000001"
	}
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.cluster.Namespace, Labels: member.Selector("x"), OwnerReferences: []metav1.OwnerReference{owner}},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

func TestClaims(t *testing.T) {
	b := newBench(t)
	second, first := claim(b, "x-b", ""), claim(b, "x-a", "")
	first.Finalizers = []string{"example.com/test"}
	apiservertest.Create(t, b.client, second, first)
	if err := b.client.Delete(apiservertest.Context(t), first); err != nil {
		t.Fatal(err)
	}
	want := []facts.Claim{
		{Name: "x-a", UID: string(first.UID), Deleting: true, Created: first.CreationTimestamp.Time, Requested: 1 << 30},
		{Name: "x-b", UID: string(second.UID), Created: second.CreationTimestamp.Time, Requested: 1 << 30},
	}
	if diff := cmp.Diff(want, b.observe().Claims); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// S12: objects of others under names that we need.
func TestConflicts(t *testing.T) {
	service := func(name string) func(*bench) client.Object {
		return func(b *bench) client.Object {
			return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.cluster.Namespace}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
		}
	}
	budget := func(b *bench) client.Object {
		return &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: b.cluster.Namespace},
			Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{}},
		}
	}
	own := func(build func(*bench) client.Object, of func(*bench) metav1.OwnerReference) func(*bench) client.Object {
		return func(b *bench) client.Object {
			o := build(b)
			o.SetOwnerReferences([]metav1.OwnerReference{of(b)})
			return o
		}
	}
	ours := func(b *bench) metav1.OwnerReference { return member.Owner(b.cluster) }
	another := func(b *bench) metav1.OwnerReference {
		o := member.Owner(b.cluster)
		o.Name, o.UID = "other", "00000000-0000-0000-0000-000000000002"
		return o
	}
	no := false
	for name, tc := range map[string]struct {
		there func(*bench) client.Object
		spec  func(*v1beta2.EtcdCluster)
		want  string
		// budget is what is found in the place of the PodDisruptionBudget.
		budget string
	}{
		"nobody's headless Service":                  {there: service("x"), want: "Service x"},
		"nobody's client Service":                    {there: service("x-client"), want: "Service x-client"},
		"another cluster's client Service":           {there: own(service("x-client"), another), want: "Service x-client (of EtcdCluster other)"},
		"our own Service":                            {there: own(service("x-client"), ours)},
		"a Service of another name":                  {there: service("x-other")},
		"nobody's budget":                            {there: budget, budget: "PodDisruptionBudget x"},
		"another cluster's budget":                   {there: own(budget, another), budget: "PodDisruptionBudget x (of EtcdCluster other)"},
		"our own budget":                             {there: own(budget, ours)},
		"nobody's budget, where none of ours is due": {there: budget, spec: func(c *v1beta2.EtcdCluster) { c.Spec.PodDisruptionBudget = &no }},
	} {
		t.Run(name, func(t *testing.T) {
			changes := []func(*v1beta2.EtcdCluster){}
			if tc.spec != nil {
				changes = append(changes, tc.spec)
			}
			b := newBench(t, changes...)
			apiservertest.Create(t, b.client, tc.there(b))
			obs := b.observe()
			if got := strings.Join(obs.Conflicts, "; "); got != tc.want || obs.ForeignBudget != tc.budget {
				t.Errorf("conflicts %q and %q, want %q and %q", got, obs.ForeignBudget, tc.want, tc.budget)
			}
		})
	}
}

// S1, S12: Pods of the cluster's name that it does not control, as kubectl delete
// --cascade=orphan leaves them: a cluster does not begin beside them, and one that has
// begun goes on.
func TestOrphanedPods(t *testing.T) {
	for name, tc := range map[string]struct {
		reason             string
		pod                func(*corev1.Pod)
		begun              bool
		conflicts, orphans string
		unowned            string
	}{
		"a Pod that nobody controls": {
			reason: "its etcd runs on", pod: func(p *corev1.Pod) { p.OwnerReferences = nil }, conflicts: "Pod x-a", unowned: "pod/x-a",
		},
		"a Pod of an earlier EtcdCluster": {
			reason: "it is about to be deleted with it", pod: func(p *corev1.Pod) { p.OwnerReferences[0].UID = "before" }, conflicts: "Pod x-a (of EtcdCluster x)",
		},
		"beside a cluster that has begun": {
			reason: "refusing to heal helps nobody", pod: func(p *corev1.Pod) { p.OwnerReferences = nil }, begun: true, orphans: "x-a",
		},
		"a Pod that has lost the app label": {
			reason: "no cache shows it", pod: func(p *corev1.Pod) { p.OwnerReferences = nil; delete(p.Labels, v1beta2.LabelApp) },
		},
		"the cluster's own": {reason: "it is none", pod: func(*corev1.Pod) {}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.pod("x-a", tc.pod)
			if tc.begun {
				b.status(func(s *v1beta2.ClusterStatus) {
					s.Bootstrap = &v1beta2.BootstrapStatus{Member: "x-b", Token: "t"}
				})
			}
			o := b.observe()
			got := []string{strings.Join(o.Conflicts, ";"), strings.Join(o.Unowned, ";"), strings.Join(o.Orphans, ";")}
			if diff := cmp.Diff([]string{tc.conflicts, tc.unowned, tc.orphans}, got); diff != "" || o.OrphansInTheWay != (tc.conflicts != "") {
				t.Errorf("in the way %t, (-want +got):\n%s\nreason for this test: %s", o.OrphansInTheWay, diff, tc.reason)
			}
		})
	}
}

// Names and tokens come from here, and are never the same.
func TestFreshNames(t *testing.T) {
	b := newBench(t)
	first, second := b.observe(), b.observe()
	all := append(append([]string{first.FreshToken, second.FreshToken}, first.FreshNames...), second.FreshNames...)
	slices.Sort(all)
	if len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Errorf("some are the same: %v", all)
	}
	if len(first.FreshNames) <= v1beta2.MaxSize || !strings.HasPrefix(first.FreshNames[0], "x-") || len(first.FreshToken) < 10 {
		t.Errorf("names %v, token %q", first.FreshNames, first.FreshToken)
	}
	if time.Since(first.Now) > time.Minute || second.Now.Before(first.Now) {
		t.Errorf("times %s and %s", first.Now, second.Now)
	}
}

// A cache that can't be read is an error: what is not seen must not be taken for not
// being there.
func TestUnreadable(t *testing.T) {
	b := newBench(t)
	b.pod("x-a", func(p *corev1.Pod) { p.Spec.NodeName = "n" })
	for i := range 20 {
		reader := &failing{Client: b.client, after: i}
		b.observer.Reader, b.observer.Nodes = reader, reader
		_, err := b.observer.Observe(apiservertest.Context(t), b.cluster, facts.TLS{})
		if reader.after >= 0 {
			if err != nil {
				t.Errorf("error %v, and every read succeeded", err)
			}
			if i < 6 {
				t.Errorf("only %d reads were made", i)
			}
			return
		}
		if !errors.Is(err, errUnreadable) {
			t.Errorf("read %d fails: error %v", i, err)
		}
	}
	t.Error("it makes more than 20 reads")
}

var errUnreadable = errors.New("unreadable")

// failing fails the read after some that succeed.
type failing struct {
	client.Client
	after int
}

func (f *failing) fail() error {
	if f.after--; f.after == -1 {
		return errUnreadable
	}
	return nil
}

func (f *failing) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Client.Get(ctx, key, o, opts...)
}

func (f *failing) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Client.List(ctx, list, opts...)
}
