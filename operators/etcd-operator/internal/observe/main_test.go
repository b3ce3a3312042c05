package observe_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

func TestMain(m *testing.M) { os.Exit(apiservertest.Main(m)) }

// bench is one EtcdCluster in a namespace of its own, and who observes it.
type bench struct {
	t        *testing.T
	client   client.Client
	observer *observe.Observer
	cluster  *v1beta2.EtcdCluster
	// asked are the endpoints that were asked last.
	asked *asked
}

// newBench makes an EtcdCluster x of three members.
func newBench(t *testing.T, changes ...func(*v1beta2.EtcdCluster)) *bench {
	t.Helper()
	c := apiservertest.Client(t)
	b := &bench{t: t, client: c, asked: &asked{}, cluster: &v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: apiservertest.Namespace(t)},
		Spec:       v1beta2.ClusterSpec{Size: 3},
	}}
	b.observer = &observe.Observer{Reader: c, Nodes: c, Etcd: b.asked, DefaultVersion: "3.6.16"}
	for _, change := range changes {
		change(b.cluster)
	}
	apiservertest.Create(t, c, b.cluster)
	return b
}

func (b *bench) observe() facts.Observation {
	b.t.Helper()
	apiservertest.Read(b.t, b.client, b.cluster)
	obs, err := b.observer.Observe(apiservertest.Context(b.t), b.cluster, facts.TLS{})
	if err != nil {
		b.t.Fatal(err)
	}
	return obs
}

// pod makes the Pod of a member as the operator does, but for the changes.
func (b *bench) pod(name string, changes ...func(*corev1.Pod)) *corev1.Pod {
	b.t.Helper()
	p, err := member.NewPod(b.cluster, member.Options{Name: name, Version: "3.6.16", LauncherImage: "example.com/launcher", Role: v1beta2.RoleVoter})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, change := range changes {
		change(p)
	}
	apiservertest.Create(b.t, b.client, p)
	return p
}

// runs makes a Pod run at an address, as the kubelet says it.
func (b *bench) runs(p *corev1.Pod, ip string, changes ...func(*corev1.PodStatus)) {
	b.t.Helper()
	apiservertest.Bind(b.t, b.client, p, "node-of-"+p.Name)
	p.Status.Phase, p.Status.PodIP, p.Status.PodIPs = corev1.PodRunning, ip, []corev1.PodIP{{IP: ip}}
	for _, change := range changes {
		change(&p.Status)
	}
	apiservertest.SetStatus(b.t, b.client, p)
}

func (b *bench) status(change func(*v1beta2.ClusterStatus)) {
	b.t.Helper()
	apiservertest.Read(b.t, b.client, b.cluster)
	change(&b.cluster.Status)
	apiservertest.SetStatus(b.t, b.client, b.cluster)
}

// seen is what was observed of one Pod.
func seen(t *testing.T, obs facts.Observation, name string) facts.Pod {
	t.Helper()
	for _, p := range obs.Pods {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("Pod %s was not observed", name)
	return facts.Pod{}
}

// asked remembers who was asked, and lets nobody answer but by answers.
type asked struct {
	endpoints []string
	// certified are the names that their certificates must be for.
	certified []string
	// within is how long they have to answer; 0 if that is for the client to say.
	within  time.Duration
	answers map[string]etcdclient.Answer
	// written are the members that a write was tried at, which ends in refusal.
	written []string
	refusal error
}

func (a *asked) TryWrite(_ context.Context, e etcdclient.Endpoint) error {
	a.written = append(a.written, e.Name)
	return a.refusal
}

func (a *asked) Ask(ctx context.Context, endpoints []etcdclient.Endpoint) map[string]etcdclient.Answer {
	a.within = 0
	if by, ok := ctx.Deadline(); ok {
		a.within = time.Until(by)
	}
	a.endpoints, a.certified = nil, nil
	for _, e := range endpoints {
		a.endpoints = append(a.endpoints, e.Name+" at "+e.Addr)
		a.certified = append(a.certified, e.ServerName)
	}
	slices.SortFunc(a.endpoints, strings.Compare)
	return a.answers
}
