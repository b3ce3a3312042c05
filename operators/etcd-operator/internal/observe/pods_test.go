package observe_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

func TestPods(t *testing.T) {
	b := newBench(t)
	p := b.pod("x-a", func(p *corev1.Pod) {
		p.Annotations[v1beta2.AnnotationStartPermit] = `{"attempt":2,"state":"new","initialCluster":"x-a=` + member.PeerURL(b.cluster, "x-a") + `","token":"t"}`
	})
	b.runs(p, "10.0.0.1")
	want := facts.Pod{
		Name: "x-a", UID: string(p.UID), Role: facts.Voter, Created: p.CreationTimestamp.Time, IP: "10.0.0.1", Node: "node-of-x-a",
		Version: "3.6.16", Repository: v1beta2.DefaultRepository, Template: member.TemplateHash(b.cluster), UnreadySince: p.CreationTimestamp.Time, Learners: member.MaxLearners,
		StartPermit: &facts.StartPermit{Attempt: 2, New: true, Members: []string{"x-a"}, Token: "t"},
	}
	if diff := cmp.Diff(want, seen(t, b.observe(), "x-a")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// S12: only what this EtcdCluster controls is its own.
func TestPodsOfOthers(t *testing.T) {
	b := newBench(t)
	b.pod("x-nobodys", func(p *corev1.Pod) { p.OwnerReferences = nil })
	b.pod("x-earlier", func(p *corev1.Pod) { p.OwnerReferences[0].UID = "00000000-0000-0000-0000-000000000003" })
	b.pod("x-owned-only", func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil })
	b.pod("y-a", func(p *corev1.Pod) { p.Labels[v1beta2.LabelCluster] = "y" })
	b.pod("x-b")
	b.pod("x-a")
	var names []string
	for _, p := range b.observe().Pods {
		names = append(names, p.Name)
	}
	if diff := cmp.Diff([]string{"x-a", "x-b"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLegacyPods(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"x-0001", "x-0000"} {
		b.pod(name, func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyNever })
	}
	obs := b.observe()
	if diff := cmp.Diff([]string{"x-0000", "x-0001"}, obs.LegacyPods); diff != "" || len(obs.Pods) != 0 {
		t.Errorf("Pods %v, legacy (-want +got):\n%s", obs.Pods, diff)
	}
}

// A permit to start that the launcher could not read is none.
func TestUnreadableStartPermits(t *testing.T) {
	b := newBench(t)
	for name, written := range map[string]string{"x-none": "", "x-blank": "  ", "x-bad": "{", "x-other": `{"attempt":1,"unknown":true}`} {
		b.pod(name, func(p *corev1.Pod) { p.Annotations[v1beta2.AnnotationStartPermit] = written })
	}
	for _, p := range b.observe().Pods {
		if p.StartPermit != nil {
			t.Errorf("Pod %s has the start permit %+v", p.Name, p.StartPermit)
		}
	}
}

// A permit to begin with something else than nothing is a permit to begin, and withdrawn like
// that.
func TestGrantsOfRestoredSeeds(t *testing.T) {
	b := newBench(t)
	b.pod("x-s", func(p *corev1.Pod) {
		p.Annotations[v1beta2.AnnotationStartPermit] = `{"attempt":1,"state":"restored","initialCluster":"x-s=http://x-s:2380","token":"t"}`
	})
	want := &facts.StartPermit{Attempt: 1, New: true, Members: []string{"x-s"}, Token: "t", Elsewhere: []facts.PeerURLs{{Name: "x-s", At: "http://x-s:2380"}}}
	if diff := cmp.Diff(want, seen(t, b.observe(), "x-s").StartPermit); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What the Pod says of itself that stands in its way.
func TestTroubles(t *testing.T) {
	waiting := func(container, reason, message string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: container, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
	}
	for name, tc := range map[string]struct {
		status func(*corev1.PodStatus)
		want   facts.Pod
	}{
		"none": {func(*corev1.PodStatus) {}, facts.Pod{}},
		"its containers are being made": {func(s *corev1.PodStatus) {
			s.ContainerStatuses = []corev1.ContainerStatus{waiting(member.ContainerEtcd, "ContainerCreating", "")}
		}, facts.Pod{}},
		"its init container runs": {func(s *corev1.PodStatus) {
			s.ContainerStatuses = []corev1.ContainerStatus{waiting(member.ContainerEtcd, "PodInitializing", "")}
		}, facts.Pod{}},
		"its image can't be pulled": {func(s *corev1.PodStatus) {
			s.ContainerStatuses = []corev1.ContainerStatus{waiting(member.ContainerEtcd, "ImagePullBackOff", "no such image")}
		}, facts.Pod{Trouble: "ImagePullBackOff: no such image", ImageUnavailable: true}},
		"the launcher's can't be pulled": {func(s *corev1.PodStatus) {
			s.InitContainerStatuses = []corev1.ContainerStatus{waiting(member.ContainerLauncher, "ErrImagePull", "")}
		}, facts.Pod{Trouble: "ErrImagePull", ImageUnavailable: true}},
		"etcd crashes": {func(s *corev1.PodStatus) {
			s.ContainerStatuses = []corev1.ContainerStatus{waiting(member.ContainerEtcd, "CrashLoopBackOff", "back-off 10s")}
		}, facts.Pod{Trouble: "CrashLoopBackOff: back-off 10s"}},
		"it was evicted":    {func(s *corev1.PodStatus) { s.Phase = corev1.PodFailed }, facts.Pod{Finished: true}},
		"it has ended well": {func(s *corev1.PodStatus) { s.Phase = corev1.PodSucceeded }, facts.Pod{Finished: true}},
		"it can't be scheduled": {func(s *corev1.PodStatus) {
			s.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes"}}
		}, facts.Pod{Unschedulable: "0/3 nodes"}},
		"it is scheduled": {func(s *corev1.PodStatus) {
			s.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, Message: "m"}}
		}, facts.Pod{}},
	} {
		b := newBench(t)
		b.runs(b.pod("x-a"), "10.0.0.1", tc.status)
		got := seen(t, b.observe(), "x-a")
		if got.Trouble != tc.want.Trouble || got.ImageUnavailable != tc.want.ImageUnavailable || got.Finished != tc.want.Finished || got.Unschedulable != tc.want.Unschedulable {
			t.Errorf("%s: trouble %q (image: %t), finished %t, unschedulable %q, want %q (%t), %t, %q", name,
				got.Trouble, got.ImageUnavailable, got.Finished, got.Unschedulable, tc.want.Trouble, tc.want.ImageUnavailable, tc.want.Finished, tc.want.Unschedulable)
		}
	}
}

func TestPodsThatAreBeingDeleted(t *testing.T) {
	b := newBench(t)
	p := b.pod("x-a")
	b.runs(p, "10.0.0.1")
	if err := b.client.Delete(apiservertest.Context(t), p); err != nil {
		t.Fatal(err)
	}
	got := seen(t, b.observe(), "x-a")
	if until := time.Until(got.DeletingSince); until < 0 || until > time.Minute {
		t.Errorf("it is being deleted since %s: want the time by which it was to be gone", got.DeletingSince)
	}
}

// A name can be looked up from the moment on that the headless Service publishes the
// Pod's own address under it.
func TestAddressed(t *testing.T) {
	b := newBench(t)
	b.runs(b.pod("x-a"), "10.0.0.1")
	b.runs(b.pod("x-b"), "10.0.0.2")
	b.runs(b.pod("x-c"), "10.0.0.3")
	b.pod("x-d")
	slice := func(name, service string, hosts map[string]string) *discoveryv1.EndpointSlice {
		s := &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Name: name, Namespace: b.cluster.Namespace, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
			AddressType: discoveryv1.AddressTypeIPv4,
		}
		for host, ip := range hosts {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{ip}, Hostname: &host})
		}
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.0.0.9"}}) // without a name
		return s
	}
	apiservertest.Create(t, b.client,
		slice("one", "x", map[string]string{"x-a": "10.0.0.1"}),
		slice("two", "x", map[string]string{"x-b": "10.0.0.99"}),         // of an earlier Pod
		slice("other", "x-client", map[string]string{"x-c": "10.0.0.3"}), // has no names of members
	)
	obs := b.observe()
	for name, want := range map[string]bool{"x-a": true, "x-b": false, "x-c": false, "x-d": false} {
		if got := seen(t, obs, name).Addressed; got != want {
			t.Errorf("Pod %s is addressed: %t, want %t", name, got, want)
		}
	}
}

// Clients are sent to the Pods that the client Service lists as ready.
func TestWhoGetsClients(t *testing.T) {
	b := newBench(t)
	no, yes := false, true
	endpoint := func(name, ip string, ready *bool) discoveryv1.Endpoint {
		p := b.pod(name)
		b.runs(p, ip)
		return discoveryv1.Endpoint{
			Addresses: []string{ip}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: name, UID: p.UID}, Conditions: discoveryv1.EndpointConditions{Ready: ready},
		}
	}
	b.pod("x-d")
	apiservertest.Create(t, b.client, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "clients", Namespace: b.cluster.Namespace, Labels: map[string]string{discoveryv1.LabelServiceName: "x-client"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{endpoint("x-a", "10.0.0.1", &yes), endpoint("x-b", "10.0.0.2", nil), endpoint("x-c", "10.0.0.3", &no)},
	})
	obs := b.observe()
	for name, want := range map[string]bool{"x-a": true, "x-b": true, "x-c": false, "x-d": false} {
		if got := seen(t, obs, name).Routed; got != want {
			t.Errorf("Pod %s gets clients: %t, want %t", name, got, want)
		}
	}
}

// What is asked for counts, whatever a registry mirror's webhook makes of it; a Pod of
// an earlier operator tells by its image.
func TestImages(t *testing.T) {
	b := newBench(t)
	for name, tc := range map[string]struct{ asked, image, repository, version string }{
		"x-mirrored": {"quay.io/coreos/etcd:v3.6.16", "mirror.local/etcd@sha256:00", "quay.io/coreos/etcd", "3.6.16"},
		"x-earlier":  {"", "registry:5000/etcd:v3.5.35", "registry:5000/etcd", "3.5.35"},
		"x-untagged": {"", "registry:5000/etcd", "registry:5000/etcd", ""},
	} {
		b.pod(name, func(p *corev1.Pod) {
			p.Spec.Containers[0].Image = tc.image
			p.Annotations[v1beta2.AnnotationImage] = tc.asked
		})
		if p := seen(t, b.observe(), name); p.Repository != tc.repository || p.Version != tc.version {
			t.Errorf("Pod %s has etcd %q of %q, want %q of %q", name, p.Version, p.Repository, tc.version, tc.repository)
		}
	}
}

// S9: since when a Pod's node is gone or not ready.
func TestNodes(t *testing.T) {
	c := apiservertest.Client(t)
	then := metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))
	for name, status := range map[string]corev1.ConditionStatus{"ready": corev1.ConditionTrue, "notready": corev1.ConditionFalse, "unknown": corev1.ConditionUnknown} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		apiservertest.Create(t, c, node)
		node.Status.Conditions = []corev1.NodeCondition{
			{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now()},
			{Type: corev1.NodeReady, Status: status, LastTransitionTime: then},
		}
		apiservertest.SetStatus(t, c, node)
	}
	unready := func(s *corev1.PodStatus) {
		s.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: then}}
	}
	ready := func(s *corev1.PodStatus) {
		s.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: then}}
	}
	for name, tc := range map[string]struct {
		node   string
		status func(*corev1.PodStatus)
		blind  bool
		want   time.Time
	}{
		"its node is ready":                              {"ready", unready, false, time.Time{}},
		"its node is not ready":                          {"notready", ready, false, then.Time},
		"nobody knows of its node":                       {"unknown", ready, false, then.Time},
		"its node is gone, and the Pod not ready":        {"gone", unready, false, time.Time{}},
		"its node is gone, and the Pod was ready":        {"gone", ready, false, time.Time{}},
		"its node is not ready, but nodes can't be read": {"notready", unready, true, time.Time{}},
		"it has no node":                                 {"", unready, false, time.Time{}},
	} {
		b := newBench(t)
		if tc.blind {
			b.observer.Nodes = nil
		}
		p := b.pod("x-a", func(p *corev1.Pod) { p.Spec.NodeName = tc.node })
		tc.status(&p.Status)
		apiservertest.SetStatus(t, b.client, p)
		if got := seen(t, b.observe(), "x-a").NodeLostSince; !got.Equal(tc.want) {
			t.Errorf("%s: lost since %s, want %s", name, got, tc.want)
		}
	}
}

// A node that takes no more Pods is to be emptied, as far as nodes may be read.
func TestCordonedNodes(t *testing.T) {
	b := newBench(t)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "cordoned-" + b.cluster.Namespace}, Spec: corev1.NodeSpec{Unschedulable: true}}
	apiservertest.Create(t, b.client, node)
	b.pod("x-a", func(p *corev1.Pod) { p.Spec.NodeName = node.Name })
	b.pod("x-b", func(p *corev1.Pod) { p.Spec.NodeName = "gone" })
	obs := b.observe()
	if !seen(t, obs, "x-a").Cordoned || seen(t, obs, "x-b").Cordoned {
		t.Errorf("want x-a on a node that is to be emptied, and x-b not: %+v", obs.Pods)
	}
	b.observer.Nodes = nil
	if seen(t, b.observe(), "x-a").Cordoned {
		t.Error("it is known of a node that may not be read")
	}
}

// Every Pod that runs at an address is asked there, and nobody of a cluster that must
// not be touched.
func TestWhoIsAsked(t *testing.T) {
	b := newBench(t)
	b.runs(b.pod("x-a"), "10.0.0.1")
	b.runs(b.pod("x-b"), "fd00::2")
	b.runs(b.pod("x-c"), "10.0.0.3", func(s *corev1.PodStatus) { s.Phase = corev1.PodFailed })
	b.pod("x-d")
	b.runs(b.pod("x-nobodys", func(p *corev1.Pod) { p.OwnerReferences = nil }), "10.0.0.5")
	b.asked.answers = map[string]etcdclient.Answer{"x-a": {Reached: true, MemberID: 7}}

	obs := b.observe()
	if diff := cmp.Diff([]string{"x-a at 10.0.0.1:2379", "x-b at [fd00::2]:2379"}, b.asked.endpoints); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if seen(t, obs, "x-a").Answer.MemberID != 7 || seen(t, obs, "x-b").Answer.Reached {
		t.Errorf("the answers are %+v", obs.Pods)
	}

	b.asked.endpoints = nil
	b.cluster.Spec.Paused = true
	if err := b.client.Update(apiservertest.Context(t), b.cluster); err != nil {
		t.Fatal(err)
	}
	b.observe()
	if b.asked.endpoints != nil {
		t.Errorf("%v were asked although the cluster is paused", b.asked.endpoints)
	}
}
