package podtest

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/survivor"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// Kubelet plays, for the Pods of members in one namespace, those parts of Kubernetes
// that an API server lacks: it schedules them, runs their launcher and etcd as
// processes of this host, each at an address of its own, says whether they are ready,
// publishes their addresses, and carries deletions out. Volumes are folders.
type Kubelet struct {
	t         testing.TB
	client    client.Client
	namespace string
	// etcd are the folders of the etcd programs by version, dir is that of all Pods and
	// volumes.
	etcd    map[string]string
	dir     string
	hosts   string
	ips     map[string]string
	running map[types.UID]*pod
	// empty are the claims whose volumes are to be emptied, spoilt what is to be done to
	// the data dirs of Pods.
	empty, spoilt sync.Map
	// last is the last error, to be shown if the test fails.
	last error
}

// tick is how often the kubelet looks at its Pods.
const tick = 20 * time.Millisecond

// StartKubelet runs one until the test ends. A member runs the etcd that its image's tag
// names; an image of a version that etcdtest has not can't be pulled.
func StartKubelet(t testing.TB, c client.Client, namespace string) *Kubelet {
	t.Helper()
	k := &Kubelet{
		t: t, client: c, namespace: namespace, etcd: map[string]string{}, dir: t.TempDir(),
		ips: map[string]string{}, running: map[types.UID]*pod{},
	}
	for _, version := range etcdtest.Versions() {
		k.etcd[version] = filepath.Dir(etcdtest.Binary(t, version))
	}
	k.hosts = filepath.Join(k.dir, "hosts")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: k.node()}}
	apiservertest.Create(t, c, node)
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	apiservertest.SetStatus(t, c, node)
	k.addHost("localhost", "127.0.0.1")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	t.Cleanup(func() {
		cancel()
		<-ended
		if t.Failed() {
			t.Logf("the kubelet's last error: %v", k.last)
		}
		for _, p := range k.running {
			p.kill()
			if t.Failed() {
				t.Logf("output of Pod %s:\n%s", p.name, p.output())
			}
		}
	})
	go func() {
		defer close(ended)
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			// The next tick repeats what fails, for example a write that conflicts.
			if err := k.sync(ctx); err != nil {
				k.last = err
			}
		}, tick)
	}()
	return k
}

// Empty empties a volume before the next Pod that uses it starts.
func (k *Kubelet) Empty(claim string) { k.empty.Store(claim, true) }

// Spoil kills a Pod's container, does something to its data dir, and lets it start again.
func (k *Kubelet) Spoil(pod string, damage func(dataDir string) error) { k.spoilt.Store(pod, damage) }

// node is the one node; nodes are of no namespace.
func (k *Kubelet) node() string { return "node-of-" + k.namespace }

func (k *Kubelet) sync(ctx context.Context) error {
	var pods corev1.PodList
	if err := k.client.List(ctx, &pods, client.InNamespace(k.namespace)); err != nil {
		return err
	}
	there := map[types.UID]bool{}
	for i := range pods.Items {
		p := &pods.Items[i]
		there[p.UID] = true
		if err := k.syncPod(ctx, p); err != nil {
			return err
		}
	}
	for uid, p := range k.running {
		if !there[uid] { // deleted by force
			p.kill()
			delete(k.running, uid)
		}
	}
	if err := k.publish(ctx, pods.Items); err != nil {
		return err
	}
	return k.releaseClaims(ctx, pods.Items)
}

func (k *Kubelet) syncPod(ctx context.Context, p *corev1.Pod) error {
	runs := k.running[p.UID]
	switch {
	case !p.DeletionTimestamp.IsZero():
		if runs != nil {
			runs.terminate()
		}
		return client.IgnoreNotFound(k.client.Delete(ctx, p, client.GracePeriodSeconds(0), client.Preconditions{UID: &p.UID}))
	case p.Spec.NodeName == "":
		return k.client.SubResource("binding").Create(ctx, p, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: k.node()}})
	case runs == nil:
		return k.start(ctx, p)
	case runs.init != nil:
		return runs.start() // its init container has failed
	case runs.image != p.Spec.Containers[0].Image:
		if runs.cmd != nil && !runs.ended() {
			runs.terminate()
		}
		runs.image, runs.failures = p.Spec.Containers[0].Image, 0
		return runs.start()
	case runs.cmd != nil && runs.ended() && !runs.backsOff():
		return runs.start()
	}
	if damage, ok := k.spoilt.LoadAndDelete(p.Name); ok {
		runs.kill()
		if err := damage.(func(string) error)(filepath.Join(runs.data, "data")); err != nil {
			k.t.Errorf("spoil the data of %s: %v", p.Name, err)
		}
		return runs.start()
	}
	runs.writePermit(p.Annotations[v1beta2.AnnotationStartPermit])
	if err := k.mount(ctx, runs); err != nil {
		return err
	}
	return k.setStatus(ctx, p, runs)
}

// start makes the folders of a new Pod and runs it.
func (k *Kubelet) start(ctx context.Context, p *corev1.Pod) error {
	if k.ips[p.Name] == "" {
		k.ips[p.Name] = Address(k.t)
		k.addHost(fmt.Sprintf("%s.%s.%s.svc", p.Spec.Hostname, p.Spec.Subdomain, p.Namespace), k.ips[p.Name])
	}
	home := filepath.Join(k.dir, string(p.UID))
	data := filepath.Join(home, "data")
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			data = filepath.Join(k.dir, "volume-"+v.PersistentVolumeClaim.ClaimName)
			if _, empty := k.empty.LoadAndDelete(v.PersistentVolumeClaim.ClaimName); empty {
				if err := os.RemoveAll(data); err != nil {
					return err
				}
			}
		}
	}
	runs := &pod{name: p.Name, ip: k.ips[p.Name], home: home, data: data, hosts: k.hosts, etcd: k.etcd, image: p.Spec.Containers[0].Image, container: p.Spec.Containers[0]}
	for _, dir := range []string{filepath.Join(home, "permit"), filepath.Join(home, "used"), data} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	runs.writePermit(p.Annotations[v1beta2.AnnotationStartPermit])
	if err := os.WriteFile(filepath.Join(home, "permit", "pod-uid"), []byte(p.UID), 0o600); err != nil {
		return err
	}
	runs.findSecrets(p)
	if err := k.mount(ctx, runs); err != nil {
		return err
	}
	if t := survivor.TaskOf(p); t != nil {
		runs.init = t
		runs.survivorPermit = p.Annotations[v1beta2.AnnotationSurvivorPermit]
	}
	k.running[p.UID] = runs
	return runs.start()
}

func (k *Kubelet) setStatus(ctx context.Context, p *corev1.Pod, runs *pod) error {
	ready := corev1.ConditionFalse
	if etcdtest.CheckHTTP(At(runs.ip, member.MetricsPort), "/readyz", http.StatusOK) == nil {
		ready = corev1.ConditionTrue
	}
	if ready == corev1.ConditionTrue {
		runs.crashes = 0
	}
	var was corev1.ConditionStatus
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			was = c.Status
		}
	}
	container := runs.status()
	if was == ready && p.Status.PodIP == runs.ip && len(p.Status.ContainerStatuses) == 1 && equality.Semantic.DeepEqual(p.Status.ContainerStatuses[0], container) {
		return nil
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{container}
	changed := metav1.Now()
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == ready {
			changed = c.LastTransitionTime
		}
	}
	if ready == corev1.ConditionFalse && runs.crashes > 0 {
		changed = metav1.NewTime(time.Now().Add(-pauses(runs.crashes)))
	}
	p.Status.Phase, p.Status.PodIP, p.Status.PodIPs = corev1.PodRunning, runs.ip, []corev1.PodIP{{IP: runs.ip}}
	p.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
		{Type: corev1.PodReady, Status: ready, LastTransitionTime: changed},
	}
	return k.client.Status().Update(ctx, p)
}

// pauses are how long a kubelet would have waited between so many crashes in a row: 10 s,
// and twice as long each time, up to five minutes. This one does not wait, and only says so.
func pauses(crashes int) time.Duration {
	var all time.Duration
	for pause := 10 * time.Second; crashes > 1; crashes-- {
		all += pause
		pause = min(2*pause, 5*time.Minute)
	}
	return all
}

// publish keeps the addresses of each cluster's Pods in an EndpointSlice of its
// headless Service, and those of the voters that are ready in one of its client Service.
func (k *Kubelet) publish(ctx context.Context, pods []corev1.Pod) error {
	endpoints := map[string][]discoveryv1.Endpoint{}
	for i := range pods {
		p := &pods[i]
		if p.Status.PodIP == "" {
			continue
		}
		peers, clients := member.PeerServiceName(p.Spec.Subdomain), member.ClientServiceName(p.Spec.Subdomain)
		endpoints[peers] = append(endpoints[peers], discoveryv1.Endpoint{Hostname: &p.Spec.Hostname, Addresses: []string{p.Status.PodIP}})
		if endpoints[clients] == nil {
			endpoints[clients] = []discoveryv1.Endpoint{}
		}
		if Serves(p) {
			ref := &corev1.ObjectReference{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID}
			endpoints[clients] = append(endpoints[clients], discoveryv1.Endpoint{TargetRef: ref, Addresses: []string{p.Status.PodIP}})
		}
	}
	for service, all := range endpoints {
		slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: service, Namespace: k.namespace}}
		_, err := controllerutil.CreateOrUpdate(ctx, k.client, slice, func() error {
			slice.Labels = member.Selector(strings.TrimSuffix(service, member.ClientServiceName("")))
			slice.Labels[discoveryv1.LabelServiceName] = service
			// As names: the API server refuses loopback addresses as such.
			slice.AddressType, slice.Endpoints = discoveryv1.AddressTypeFQDN, all
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Serves reports whether the client Service sends clients to a Pod.
func Serves(p *corev1.Pod) bool {
	return p.Labels[v1beta2.LabelRole] == v1beta2.RoleVoter && p.DeletionTimestamp.IsZero() &&
		slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
}

// releaseClaims lets volumes go that are to be deleted and that no Pod uses.
func (k *Kubelet) releaseClaims(ctx context.Context, pods []corev1.Pod) error {
	var claims corev1.PersistentVolumeClaimList
	if err := k.client.List(ctx, &claims, client.InNamespace(k.namespace)); err != nil {
		return err
	}
	inUse := map[string]bool{}
	for i := range pods {
		inUse[pods[i].Name] = true
	}
	for i := range claims.Items {
		c := &claims.Items[i]
		if c.DeletionTimestamp.IsZero() || inUse[c.Name] || len(c.Finalizers) == 0 {
			continue
		}
		c.Finalizers = nil
		if err := k.client.Update(ctx, c); err != nil {
			return err
		}
		if err := os.RemoveAll(filepath.Join(k.dir, "volume-"+c.Name)); err != nil {
			return err
		}
	}
	return nil
}

// addHost lets the members look up a name. The file keeps its place on the disk,
// since it is mounted in theirs.
func (k *Kubelet) addHost(name, ip string) {
	f, err := os.OpenFile(k.hosts, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintf(f, "%s %s\n", ip, strings.ToLower(name))
		f.Close()
	}
	if err != nil {
		k.t.Errorf("add host %s: %v", name, err)
	}
}
