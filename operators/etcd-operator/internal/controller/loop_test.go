package controller_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/controller"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/podtest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// The tests of this file run the whole loop on real etcds, which the real launcher
// starts, beside a real API server. Only the kubelet is played.

// A cluster forms, grows, replaces a member and shrinks.
func TestACluster(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	podtest.StartKubelet(t, b.client, b.namespace)
	c := b.create("x", 3)
	b.untilHealthy(c, 3)
	if s := &c.Status; s.Phase != v1beta2.PhaseRunning || s.ClusterID == "" || s.Bootstrap == nil || s.Leader == "" ||
		s.CurrentVersion != version || s.ServiceName != "x-client" || s.ObservedGeneration != c.Generation {
		t.Errorf("the status is %+v", s)
	}
	for _, p := range b.pods(c) {
		if p.Labels[v1beta2.LabelRole] != v1beta2.RoleVoter || p.Annotations[v1beta2.AnnotationStartPermit] != "" {
			t.Errorf("Pod %s is a %s with the grant %q, want a voter without", p.Name, p.Labels[v1beta2.LabelRole], p.Annotations[v1beta2.AnnotationStartPermit])
		}
	}
	if got := b.minAvailable(); got != 2 {
		t.Errorf("the budget is %d, want 2", got)
	}
	id := c.Status.ClusterID
	b.wantEvents("Bootstrapped", "MemberAdded", "MemberPromoted")
	if told := b.events(); len(told) != 5 {
		t.Errorf("a cluster of three has %d events, want 5: one that it began, and two of each member that came: %v", len(told), told)
	}

	b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.Size = 5 })
	b.untilHealthy(c, 5)
	if got := b.minAvailable(); got != 3 {
		t.Errorf("the budget is %d, want 3", got)
	}

	lost := b.pods(c)[0]
	b.delete(&lost)
	b.until(c, "the lost member to be replaced", func(s *v1beta2.ClusterStatus) bool {
		return !slices.Contains(memberNames(s), lost.Name)
	})
	b.untilHealthy(c, 5)

	b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.Size = 1 })
	b.untilHealthy(c, 1)
	if got := b.minAvailable(); got != 0 {
		t.Errorf("the budget of one member is %d, want none", got)
	}
	if pods := b.pods(c); len(pods) != 1 {
		t.Errorf("there are %d Pods, want 1", len(pods))
	}
	if c.Status.ClusterID != id {
		t.Errorf("the cluster id is %s, want it to stay %s", c.Status.ClusterID, id)
	}
	b.wantEvents("Bootstrapped", "MemberAdded", "MemberPromoted", "ReplacingDeadMember", "MemberRemoved")
}

// All members that lost their Pods come back on their volumes, with the data; one
// whose volume is empty is replaced. Volumes of members that are gone go.
func TestAClusterWithVolumes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	kubelet := podtest.StartKubelet(t, b.client, b.namespace)
	c := b.create("x", 3, withVolumes)
	b.untilHealthy(c, 3)
	id, names := c.Status.ClusterID, memberNames(&c.Status)

	for _, p := range b.pods(c) {
		b.delete(&p)
	}
	b.until(c, "the loss to be seen", func(s *v1beta2.ClusterStatus) bool { return len(s.Members.Ready) < 3 })
	b.untilHealthy(c, 3)
	if got := memberNames(&c.Status); !slices.Equal(got, names) || c.Status.ClusterID != id {
		t.Errorf("cluster %s has the members %v, want %s and %v", c.Status.ClusterID, got, id, names)
	}

	// The seed's, after which a second cluster would have the same ids.
	wiped := c.Status.Bootstrap.Member
	kubelet.Empty(wiped)
	b.delete(b.pod(wiped))
	b.until(c, "the wiped member to be replaced", func(s *v1beta2.ClusterStatus) bool { return !slices.Contains(memberNames(s), wiped) })
	b.untilHealthy(c, 3)

	b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.Size = 1 })
	b.untilHealthy(c, 1)
	etcdtest.Eventually(t, "the volumes of the others to go", func() error {
		var claims corev1.PersistentVolumeClaimList
		if err := b.client.List(apiservertest.Context(t), &claims, client.InNamespace(b.namespace)); err != nil {
			return err
		}
		if len(claims.Items) != 1 || claims.Items[0].Name != memberNames(&c.Status)[0] {
			return fmt.Errorf("there are %d volumes", len(claims.Items))
		}
		return nil
	})
}

// A cluster that lost all its data says so, and none is made in its place.
func TestALostCluster(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	podtest.StartKubelet(t, b.client, b.namespace)
	c := b.create("x", 3)
	b.untilHealthy(c, 3)
	begun := *c.Status.Bootstrap
	for _, p := range b.pods(c) {
		b.delete(&p)
	}
	b.until(c, "the loss to be said", func(s *v1beta2.ClusterStatus) bool {
		return s.Phase == v1beta2.PhaseFailed && reason(s, v1beta2.ConditionAvailable) == "QuorumLost"
	})
	b.reconciled()
	apiservertest.Read(t, b.client, c)
	for _, p := range b.pods(c) {
		if p.DeletionTimestamp.IsZero() && p.Labels[v1beta2.LabelRole] != v1beta2.RoleJoiner {
			t.Errorf("there is a Pod %s, a %s", p.Name, p.Labels[v1beta2.LabelRole])
		}
	}
	if *c.Status.Bootstrap != begun {
		t.Errorf("the beginning is %+v, want it to stay %+v", c.Status.Bootstrap, begun)
	}
	b.wantEvents("QuorumLost")
}

// Two operators at once do no more harm than one (S11).
func TestTwoOperators(t *testing.T) {
	t.Parallel()
	b := newBench(t, slowly)
	b.startOperator(prometheus.NewRegistry(), slowly)
	podtest.StartKubelet(t, b.client, b.namespace)
	c := b.create("x", 3)
	b.untilHealthy(c, 3)
	id := c.Status.ClusterID
	lost := b.pods(c)[0]
	b.delete(&lost)
	b.until(c, "the lost member to be replaced", func(s *v1beta2.ClusterStatus) bool { return !slices.Contains(memberNames(s), lost.Name) })
	b.untilHealthy(c, 3)
	b.podsLeft(c, 3)
	if c.Status.ClusterID != id {
		t.Errorf("the cluster is %s, want %s", c.Status.ClusterID, id)
	}
}

// podsLeft waits until there are n Pods, and returns them: where two operators have made too
// many, some might still be ending.
func (b *bench) podsLeft(c *v1beta2.EtcdCluster, n int) []corev1.Pod {
	b.t.Helper()
	var left []corev1.Pod
	etcdtest.Eventually(b.t, fmt.Sprintf("%d Pods to be left", n), func() error {
		if left = b.pods(c); len(left) != n {
			return fmt.Errorf("there are %d", len(left))
		}
		return nil
	})
	return left
}

// slowly has an operator create Pods so slowly that another one creates some as well.
func slowly(r *controller.Reconciler) { r.Actor.Client = slowClient{r.Actor.Client} }

type slowClient struct{ client.Client }

func (s slowClient) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if _, ok := o.(*corev1.Pod); ok {
		time.Sleep(500 * time.Millisecond)
	}
	return s.Client.Create(ctx, o, opts...)
}

// An idle cluster writes nothing, however often it is looked at; a paused one is left
// alone, and taken up again.
func TestIdleAndPaused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	podtest.StartKubelet(t, b.client, b.namespace)
	c := b.create("x", 1)
	b.untilHealthy(c, 1)
	before := c.ResourceVersion
	for range 3 {
		b.reconciled()
	}
	apiservertest.Read(t, b.client, c)
	if c.ResourceVersion != before {
		t.Errorf("an idle cluster was written: %s", said(&c.Status))
	}

	b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.Paused, c.Spec.Size = true, 3 })
	b.until(c, "the pause to be seen", func(s *v1beta2.ClusterStatus) bool {
		return s.ControlPaused && reason(s, v1beta2.ConditionPaused) == "Paused" && s.ObservedGeneration == c.Generation
	})
	b.reconciled()
	if pods := b.pods(c); len(pods) != 1 || c.Status.ReadyMembers != "1/1" {
		t.Errorf("%d Pods, %s ready, want those that there were", len(pods), c.Status.ReadyMembers)
	}

	b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.Paused = false })
	b.untilHealthy(c, 3)
}

func withVolumes(c *v1beta2.EtcdCluster) {
	c.Spec.Pod = &v1beta2.PodPolicy{PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
}

func memberNames(s *v1beta2.ClusterStatus) []string {
	var names []string
	for _, m := range s.MemberDetails {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return names
}

func (b *bench) minAvailable() int {
	b.t.Helper()
	var list policyv1.PodDisruptionBudgetList
	if err := b.client.List(apiservertest.Context(b.t), &list, client.InNamespace(b.namespace)); err != nil {
		b.t.Fatal(err)
	}
	if len(list.Items) == 0 {
		return 0
	}
	return list.Items[0].Spec.MinAvailable.IntValue()
}

func (b *bench) pod(name string) *corev1.Pod {
	b.t.Helper()
	p := &corev1.Pod{}
	p.Name, p.Namespace = name, b.namespace
	apiservertest.Read(b.t, b.client, p)
	return p
}

func (b *bench) delete(o client.Object) {
	b.t.Helper()
	if err := b.client.Delete(apiservertest.Context(b.t), o); err != nil {
		b.t.Fatal(err)
	}
}

// poke changes something about a Service that is nobody's business, so that its
// cluster is looked at.
func (b *bench) poke(service string) {
	b.t.Helper()
	etcdtest.Eventually(b.t, "the Service to be written", func() error {
		s := &corev1.Service{}
		s.Name, s.Namespace = service, b.namespace
		apiservertest.Read(b.t, b.client, s)
		if s.Annotations == nil {
			s.Annotations = map[string]string{}
		}
		s.Annotations["example.com/poked"] = time.Now().String()
		return b.client.Update(apiservertest.Context(b.t), s)
	})
}

// eventsOf are those of a reason.
func (b *bench) eventsOf(reason string) []eventsv1.Event {
	b.t.Helper()
	var list eventsv1.EventList
	if err := b.client.List(apiservertest.Context(b.t), &list, client.InNamespace(b.namespace)); err != nil {
		b.t.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool { return e.Reason != reason })
}

// events are the reasons of those of the EtcdCluster, a word for each.
func (b *bench) events() []string {
	b.t.Helper()
	var list eventsv1.EventList
	if err := b.client.List(apiservertest.Context(b.t), &list, client.InNamespace(b.namespace)); err != nil {
		b.t.Fatal(err)
	}
	var all []string
	for _, e := range list.Items {
		if e.ReportingController != "etcd-operator" {
			continue
		}
		count := 1
		if e.Series != nil {
			count = int(e.Series.Count)
		}
		for range count {
			all = append(all, e.Reason)
		}
	}
	slices.Sort(all)
	return all
}

// wantEvents waits for events of these reasons.
func (b *bench) wantEvents(reasons ...string) {
	b.t.Helper()
	etcdtest.Eventually(b.t, "the events", func() error {
		var list eventsv1.EventList
		if err := b.client.List(apiservertest.Context(b.t), &list, client.InNamespace(b.namespace)); err != nil {
			return err
		}
		seen := map[string]bool{}
		for _, e := range list.Items {
			if e.ReportingController != "etcd-operator" {
				continue // the API server repairs a ClusterIP, now and then
			}
			seen[e.Reason] = true
			if e.Regarding.Kind != "EtcdCluster" || e.Regarding.Name != "x" || e.Note == "" || e.Action == "" {
				b.t.Errorf("event %+v", e)
			}
		}
		for _, r := range reasons {
			if !seen[r] {
				return fmt.Errorf("no event %s in %v", r, seen)
			}
		}
		return nil
	})
}
