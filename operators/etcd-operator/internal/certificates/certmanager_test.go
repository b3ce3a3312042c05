package certificates

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// certificateDefinition is cert-manager's, as far as the operator sees it.
func certificateDefinition() *apiextensionsv1.CustomResourceDefinition {
	anything := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "certificates." + certManagerGroup},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: certManagerGroup, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "certificates", Singular: "certificate", Kind: "Certificate", ListKind: "CertificateList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": anything, "status": anything},
				}},
			}},
		},
	}
}

func certManagerPolicy() v1beta2.TLSPolicy {
	return v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{IssuerRef: v1beta2.IssuerReference{Name: "ours"}}}
}

// request is a Certificate as the API server has it.
func (b *bench) request(r role) *unstructured.Unstructured {
	b.t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(certificateKind)
	u.SetNamespace(b.cluster.Namespace)
	u.SetName(requestName(b.cluster, r))
	apiservertest.Read(b.t, b.client, u)
	return u
}

// issued does what cert-manager does: it issues what a Certificate asks for.
func (b *bench) issued(by *signingCA, r role) {
	b.t.Helper()
	spec := b.request(r).Object["spec"].(map[string]any)
	lifetime, err := time.ParseDuration(spec["duration"].(string))
	if err != nil {
		b.t.Fatal(err)
	}
	certPEM, keyPEM, err := by.issue(b.cluster, r, lifetime, time.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: spec["secretName"].(string), Namespace: b.cluster.Namespace}, Type: corev1.SecretTypeTLS}
	data := map[string][]byte{common.cert: certPEM, common.key: keyPEM, common.ca: encode(by.cert.Raw)}
	err = b.client.Get(apiservertest.Context(b.t), client.ObjectKeyFromObject(s), s)
	s.Data = data
	if err != nil {
		apiservertest.Create(b.t, b.client, s)
		return
	}
	if err := b.client.Update(apiservertest.Context(b.t), s); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) wantSays(reason facts.CertificateProblem, text string) {
	b.t.Helper()
	if s := b.keep(); s.TLS.Problem != reason || !strings.Contains(s.TLS.Message, text) || s.TLS.RequeueAfter == 0 {
		b.t.Fatalf("got %+v, again in %s; want %s, %q", s.TLS, s.TLS.RequeueAfter, reason, text)
	}
}

// From an API server without cert-manager to one whose issuer gets another CA.
func TestCertManager(t *testing.T) {
	b := newBench(t, certManagerPolicy())
	b.wantSays(facts.CertificatesMissing, "cert-manager is not installed (there is no kind Certificate in cert-manager.io/v1): install it")
	apiservertest.Install(t, apiservertest.Config(), certificateDefinition())

	b.wantSays(facts.CertificatesPending, "cert-manager has not issued Certificate x-operator: no status yet")
	spec := b.request(server).Object["spec"].(map[string]any)
	if spec["commonName"] != "x-server" || spec["secretName"] != "x-server-issued-tls" || spec["duration"] != "2160h0m0s" || len(spec["dnsNames"].([]any)) != 8 || len(spec["ipAddresses"].([]any)) != 2 {
		t.Errorf("the Certificate is %v", spec)
	}
	if !metav1.IsControlledBy(b.request(peer), b.cluster) {
		t.Error("the Certificate is not deleted with the EtcdCluster")
	}
	denied := b.request(operator)
	denied.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "False", "message": `the issuer "ours" is not there`}}}
	apiservertest.SetStatus(t, b.client, denied)
	b.wantSays(facts.CertificatesPending, `Certificate x-operator: the issuer "ours" is not there`)

	first := caAt(t, time.Now())
	for _, r := range issuedRoles {
		b.issued(first, r)
	}
	state := b.keep()
	wantWell(t, state)
	b.report(state)
	if requeueAfter := b.keep(); len(requeueAfter.Told) != 0 || requeueAfter.TLS.RequeueAfter != 0 {
		t.Errorf("an idle cluster is written: %v", requeueAfter.Told)
	}

	// Another name, and what somebody has changed.
	b.update(func(c *v1beta2.EtcdCluster) { c.Spec.Issued().ServerNames = []string{"etcd.example.com"} })
	b.keep()
	if names := b.request(server).Object["spec"].(map[string]any)["dnsNames"].([]any); names[len(names)-1] != "etcd.example.com" {
		t.Errorf("the Certificate is for %v", names)
	}

	// What identifies applications, and that nothing does.
	for _, name := range []string{"app", ""} {
		b.update(func(c *v1beta2.EtcdCluster) { c.Spec.Issued().ClientCommonName = &name })
		b.keep()
		if got := b.request(applications).Object["spec"].(map[string]any); got["commonName"] != name || (name == "") != (got["dnsNames"] != nil) {
			t.Errorf("with the name %q the Certificate is %v", name, got)
		}
	}

	// The user asks for new ones.
	b.update(func(c *v1beta2.EtcdCluster) { c.Annotations = map[string]string{v1beta2.AnnotationRenew: "1"} })
	was := string(b.secret("x-peer-tls").Data[common.cert])
	state = b.keep()
	if state.TLS.Problem != "" || len(b.secret("x-peer-issued-tls").Data[common.cert]) != 0 || string(b.secret("x-peer-tls").Data[common.cert]) != was {
		t.Errorf("cert-manager was not asked to issue anew, or members have lost what they had: %+v", state.TLS)
	}
	for _, r := range issuedRoles {
		b.issued(first, r)
	}
	wantWell(t, b.keep())
	if string(b.secret("x-peer-tls").Data[common.cert]) == was {
		t.Error("what was issued anew was not delivered")
	}

	// The issuer's CA is another: it is trusted first.
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "x-1", Namespace: b.cluster.Namespace, Labels: b.secret("x-peer-tls").Labels,
			OwnerReferences: b.secret("x-peer-tls").OwnerReferences, Annotations: map[string]string{v1beta2.AnnotationTrust: state.TLS.Trust},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "etcd", Image: "x"}}},
	}
	apiservertest.Create(t, b.client, pod)
	second := caAt(t, time.Now())
	was = string(b.secret("x-peer-tls").Data[common.cert])
	for _, r := range issuedRoles {
		b.issued(second, r)
	}
	state = b.keep()
	if s := b.secret("x-peer-tls"); state.TLS.Rotation != v1beta2.CATrustingBoth || string(s.Data[common.cert]) != was || len(parseCAs(s.Data[common.ca])) != 2 {
		t.Errorf("got %+v: members would show what nobody knows", state.TLS)
	}
}

// What is somebody else's is not touched, and reported.
func TestStrangers(t *testing.T) {
	b := newBench(t, autoPolicy())
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "x-peer-tls", Namespace: b.cluster.Namespace}, Data: map[string][]byte{"a": []byte("b")}}
	apiservertest.Create(t, b.client, theirs)
	b.wantSays(facts.CertificatesInvalid, "Secret x-peer-tls does not belong to this EtcdCluster, which needs its name: delete it")
	if s := b.secret("x-peer-tls"); s.ResourceVersion != theirs.ResourceVersion {
		t.Error("it was written")
	}
	apiservertest.Delete(t, b.client, theirs)
	wantWell(t, b.keep())
}

// Two operators at once come to one CA.
func TestTwoOperators(t *testing.T) {
	b := newBench(t, autoPolicy())
	other := &Keeper{Client: b.client, Live: b.client}
	ended := make(chan error, 1)
	ctx := apiservertest.Context(t)
	go func() {
		_, err := other.Keep(ctx, b.cluster.DeepCopy())
		ended <- err
	}()
	mine, err := b.keeper.Keep(ctx, b.cluster.DeepCopy())
	if err := etcdtest.Receive(t, "the other operator", ended); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	last := b.keep()
	wantWell(t, last)
	if mine.TLS.Problem == "" && mine.TLS.Trust != last.TLS.Trust {
		t.Error("one CA took the place of another")
	}
	if len(parseCAs(b.secret("x-peer-tls").Data[common.ca])) != 1 {
		t.Error("members trust both")
	}
}

// An EtcdCluster that has changed since it was read gets nothing.
func TestChangedSince(t *testing.T) {
	b := newBench(t, autoPolicy())
	before := b.cluster.DeepCopy()
	b.update(func(c *v1beta2.EtcdCluster) { c.Spec.Paused = true })
	if _, err := b.keeper.Keep(apiservertest.Context(t), before); err == nil {
		t.Error("a paused cluster is written")
	}
	var found corev1.SecretList
	if err := b.client.List(apiservertest.Context(t), &found, client.InNamespace(b.cluster.Namespace)); err != nil || len(found.Items) != 0 {
		t.Errorf("%d Secrets were made, %v", len(found.Items), err)
	}
}
