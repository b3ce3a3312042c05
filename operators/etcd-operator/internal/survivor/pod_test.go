package survivor

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/survivor/task"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// The agent is given the operators' certificate if the survivor serves by TLS; etcd never
// is. The Pod of a member that has long served starts without that Secret.
func TestTheAgentsCertificate(t *testing.T) {
	static := func(peer, server, operator string) *v1beta2.TLSPolicy {
		return &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{Member: &v1beta2.MemberSecret{PeerSecret: peer, ServerSecret: server}, OperatorSecret: operator}}
	}
	for name, r := range map[string]struct {
		tls         *v1beta2.TLSPolicy
		secret, url string
	}{
		"in the clear":       {url: "http://c-1.c.ns.svc:2379"},
		"peers alone":        {tls: static("p", "", ""), url: "http://c-1.c.ns.svc:2379"},
		"the user's Secrets": {tls: static("p", "s", "o"), secret: "o", url: "https://c-1.c.ns.svc:2379"},
		"issued":             {tls: &v1beta2.TLSPolicy{Auto: &v1beta2.AutoTLS{}}, secret: "c-operator-tls", url: "https://c-1.c.ns.svc:2379"},
		"cert-manager's": {
			tls:    &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{IssuerRef: v1beta2.IssuerReference{Name: "ca"}}},
			secret: "c-operator-tls", url: "https://c-1.c.ns.svc:2379",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "ns", UID: "u"}, Spec: v1beta2.ClusterSpec{Version: "3.6.16", TLS: r.tls}}
			pod, err := member.NewPod(c, member.Options{Name: "c-2", Version: "3.6.16", LauncherImage: "example.com/etcd-operator:v1", Role: v1beta2.RoleSeed})
			if err != nil {
				t.Fatal(err)
			}
			want := task.Task{Survivor: "c-1", URL: member.ClientURL(c, "c-1"), Token: "token"}
			if err := AddTo(pod, c, "example.com/etcd-operator:v1", want); err != nil {
				t.Fatal(err)
			}
			if want.URL != r.url {
				t.Errorf("the survivor is asked at %s, want %s", want.URL, r.url)
			}
			want.PermitFile = permitMount + "/" + permitFile
			if r.secret != "" {
				want.TLSDir = tlsMount
			}
			if diff := cmp.Diff(&want, TaskOf(pod)); diff != "" {
				t.Errorf("-written +read:\n%s", diff)
			}

			var mounted *corev1.SecretVolumeSource
			for _, v := range pod.Spec.Volumes {
				if v.Name == volumeTLS {
					mounted = v.Secret
				}
			}
			if (mounted != nil) != (r.secret != "") || (mounted != nil && (mounted.SecretName != r.secret || mounted.Optional == nil || !*mounted.Optional)) {
				t.Errorf("the Secret is %+v, want %q, which is optional", mounted, r.secret)
			}
			for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
				has := slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool {
					return m.Name == volumeTLS && m.MountPath == tlsMount && m.ReadOnly
				})
				if has != (container.Name == Container && r.secret != "") {
					t.Errorf("container %s has the operators' certificate: %t", container.Name, has)
				}
			}
		})
	}
}
