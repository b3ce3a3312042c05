package certificates

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// world is a cluster whose members, operators and clients do as they please, one step at a
// time, while its certificates change. After every single write, everybody must accept
// what everybody shows.
type world struct {
	t       *testing.T
	dice    *rand.Rand
	cluster *v1beta2.EtcdCluster
	secrets map[string]*corev1.Secret
	version int
	members []*memberModel
	now     time.Time
	// issuers are the CAs of cert-manager's issuer, the present one last.
	issuers []*signingCA
	// seen are what a client may have loaded, and until when it may go on with that.
	seen []loaded
	// accepted are certificates, and CAs by which they were.
	accepted map[string]bool
	trace    []string
}

// memberModel is a Pod, and what its etcd has loaded at its start. It reads certificates
// at each handshake.
type memberModel struct {
	pod
	forPeers, forClients caSet
}

// loaded is what a client has read of its Secret.
type loaded struct {
	leaf    *pair
	trusted caSet
	until   time.Time
}

const overlap = 40 * time.Minute

func newWorld(t *testing.T, dice *rand.Rand, policy *v1beta2.TLSPolicy) *world {
	w := &world{t: t, dice: dice, secrets: map[string]*corev1.Secret{}, accepted: map[string]bool{}, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	w.cluster = &v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns", UID: "u", Annotations: map[string]string{}},
		Spec:       v1beta2.ClusterSpec{Size: 3, TLS: policy},
	}
	policyOf := w.cluster.Spec.Issued()
	policyOf.CAOverlap = &metav1.Duration{Duration: overlap}
	policyOf.CertificateLifetime = &metav1.Duration{Duration: 60 * 24 * time.Hour}
	if policy.CertManager != nil {
		w.newIssuer()
		for _, r := range issuedRoles {
			w.issue(r)
		}
	}
	return w
}

// input is what an operator reads now.
func (w *world) input() *input {
	in := &input{cluster: w.cluster.DeepCopy(), now: w.now, kept: map[role]*corev1.Secret{}}
	for _, r := range issuedRoles {
		in.kept[r] = w.secrets[secretOf(w.cluster, r)].DeepCopy()
	}
	in.ca = w.secrets[w.cluster.CATLSSecret()].DeepCopy()
	for _, m := range w.members {
		in.pods = append(in.pods, m.pod)
	}
	if w.cluster.Spec.TLS.CertManager != nil {
		in.requests, in.issued = map[role]*unstructured.Unstructured{}, map[role]*corev1.Secret{}
		for _, r := range issuedRoles {
			in.issued[r] = w.secrets[issuedName(w.cluster, r)].DeepCopy()
		}
	}
	return in
}

// put is the API server: it takes a write only if the object is as it was read.
func (w *world) put(from, to *corev1.Secret) {
	is := w.secrets[to.Name]
	if (from == nil) != (is == nil) || (from != nil && from.ResourceVersion != is.ResourceVersion) {
		return
	}
	w.version++
	to = to.DeepCopy()
	to.ResourceVersion = strconv.Itoa(w.version)
	w.secrets[to.Name] = to
	w.look()
}

func (w *world) note(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf(format, args...))
}

// pass is one look of an operator that decided at some time on what it had read, and ends
// after some of its writes.
func (w *world) pass(in *input, writes int) {
	out, err := in.decided()
	if err != nil {
		w.t.Fatal(err)
	}
	for i, write := range out.writes {
		if i == writes {
			return
		}
		w.note("writes %s: %s", write.to.Name, write.told.Message)
		w.put(write.from, write.to)
	}
	if len(out.writes) == 0 && in.cluster.ResourceVersion == w.cluster.ResourceVersion {
		w.version++
		w.cluster.ResourceVersion = strconv.Itoa(w.version)
		w.cluster.Status.TLS = &v1beta2.TLSStatus{Trust: out.state.TLS.Trust, Rotation: out.state.TLS.Rotation}
	}
}

// restart makes a member's Pod anew: it mounts what is there.
func (w *world) restart(m *memberModel) {
	m.trust, m.ready = w.cluster.Status.TLS.Trust, false
	w.load(m)
}

func (w *world) load(m *memberModel) {
	in := w.input()
	m.forPeers, m.forClients = in.bundle(peer), in.bundle(server)
}

// look is the invariant.
func (w *world) look() {
	in := w.input()
	accepts := func(who string, trusted caSet, p *pair) {
		if p == nil || len(trusted) == 0 {
			return
		}
		// None expires here, so that it is enough to ask once.
		asked := trusted.id() + " " + p.leaf.SerialNumber.String()
		if w.accepted[asked] {
			return
		}
		if _, err := p.chain(&pair{trusted: trusted}, w.now); err != nil {
			w.fail("%s refuses the certificate in %s: %v", who, p.secret, err)
		}
		w.accepted[asked] = true
	}
	shown := map[role]*pair{}
	for _, r := range issuedRoles {
		shown[r] = in.pair(r)
	}
	if shown[applications] != nil {
		w.loads(shown[applications], w.now.Add(overlap/2-time.Second))
	}
	if shown[operator] != nil {
		w.loads(shown[operator], w.now)
	}
	w.seen = slices.DeleteFunc(w.seen, func(l loaded) bool { return w.now.After(l.until) })
	for _, m := range w.members {
		accepts(m.name+" as a peer", m.forPeers, shown[peer])
		accepts(m.name, m.forClients, shown[operator])
		for _, l := range w.seen {
			accepts(m.name, m.forClients, l.leaf)
		}
	}
	for _, l := range w.seen {
		accepts("a client", l.trusted, shown[server])
	}
}

// loads lets a client go on with what a Secret holds for a while.
func (w *world) loads(p *pair, until time.Time) {
	for i, l := range w.seen {
		if l.leaf.leaf.Equal(p.leaf) && l.trusted.equal(p.trusted) {
			w.seen[i].until = until
			return
		}
	}
	w.seen = append(w.seen, loaded{p, p.trusted, until})
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Errorf(format, args...)
	from := max(0, len(w.trace)-40)
	for _, line := range w.trace[from:] {
		w.t.Log(line)
	}
	w.t.FailNow()
}

// newIssuer gives cert-manager's issuer another CA.
func (w *world) newIssuer() {
	certPEM, keyPEM, err := newCA(w.cluster, 5*365*24*time.Hour, w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	w.issuers = append(w.issuers, readCA(map[string][]byte{"c": certPEM, "k": keyPEM}, "c", "k"))
}

// issue is cert-manager: it issues a certificate anew.
func (w *world) issue(r role) {
	by := w.issuers[len(w.issuers)-1]
	certPEM, keyPEM, err := by.issue(w.cluster, r, w.cluster.Spec.Issued().Lifetime(), w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	from := w.secrets[issuedName(w.cluster, r)]
	to := from.DeepCopy()
	if from == nil {
		to = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: issuedName(w.cluster, r), Namespace: "ns"}}
	}
	to.Data = map[string][]byte{common.cert: certPEM, common.key: keyPEM, common.ca: encode(by.cert.Raw)}
	w.put(from, to)
}

// step is something that somebody does.
func (w *world) step(stale *input) *input {
	switch n := w.dice.IntN(100); {
	case n < 40:
		w.pass(w.input(), w.dice.IntN(6))
	case n < 45: // an operator that had read a while ago
		if stale != nil {
			w.note("a stale operator wakes up")
			w.pass(stale, w.dice.IntN(6))
		}
		return w.input()
	case n < 70 && len(w.members) > 0: // the planner, and what befalls members
		m := w.members[w.dice.IntN(len(w.members))]
		switch {
		case !m.ready:
			w.note("%s is ready", m.name)
			m.ready = true
		case m.trust != w.cluster.Status.TLS.Trust:
			w.note("%s is restarted", m.name)
			w.restart(m)
		case w.dice.IntN(4) == 0:
			w.note("%s crashes", m.name)
			m.ready = false
			w.load(m)
		}
	case n < 74 && len(w.members) < 5 && w.cluster.Status.TLS != nil && w.cluster.Status.TLS.Trust != "":
		m := &memberModel{pod: pod{name: fmt.Sprintf("m%d", w.version)}}
		w.note("%s is made", m.name)
		w.restart(m)
		w.members = append(w.members, m)
	case n < 75 && len(w.members) > 0:
		w.note("%s goes", w.members[0].name)
		w.members = w.members[1:]
	case n < 92:
		w.now = w.now.Add(time.Duration(w.dice.IntN(120)) * time.Second)
	case n < 94:
		w.now = w.now.Add(time.Duration(w.dice.IntN(20)) * time.Minute)
	case n < 97:
		w.user()
	case w.cluster.Spec.TLS.CertManager != nil:
		w.manager()
	}
	w.look()
	return stale
}

// user is what the user does.
func (w *world) user() {
	asked := strconv.Itoa(w.version)
	kinds := 4
	if w.cluster.Spec.TLS.CertManager != nil {
		// Of a Secret that is deleted there may be only one of a CA that nobody
		// knows yet.
		kinds = 3
	}
	switch w.dice.IntN(kinds) {
	case 0:
		w.note("the user asks for a new CA")
		w.cluster.Annotations[v1beta2.AnnotationRotateCA] = asked
	case 1:
		w.note("the user asks for new certificates")
		w.cluster.Annotations[v1beta2.AnnotationRenew] = asked
	case 2:
		w.note("the user names a server")
		w.cluster.Spec.Issued().ServerNames = []string{"a" + asked + ".example.com"}
	case 3:
		r := issuedRoles[w.dice.IntN(len(issuedRoles))]
		w.note("the user deletes the Secret of the %s", r)
		delete(w.secrets, secretOf(w.cluster, r))
	}
}

// manager is what cert-manager does: its issuer gets another CA, and certificates
// follow one by one.
func (w *world) manager() {
	r := issuedRoles[w.dice.IntN(len(issuedRoles))]
	if w.dice.IntN(8) == 0 {
		w.note("the issuer has another CA")
		w.newIssuer()
	}
	w.note("cert-manager issues that of the %s", r)
	w.issue(r)
}

// settle lets all come to rest, and fails if that does not happen.
func (w *world) settle() {
	w.t.Helper()
	for range 150 {
		if w.cluster.Spec.TLS.CertManager != nil {
			for _, r := range issuedRoles {
				s := w.secrets[issuedName(w.cluster, r)]
				if len(s.Data[common.cert]) == 0 || !w.issuers[len(w.issuers)-1].cert.Equal(parseCAs(s.Data[common.ca])[0]) {
					w.issue(r)
				}
			}
		}
		w.pass(w.input(), -1)
		w.now = w.now.Add(2 * time.Minute)
		for _, m := range w.members {
			if m.trust != w.cluster.Status.TLS.Trust {
				w.restart(m)
				break
			}
			m.ready = true
		}
		w.look()
	}
	in := w.input()
	out, err := in.decided()
	if err != nil || len(out.writes) > 0 || out.state.TLS.Rotation != "" || out.state.TLS.Problem != "" || out.state.TLS.RequeueAfter != 0 {
		w.fail("it does not come to rest: %+v, %d writes, %v", out.state.TLS, len(out.writes), err)
	}
	for _, r := range issuedRoles {
		if len(in.bundle(r)) != 1 {
			w.fail("%d CAs are left in the Secret of the %s", len(in.bundle(r)), r)
		}
	}
	if asked := w.cluster.Annotations[v1beta2.AnnotationRotateCA]; in.ca != nil && (asked != in.ca.Annotations[v1beta2.AnnotationRotateCA] || len(in.ca.Data) != 2) {
		w.fail("the wish %q for a new CA was not fulfilled: %v", asked, in.ca.Annotations)
	}
	for _, r := range issuedRoles {
		if !in.renewed(in.kept[r]) {
			w.fail("the wish for new certificates was not fulfilled for the %s", r)
		}
		if r == server && w.cluster.Spec.TLS.CertManager == nil {
			names, _ := namesOf(w.cluster, r)
			if p := in.pair(r); !slices.Equal(p.leaf.DNSNames, names) {
				w.fail("the server's names are %v, want %v", p.leaf.DNSNames, names)
			}
		}
	}
}

// However steps interleave, nobody ever refuses what another shows, and in the end all
// that was asked for is done.
func TestNobodyIsEverRefused(t *testing.T) {
	for mode, policy := range map[string]v1beta2.TLSPolicy{
		"auto":        {Auto: &v1beta2.AutoTLS{}},
		"certManager": {CertManager: &v1beta2.CertManagerTLS{IssuerRef: v1beta2.IssuerReference{Name: "i"}}},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(2) {
				t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
					w := newWorld(t, rand.New(rand.NewPCG(seed, 1)), policy.DeepCopy())
					w.settle()
					var stale *input
					for range 300 {
						stale = w.step(stale)
					}
					w.settle()
				})
			}
		})
	}
}
