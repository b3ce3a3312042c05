package member

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// What shapes a Pod changes the hash, and nothing else does.
func TestTemplateHash(t *testing.T) {
	plain := func(*v1beta2.EtcdCluster) {}
	pod := func(change func(*v1beta2.PodPolicy)) func(*v1beta2.EtcdCluster) {
		return func(c *v1beta2.EtcdCluster) {
			c.Spec.Pod = &v1beta2.PodPolicy{}
			change(c.Spec.Pod)
		}
	}
	requests := func(cpu string) func(*v1beta2.EtcdCluster) {
		return pod(func(p *v1beta2.PodPolicy) {
			p.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
		})
	}
	auto := func(c *v1beta2.EtcdCluster) { c.Spec.TLS = &v1beta2.TLSPolicy{Auto: &v1beta2.AutoTLS{}} }
	trusting := func(trust string) func(*v1beta2.EtcdCluster) {
		return func(c *v1beta2.EtcdCluster) {
			auto(c)
			c.Status.TLS = &v1beta2.TLSStatus{Trust: trust}
		}
	}
	tlsPolicy := func(change func(*v1beta2.TLSPolicy)) func(*v1beta2.EtcdCluster) {
		return func(c *v1beta2.EtcdCluster) {
			auto(c)
			change(c.Spec.TLS)
		}
	}
	static := func(peer, server, operator string) func(*v1beta2.EtcdCluster) {
		return func(c *v1beta2.EtcdCluster) {
			c.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{
				Member: &v1beta2.MemberSecret{PeerSecret: peer, ServerSecret: server}, OperatorSecret: operator,
			}}
		}
	}
	for name, tc := range map[string]struct {
		reason    string
		one, two  func(*v1beta2.EtcdCluster)
		different bool
	}{
		"resources":       {"the Pod has others", plain, requests("1"), true},
		"other resources": {"the Pod has others", requests("1"), requests("2"), true},
		"one CPU":         {"two spellings of one quantity", requests("1000m"), requests("1"), false},
		"environment":     {"etcd reads it once", plain, pod(func(p *v1beta2.PodPolicy) { p.EtcdEnv = []corev1.EnvVar{{Name: "A", Value: "b"}} }), true},
		"etcd's settings": {"etcd reads them once", plain, func(c *v1beta2.EtcdCluster) { c.Spec.Etcd = &v1beta2.EtcdPolicy{LogLevel: "debug"} }, true},
		"tolerations":     {"they decide where it may run", plain, pod(func(p *v1beta2.PodPolicy) { p.Tolerations = []corev1.Toleration{{Key: "a"}} }), true},
		"no spread":       {"an empty list leaves out the default", plain, pod(func(p *v1beta2.PodPolicy) { p.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{} }), true},
		"root":            {"0 is not nothing", plain, pod(func(p *v1beta2.PodPolicy) { p.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(0))} }), true},
		"a restart":       {"it was asked for", plain, func(c *v1beta2.EtcdCluster) { c.Annotations = map[string]string{v1beta2.AnnotationRestart: "now"} }, true},

		"TLS":                 {"the Pod has Secrets", plain, auto, true},
		"other CAs":           {"etcd reads them once", auto, trusting("other"), true},
		"cipher suites":       {"etcd reads them once", auto, tlsPolicy(func(p *v1beta2.TLSPolicy) { p.CipherSuites = []string{"a"} }), true},
		"a version of TLS":    {"etcd reads it once", auto, tlsPolicy(func(p *v1beta2.TLSPolicy) { p.MinVersion = "TLS1.3" }), true},
		"another peer Secret": {"the Pod has another", static("a", "b", "c"), static("x", "b", "c"), true},
		"another server's":    {"the Pod has another", static("a", "b", "c"), static("a", "x", "c"), true},
		"another operator's":  {"no Pod has it", static("a", "b", "c"), static("a", "b", "x"), false},
		"other certificates":  {"etcd reads them at each handshake", auto, tlsPolicy(func(p *v1beta2.TLSPolicy) { p.Auto.ServerNames = []string{"a"} }), false},
		"another way, same":   {"cert-manager's Secrets have the names of the operator's own", auto, tlsPolicy(func(p *v1beta2.TLSPolicy) { p.Auto, p.CertManager = nil, &v1beta2.CertManagerTLS{} }), false},
		"a policy of nothing": {"all is in the clear", plain, func(c *v1beta2.EtcdCluster) {
			c.Spec.TLS = &v1beta2.TLSPolicy{MinVersion: "TLS1.3", Static: &v1beta2.StaticTLS{}}
		}, false},
		"trust without TLS":     {"nothing reads it", plain, func(c *v1beta2.EtcdCluster) { c.Status.TLS = &v1beta2.TLSStatus{Trust: "a"} }, false},
		"the way of a rotation": {"what is trusted counts", trusting("trust"), func(c *v1beta2.EtcdCluster) { trusting("trust")(c); c.Status.TLS.Rotation = v1beta2.CAReissuing }, false},

		"an empty pod":         {"nothing is said", plain, pod(func(*v1beta2.PodPolicy) {}), false},
		"empty fields":         {"nothing is said", plain, pod(func(p *v1beta2.PodPolicy) { p.EtcdEnv, p.Affinity = []corev1.EnvVar{}, &corev1.Affinity{} }), false},
		"empty settings":       {"nothing is said", plain, func(c *v1beta2.EtcdCluster) { c.Spec.Etcd = &v1beta2.EtcdPolicy{} }, false},
		"version":              {"it is changed in place", plain, func(c *v1beta2.EtcdCluster) { c.Spec.Version, c.Spec.Repository = "3.7.3", "r" }, false},
		"labels":               {"they are changed in place", plain, pod(func(p *v1beta2.PodPolicy) { p.Labels = map[string]string{"a": "b"} }), false},
		"annotations":          {"they are changed in place", plain, pod(func(p *v1beta2.PodPolicy) { p.Annotations = map[string]string{"a": "b"} }), false},
		"what is not used":     {"it changes nothing", plain, pod(func(p *v1beta2.PodPolicy) { p.BusyboxImage, p.DNSTimeoutInSecond = "b", 3 }), false},
		"size, and the budget": {"they shape no Pod", plain, func(c *v1beta2.EtcdCluster) { c.Spec.Size, c.Spec.PodDisruptionBudget = 5, new(false) }, false},
	} {
		one, two := newCluster(nil), newCluster(nil)
		tc.one(one)
		tc.two(two)
		if got := TemplateHash(one) != TemplateHash(two); got != tc.different {
			t.Errorf("%s: the hashes differ: %t, want %t, since %s", name, got, tc.different, tc.reason)
		}
	}
}

// A release that had another hash for the same spec would restart every member that
// there is. To change these is to do that.
func TestTemplateHashStays(t *testing.T) {
	for file, want := range map[string]string{
		"default.cluster.yaml": "44136fa355",
		"tuned.cluster.yaml":   "c2ab686cdd",
		"auto.cluster.yaml":    "e9eb281279",
		"legacy.cluster.yaml":  "9011b26ad5",
	} {
		if got := TemplateHash(cluster(t, file)); got != want {
			t.Errorf("the hash of %s is %s, and was %s", file, got, want)
		}
	}
}

func TestSettings(t *testing.T) {
	c := newCluster(&v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: "ETCD_LOG_LEVEL", Value: "warn"}}})
	quota := resource.MustParse("8Gi")
	c.Spec.Etcd = &v1beta2.EtcdPolicy{
		QuotaBackendBytes: &quota, AutoCompactionMode: "periodic", AutoCompactionRetention: "1h",
		HeartbeatInterval: &metav1.Duration{Duration: 300 * time.Millisecond}, ElectionTimeout: &metav1.Duration{Duration: 3 * time.Second},
		SnapshotCount: new(int64(5000)), LogLevel: "debug",
	}
	pod, err := NewPod(c, options(c))
	if err != nil {
		t.Fatal(err)
	}
	want := []corev1.EnvVar{
		{Name: EnvMaxLearners, Value: "6"},
		{Name: "ETCD_QUOTA_BACKEND_BYTES", Value: "8589934592"},
		{Name: "ETCD_AUTO_COMPACTION_MODE", Value: "periodic"},
		{Name: "ETCD_AUTO_COMPACTION_RETENTION", Value: "1h"},
		{Name: "ETCD_HEARTBEAT_INTERVAL", Value: "300"},
		{Name: "ETCD_ELECTION_TIMEOUT", Value: "3000"},
		{Name: "ETCD_SNAPSHOT_COUNT", Value: "5000"},
		{Name: "ETCD_LOG_LEVEL", Value: "warn"}, // the user's own
	}
	if diff := cmp.Diff(want, pod.Spec.Containers[0].Env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

// A Pod follows the labels and annotations of the spec, and keeps what is not from it.
func TestMetadata(t *testing.T) {
	c := newCluster(&v1beta2.PodPolicy{
		Labels:      map[string]string{"team": "storage", "tier": "gold", labelPartOf: "shop"},
		Annotations: map[string]string{"note": "old", "keep": "x"},
	})
	pod, err := NewPod(c, options(c))
	if err != nil {
		t.Fatal(err)
	}
	if labels, annotations := Metadata(c, pod); !cmp.Equal(labels, pod.Labels) || !cmp.Equal(annotations, pod.Annotations) {
		t.Errorf("a new Pod is to be changed: %s%s", cmp.Diff(pod.Labels, labels), cmp.Diff(pod.Annotations, annotations))
	}
	pod.Labels["theirs"], pod.Annotations["theirs"] = "x", "x"
	pod.Labels[v1beta2.LabelRole] = v1beta2.RoleVoter
	before := pod.DeepCopy()

	c.Spec.Pod.Labels = map[string]string{"team": "shop", "new": "y"}
	c.Spec.Pod.Annotations = map[string]string{"keep": "x", "more": "z"}
	labels, annotations := Metadata(c, pod)
	wantLabels := before.DeepCopy().Labels
	wantLabels["team"], wantLabels["new"], wantLabels[labelPartOf] = "shop", "y", "c"
	delete(wantLabels, "tier")
	wantAnnotations := before.DeepCopy().Annotations
	wantAnnotations["more"] = "z"
	wantAnnotations[v1beta2.AnnotationKeys] = `{"labels":["new","team"],"annotations":["keep","more"]}`
	delete(wantAnnotations, "note")
	if diff := cmp.Diff(wantLabels, labels) + cmp.Diff(wantAnnotations, annotations); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(before, pod); diff != "" {
		t.Errorf("the Pod was changed:\n%s", diff)
	}

	c.Spec.Pod = nil
	pod.Labels, pod.Annotations = labels, annotations
	labels, annotations = Metadata(c, pod)
	for _, gone := range []string{"team", "new"} {
		if _, ok := labels[gone]; ok {
			t.Errorf("label %s stays", gone)
		}
	}
	for _, gone := range []string{"keep", "more"} {
		if _, ok := annotations[gone]; ok {
			t.Errorf("annotation %s stays", gone)
		}
	}
	if labels["theirs"] != "x" || annotations["theirs"] != "x" || labels[v1beta2.LabelRole] != v1beta2.RoleVoter {
		t.Errorf("what is not from the spec does not stay: %v %v", labels, annotations)
	}
}
