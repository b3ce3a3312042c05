package harness

import (
	"context"
	"fmt"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/tlsprobe"
)

// tlsFolder is where programs have their certificates.
const tlsFolder = "/tls"

// AutoTLS lets the operator issue the certificates.
func AutoTLS(c *v1beta2.EtcdCluster) {
	c.Spec.TLS = &v1beta2.TLSPolicy{Auto: &v1beta2.AutoTLS{}}
}

// StaticTLS lets the user keep them, in the Secrets that this name begins.
func StaticTLS(prefix string) Option {
	return func(c *v1beta2.EtcdCluster) {
		c.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{
			Member:         &v1beta2.MemberSecret{PeerSecret: prefix + "-peer", ServerSecret: prefix + "-server"},
			OperatorSecret: prefix + "-operator",
		}}
	}
}

// MinTLS is the oldest version of TLS that members speak. It comes after who keeps the
// certificates.
func MinTLS(version string) Option {
	return func(c *v1beta2.EtcdCluster) { c.Spec.TLS.MinVersion = version }
}

// CAOverlap sets how long a replaced CA is trusted. It comes after AutoTLS.
func CAOverlap(d time.Duration) Option {
	return func(c *v1beta2.EtcdCluster) { c.Spec.Issued().CAOverlap = &metav1.Duration{Duration: d} }
}

// certificate is the Secret whose certificate clients show; empty if they need none.
func (c *Cluster) certificate() string {
	if c.Certificate != "" {
		return c.Certificate
	}
	if s := c.State(); s.Cluster != nil {
		return s.Cluster.ClientTLSSecret()
	}
	return ""
}

// PutSecret writes a Secret with exactly these keys, in place of one that is there.
func (e *Env) PutSecret(ctx context.Context, namespace, name string, data map[string][]byte) error {
	s := secret(namespace, name, data)
	if len(data[corev1.TLSCertKey]) > 0 {
		s.Type = corev1.SecretTypeTLS
	}
	err := e.Client.Create(ctx, &s)
	if client.IgnoreAlreadyExists(err) != nil || err == nil {
		return err
	}
	var old corev1.Secret
	if err := e.Client.Get(ctx, client.ObjectKeyFromObject(&s), &old); err != nil {
		return err
	}
	old.Data = data
	return e.Client.Update(ctx, &old)
}

// Stranger is a Pod that finds out which clients servers accept: see package tlsprobe.
type Stranger struct{ *program }

// StartStranger starts one that has the certificates of these Secrets.
func (e *Env) StartStranger(ctx context.Context, v *View, namespace string, secrets ...string) (*Stranger, error) {
	pod := restrictedPod(namespace, "stranger", "tls-probe", "--tls="+tlsFolder)
	for i, name := range secrets {
		mount(&pod.Spec, fmt.Sprintf("tls-%d", i), tlsFolder+"/"+name, secretVolume(name))
	}
	p, err := e.start(ctx, v, pod, "the stranger")
	return &Stranger{p}, err
}

// At tries host:port with the certificate of a Secret, or with none.
func (s *Stranger) At(ctx context.Context, address, as string) (tlsprobe.Answer, error) {
	return s.probe(ctx, url.Values{"at": {address}, "as": {as}})
}

// ByTLS12 does so as one who knows of nothing newer.
func (s *Stranger) ByTLS12(ctx context.Context, address, as string) (tlsprobe.Answer, error) {
	return s.probe(ctx, url.Values{"at": {address}, "as": {as}, "tls12": {"true"}})
}

// InTheClear tries host:port without TLS.
func (s *Stranger) InTheClear(ctx context.Context, address string) (tlsprobe.Answer, error) {
	return s.probe(ctx, url.Values{"at": {address}, "clear": {"true"}})
}

func (s *Stranger) probe(ctx context.Context, how url.Values) (a tlsprobe.Answer, err error) {
	return a, s.ask(ctx, "GET", "probe", how, &a)
}

// Remount makes the kubelet look at once at what it has mounted into a Pod, as it does of
// itself every minute or so.
func (p *program) Remount(ctx context.Context) error { return p.env.remount(ctx, p.namespace, p.pod) }

// Remount does the same for a member's Pod.
func (c *Cluster) Remount(ctx context.Context, names ...string) error {
	return c.env.remount(ctx, c.Namespace, names...)
}

func (e *Env) remount(ctx context.Context, namespace string, pods ...string) error {
	for _, pod := range pods {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"etcd-operators/e2e-remounted":%q}}}`, time.Now().Format(time.RFC3339Nano))
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod}}
		// One that is gone is made anew, and mounts what there is then.
		if err := client.IgnoreNotFound(e.Client.Patch(ctx, p, client.RawPatch(types.MergePatchType, patch))); err != nil {
			return err
		}
	}
	return nil
}

// File reads a file that a Pod has mounted.
func (e *Env) File(ctx context.Context, namespace, pod, path string) (string, error) {
	return e.Kubectl.Run(ctx, "-n", namespace, "exec", pod, "--", "cat", path)
}
