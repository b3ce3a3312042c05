package controller_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

func auto() *v1beta2.TLSPolicy { return &v1beta2.TLSPolicy{Auto: &v1beta2.AutoTLS{}} }

// untilCertificates waits until a restore says that it waits for certificates, and why
// there are none.
func (b *bench) untilCertificates(e *v1beta2.EtcdRestore) {
	b.t.Helper()
	b.until(e, "the certificates to be waited for", func(s *v1beta2.RestoreStatus) bool {
		c := meta.FindStatusCondition(s.Conditions, v1beta2.ConditionComplete)
		return s.Phase == v1beta2.RestoreFencing && slices.Equal(s.WaitingFor, []string{"EtcdCluster x"}) &&
			c != nil && c.Reason == "CertificatesMissing" && strings.Contains(c.Message, "there is no Secret x-peer-tls: write it")
	})
}

// wantSeed compares a seed with what it is to be: like a member that etcd-operator makes,
// with these Secrets and no others of certificates.
func (b *bench) wantSeed(e *v1beta2.EtcdRestore, c *v1beta2.EtcdCluster, secrets ...string) {
	b.t.Helper()
	seed := &corev1.Pod{}
	seed.Name, seed.Namespace = e.Status.SeedMember, b.namespace
	apiservertest.Read(b.t, b.client, seed)
	apiservertest.Read(b.t, b.client, c)
	trust := ""
	if c.Status.TLS != nil {
		trust = c.Status.TLS.Trust
	}
	if got := seed.Annotations; got[v1beta2.AnnotationTrust] != trust || got[v1beta2.AnnotationTemplate] != member.TemplateHash(c) {
		b.t.Errorf("the seed's annotations are %v, want trust %q and template %s", got, trust, member.TemplateHash(c))
	}
	var mounted []string
	for _, v := range seed.Spec.Volumes {
		if v.Secret != nil && v.Secret.SecretName != "aws" {
			mounted = append(mounted, v.Secret.SecretName)
		}
	}
	if !slices.Equal(mounted, secrets) {
		b.t.Errorf("the seed mounts %v, want %v", mounted, secrets)
	}
}

// A cluster with TLS is restored in place: while its certificates are not there, its old
// members run on.
func TestInPlaceWithTLS(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.etcdOperator.certless.Store(true)
	c := b.cluster("x", func(c *v1beta2.EtcdCluster) { c.Spec.TLS = auto() })
	e := b.restore("x")
	b.untilCertificates(e)
	if got := b.pods(c); !slices.Equal(got, []string{"x-a", "x-b", "x-c"}) {
		t.Errorf("the Pods are %v, want the old members, which may serve", got)
	}
	b.wantEvents(e, "CertificatesMissing")
	b.etcdOperator.certless.Store(false)
	b.complete(e)
	b.wantRestored(e, c)
	b.wantSeed(e, c, "x-peer-tls", "x-server-tls")
}

// A cluster gets TLS, or loses it, by way of a new one: what the snapshot's had does not
// matter.
func TestANewClusterWithOtherTLS(t *testing.T) {
	t.Parallel()
	static := &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{Member: &v1beta2.MemberSecret{PeerSecret: "p", ServerSecret: "s"}, OperatorSecret: "o"}}
	for label, tc := range map[string]struct {
		old, fresh *v1beta2.TLSPolicy
		secrets    []string
	}{
		"with it":          {old: nil, fresh: auto(), secrets: []string{"x-peer-tls", "x-server-tls"}},
		"without it":       {old: auto(), fresh: nil},
		"with the user's":  {old: auto(), fresh: static, secrets: []string{"p", "s", "o"}}, // o is held against the snapshot's users
		"as the other has": {old: auto(), fresh: auto(), secrets: []string{"x-peer-tls", "x-server-tls"}},
	} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.etcdOperator.certless.Store(true)
			b.cluster("old", func(c *v1beta2.EtcdCluster) { c.Spec.TLS = tc.old })
			e := b.restore("x", func(e *v1beta2.EtcdRestore) {
				e.Spec.EtcdCluster = nil
				e.Spec.ClusterTemplate = &v1beta2.ClusterTemplate{Spec: v1beta2.ClusterSpec{Size: 1, Version: "3.6.16", TLS: tc.fresh}}
			})
			if tc.fresh != nil {
				b.untilCertificates(e)
				b.etcdOperator.certless.Store(false)
			}
			b.complete(e)
			c := &v1beta2.EtcdCluster{}
			c.Name, c.Namespace = "x", b.namespace
			apiservertest.Read(t, b.client, c)
			b.wantRestored(e, c)
			b.wantSeed(e, c, tc.secrets...)
		})
	}
}

// A new cluster like another one gets certificates of its own, from where that one's come.
func TestNewLikeAClusterWithTLS(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cluster("old", func(c *v1beta2.EtcdCluster) { c.Spec.TLS = auto() })
	e := b.restore("x", func(e *v1beta2.EtcdRestore) {
		e.Spec.EtcdCluster.Name, e.Spec.Target = "old", v1beta2.TargetNew
	})
	b.complete(e)
	c := &v1beta2.EtcdCluster{}
	c.Name, c.Namespace = "x", b.namespace
	apiservertest.Read(t, b.client, c)
	b.wantRestored(e, c)
	b.wantSeed(e, c, "x-peer-tls", "x-server-tls")
}
