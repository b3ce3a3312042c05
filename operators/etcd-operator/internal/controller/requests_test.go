package controller_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/podtest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// requests counts what an operator asks of the API server.
type requests struct {
	mu            sync.Mutex
	reads, writes []time.Time
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// count counts each request but the watches, also those that the server refuses.
func (r *requests) count(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		r.mu.Lock()
		switch {
		case req.Method != http.MethodGet:
			r.writes = append(r.writes, time.Now())
		case !strings.Contains(req.URL.RawQuery, "watch=true"):
			r.reads = append(r.reads, time.Now())
		}
		r.mu.Unlock()
		return next.RoundTrip(req)
	})
}

// within is how many reads and writes there were in the time that has just passed.
func (r *requests) within(d time.Duration) (reads, writes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	since := func(all []time.Time) int {
		first := slices.IndexFunc(all, func(t time.Time) bool { return time.Since(t) < d })
		if first < 0 {
			return 0
		}
		return len(all) - first
	}
	return since(r.reads), since(r.writes)
}

const (
	// window is for how long requests are counted, fewWrites how many writes there may be
	// in it: 6 a minute.
	window    = 20 * time.Second
	fewWrites = 2
)

// calm waits until the operator writes as seldom as it may in a situation that lasts.
func (b *bench) calm() {
	b.t.Helper()
	begun := time.Now()
	etcdtest.Eventually(b.t, "the operator to be calm", func() error {
		if time.Since(begun) < window {
			return fmt.Errorf("not looked at for %s yet", window)
		}
		reads, writes := b.requests.within(window)
		if writes > fewWrites {
			return fmt.Errorf("%d writes and %d reads in %s, want %d writes at most", writes, reads, window, fewWrites)
		}
		b.t.Logf("%d writes and %d reads in %s", writes, reads, window)
		return nil
	})
}

// quota lets no more than n of a resource be made. Nobody counts here: all are used.
func (b *bench) quota(resourceName corev1.ResourceName, n string) *corev1.ResourceQuota {
	b.t.Helper()
	hard := corev1.ResourceList{resourceName: resource.MustParse(n)}
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q", Namespace: b.namespace}, Spec: corev1.ResourceQuotaSpec{Hard: hard}}
	apiservertest.Create(b.t, b.client, q)
	q.Status = corev1.ResourceQuotaStatus{Hard: hard, Used: hard}
	apiservertest.SetStatus(b.t, b.client, q)
	return q
}

func (b *bench) claims() []corev1.PersistentVolumeClaim {
	b.t.Helper()
	var list corev1.PersistentVolumeClaimList
	if err := b.client.List(apiservertest.Context(b.t), &list, client.InNamespace(b.namespace)); err != nil {
		b.t.Fatal(err)
	}
	return list.Items
}

// warnings are the notes of the operator's Warning events of a reason.
func (b *bench) warnings(reason string) []string {
	b.t.Helper()
	var list eventsv1.EventList
	if err := b.client.List(apiservertest.Context(b.t), &list, client.InNamespace(b.namespace)); err != nil {
		b.t.Fatal(err)
	}
	var notes []string
	for _, e := range list.Items {
		if e.ReportingController == "etcd-operator" && e.Reason == reason && e.Type == corev1.EventTypeWarning {
			notes = append(notes, e.Note)
		}
	}
	return notes
}

// In whatever situation that lasts, an operator writes no more than six times a minute.
func TestWhatLastsCostsLittle(t *testing.T) {
	t.Parallel()
	says := func(kind, want string) func(*v1beta2.ClusterStatus) bool {
		return func(s *v1beta2.ClusterStatus) bool { return reason(s, kind) == want }
	}
	type row struct {
		reason string
		// arrange brings about the situation.
		arrange func(*testing.T, *bench) *v1beta2.EtcdCluster
		// said holds once the status tells of it.
		said func(*v1beta2.ClusterStatus) bool
		// check looks at what there is in the end.
		check func(*testing.T, *bench)
	}
	one := func(reason string) func(*testing.T, *bench) {
		return func(t *testing.T, b *bench) {
			if got := len(b.warnings(reason)); got != 1 {
				t.Errorf("%d warnings tell of it, want 1: one for each refusal, none for another try", got)
			}
		}
	}
	onePod := one(v1beta2.ClusterReasonPodRejected)
	for name, r := range map[string]row{
		"a Pod is refused": {
			reason: "a quota, an admission policy or a PriorityClass that does not exist",
			arrange: func(_ *testing.T, b *bench) *v1beta2.EtcdCluster {
				b.quota(corev1.ResourcePods, "0")
				return b.create("x", 3)
			},
			said: says(v1beta2.ConditionDegraded, v1beta2.ClusterReasonPodRejected), check: onePod,
		},
		"a Pod is refused after its volume was made": {
			reason: "the volume is used again",
			arrange: func(_ *testing.T, b *bench) *v1beta2.EtcdCluster {
				return b.create("x", 3, withVolumes, func(c *v1beta2.EtcdCluster) { c.Spec.Pod.PriorityClassName = "no-such-class" })
			},
			said: says(v1beta2.ConditionDegraded, v1beta2.ClusterReasonPodRejected),
			check: func(t *testing.T, b *bench) {
				onePod(t, b)
				if got := len(b.claims()); got != 1 {
					t.Errorf("there are %d volumes, want 1", got)
				}
			},
		},
		"the Pods of joiners are refused while the cluster grows": {
			reason: "as above, and the names of joiners are fresh ones",
			arrange: func(t *testing.T, b *bench) *v1beta2.EtcdCluster {
				podtest.StartKubelet(t, b.client, b.namespace)
				c := b.create("x", 1, withVolumes)
				b.untilHealthy(c, 1)
				b.quota(corev1.ResourcePods, "1")
				b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.Size = 3 })
				return c
			},
			said: says(v1beta2.ConditionDegraded, v1beta2.ClusterReasonPodRejected),
			check: func(t *testing.T, b *bench) {
				onePod(t, b)
				if got := len(b.claims()); got != 2 {
					t.Errorf("there are %d volumes, want 2", got)
				}
			},
		},
		"a volume is refused": {
			reason: "a quota, or a policy",
			arrange: func(_ *testing.T, b *bench) *v1beta2.EtcdCluster {
				b.quota(corev1.ResourcePersistentVolumeClaims, "0")
				return b.create("x", 3, withVolumes)
			},
			said: says(v1beta2.ConditionDegraded, v1beta2.ClusterReasonVolumeRejected),
		},
		"a Service is refused": {
			reason: "a quota, or a policy",
			arrange: func(_ *testing.T, b *bench) *v1beta2.EtcdCluster {
				b.quota(corev1.ResourceServices, "0")
				return b.create("x", 3)
			},
			said:  says(v1beta2.ConditionDegraded, v1beta2.ClusterReasonServiceRejected),
			check: one(v1beta2.ClusterReasonServiceRejected),
		},
		"a budget is refused": {
			reason: "as above, of a cluster that serves",
			arrange: func(t *testing.T, b *bench) *v1beta2.EtcdCluster {
				podtest.StartKubelet(t, b.client, b.namespace)
				c := b.create("x", 3, func(c *v1beta2.EtcdCluster) { c.Spec.PodDisruptionBudget = new(false) })
				b.untilHealthy(c, 3)
				b.quota(budgets, "0")
				b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.PodDisruptionBudget = nil })
				return c
			},
			said: func(s *v1beta2.ClusterStatus) bool {
				return reason(s, v1beta2.ConditionDegraded) == v1beta2.ClusterReasonPodDisruptionBudgetRejected && reason(s, v1beta2.ConditionAvailable) == "Serving"
			},
			check: one(v1beta2.ClusterReasonPodDisruptionBudgetRejected),
		},
		"an image can't be pulled": {
			reason: "the kubelet's words say so",
			arrange: func(t *testing.T, b *bench) *v1beta2.EtcdCluster {
				podtest.StartKubelet(t, b.client, b.namespace)
				return b.create("x", 3, func(c *v1beta2.EtcdCluster) { c.Spec.Version = "3.6.15" })
			},
			said: func(s *v1beta2.ClusterStatus) bool { return strings.Contains(said(s), "ImagePullBackOff") },
		},
		"a quorum is lost": {
			reason: "nothing is left to do but to say so",
			arrange: func(t *testing.T, b *bench) *v1beta2.EtcdCluster {
				podtest.StartKubelet(t, b.client, b.namespace)
				c := b.create("x", 3)
				b.untilHealthy(c, 3)
				for _, p := range b.pods(c) {
					b.delete(&p)
				}
				return c
			},
			said: says(v1beta2.ConditionAvailable, "QuorumLost"),
		},
		"there are no credentials": {
			reason: "etcd refuses the operator",
			arrange: func(t *testing.T, b *bench) *v1beta2.EtcdCluster {
				podtest.StartKubelet(t, b.client, b.namespace)
				c := b.create("x", 1)
				b.untilHealthy(c, 1)
				users{b, c}.enable("secret")
				b.poke("x-client")
				return c
			},
			said: says(v1beta2.ConditionCredentialsMissing, v1beta2.ConditionCredentialsMissing),
		},
		"there are no certificates": {
			reason: "the Secrets that the spec names do not exist",
			arrange: func(_ *testing.T, b *bench) *v1beta2.EtcdCluster {
				return b.create("x", 3, func(c *v1beta2.EtcdCluster) {
					c.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{
						Member:         &v1beta2.MemberSecret{PeerSecret: "no-peer", ServerSecret: "no-server"},
						OperatorSecret: "no-client",
					}}
				})
			},
			said: says(v1beta2.ConditionProgressing, "CertificatesMissing"),
		},
		"a name is somebody else's": {
			reason: "nothing is touched",
			arrange: func(t *testing.T, b *bench) *v1beta2.EtcdCluster {
				foreign := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "x-client", Namespace: b.namespace}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
				apiservertest.Create(t, b.client, foreign)
				return b.create("x", 3)
			},
			said: says(v1beta2.ConditionNameConflict, "NameConflict"),
		},
		"no Pod is scheduled": {
			reason: "the scheduler says why",
			arrange: func(t *testing.T, b *bench) *v1beta2.EtcdCluster {
				c := b.create("x", 3)
				b.until(c, "its Pods", func(*v1beta2.ClusterStatus) bool { return len(b.pods(c)) == 3 })
				for _, p := range b.pods(c) {
					p.Status.Conditions = []corev1.PodCondition{{
						Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available",
					}}
					apiservertest.SetStatus(t, b.client, &p)
				}
				return c
			},
			said: func(s *v1beta2.ClusterStatus) bool { return strings.Contains(said(s), "0/3 nodes are available") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			c := r.arrange(t, b)
			b.until(c, r.reason, r.said)
			b.calm()
			if r.check != nil {
				r.check(t, b)
			}
		})
	}
}
