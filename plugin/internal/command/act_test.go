package command

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// read reads an EtcdCluster back.
func (w *world) read(name string) *v1beta2.EtcdCluster {
	w.t.Helper()
	c := &v1beta2.EtcdCluster{}
	if err := w.Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: name}, c); err != nil {
		w.t.Fatal(err)
	}
	return c
}

func TestPauseAndResume(t *testing.T) {
	w := aWorld(t, aCluster("example"))
	w.then = func(o client.Object) { c := o.(*v1beta2.EtcdCluster); c.Status.ControlPaused = c.Spec.Paused }
	screens := []string{w.run("pause example")}
	if !w.read("example").Spec.Paused {
		t.Error("spec.paused is not set")
	}
	screens = append(screens, w.run("restart example --yes"), w.run("certs renew example"), w.run("resume example"), w.run("pause example --wait=false"))
	golden(t, "pause", screens...)
	w.then = nil
	if got := w.run("resume example --timeout 20ms"); !strings.Contains(got, "error: not done yet: the operator continues") {
		t.Error(got)
	}
}

// An API server that restarts in the midst of long work does not end the wait for it; one that refuses
// does.
func TestWaitGoesOn(t *testing.T) {
	w := aWorld(t, aCluster("example"))
	reads := 0
	answer := func(err error) {
		reads = 0
		w.get = func() error {
			if reads++; reads == 2 { // the first that is waited for
				return err
			}
			return nil
		}
	}
	w.then = func(o client.Object) { c := o.(*v1beta2.EtcdCluster); c.Status.ControlPaused = c.Spec.Paused }
	answer(apierrors.NewServiceUnavailable("the API server is shutting down"))
	if got := w.run("pause example"); !strings.Contains(got, "does not answer; retrying") || !strings.Contains(got, "is paused") {
		t.Error(got)
	}
	answer(apierrors.NewForbidden(v1beta2.GroupVersion.WithResource("etcdclusters").GroupResource(), "example", nil))
	if got := w.run("resume example"); !strings.Contains(got, "error: ") || !strings.Contains(got, "forbidden") {
		t.Error(got)
	}
}

func TestRestart(t *testing.T) {
	c := aCluster("example")
	w := aWorld(t, append(podsOf(c), c)...)
	// The operator recreates each Pod.
	w.then = func(o client.Object) {
		for _, p := range podsOf(c) {
			if err := w.Delete(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			p.SetUID("new-" + p.GetUID())
			w.then = nil
			if err := w.Create(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.answers = "no\n"
	screens := []string{w.run("restart example")}
	if w.read("example").Annotations[v1beta2.AnnotationRestart] != "" {
		t.Error("it is asked for without a yes")
	}
	w.answers = "y\n"
	screens = append(screens, w.run("restart example"))
	if got := w.read("example").Annotations[v1beta2.AnnotationRestart]; got != "2026-01-01T12:00:00Z" {
		t.Errorf("the annotation is %q", got)
	}
	w.answers = ""
	screens = append(screens, w.run("restart example"))
	golden(t, "restart", screens...)
}

func TestReplace(t *testing.T) {
	c, copied, down, fenced := aCluster("example"), aCluster("copied"), aCluster("down"), aCluster("fenced")
	says(down, "Available", "False", "NoQuorum", "waiting for a quorum")
	says(fenced, "Progressing", "True", "Fenced", "reconciliation suspended")
	c.Spec.Pod = &v1beta2.PodPolicy{PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{}}
	copied.Spec.Pod = c.Spec.Pod
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "example-bbbbbbbbbb", UID: "u", Labels: map[string]string{v1beta2.LabelOwner: string(c.UID)},
	}}
	strangers := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "copied-bbbbbbbbbb"}}
	limping := aCluster("limping")
	limping.Spec.Pod = c.Spec.Pod
	others := claim.DeepCopy()
	others.Name, others.Labels = "limping-bbbbbbbbbb", map[string]string{v1beta2.LabelOwner: string(limping.UID)}
	pods := append(podsOf(c), podsOf(limping)...)
	pods[len(pods)-1].(*corev1.Pod).Status.Conditions = nil
	w := aWorld(t, append(pods, c, copied, down, fenced, limping, claim, others, strangers)...)
	w.gone = func(o client.Object) {
		if o.GetName() != claim.Name {
			t.Errorf("%s is deleted", o.GetName())
		}
		c := w.read("example")
		c.Status.MemberDetails[1].Name = "example-dddddddddd"
		if err := w.Update(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	w.answers = "no\n"
	screens := []string{w.run("replace example example-bbbbbbbbbb")}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(claim), claim); err != nil {
		t.Errorf("it is deleted without a yes: %v", err)
	}
	golden(t, "replace", append(screens,
		w.run("replace example example-bbbbbbbbbb --yes"),
		w.run("replace example example-bbbbbbbbbb --yes"),
		w.run("replace example example-cccccccccc --yes"),
		w.run("replace copied copied-bbbbbbbbbb --yes"),
		w.run("replace limping limping-bbbbbbbbbb --yes"),
		w.run("replace down down-bbbbbbbbbb --yes"),
		w.run("replace fenced fenced-bbbbbbbbbb --yes"))...)
}

// A member without a volume goes before the new one joins: the others must keep the quorum.
func TestReplaceWithoutVolume(t *testing.T) {
	c, two, one, limping := aCluster("example"), aCluster("two"), aCluster("one"), aCluster("limping")
	two.Status.MemberDetails, one.Status.MemberDetails = two.Status.MemberDetails[:2], one.Status.MemberDetails[:1]
	objects := []client.Object{c, two, one, limping}
	for _, of := range []*v1beta2.EtcdCluster{c, two, one, limping} {
		objects = append(objects, podsOf(of)...)
	}
	for _, o := range objects {
		if o.GetName() == "limping-aaaaaaaaaa" {
			o.(*corev1.Pod).Status.Conditions = nil
		}
	}
	w := aWorld(t, objects...)
	evicted := ""
	w.gone = func(o client.Object) {
		evicted += o.GetName()
		c := w.read("example")
		c.Status.MemberDetails[1].Name = "example-dddddddddd"
		if err := w.Update(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	screens := []string{
		w.run("replace two two-aaaaaaaaaa --yes"), w.run("replace one one-aaaaaaaaaa --yes"),
		w.run("replace limping limping-bbbbbbbbbb --yes"), w.run("replace example example-bbbbbbbbbb"),
	}
	w.evict = func() error {
		return apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	}
	screens = append(screens, w.run("replace example example-bbbbbbbbbb --yes"))
	w.evict = nil
	if evicted != "" {
		t.Errorf("%s is evicted", evicted)
	}
	screens = append(screens, w.run("replace example example-bbbbbbbbbb --yes"))
	if evicted != "example-bbbbbbbbbb" {
		t.Errorf("%q is evicted", evicted)
	}
	// The one that is not ready can be replaced itself.
	screens = append(screens, w.run("replace limping limping-aaaaaaaaaa --yes --wait=false"))
	golden(t, "replace-pod", screens...)
}

func TestUpgrade(t *testing.T) {
	c := aCluster("example")
	backedUp(c, aBackup("hourly", "example"))
	old := aCluster("old")
	old.Status.CurrentVersion, old.Spec.Version, old.Spec.Paused = "3.5.20", "3.5.20", true
	old.Status.MemberDetails = old.Status.MemberDetails[:1]
	says(old, "Degraded", "True", "MembersUnhealthy", "old-a does not answer")
	fresh := aCluster("fresh")
	fresh.Status = v1beta2.ClusterStatus{}
	w := aWorld(t, c, old, fresh)
	w.then = func(o client.Object) {
		c := o.(*v1beta2.EtcdCluster)
		c.Status.CurrentVersion = c.Spec.EtcdVersion()
		c.Status.ObservedGeneration = c.Generation
		says(c, "Upgrading", "False", "AtVersion", "the version is "+c.Spec.EtcdVersion())
	}
	screens := []string{
		w.run("upgrade example 3.6.16"), w.run("upgrade example v3.7.3 --dry-run"),
		w.run("upgrade old 3.6.16 --dry-run"), w.run("upgrade old 3.7.3 --dry-run"), w.run("upgrade fresh 3.7.3"),
	}
	if w.read("example").Spec.Version != "3.6.16" {
		t.Error("--dry-run changes the version")
	}
	screens = append(screens, w.run("upgrade example 3.7.3 --yes"))
	if w.read("example").Spec.Version != "3.7.3" {
		t.Error("spec.version is not set")
	}
	screens = append(screens, w.run("upgrade example 3.6.16 --dry-run"))
	w.then = func(o client.Object) {
		c := o.(*v1beta2.EtcdCluster)
		c.Status.ObservedGeneration = c.Generation
		says(c, "Upgrading", "False", "VersionRefused", "etcd cannot move to it; set spec.version: 3.7.3")
	}
	screens = append(screens, w.run("upgrade example 3.6.16 --yes"))
	golden(t, "upgrade", screens...)
}

func TestRecover(t *testing.T) {
	c, fine := aCluster("example"), aCluster("fine")
	says(c, "Available", "False", "QuorumLost", "the data of 2 of 3 members is lost; example-aaaaaaaaaa is left, at revision 1290")
	says(c, "Recovering", "True", "RecoveringFromSurvivor", "the seed is built")
	w := aWorld(t, c, fine)
	w.then = func(o client.Object) {
		c := o.(*v1beta2.EtcdCluster)
		c.Status.Recovery = &v1beta2.RecoveryStatus{Phase: v1beta2.RecoveryComplete, ClusterID: c.Annotations[v1beta2.AnnotationRecover], Survivor: "example-aaaaaaaaaa", Revision: 1290, BeginsAt: 1000001290}
		c.Status.ClusterID = "99"
	}
	golden(t, "recover", w.run("recover fine"), w.run("recover example"), w.run("recover example --yes"))
	if got := w.read("example").Annotations[v1beta2.AnnotationRecover]; got != "8a3fc1e07b2d4c55" {
		t.Errorf("the annotation is %q", got)
	}
}

func TestAdoptVolumes(t *testing.T) {
	c := aCluster("example")
	c.Status = v1beta2.ClusterStatus{}
	c.Spec.Pod = &v1beta2.PodPolicy{PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{}}
	claim := func(name, owner string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{v1beta2.LabelCluster: "example", v1beta2.LabelOwner: owner}}}
	}
	adopted := func(o client.Object) { says(o.(*v1beta2.EtcdCluster), "Available", "True", "Serving", "serves") }
	w := aWorld(t, c.DeepCopy(), aCluster("began"), claim("example-1", "former"), claim("example-2", "former"))
	w.then = adopted
	screens := []string{w.run("adopt-volumes began"), w.run("adopt-volumes example --yes")}
	if got := w.read("example").Annotations[v1beta2.AnnotationAdoptVolumes]; got != "former" {
		t.Errorf("the annotation is %q", got)
	}
	existed := c.DeepCopy()
	says(existed, "Available", "False", "ClusterExisted", "not starting an empty cluster: PVCs of an earlier cluster of this name exist")
	says(existed, "Progressing", "False", "ClusterExisted", "see the condition Available")
	refusing := aWorld(t, existed, claim("example-1", "former"))
	refusing.then = func(client.Object) {
		refusing.then = nil
		reads := 0
		refusing.get = func() error {
			if reads++; reads < 3 {
				return nil
			}
			refusing.get = nil
			c := refusing.read("example")
			says(c, "Available", "False", "ClusterExisted", "cannot adopt PVCs: the etcd version that ran on them is not known; set spec.version to it")
			return refusing.Update(t.Context(), c)
		}
	}
	screens = append(screens, refusing.run("adopt-volumes example --yes"), refusing.run("adopt-volumes example --yes"))
	two := aWorld(t, c.DeepCopy(), claim("example-1", "former"), claim("example-2", "older"))
	two.then = adopted
	screens = append(screens, two.run("adopt-volumes example --yes"), two.run("adopt-volumes example --yes --owner other"), two.run("adopt-volumes example --yes --owner older"))
	golden(t, "adopt-volumes", append(screens, aWorld(t, c.DeepCopy()).run("adopt-volumes example"))...)
}

func TestCertificates(t *testing.T) {
	c, plain := aCluster("example"), aCluster("plain")
	c.Spec.TLS = &v1beta2.TLSPolicy{Auto: &v1beta2.AutoTLS{}}
	says(c, "CertificatesReady", "True", "CertificatesValid", "all certificates are valid")
	byHand := aCluster("by-hand")
	byHand.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{Member: &v1beta2.MemberSecret{PeerSecret: "peer", ServerSecret: "server"}, OperatorSecret: "operator"}}
	ca := etcdtest.NewCA(t, "example-ca")
	secret := func(name string, data map[string][]byte) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: data}
	}
	w := aWorld(t, c, plain, byHand, secret("example-peer-tls", ca.Issue(t, "example-peer").Files(ca)), secret("server", map[string][]byte{"x": nil}))
	got := w.run("certs status example")
	if !strings.Contains(got, "example-peer ") || !strings.Contains(got, "example-ca ") || !strings.Contains(got, `"example-server-tls" not found`) || strings.Contains(got, "PRIVATE") {
		t.Error(got)
	}
	expiry := regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}( +)-?[0-9a-z]+`) // it is issued when the test runs
	golden(t, "certs-status", expiry.ReplaceAllString(got, "EXPIRES  IN"), w.run("certs status by-hand"))
	if got := w.run("certs status by-hand"); !strings.Contains(got, "it has no certificate in PEM under tls.crt") {
		t.Error(got)
	}
	golden(t, "certs", w.run("certs status plain"), w.run("certs renew by-hand"), w.run("certs renew example --wait=false"),
		w.run("certs rotate-ca by-hand"), w.run("certs rotate-ca example"), w.run("certs rotate-ca example --yes --wait=false"))
	asked := w.read("example").Annotations
	if asked[v1beta2.AnnotationRenew] == "" || asked[v1beta2.AnnotationRotateCA] == "" {
		t.Errorf("the annotations are %v", asked)
	}
}

// A renewal is followed by the Secrets, until all of them have a new certificate.
func TestCertificatesRenewed(t *testing.T) {
	c := aCluster("example")
	c.Spec.TLS = &v1beta2.TLSPolicy{Auto: &v1beta2.AutoTLS{}}
	says(c, "CertificatesReady", "True", "CertificatesValid", "all certificates are valid")
	var secrets []client.Object
	for _, role := range []string{"peer", "server", "operator", "client"} {
		secrets = append(secrets, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "example-" + role + "-tls", Annotations: map[string]string{v1beta2.AnnotationRenew: "earlier"},
		}})
	}
	w := aWorld(t, append(secrets, c)...)
	// The operator has one issued at a time. Each look reads the cluster and the four Secrets.
	reads, issued := 0, 0
	w.then = func(client.Object) {
		w.then = nil
		w.get = func() error {
			if reads++; reads%5 != 1 || reads == 1 {
				return nil
			}
			secret := secrets[issued]
			issued++
			secret.SetAnnotations(map[string]string{v1beta2.AnnotationRenew: now.Format(time.RFC3339)})
			return w.Update(t.Context(), secret)
		}
	}
	screens := []string{w.run("certs renew example")}
	w.get = nil
	if issued != len(secrets) {
		t.Errorf("it ends when %d certificates are issued", issued)
	}
	for _, secret := range secrets {
		secret.SetAnnotations(nil)
		if err := w.Update(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.run("certs renew example --timeout 20ms"); !strings.Contains(got, "error: not done yet: the operator continues") {
		t.Error(got)
	}
	// Somebody has no right to read Secrets.
	w.then = func(client.Object) {
		w.then, reads = nil, 0
		w.get = func() error {
			if reads++; reads == 2 {
				return apierrors.NewForbidden(corev1.Resource("secrets"), "example-peer-tls", errors.New("no RBAC policy matched"))
			}
			return nil
		}
	}
	golden(t, "certs-renew", append(screens, w.run("certs renew example"))...)
}

// A CA rotation is followed to its end, when members trust the new CA only, and none is restarted.
func TestCertificatesRotated(t *testing.T) {
	c := aCluster("example")
	c.Spec.TLS, c.Status.TLS = &v1beta2.TLSPolicy{Auto: &v1beta2.AutoTLS{}}, &v1beta2.TLSStatus{Trust: "old"}
	says(c, "CertificatesReady", "True", "CertificatesValid", "all certificates are valid")
	w := aWorld(t, c)
	steps := []func(c *v1beta2.EtcdCluster){
		func(*v1beta2.EtcdCluster) {}, // the operator has not looked yet
		func(c *v1beta2.EtcdCluster) {
			c.Status.TLS = &v1beta2.TLSStatus{Trust: "both", Rotation: v1beta2.CATrustingBoth}
			says(c, "CertificatesReady", "True", "TrustingBoth", "CA rotation: 1 of 3 Pods trust both CAs; members restart one at a time")
			says(c, "Progressing", "True", "RestartingMember", "restarting member example-bbbbbbbbbb")
		},
		func(c *v1beta2.EtcdCluster) {
			c.Status.TLS.Rotation = v1beta2.CAReissuing
			says(c, "CertificatesReady", "True", "Reissuing", "CA rotation: all certificates are signed by the new CA; the old CA is trusted until clients have loaded theirs")
			says(c, "Progressing", "False", "UpToDate", "")
		},
		// The Secret of the CA is spoilt for a moment: nothing is known of the rotation.
		func(c *v1beta2.EtcdCluster) {
			c.Status.TLS.Rotation = ""
			says(c, "CertificatesReady", "False", "CertificatesInvalid", "Secret example-ca-tls no longer holds a CA certificate and its key")
		},
		func(c *v1beta2.EtcdCluster) {
			c.Status.TLS = &v1beta2.TLSStatus{Trust: "new", Rotation: v1beta2.CADroppingOld}
			says(c, "CertificatesReady", "True", "DroppingOld", "CA rotation: 2 of 3 Pods trust only the new CA; members restart one at a time")
			says(c, "Progressing", "True", "RestartingMember", "restarting member example-aaaaaaaaaa")
		},
		func(c *v1beta2.EtcdCluster) {
			c.Status.TLS.Rotation = ""
			says(c, "CertificatesReady", "True", "CertificatesValid", "all certificates are valid; the last member becomes ready")
		},
		func(c *v1beta2.EtcdCluster) { says(c, "Progressing", "False", "UpToDate", "") },
	}
	w.then = func(client.Object) {
		w.then = nil
		w.get = func() error {
			if get := w.get; len(steps) > 0 {
				w.get = nil
				w.change("example", steps[0])
				w.get, steps = get, steps[1:]
			}
			return nil
		}
	}
	screen := w.run("certs rotate-ca example --yes")
	if len(steps) > 0 {
		t.Errorf("it ends %d steps before the rotation does", len(steps))
	}
	golden(t, "certs-rotate-ca", screen)
	if got := w.run("certs rotate-ca example --yes --timeout 20ms"); !strings.Contains(got, "error: not done yet: the operator continues") {
		t.Error(got)
	}
}

func TestDiagnose(t *testing.T) {
	c, b := aCluster("example"), aBackup("hourly", "example")
	says(c, "Available", "False", "QuorumLost", "the data of 2 of 3 members is lost; bring the volumes back, or recover from a survivor")
	b.Status.Conditions = []metav1.Condition{{Type: "Failed", Status: "True", Reason: "StoreUnavailable", Message: "the store does not answer"}}
	unreachable := aCluster("unreachable")
	w := aWorld(t, append(podsOf(unreachable), unreachable, c, b, aCluster("fine"))...)
	golden(t, "diagnose", w.run("diagnose example"), w.run("diagnose fine --ask-etcd=false"), w.run("diagnose unreachable"), w.run("diagnose example -o json"))
}
