package certificates

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// bench is one EtcdCluster in a namespace of its own, on a real API server.
type bench struct {
	t       *testing.T
	client  client.Client
	keeper  *Keeper
	cluster *v1beta2.EtcdCluster
}

func newBench(t *testing.T, policy v1beta2.TLSPolicy) *bench {
	t.Helper()
	c := apiservertest.Client(t)
	b := &bench{t: t, client: c, keeper: &Keeper{Client: c, Live: c}}
	b.cluster = &v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: apiservertest.Namespace(t)},
		Spec:       v1beta2.ClusterSpec{Size: 3, TLS: &policy},
	}
	apiservertest.Create(t, c, b.cluster)
	return b
}

// keep is one look, as if nothing were known from an earlier one.
func (b *bench) keep() State {
	b.t.Helper()
	b.keeper.Forget(client.ObjectKeyFromObject(b.cluster))
	apiservertest.Read(b.t, b.client, b.cluster)
	s, err := b.keeper.Keep(apiservertest.Context(b.t), b.cluster)
	if err != nil {
		b.t.Fatal(err)
	}
	return s.noted()
}

// report writes the trust to the status, as the controller does.
func (b *bench) report(s State) {
	b.t.Helper()
	apiservertest.Read(b.t, b.client, b.cluster)
	b.cluster.Status.TLS = &v1beta2.TLSStatus{Trust: s.TLS.Trust, Rotation: s.TLS.Rotation}
	apiservertest.SetStatus(b.t, b.client, b.cluster)
}

func (b *bench) update(change func(*v1beta2.EtcdCluster)) {
	b.t.Helper()
	apiservertest.Read(b.t, b.client, b.cluster)
	change(b.cluster)
	if err := b.client.Update(apiservertest.Context(b.t), b.cluster); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) secret(name string) *corev1.Secret {
	b.t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.cluster.Namespace}}
	apiservertest.Read(b.t, b.client, s)
	return s
}

func wantWell(t *testing.T, s State) {
	t.Helper()
	if s.TLS.Problem != "" || s.TLS.Message != "" || s.TLS.NoClientCertificate || s.Config == nil || s.TLS.Trust == "" {
		t.Fatalf("not all is well: %+v", s.TLS)
	}
}

func autoPolicy() v1beta2.TLSPolicy { return v1beta2.TLSPolicy{Auto: &v1beta2.AutoTLS{}} }

// The certificates that are issued serve: members for each other and for clients, and the
// operator and applications as clients. Another cluster's are refused.
func TestAutoServes(t *testing.T) {
	b, other := newBench(t, autoPolicy()), newBench(t, autoPolicy())
	state := b.keep()
	wantWell(t, state)
	foreign := other.keep()
	if len(state.Told) != 5 {
		t.Errorf("told %v, want the CA and four certificates", state.Told)
	}
	if life := state.TLS.Leaf.NotAfter.Sub(state.TLS.Leaf.NotBefore); life < 90*24*time.Hour || life > 91*24*time.Hour {
		t.Errorf("the certificate that ends first is valid for %s", life)
	}
	if life := state.TLS.CA.NotAfter.Sub(state.TLS.CA.NotBefore); life < 5*365*24*time.Hour || life > 5*366*24*time.Hour {
		t.Errorf("the CA is valid for %s", life)
	}
	if left := time.Until(state.TLS.Leaf.NotAfter); left < 89*24*time.Hour || left > 90*24*time.Hour {
		t.Errorf("the first certificate ends in %s, want 90 days", left)
	}
	of := func(r role) *pair {
		p, wrong := readPair(r, b.secret(secretOf(b.cluster, r)))
		if len(wrong) > 0 {
			t.Fatal(wrong)
		}
		return p
	}
	asClient := func(p *pair) *tls.Config {
		return &tls.Config{Certificates: []tls.Certificate{p.shown}, RootCAs: p.trusted.pool(), MinVersion: tls.VersionTLS12}
	}
	host := member.Host(b.cluster, member.Name("x", "abcdefghij"))
	for name, row := range map[string]struct {
		shown  role
		client *tls.Config
		host   string
		works  bool
	}{
		"operator":         {server, state.Config, host, true},
		"application":      {server, asClient(of(applications)), "x-client." + b.cluster.Namespace + ".svc", true},
		"by localhost":     {server, asClient(of(applications)), "localhost", true},
		"member to member": {peer, asClient(of(peer)), host, true},
		"by full name":     {peer, asClient(of(peer)), host + ".cluster.local", true},
		"another host":     {server, state.Config, "example.com", false},
		"another cluster":  {server, foreign.Config, host, false},
		"nobody":           {server, &tls.Config{RootCAs: of(operator).trusted.pool(), MinVersion: tls.VersionTLS12}, host, false},
	} {
		shown := of(row.shown)
		config := row.client.Clone()
		config.ServerName = row.host
		err := handshake(t, &tls.Config{Certificates: []tls.Certificate{shown.shown}, ClientCAs: shown.trusted.pool(), ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}, config)
		if (err == nil) != row.works {
			t.Errorf("%s: %v, want it to work: %t", name, err, row.works)
		}
	}
	if cn := of(operator).leaf.Subject.CommonName; cn != "root" {
		t.Errorf("the operator is %q, want etcd's root", cn)
	}
}

// handshake lets a client ask a server once.
func handshake(t *testing.T, serverConfig, clientConfig *tls.Config) error {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Minute, ErrorLog: nil}
	s.SetKeepAlivesEnabled(false)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(tls.NewListener(listener, serverConfig)) }()
	defer func() {
		if err := errors.Join(s.Close(), <-ended); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	asking := &http.Client{Transport: &http.Transport{TLSClientConfig: clientConfig, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(apiservertest.Context(t), http.MethodGet, "https://"+listener.Addr().String(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := asking.Do(request)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return errors.Join(err, response.Body.Close())
}

// What is there is not written again, and what is found lasts for a while.
func TestAutoIsIdle(t *testing.T) {
	b := newBench(t, autoPolicy())
	b.report(b.keep())
	versions := func() string {
		var all []string
		for _, name := range []string{"x-ca-tls", "x-peer-tls", "x-server-tls", "x-operator-tls", "x-client-tls"} {
			s := b.secret(name)
			if !metav1.IsControlledBy(s, b.cluster) || s.Labels[v1beta2.LabelCluster] != "x" || s.Type != corev1.SecretTypeTLS {
				t.Errorf("%s is %v, of type %s", name, s.ObjectMeta, s.Type)
			}
			all = append(all, s.ResourceVersion)
		}
		return strings.Join(all, " ")
	}
	before := versions()
	requeueAfter := b.keep()
	wantWell(t, requeueAfter)
	if versions() != before || len(requeueAfter.Told) != 0 || requeueAfter.TLS.RequeueAfter != 0 {
		t.Errorf("an idle cluster is written: %v, %v", requeueAfter.Told, requeueAfter.TLS.RequeueAfter)
	}
	b.keeper.Live = nil // it would panic
	if _, err := b.keeper.Keep(apiservertest.Context(t), b.cluster); err != nil {
		t.Error(err)
	}
}

// A paused cluster is read and not written.
func TestPaused(t *testing.T) {
	b := newBench(t, autoPolicy())
	b.update(func(c *v1beta2.EtcdCluster) { c.Spec.Paused = true })
	state := b.keep()
	if state.TLS.Problem != facts.CertificatesPending || !strings.Contains(state.TLS.Message, "spec.paused") || !state.TLS.NoClientCertificate {
		t.Errorf("got %+v", state.TLS)
	}
	var found corev1.SecretList
	if err := b.client.List(apiservertest.Context(t), &found, client.InNamespace(b.cluster.Namespace)); err != nil || len(found.Items) != 0 {
		t.Errorf("%d Secrets were made, %v", len(found.Items), err)
	}
	b.update(func(c *v1beta2.EtcdCluster) { c.Spec.Paused = false })
	wantWell(t, b.keep())
}

// A cluster that is left to a restore gets its certificates all the same (S12): the old
// members may serve for long while the seed is prepared, the seed needs some, and a cluster
// that a restore has made is fenced from its first moment.
func TestFenced(t *testing.T) {
	t.Parallel()
	b := newBench(t, autoPolicy())
	b.update(func(c *v1beta2.EtcdCluster) { c.Annotations = map[string]string{v1beta2.AnnotationFence: "a restore"} })
	b.cluster.Status.FencedBy = "a restore"
	apiservertest.SetStatus(t, b.client, b.cluster)
	s := b.keep()
	wantWell(t, s)
	before := b.secret("x-server-tls").Data["tls.crt"]
	b.update(func(c *v1beta2.EtcdCluster) { c.Annotations[v1beta2.AnnotationRenew] = "1" })
	wantWell(t, b.keep())
	if bytes.Equal(b.secret("x-server-tls").Data["tls.crt"], before) {
		t.Error("the certificate was not renewed")
	}
	if b.cluster.Status.FencedBy == "" {
		t.Error("the cluster is not fenced")
	}
}

// runningPod makes the Pod of a member that trusts what was reported, and is ready.
func (b *bench) runningPod(name string) *corev1.Pod {
	b.t.Helper()
	apiservertest.Read(b.t, b.client, b.cluster)
	p, err := member.NewPod(b.cluster, member.Options{Name: name, Version: "3.6.16", LauncherImage: "example.com/etcd-operator:test", Role: v1beta2.RoleVoter})
	if err != nil {
		b.t.Fatal(err)
	}
	apiservertest.Create(b.t, b.client, p)
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	apiservertest.SetStatus(b.t, b.client, p)
	return p
}

// A member whose Pod has lost its labels, its owner reference or both refuses certificates of a CA that it does not
// trust, like any other.
func TestRotationWaitsForAPodWithoutLabels(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(*corev1.Pod){
		"one label":            func(p *corev1.Pod) { delete(p.Labels, v1beta2.LabelCluster) },
		"all labels":           func(p *corev1.Pod) { clear(p.Labels) },
		"the owner reference":  func(p *corev1.Pod) { p.OwnerReferences = nil },
		"the controller field": func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil },
		"one label and the owner reference": func(p *corev1.Pod) {
			delete(p.Labels, v1beta2.LabelCluster)
			p.OwnerReferences = nil
		},
		"all labels and the owner reference": func(p *corev1.Pod) {
			clear(p.Labels)
			p.OwnerReferences = nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, autoPolicy())
			b.report(b.keep())
			p := b.runningPod("x-bcdfghjklm")
			take(p)
			if err := b.client.Update(apiservertest.Context(t), p); err != nil {
				t.Fatal(err)
			}
			b.update(func(c *v1beta2.EtcdCluster) { c.Annotations = map[string]string{v1beta2.AnnotationRotateCA: "1"} })
			before := b.secret("x-peer-tls").Data["tls.crt"]
			for range 3 {
				if s := b.keep(); s.TLS.Rotation != v1beta2.CATrustingBoth {
					t.Fatalf("the rotation is at step %q, want %q: the Pod trusts only the former CA", s.TLS.Rotation, v1beta2.CATrustingBoth)
				}
			}
			if !bytes.Equal(b.secret("x-peer-tls").Data["tls.crt"], before) {
				t.Error("the certificate for peers is of the new CA")
			}
			apiservertest.Delete(t, b.client, p)
			b.keep() // issues the certificates
			if s := b.keep(); s.TLS.Rotation != v1beta2.CAReissuing {
				t.Errorf("the rotation is at step %q without the Pod, want %q", s.TLS.Rotation, v1beta2.CAReissuing)
			}
		})
	}
}

// putBack is an API server where somebody takes the labels of all Pods before they are listed by
// label, and has put them back when they are listed without.
type putBack struct{ client.Client }

func (p putBack) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, ok := list.(*corev1.PodList); ok {
		return nil
	}
	return p.Client.List(ctx, list, options...)
}

// A label that is back already hides no member either.
func TestRotationWaitsForAPodWhoseLabelsAreBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, autoPolicy())
	b.report(b.keep())
	b.runningPod("x-a")
	b.update(func(c *v1beta2.EtcdCluster) { c.Annotations = map[string]string{v1beta2.AnnotationRotateCA: "1"} })
	b.keeper.Live = putBack{b.client}
	for range 3 {
		if s := b.keep(); s.TLS.Rotation != v1beta2.CATrustingBoth {
			t.Fatalf("the rotation is at step %q, want %q: the Pod trusts only the former CA", s.TLS.Rotation, v1beta2.CATrustingBoth)
		}
	}
}

// refusing is an API server that lets nobody read Secrets, or write them.
type refusing struct {
	client.Client
	reads bool
}

func (r refusing) refusal(o client.Object) error {
	return apierrors.NewForbidden(corev1.Resource("secrets"), o.GetName(), errors.New("no such right"))
}

func (r refusing) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if _, ok := o.(*corev1.Secret); ok && r.reads {
		return r.refusal(o)
	}
	return r.Client.Get(ctx, key, o, options...)
}

func (r refusing) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	return r.refusal(o)
}

// brokenReads returns an error for reads of Secrets, once its error is set.
type brokenReads struct {
	client.Client
	by error
}

func (f *brokenReads) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if _, ok := o.(*corev1.Secret); ok && f.by != nil {
		return f.by
	}
	return f.Client.Get(ctx, key, o, options...)
}

// If a Secret cannot be read, the operator keeps the certificates that it read last, and reports the error.
func TestUnreadableSecrets(t *testing.T) {
	b := newBench(t, autoPolicy())
	live := &brokenReads{Client: b.client}
	b.keeper.Live = live
	before := b.keep()
	wantWell(t, before)
	again := func() State { // an edit makes the keeper read the Secrets at once
		t.Helper()
		b.update(func(c *v1beta2.EtcdCluster) { c.Spec.Size += 2 })
		s, err := b.keeper.Keep(apiservertest.Context(t), b.cluster)
		if err != nil {
			t.Fatal(err)
		}
		return s.noted()
	}
	live.by = apierrors.NewInternalError(errors.New("unable to transform key: KMS plugin is unavailable"))
	after := again()
	if after.Config == nil || after.TLS.NoClientCertificate || after.TLS.Trust != before.TLS.Trust || !after.TLS.Leaf.NotAfter.Equal(before.TLS.Leaf.NotAfter) {
		t.Errorf("got %+v, want what was read last: %+v", after.TLS, before.TLS)
	}
	if after.TLS.Problem != facts.CertificatesUnreadable || !strings.Contains(after.TLS.Message, "unable to transform key") || after.TLS.RequeueAfter == 0 {
		t.Errorf("got problem %q, %q, again in %s; want CertificatesUnreadable with the API server's error", after.TLS.Problem, after.TLS.Message, after.TLS.RequeueAfter)
	}
	live.by = nil
	wantWell(t, again())
}

// A certificate that expires while Secrets cannot be read is not used any more: members that do not
// accept it would look silent (S9).
func TestUnreadableAndExpired(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	last := State{Config: &tls.Config{MinVersion: tls.VersionTLS12}, TLS: facts.TLS{Wanted: true, Leaf: facts.Validity{NotAfter: now}}}
	err := apierrors.NewInternalError(errors.New("unable to transform key: KMS plugin is unavailable"))
	if s := unreadable(last, err, now.Add(-time.Second)); s.Config == nil || s.TLS.NoClientCertificate {
		t.Errorf("before the certificate expires: got %+v, want that it is used", s.TLS)
	}
	if s := unreadable(last, err, now.Add(time.Second)); s.Config != nil || !s.TLS.NoClientCertificate {
		t.Errorf("after the certificate expired: got %+v, want no client certificate", s.TLS)
	}
}

// Rejected writes are retried less and less often.
func TestRejectedWritesBackOff(t *testing.T) {
	b := newBench(t, autoPolicy())
	b.keeper.Client = refusing{b.client, false}
	for _, want := range []time.Duration{pendingDelay, 2 * pendingDelay, 4 * pendingDelay} {
		s, err := b.keeper.Keep(apiservertest.Context(t), b.cluster)
		if err != nil {
			t.Fatal(err)
		}
		if s.noted().TLS.RequeueAfter != want {
			t.Errorf("got the next try after %s, want %s", s.TLS.RequeueAfter, want)
		}
		b.update(func(c *v1beta2.EtcdCluster) { c.Spec.Size = 8 - c.Spec.Size }) // has them tried at once
	}
}

// What the operator may not do is told, and the rest goes on: it is no error.
func TestRights(t *testing.T) {
	for name, row := range map[string]struct {
		reads  bool
		reason facts.CertificateProblem
		says   string
	}{
		"no right to read":  {true, facts.CertificatesUnreadable, "grant it that right"},
		"no right to write": {false, facts.CertificatesPending, "cannot write Secret x-ca-tls"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, autoPolicy())
			b.cluster.Status.TLS = &v1beta2.TLSStatus{Trust: "before"}
			apiservertest.SetStatus(t, b.client, b.cluster)
			all := refusing{b.client, row.reads}
			b.keeper.Client, b.keeper.Live = all, all
			s := b.keep()
			if s.TLS.Problem != row.reason || !strings.Contains(s.TLS.Message, row.says) || !s.TLS.NoClientCertificate || s.TLS.Trust != "before" || s.TLS.RequeueAfter == 0 {
				t.Errorf("got %+v, again in %s", s.TLS, s.TLS.RequeueAfter)
			}
		})
	}
}
