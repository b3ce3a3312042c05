package controller_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/podtest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// withAuto has the operator issue certificates, and drop a CA that it has replaced
// as soon as that is safe.
func withAuto(c *v1beta2.EtcdCluster) {
	c.Spec.TLS = &v1beta2.TLSPolicy{Auto: &v1beta2.AutoTLS{IssuedTLS: v1beta2.IssuedTLS{CAOverlap: &metav1.Duration{Duration: 0}}}}
}

// secretData is what a Secret holds.
func (b *bench) secretData(name string) map[string][]byte {
	b.t.Helper()
	var s corev1.Secret
	if err := b.client.Get(apiservertest.Context(b.t), client.ObjectKey{Namespace: b.namespace, Name: name}, &s); err != nil {
		b.t.Fatal(err)
	}
	return s.Data
}

// mark annotates an EtcdCluster.
func (b *bench) mark(c *v1beta2.EtcdCluster, key, value string) {
	b.t.Helper()
	b.edit(c, func(c *v1beta2.EtcdCluster) {
		if c.Annotations == nil {
			c.Annotations = map[string]string{}
		}
		c.Annotations[key] = value
	})
}

// shown is the certificate that a Pod's etcd shows to clients.
func shown(p *corev1.Pod) (string, error) {
	return etcdtest.ShownSerial(podtest.At(p.Status.PodIP, member.ClientPort))
}

// uids are those of a cluster's Pods, by name.
func (b *bench) uids(c *v1beta2.EtcdCluster) map[string]types.UID {
	b.t.Helper()
	all := map[string]types.UID{}
	for _, p := range b.pods(c) {
		all[p.Name] = p.UID
	}
	return all
}

// A cluster whose certificates the operator issues grows and heals; its certificates are
// renewed without a restart, and its CA is replaced with two restarts of each
// member, on their volumes.
func TestAutoTLS(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	podtest.StartKubelet(t, b.client, b.namespace)
	c := b.create("x", 1, withVolumes, withAuto)
	b.untilHealthy(c, 1)
	if s := c.Status.TLS; s == nil || s.Trust == "" || s.NotAfter == nil || reason(&c.Status, v1beta2.ConditionCertificatesReady) != "CertificatesValid" {
		t.Errorf("the status tells of certificates: %+v, %s", s, said(&c.Status))
	}
	b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.Size = 3 })
	b.untilHealthy(c, 3)
	names, id, trust, before := memberNames(&c.Status), c.Status.ClusterID, c.Status.TLS.Trust, b.uids(c)
	for _, p := range b.pods(c) {
		if p.Annotations[v1beta2.AnnotationTrust] != trust {
			t.Errorf("Pod %s was made to trust %q, want %q", p.Name, p.Annotations[v1beta2.AnnotationTrust], trust)
		}
	}

	old, err := shown(&b.pods(c)[0])
	if err != nil {
		t.Fatal(err)
	}
	b.mark(c, v1beta2.AnnotationRenew, "1")
	etcdtest.Eventually(t, "members to show another certificate", func() error {
		for _, p := range b.pods(c) {
			if now, err := shown(&p); err != nil || now == old {
				return fmt.Errorf("%s shows %s, %w", p.Name, now, err)
			}
		}
		return nil
	})
	b.untilHealthy(c, 3)
	if now := b.uids(c); !maps.Equal(now, before) || c.Status.TLS.Trust != trust {
		t.Errorf("the Pods are %v, want %v as before, and they trust %s", now, before, c.Status.TLS.Trust)
	}

	ca := b.secretData(c.CATLSSecret())["tls.crt"]
	made := b.countPods(c)
	b.mark(c, v1beta2.AnnotationRotateCA, "1")
	began := time.Now()
	b.until(c, "the CA to be replaced", func(s *v1beta2.ClusterStatus) bool {
		return s.TLS.Trust != trust && s.TLS.Rotation == "" && slices.Equal(b.secretData(c.OperatorTLSSecret())["ca.crt"], b.secretData(c.CATLSSecret())["tls.crt"]) && reason(s, v1beta2.ConditionProgressing) == "UpToDate"
	})
	t.Logf("in %s", time.Since(began).Round(time.Millisecond))
	b.untilHealthy(c, 3)
	if now := b.secretData(c.CATLSSecret())["tls.crt"]; slices.Equal(now, ca) {
		t.Errorf("the CA is the one that it was")
	}
	if n := made(); n != 6 {
		t.Errorf("%d Pods were made, want each of the 3 recreated twice", n)
	}
	if got := memberNames(&c.Status); !slices.Equal(got, names) || c.Status.ClusterID != id {
		t.Errorf("cluster %s has the members %v, want %s and %v", c.Status.ClusterID, got, id, names)
	}
	b.wantEvents("CertificateIssued", "CertificateAuthorityChanged", "UpdatingMembers", "MemberUpdated")
}

// administrator is a client of one member with the operators' certificate.
func (b *bench) administrator(c *v1beta2.EtcdCluster, p *corev1.Pod) *clientv3.Client {
	b.t.Helper()
	secret := b.secretData(c.OperatorTLSSecret())
	pair, err := tls.X509KeyPair(secret["tls.crt"], secret["tls.key"])
	if err != nil {
		b.t.Fatal(err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(secret["ca.crt"])
	cli, err := clientv3.New(clientv3.Config{
		Endpoints: []string{"https://" + podtest.At(p.Status.PodIP, member.ClientPort)}, TLS: config, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithAuthority(member.Host(c, p.Name))},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { cli.Close() })
	return cli
}

// With etcd's authentication the operator is known by its certificate: no password is
// needed. A cluster with TLS whose majority is lost begins anew with a survivor's data.
func TestTLSWithAuthenticationBeginsAnew(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	podtest.StartKubelet(t, b.client, b.namespace)
	c := b.create("x", 1, withAuto)
	b.untilHealthy(c, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	root := b.administrator(c, &b.pods(c)[0])
	if _, err := root.Put(ctx, "key", "value"); err != nil {
		t.Fatal(err)
	}
	_, err := root.RoleAdd(ctx, "root")
	if err == nil {
		_, err = root.UserAddWithOptions(ctx, "root", "", &clientv3.UserAddOptions{NoPassword: true})
	}
	if err == nil {
		_, err = root.UserGrantRole(ctx, "root", "root")
	}
	if err == nil {
		_, err = root.AuthEnable(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.Size = 3 })
	b.untilHealthy(c, 3)

	lost, pods := c.Status.ClusterID, b.pods(c)
	for _, p := range pods[1:] {
		if err := b.client.Delete(ctx, &p, client.GracePeriodSeconds(0)); err != nil {
			t.Fatal(err)
		}
	}
	b.until(c, "the loss to be told", func(s *v1beta2.ClusterStatus) bool {
		return reason(s, v1beta2.ConditionProgressing) == "QuorumLost" && s.QuorumLostSince != nil
	})
	b.mark(c, v1beta2.AnnotationRecover, lost)
	b.until(c, "the cluster to begin anew", func(s *v1beta2.ClusterStatus) bool { return s.ClusterID != lost })
	b.untilHealthy(c, 3)
	got, err := b.administrator(c, &b.pods(c)[0]).Get(ctx, "key")
	if err != nil || len(got.Kvs) != 1 {
		t.Errorf("the key is %+v, %v; want it kept", got, err)
	}
}

// countPods counts the Pods of a cluster that are made from now on.
func (b *bench) countPods(c *v1beta2.EtcdCluster) (made func() int) {
	b.t.Helper()
	seen := map[types.UID]bool{}
	look := func() {
		var list corev1.PodList
		if b.client.List(b.t.Context(), &list, client.InNamespace(b.namespace), client.MatchingLabels{v1beta2.LabelCluster: c.Name}) == nil {
			for i := range list.Items {
				seen[list.Items[i].UID] = true
			}
		}
	}
	look()
	before := len(seen)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
				look()
			}
		}
	}()
	return func() int {
		close(stop)
		<-ended
		look()
		return len(seen) - before
	}
}

// keys are those of the Secrets of this test's clusters.
type keys struct {
	*bench
	ca    *etcdtest.CA
	hosts []string
}

// write writes a Secret with a certificate, of another CA if one is given.
func (k keys) write(name, commonName string, trusted ...*etcdtest.CA) {
	k.t.Helper()
	by := k.ca
	if len(trusted) > 0 {
		by = trusted[0]
	} else {
		trusted = []*etcdtest.CA{by}
	}
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: k.namespace}, Type: corev1.SecretTypeTLS}
	s.Data = by.Issue(k.t, commonName, k.hosts...).Files(trusted...)
	err := k.client.Create(apiservertest.Context(k.t), s)
	if err != nil {
		err = k.client.Update(apiservertest.Context(k.t), s)
	}
	if err != nil {
		k.t.Fatal(err)
	}
}

func withStatic(c *v1beta2.EtcdCluster) {
	c.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{
		Member: &v1beta2.MemberSecret{PeerSecret: "peer", ServerSecret: "server"}, OperatorSecret: "operator",
	}}
}

// A cluster waits for the user's Secrets, and says which is missing or wrong. When the
// operator's is gone it serves on, its Pods return on their volumes, and nothing is changed
// before it is back.
func TestStaticTLS(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	podtest.StartKubelet(t, b.client, b.namespace)
	k := keys{b, etcdtest.NewCA(t, "ours"), []string{"*.x." + b.namespace + ".svc", "x-client." + b.namespace + ".svc", "localhost", "127.0.0.1"}}
	c := b.create("x", 3, withVolumes, withStatic)
	b.until(c, "the Secrets to be missed", func(s *v1beta2.ClusterStatus) bool {
		return reason(s, v1beta2.ConditionCertificatesReady) == "CertificatesMissing" && reason(s, v1beta2.ConditionProgressing) == "CertificatesMissing"
	})
	k.write("peer", "peer")
	k.write("server", "server", etcdtest.NewCA(t, "another"))
	k.write("operator", "root")
	b.until(c, "the server's certificate to be refused", func(s *v1beta2.ClusterStatus) bool {
		return reason(s, v1beta2.ConditionCertificatesReady) == "CertificatesInvalid"
	})
	if n := len(b.pods(c)); n > 0 || c.Status.Phase == v1beta2.PhaseFailed {
		t.Errorf("there are %d Pods, and the phase is %s", n, c.Status.Phase)
	}
	k.write("server", "server")
	b.untilHealthy(c, 3)

	if err := b.client.Delete(apiservertest.Context(t), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "operator", Namespace: b.namespace}}); err != nil {
		t.Fatal(err)
	}
	b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.Size = 5 })
	noClientCertificate := func(s *v1beta2.ClusterStatus) bool {
		return reason(s, v1beta2.ConditionProgressing) == "CertificatesMissing" && reason(s, v1beta2.ConditionAvailable) == "Serving" && len(s.Members.Ready) == 3
	}
	b.until(c, "the operator's Secret to be missed", noClientCertificate)
	lost := b.pods(c)[0]
	b.delete(&lost)
	etcdtest.Eventually(t, "the Pod to serve again", func() error {
		pods := b.pods(c)
		i := slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.Name == lost.Name })
		if i < 0 || pods[i].UID == lost.UID || !podtest.Serves(&pods[i]) {
			return fmt.Errorf("there are %d Pods, and it is not back", len(pods))
		}
		return nil
	})
	b.until(c, "it to wait on", noClientCertificate)
	if n := len(b.pods(c)); n != 3 {
		t.Errorf("there are %d Pods, want the 3 that there were", n)
	}
	k.write("operator", "root")
	b.untilHealthy(c, 5)

	// The user lets another CA in, in the steps that keep everybody's trust.
	second, trust, made := etcdtest.NewCA(t, "second"), c.Status.TLS.Trust, b.countPods(c)
	for _, name := range []string{"peer", "server", "operator"} {
		k.write(name, "root", k.ca, second)
	}
	b.mark(c, v1beta2.AnnotationRenew, "look") // no watch tells of Secrets: else it takes a minute
	b.until(c, "members to trust both", func(s *v1beta2.ClusterStatus) bool {
		return s.TLS.Trust != trust && !slices.ContainsFunc(b.pods(c), func(p corev1.Pod) bool { return p.Annotations[v1beta2.AnnotationTrust] != s.TLS.Trust })
	})
	b.untilHealthy(c, 5)
	if n := made(); n != 5 {
		t.Errorf("%d Pods were made, want each of the 5 recreated once", n)
	}
	b.wantEvents("CertificatesMissing", "CertificatesInvalid", "CertificatesValid", "UpdatingMembers")
}
