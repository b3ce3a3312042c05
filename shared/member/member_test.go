package member

import (
	"bytes"
	"crypto/rand"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/launcher"
	"github.com/etcd-operators/etcd-operators/shared/manifesttest"
)

// cluster reads a manifest of testdata, as the API server would give it.
func cluster(t *testing.T, file string) *v1beta2.EtcdCluster {
	t.Helper()
	var c v1beta2.EtcdCluster
	manifesttest.Read(t, file, &c)
	c.Namespace = "ns"
	c.UID = "11111111-2222-3333-4444-555555555555"
	if c.Spec.Size == 0 {
		c.Spec.Size = v1beta2.DefaultSize
	}
	return &c
}

func options(c *v1beta2.EtcdCluster) Options {
	return Options{
		Name:          Name(c.Name, "abcdefghij"),
		Version:       "3.6.16",
		LauncherImage: "example.com/etcd-operator:v1",
		Role:          v1beta2.RoleJoiner,
	}
}

func goldenCases(t *testing.T) []string {
	t.Helper()
	return manifesttest.Files(t, "cluster")
}

// Every object of each cluster in testdata/*.cluster.yaml is as the .golden.yaml
// beside it says. After a wanted change: go test ./member -update.
func TestGolden(t *testing.T) {
	for _, file := range goldenCases(t) {
		t.Run(file, func(t *testing.T) {
			c := cluster(t, file)
			o := options(c)
			o.StartPermit = &launcher.StartPermit{
				Attempt: 1, State: launcher.StateNew, Token: "token",
				InitialCluster: InitialCluster([]Peer{{o.Name, PeerURL(c, o.Name)}}),
			}
			pod, err := NewPod(c, o)
			if err != nil {
				t.Fatal(err)
			}
			objects := []any{pod}
			if claim := NewClaim(c, o.Name); claim != nil {
				objects = append(objects, claim)
			}
			objects = append(objects, ClientService(c), PeerService(c), DisruptionBudget(c, 2))
			manifesttest.Golden(t, file, "cluster", objects...)
		})
	}
}

// What a namespace with pod-security.kubernetes.io/enforce: restricted admits.
func TestPodsAreRestricted(t *testing.T) {
	for _, file := range goldenCases(t) {
		t.Run(file, func(t *testing.T) {
			c := cluster(t, file)
			pod, err := NewPod(c, options(c))
			if err != nil {
				t.Fatal(err)
			}
			manifesttest.Restricted(t, &pod.ObjectMeta, &pod.Spec)
		})
	}
}

// A builder must not hand out, or write to, what lies in an informer's cache.
func TestClusterIsNeitherChangedNorShared(t *testing.T) {
	for _, file := range goldenCases(t) {
		t.Run(file, func(t *testing.T) {
			c := cluster(t, file)
			before := c.DeepCopy()
			for range 2 {
				pod, err := NewPod(c, options(c))
				if err != nil {
					t.Fatal(err)
				}
				pod.Labels["x"], pod.Annotations["x"] = "x", "x"
				if pod.Spec.NodeSelector != nil {
					pod.Spec.NodeSelector["x"] = "x"
				}
				*pod.Spec.SecurityContext.RunAsNonRoot = false
				for _, l := range pod.Spec.Containers[0].Resources.Requests {
					l.SetMilli(1)
				}
				pod.Spec.Tolerations = append(pod.Spec.Tolerations[:0], corev1.Toleration{Key: "x"})
				if claim := NewClaim(c, "x"); claim != nil {
					claim.Spec.AccessModes[0] = "x"
				}
				if s := ClientService(c); s.Annotations != nil {
					s.Annotations["x"] = "x"
				}
			}
			if diff := cmp.Diff(before, c); diff != "" {
				t.Errorf("the EtcdCluster was changed:\n%s", diff)
			}
		})
	}
}

func newCluster(pod *v1beta2.PodPolicy) *v1beta2.EtcdCluster {
	return &v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "ns", UID: "uid"},
		Spec:       v1beta2.ClusterSpec{Size: 3, Pod: pod},
	}
}

func TestLabelsAndAnnotations(t *testing.T) {
	c := newCluster(&v1beta2.PodPolicy{
		Labels: map[string]string{
			"team": "storage", "app.kubernetes.io/part-of": "shop",
			// Admission refuses these; an object from before the CRD may have them.
			"app": "mine", "etcd_cluster": "other", "etcd_node": "x", "etcd_role": "voter", "app.kubernetes.io/managed-by": "me",
		},
		Annotations: map[string]string{"note": "kept", "etcd.version": "9", launcher.StartPermitAnnotation: "{}"},
	})
	pod, err := NewPod(c, options(c))
	if err != nil {
		t.Fatal(err)
	}
	wantLabels := map[string]string{
		"team": "storage", "app.kubernetes.io/part-of": "shop",
		"app": "etcd", "etcd_cluster": "c", "etcd_node": "c-abcdefghij", "etcd_role": "joiner",
		"app.kubernetes.io/name": "etcd", "app.kubernetes.io/instance": "c",
		"app.kubernetes.io/component": "database", "app.kubernetes.io/managed-by": "etcd-operator",
		v1beta2.LabelOwner: "uid",
	}
	if diff := cmp.Diff(wantLabels, pod.Labels); diff != "" {
		t.Errorf("labels -want +got:\n%s", diff)
	}
	wantAnnotations := map[string]string{
		"note": "kept", "etcd.version": "3.6.16", v1beta2.AnnotationImage: "quay.io/coreos/etcd:v3.6.16", v1beta2.AnnotationTemplate: TemplateHash(c),
		v1beta2.AnnotationKeys: `{"labels":["app","app.kubernetes.io/managed-by","app.kubernetes.io/part-of","etcd_cluster","etcd_node","etcd_role","team"],"annotations":["note"]}`,
	}
	if diff := cmp.Diff(wantAnnotations, pod.Annotations); diff != "" {
		t.Errorf("annotations -want +got:\n%s", diff)
	}
}

func TestAffinity(t *testing.T) {
	zone := corev1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{}}
	host := corev1.PodAffinityTerm{TopologyKey: "kubernetes.io/hostname", LabelSelector: &metav1.LabelSelector{
		MatchLabels: map[string]string{"etcd_cluster": "c"},
	}}
	required := func(terms ...corev1.PodAffinityTerm) *corev1.Affinity {
		return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
	}
	node := &corev1.NodeAffinity{}
	cases := map[string]struct {
		policy v1beta2.PodPolicy
		want   *corev1.Affinity
	}{
		"neither":          {v1beta2.PodPolicy{}, nil},
		"affinity":         {v1beta2.PodPolicy{Affinity: required(zone)}, required(zone)},
		"antiAffinity":     {v1beta2.PodPolicy{AntiAffinity: true}, required(host)},
		"both":             {v1beta2.PodPolicy{AntiAffinity: true, Affinity: required(zone)}, required(zone, host)},
		"beside node's":    {v1beta2.PodPolicy{AntiAffinity: true, Affinity: &corev1.Affinity{NodeAffinity: node}}, &corev1.Affinity{NodeAffinity: node, PodAntiAffinity: required(host).PodAntiAffinity}},
		"false is nothing": {v1beta2.PodPolicy{AntiAffinity: false, Affinity: required()}, required()},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, affinity("c", tc.policy.DeepCopy())); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestTopologySpread(t *testing.T) {
	if got := spread("c", &v1beta2.PodPolicy{}); len(got) != 2 || slices.ContainsFunc(got, func(s corev1.TopologySpreadConstraint) bool {
		return s.WhenUnsatisfiable != corev1.ScheduleAnyway
	}) {
		t.Errorf("by default: %v, want two soft constraints", got)
	}
	if got := spread("c", &v1beta2.PodPolicy{TopologySpreadConstraints: []corev1.TopologySpreadConstraint{}}); len(got) != 0 {
		t.Errorf("an empty list is %v, want none", got)
	}
}

func TestLauncherResources(t *testing.T) {
	c := newCluster(&v1beta2.PodPolicy{})
	pod, err := NewPod(c, options(c))
	if err != nil {
		t.Fatal(err)
	}
	if r := pod.Spec.Containers[0].Resources; r.Limits != nil || r.Requests != nil {
		t.Errorf("etcd has %v, want nothing that the user has not asked for", r)
	}
	r := pod.Spec.InitContainers[0].Resources
	if r.Limits.Memory().IsZero() || !r.Limits.Cpu().IsZero() {
		t.Errorf("the launcher has %v, want a limit of memory alone", r.Limits)
	}
}

func TestValidateEnv(t *testing.T) {
	for name, word := range map[string]string{
		"ETCD_AUTO_COMPACTION_RETENTION": "", "ETCD_QUOTA_BACKEND_BYTES": "", "ETCD_LOG_LEVEL": "", "GOMAXPROCS": "",
		"ETCD_SNAPSHOT_COUNT": "", "ETCD_HEARTBEAT_INTERVAL": "", "ETCD_METRICS": "", "ETCD_EXPERIMENTAL_INITIAL_CORRUPT_CHECK": "",
		"ETCD_NAME": "remove", "ETCD_DATA_DIR": "remove", "ETCD_WAL_DIR": "remove", "ETCD_CONFIG_FILE": "remove",
		"ETCD_INITIAL_CLUSTER": "remove", "ETCD_INITIAL_CLUSTER_STATE": "remove", "ETCD_LISTEN_CLIENT_URLS": "remove",
		"ETCD_LISTEN_METRICS_URLS": "remove", "ETCD_ADVERTISE_CLIENT_URLS": "remove", "ETCD_DISCOVERY_SRV": "remove",
		"ETCD_FORCE_NEW_CLUSTER": "remove", "ETCD_STRICT_RECONFIG_CHECK": "remove", "ETCD_MAX_LEARNERS": "remove",
		"ETCD_EXPERIMENTAL_MAX_LEARNERS": "remove",
		"ETCD_CERT_FILE":                 "spec.TLS", "ETCD_PEER_TRUSTED_CA_FILE": "spec.TLS", "ETCD_AUTO_TLS": "spec.TLS",
	} {
		t.Run(name, func(t *testing.T) {
			err := ValidateEnv([]corev1.EnvVar{{Name: "OK"}, {Name: name}})
			if (err == nil) != (word == "") {
				t.Fatalf("error %v, want one: %t", err, word != "")
			}
			if err == nil {
				return
			}
			for _, w := range []string{"spec.pod.etcdEnv[1]", name, word} {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %s", err, w)
				}
			}
			c := newCluster(&v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: name}}})
			if _, err := NewPod(c, options(c)); err == nil {
				t.Error("NewPod takes what ValidateEnv refuses")
			}
		})
	}
}

// Every setting that is a flag is refused as a variable: etcd exits when it is
// given both.
func TestEveryFlagIsReserved(t *testing.T) {
	flags := slices.Concat(etcdCommand(secured("c"), "m")[1:],
		[]string{"--initial-cluster=", "--initial-cluster-state=", "--initial-cluster-token="})
	for _, f := range flags {
		name, _, _ := strings.Cut(strings.TrimPrefix(f, "--"), "=")
		env := "ETCD_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if ValidateEnv([]corev1.EnvVar{{Name: env}}) == nil {
			t.Errorf("%s is not reserved, but --%s is set", env, name)
		}
	}
}

func TestOptionsAreRequired(t *testing.T) {
	c := newCluster(nil)
	for name, spoil := range map[string]func(*Options){
		"name": func(o *Options) { o.Name = "" }, "version": func(o *Options) { o.Version = "" },
		"launcher": func(o *Options) { o.LauncherImage = "" }, "role": func(o *Options) { o.Role = "" },
	} {
		o := options(c)
		spoil(&o)
		if _, err := NewPod(c, o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

// The annotation has two names, because package launcher must not import the
// API's dependencies into the binary that is copied into every Pod.
func TestAnnotationIsTheAPIs(t *testing.T) {
	if launcher.StartPermitAnnotation != v1beta2.AnnotationStartPermit {
		t.Errorf("%s in package launcher, %s in the API", launcher.StartPermitAnnotation, v1beta2.AnnotationStartPermit)
	}
}

func TestNames(t *testing.T) {
	seen := map[byte]bool{}
	for range 200 {
		s := Suffix(rand.Reader)
		if len(s) != 10 || len(validation.IsDNS1123Label(s)) > 0 {
			t.Fatalf("suffix %q", s)
		}
		for i := range s {
			seen[s[i]] = true
		}
	}
	if len(seen) != 36 {
		t.Errorf("%d different characters in 2000, want 36", len(seen))
	}
	// Bytes from 252 on are drawn again: they would favour a, b, c and d.
	if got := Suffix(bytes.NewReader([]byte{255, 252, 0, 25, 26, 35, 36, 251, 71, 72, 1, 2})); got != "az09a9"+"9abc" {
		t.Errorf("suffix %q", got)
	}

	longest := strings.Repeat("c", v1beta2.MaxNameLength)
	if name := Name(longest, "0123456789"); len(validation.IsDNS1123Label(name)) > 0 {
		t.Errorf("%s is no host name", name)
	}

	c := newCluster(&v1beta2.PodPolicy{ClusterDomain: ".cluster.local"})
	if got, want := PeerURL(c, "c-a"), "http://c-a.c.ns.svc.cluster.local:2380"; got != want {
		t.Errorf("peer URL %s, want %s", got, want)
	}
	c.Spec.Pod = nil
	if got, want := ClientURL(c, "c-a"), "http://c-a.c.ns.svc:2379"; got != want {
		t.Errorf("client URL %s, want %s", got, want)
	}
	for url, want := range map[string]string{
		PeerURL(c, "c-a"): "c-a", "https://x.y:2380": "x", "http://x:2380": "x", "": "", "::": "",
	} {
		if got := NameFromURL(url); got != want {
			t.Errorf("name in %q is %q, want %q", url, got, want)
		}
	}
	for name, want := range map[string]bool{
		"c-0123456789": true, "c-abcdefghij": true, "c-abcdefghi": false, "c-abcdefghijk": false, "c-ABCDEFGHIJ": false, "d-abcdefghij": false, "abcdefghij": false, "": false,
	} {
		if IsName("c", name) != want {
			t.Errorf("%q is a member's name of c: %t, want %t", name, !want, want)
		}
	}
	for url, want := range map[string]bool{
		"http://c-a.c.ns.svc:2380": true, "https://c-a.c.ns.svc.cluster.local:2380": true,
		"http://c-a.c.ns.svc:2379": false, "http://c-a.c.ns.svcs:2380": false, "http://c-a.c.other.svc:2380": false,
		"http://c-b.c.ns.svc:2380": false, "http://192.0.2.1:2380": false, "::": false, "": false,
	} {
		if IsPeerURL(c, "c-a", url) != want {
			t.Errorf("%q is the peer URL of c-a: %t, want %t", url, !want, want)
		}
	}
	got := InitialCluster([]Peer{{"b", "http://b:1"}, {"a", "http://a:1"}})
	if want := "a=http://a:1,b=http://b:1"; got != want {
		t.Errorf("initial cluster %s, want %s", got, want)
	}
}

// Whoever writes an EtcdCluster reads what its namespace's Pods can (docs/design/security.md),
// and gets no token of a ServiceAccount.
func TestEnvironmentMayNameSecrets(t *testing.T) {
	c := cluster(t, goldenCases(t)[0])
	from := corev1.EnvVar{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: "database"}, Key: "password",
	}}}
	c.Spec.Pod = &v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{from}, ServiceAccountName: "powerful"}
	pod, err := NewPod(c, options(c))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == ContainerEtcd })
	if i < 0 || !slices.ContainsFunc(pod.Spec.Containers[i].Env, func(e corev1.EnvVar) bool { return cmp.Equal(e, from) }) {
		t.Errorf("the environment does not name the Secret: %+v", pod.Spec.Containers)
	}
	if token := pod.Spec.AutomountServiceAccountToken; pod.Spec.ServiceAccountName != "powerful" || token == nil || *token {
		t.Errorf("ServiceAccount %q with its token: %v", pod.Spec.ServiceAccountName, token)
	}
}
