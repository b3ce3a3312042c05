package certificates

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// autoInput is a cluster with certificates that the operator has just issued, and three
// members that trust them.
func autoInput(t *testing.T) *input {
	t.Helper()
	in := &input{now: noon, kept: map[role]*corev1.Secret{}, cluster: &v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns", UID: "u", Annotations: map[string]string{}},
		Spec:       v1beta2.ClusterSpec{Size: 3, TLS: &v1beta2.TLSPolicy{Auto: &v1beta2.AutoTLS{}}},
	}}
	in.carryOut(t)
	in.carryOut(t)
	trust := in.outcome(t).state.TLS.Trust
	for _, name := range []string{"x-1", "x-2", "x-3"} {
		in.pods = append(in.pods, pod{name, trust, true})
	}
	in.cluster.Status.TLS = &v1beta2.TLSStatus{Trust: trust}
	return in
}

func (in *input) outcome(t *testing.T) outcome {
	t.Helper()
	in.parsed = nil
	out, err := in.decided()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// carryOut does what is decided, and returns the names of the Secrets that it wrote.
func (in *input) carryOut(t *testing.T) string {
	t.Helper()
	var names []string
	for _, w := range in.outcome(t).writes {
		names = append(names, w.to.Name)
		if w.to.Name == in.cluster.CATLSSecret() {
			in.ca = w.to
		}
		for _, r := range issuedRoles {
			if w.to.Name == secretOf(in.cluster, r) {
				in.kept[r] = w.to
			}
		}
	}
	return strings.Join(names, " ")
}

const (
	day     = 24 * time.Hour
	allFour = "x-operator-tls x-client-tls x-peer-tls x-server-tls"
)

func TestAutoRenews(t *testing.T) {
	named := func(annotation string) func(*input) {
		return func(in *input) { in.cluster.Annotations[annotation] = "1" }
	}
	after := func(d time.Duration) func(*input) { return func(in *input) { in.now = noon.Add(d) } }
	for name, row := range map[string]struct {
		change func(*input)
		writes string
		reason facts.CertificateProblem
	}{
		"idle":              {func(*input) {}, "", ""},
		"before two thirds": {after(60*day - time.Second), "", ""},
		"two thirds":        {after(60 * day), allFour, ""},
		"expired":           {after(91 * day), allFour, facts.CertificatesInvalid},
		"the user asks":     {named(v1beta2.AnnotationRenew), allFour, ""},
		"a shorter life": {func(in *input) {
			in.cluster.Spec.Issued().CertificateLifetime = &metav1.Duration{Duration: time.Hour}
			in.now = noon.Add(40 * time.Minute)
		}, allFour, ""},
		"a shorter life, not so": {func(in *input) {
			in.cluster.Spec.Issued().CertificateLifetime = &metav1.Duration{Duration: time.Hour}
			in.now = noon.Add(39 * time.Minute)
		}, "", ""},
		"a longer life": {func(in *input) {
			in.cluster.Spec.Issued().CertificateLifetime = &metav1.Duration{Duration: 1000 * time.Hour * 24}
		}, "", ""},
		"another name":     {func(in *input) { in.cluster.Spec.Issued().ServerNames = []string{"etcd.example.com", "192.0.2.1"} }, "x-server-tls", ""},
		"another user":     {func(in *input) { in.cluster.Spec.Issued().ClientCommonName = new("app") }, "x-client-tls", ""},
		"no user":          {func(in *input) { in.cluster.Spec.Issued().ClientCommonName = new("") }, "x-client-tls", ""},
		"the same user":    {func(in *input) { in.cluster.Spec.Issued().ClientCommonName = new("x-client") }, "", ""},
		"another domain":   {func(in *input) { in.cluster.Spec.Pod = &v1beta2.PodPolicy{ClusterDomain: ".example.org."} }, "x-peer-tls x-server-tls", facts.CertificatesInvalid},
		"the same domain":  {func(in *input) { in.cluster.Spec.Pod = &v1beta2.PodPolicy{ClusterDomain: ".cluster.local"} }, "", ""},
		"a Secret is gone": {func(in *input) { in.kept[applications] = nil }, "x-client-tls", facts.CertificatesPending},
		"rubbish":          {func(in *input) { in.kept[peer].Data[common.key] = []byte("x") }, "x-peer-tls", facts.CertificatesInvalid},
		"a foreign CA": {func(in *input) {
			other := caAt(t, noon)
			in.kept[server].Data[common.ca] = append(in.kept[server].Data[common.ca], encode(other.cert.Raw)...)
		}, "x-server-tls", ""},
		"an added key that members would take": {func(in *input) { in.kept[peer].Data["peer.crt"] = []byte("x") }, "x-peer-tls", facts.CertificatesInvalid},
		"a new CA is asked for":                {named(v1beta2.AnnotationRotateCA), "x-ca-tls", ""},
		"a new CA, but a member is not ready": {func(in *input) {
			in.cluster.Annotations[v1beta2.AnnotationRotateCA] = "1"
			in.pods[1].ready = false
		}, "", ""},
		"the CA, before two thirds": {func(in *input) {
			in.now = noon.Add(2*365*day + 365*day + 121*day)
			for _, r := range issuedRoles {
				f, err := readCA(in.ca.Data, common.cert, common.key).fresh(in, r)
				if err != nil {
					t.Fatal(err)
				}
				in.kept[r].Data[common.cert], in.kept[r].Data[common.key] = f.cert, f.key
			}
		}, "", ""},
		"the CA, at two thirds":        {after(5 * 365 * day / 3 * 2), "x-ca-tls", facts.CertificatesInvalid},
		"the CA's Secret is gone":      {func(in *input) { in.ca = nil }, "x-ca-tls", ""},
		"the CA's Secret is rubbish":   {func(in *input) { in.ca.Data[common.key] = nil }, "", facts.CertificatesInvalid},
		"the CA's Secret is another's": {func(in *input) { in.ca.OwnerReferences[0].UID = "other" }, "", facts.CertificatesInvalid},
		"a Secret is another's":        {func(in *input) { in.kept[server].OwnerReferences = nil }, "", facts.CertificatesInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			in := autoInput(t)
			row.change(in)
			if got := in.outcome(t).state.TLS.Problem; got != row.reason {
				t.Errorf("reason %q, want %q: %s", got, row.reason, in.outcome(t).state.TLS.Message)
			}
			if got := in.carryOut(t); got != row.writes {
				t.Errorf("writes %q, want %q", got, row.writes)
			}
		})
	}
}

// fresh issues a certificate at the input's time.
func (a *signingCA) fresh(in *input, r role) (*fresh, error) {
	certPEM, keyPEM, err := a.issue(in.cluster, r, in.cluster.Spec.Issued().Lifetime(), in.now)
	return &fresh{cert: certPEM, key: keyPEM}, err
}

// restarted makes all members anew, as the planner does one at a time.
func (in *input) restarted() {
	for i := range in.pods {
		in.pods[i].trust = in.cluster.Status.TLS.Trust
	}
}

// reported is the state, with its trust in the status.
func (in *input) reported(t *testing.T) State {
	t.Helper()
	s := in.outcome(t).state
	in.cluster.Status.TLS.Trust = s.TLS.Trust
	return s
}

// The three steps, each when it may be taken and not before.
func TestRotation(t *testing.T) {
	in := autoInput(t)
	old := in.cluster.Status.TLS.Trust
	wantStep := func(step v1beta2.CARotation, changed bool) {
		t.Helper()
		before := in.cluster.Status.TLS.Trust
		s := in.reported(t)
		if s.TLS.Rotation != step || (s.TLS.Trust != before) != changed || s.TLS.Problem != "" {
			t.Fatalf("got %+v, want step %q and another trust: %t", s.TLS, step, changed)
		}
	}
	wantWrites := func(names string) {
		t.Helper()
		if got := in.carryOut(t); got != names {
			t.Fatalf("writes %q, want %q", got, names)
		}
	}
	in.cluster.Annotations[v1beta2.AnnotationRotateCA] = "1"
	wantStep("", false)
	wantWrites("x-ca-tls")
	wantStep(v1beta2.CATrustingBoth, false)
	wantWrites(allFour)
	// Kubelets hear of it first.
	wantStep(v1beta2.CATrustingBoth, false)
	if requeueAfter := in.outcome(t).state.TLS.RequeueAfter; requeueAfter != settling {
		t.Errorf("looks again in %s, want %s", requeueAfter, settling)
	}
	in.now = in.now.Add(settling)
	wantStep(v1beta2.CATrustingBoth, true)
	both := in.cluster.Status.TLS.Trust
	wantWrites("")
	in.restarted()
	in.pods[2].ready = false
	wantWrites("")
	in.pods[2].ready, in.pods[0].trust = true, old
	wantWrites("")
	in.restarted()
	// A certificate that is made now is of the one that all know.
	in.cluster.Annotations[v1beta2.AnnotationRenew] = "1"
	in.pods[0].ready = false
	wantWrites(allFour)
	wantStep(v1beta2.CATrustingBoth, false)
	in.pods[0].ready = true
	wantWrites("x-operator-tls x-client-tls x-peer-tls")
	begun := in.now
	wantStep(v1beta2.CAReissuing, false)
	in.now = begun.Add(12*time.Hour - time.Second)
	wantWrites("")
	if requeueAfter := in.outcome(t).state.TLS.RequeueAfter; requeueAfter != time.Second {
		t.Errorf("looks again in %s, want 1s", requeueAfter)
	}
	in.now = begun.Add(12 * time.Hour)
	wantWrites("x-server-tls")
	wantStep(v1beta2.CAReissuing, false)
	// Another wish waits.
	in.cluster.Annotations[v1beta2.AnnotationRotateCA] = "2"
	in.now = begun.Add(24*time.Hour - time.Second)
	wantWrites("")
	in.now = begun.Add(24 * time.Hour)
	wantWrites(allFour)
	wantStep(v1beta2.CADroppingOld, false)
	wantWrites("x-ca-tls")
	in.now = in.now.Add(settling)
	wantStep(v1beta2.CADroppingOld, true)
	if now := in.cluster.Status.TLS.Trust; now == both || now == old {
		t.Errorf("the trust is that of before")
	}
	wantWrites("")
	in.restarted()
	wantStep("", false)
	if len(in.ca.Data) != 2 {
		t.Errorf("the CA's Secret holds %d things", len(in.ca.Data))
	}
	wantWrites("x-ca-tls")
}

// A wish that was there when the cluster was made is none.
func TestRotationIsNotAskedForAtTheStart(t *testing.T) {
	in := autoInput(t)
	in.ca, in.kept, in.pods = nil, map[role]*corev1.Secret{}, nil
	in.cluster.Annotations[v1beta2.AnnotationRotateCA] = "1"
	in.cluster.Annotations[v1beta2.AnnotationRenew] = "1"
	if a, b, c := in.carryOut(t), in.carryOut(t), in.carryOut(t); a != "x-ca-tls" || b != allFour || c != "" {
		t.Errorf("writes %q, %q, %q", a, b, c)
	}
}

// A CA whose key is lost is replaced like one that is old: nothing changes for
// anybody until all members trust the new one.
func TestLostCA(t *testing.T) {
	in := autoInput(t)
	was := in.pair(server).leaf
	in.ca = nil
	if a, b := in.carryOut(t), in.carryOut(t); a != "x-ca-tls" || b != allFour {
		t.Fatalf("writes %q, %q", a, b)
	}
	in.parsed = nil
	if !in.pair(server).leaf.Equal(was) || len(in.bundle(peer)) != 2 {
		t.Errorf("the server's certificate is another, or %d CAs are trusted", len(in.bundle(peer)))
	}
	in.cluster.Spec.Issued().ServerNames = []string{"late.example.com"}
	if got := in.carryOut(t); got != "" {
		t.Errorf("writes %q, and members know no CA that could", got)
	}
}

// While a CA ends, nobody waits for what can't come any more.
func TestExpiredCA(t *testing.T) {
	in := autoInput(t)
	in.now = noon.Add(6 * 365 * day)
	for range 6 {
		in.carryOut(t)
	}
	s := in.outcome(t).state
	if s.TLS.Problem != "" || s.TLS.NoClientCertificate || s.TLS.Rotation != v1beta2.CADroppingOld || len(in.bundle(peer)) != 1 {
		t.Errorf("got %+v, %d CAs", s.TLS, len(in.bundle(peer)))
	}
}

// Server certificates are for all that clients may call the cluster.
func TestNames(t *testing.T) {
	c := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns"}, Spec: v1beta2.ClusterSpec{TLS: &v1beta2.TLSPolicy{Auto: &v1beta2.AutoTLS{}}}}
	c.Spec.Issued().ServerNames = []string{"lb.example.com", "2001:db8::1"}
	names, addresses := namesOf(c, server)
	want := "*.x.ns.svc *.x.ns.svc.cluster.local x-client x-client.ns x-client.ns.svc x-client.ns.svc.cluster.local x.ns.svc localhost lb.example.com"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("names %s, want %s", got, want)
	}
	if len(addresses) != 3 || addresses[2].String() != "2001:db8::1" {
		t.Errorf("addresses %v", addresses)
	}
	for _, r := range []role{operator, applications} {
		if names, addresses := namesOf(c, r); len(names)+len(addresses) > 0 {
			t.Errorf("%s is for %v, %v", r, names, addresses)
		}
	}
	c.Spec.Issued().ClientCommonName = new("")
	if names, addresses := namesOf(c, applications); len(names) != 1 || names[0] != "x-client" || len(addresses) > 0 {
		t.Errorf("the certificate without a common name is for %v, %v", names, addresses)
	}
	if host := hosts(c, peer)[0]; host != member.Host(c, "x-0123456789") {
		t.Errorf("the member is %s", host)
	}
}

// If all Secrets are lost, no running member would trust a new CA.
func TestAutoLosesAllSecrets(t *testing.T) {
	lost := func(t *testing.T) *input {
		in := autoInput(t)
		in.ca, in.kept = nil, map[role]*corev1.Secret{}
		return in
	}
	for name, row := range map[string]struct {
		reason string
		in     func(*testing.T) *input
		writes string
		why    facts.CertificateProblem
	}{
		"members run": {reason: "they would not accept what a new CA signs", in: lost, why: facts.CertificatesMissing},
		"one Secret is left": {
			reason: "members would not accept what a new CA signs for the other Secrets", why: facts.CertificatesMissing,
			in: func(t *testing.T) *input {
				in := lost(t)
				in.kept[peer] = autoInput(t).kept[peer]
				return in
			},
		},
		"only the CA is restored": {
			reason: "members trust what it signs", writes: allFour, why: facts.CertificatesPending,
			in: func(t *testing.T) *input {
				in := lost(t)
				in.ca = autoInput(t).ca
				return in
			},
		},
		"only the CA is lost": {
			reason: "members trust the old CA until all of them trust the new one", writes: "x-ca-tls",
			in: func(t *testing.T) *input {
				in := autoInput(t)
				in.ca = nil
				return in
			},
		},
		"no member is left": {
			reason: "no member can lock the operator out", writes: "x-ca-tls", why: facts.CertificatesPending,
			in: func(t *testing.T) *input {
				in := lost(t)
				in.pods = nil
				return in
			},
		},
		"Pods wait for their first certificates": {
			reason: "they trust no CA yet", writes: "x-ca-tls", why: facts.CertificatesPending,
			in: func(t *testing.T) *input {
				in := lost(t)
				for i := range in.pods {
					in.pods[i].trust = ""
				}
				return in
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := row.in(t)
			state := in.outcome(t).state
			if got := in.carryOut(t); got != row.writes || state.TLS.Problem != row.why {
				t.Errorf("%s: wrote %q with problem %q (%s), want %q with %q", row.reason, got, state.TLS.Problem, state.TLS.Message, row.writes, row.why)
			}
		})
	}
}
