package certificates

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Annotations on the Secrets that the operator writes.
const (
	// annotationIssued is the id of the newest CAs, and since when the Secret
	// has had certificates of theirs, with a blank between.
	annotationIssued = v1beta2.GroupName + "/issued"
	// annotationTrusted is the id of the CAs in ca.crt, and since when they
	// have been there, with a blank between.
	annotationTrusted = v1beta2.GroupName + "/trusted"
)

// settling is how long CAs are in the Secrets before members are restarted for
// them: a kubelet that has not heard of them yet would mount the former ones. Kubelets
// watch the Secrets of their Pods.
const settling = 5 * time.Second

// input is all that what is to be done follows from.
type input struct {
	cluster *v1beta2.EtcdCluster
	// kept are the Secrets of the roles, as the user or the operator keeps them; one
	// that is not there is nil.
	kept map[role]*corev1.Secret
	// ca is the Secret of the cluster's own CA.
	ca *corev1.Secret
	// requests and issued are cert-manager's Certificates and their Secrets.
	requests map[role]*unstructured.Unstructured
	issued   map[role]*corev1.Secret
	// hindered is what the API server has refused to do.
	hindered []problem
	// parsed is what was read from kept so far.
	parsed map[role]parsed
	pods   []pod
	now    time.Time
}

// pod is a member's Pod: the hash of the CAs that it was made to trust, and
// whether it is ready.
type pod struct {
	name, trust string
	ready       bool
}

// parsed is what a Secret holds: nil if it can't be used, with what is wrong; and the
// CAs, which may be there all the same.
type parsed struct {
	pair   *pair
	wrong  []problem
	bundle caSet
}

// of reads a role's Secret, once. There is nothing in one that does not exist.
func (in *input) of(r role) parsed {
	if known, ok := in.parsed[r]; ok {
		return known
	}
	var p parsed
	if s := in.kept[r]; s != nil {
		p.pair, p.wrong = readPair(r, s)
		p.bundle = parseCAs(s.Data[common.ca])
	}
	if in.parsed == nil {
		in.parsed = map[role]parsed{}
	}
	in.parsed[r] = p
	return p
}

// pair is what a role's Secret holds; nil if it can't be used.
func (in *input) pair(r role) *pair { return in.of(r).pair }

// bundle is the CAs that a Secret of a role has.
func (in *input) bundle(r role) caSet { return in.of(r).bundle }

// since reads one of the two annotations: from when on it holds for an id; zero if it
// does not.
func since(s *corev1.Secret, annotation, id string) time.Time {
	if s == nil {
		return time.Time{}
	}
	of, at, _ := strings.Cut(s.Annotations[annotation], " ")
	t, err := time.Parse(time.RFC3339, at)
	if err != nil || of != id {
		return time.Time{}
	}
	return t
}

// foreign reports whether a Secret does not belong to the cluster, and so is never changed.
func (in *input) foreign(s *corev1.Secret) bool {
	return s != nil && !metav1.IsControlledBy(s, in.cluster)
}

// rotation is how far the replacement of a CA has come.
type rotation struct {
	// newest are the CAs that certificates are to be of, and old are others
	// that somebody may still trust, or show a certificate of.
	newest, old caSet
	// wanted are those that everybody is to trust now.
	wanted caSet
	// trusted is true when nobody refuses a certificate of the newest: all members
	// trust them, or nothing can be lost any more.
	trusted bool
	// servers is true when members may show certificates of the newest to clients.
	servers bool
	step    v1beta2.CARotation
	// next is when there is more to do, if that is a matter of time.
	next time.Time
}

// rotate finds how far a replacement has come. remembered are CAs that were
// trusted, beside those in the Secrets.
func (in *input) rotate(newest, remembered caSet) rotation {
	known := remembered
	for _, r := range issuedRoles {
		known = known.with(in.bundle(r))
	}
	t := rotation{newest: newest, old: known.without(newest)}
	t.wanted = newest.with(t.old)
	t.trusted = in.trust(t.wanted)
	if len(t.old) == 0 {
		t.servers = true
		if in.behind(t.wanted) {
			t.step = v1beta2.CADroppingOld
		}
		return t
	}
	t.step = v1beta2.CATrustingBoth
	// Once the old ones have expired, there is nothing to wait for.
	late := t.old.expired(in.now)
	t.trusted, t.servers = t.trusted || late, late
	moved, at := in.moved(newest, operator, applications, peer)
	if !moved {
		return t
	}
	t.step = v1beta2.CAReissuing
	overlap := in.cluster.Spec.Issued().Overlap()
	t.next = at.Add(overlap / 2)
	t.servers = late || !in.now.Before(t.next)
	moved, serversAt := in.moved(newest, server)
	if !moved {
		return t
	}
	t.next = at.Add(overlap)
	if end := serversAt.Add(overlap / 2); end.After(t.next) {
		t.next = end
	}
	if late || in.dropping(newest) || (t.trusted && !in.now.Before(t.next)) {
		t.wanted, t.step, t.next = newest, v1beta2.CADroppingOld, time.Time{}
	}
	return t
}

// trust reports whether every member trusts exactly these: they are in all Secrets, and
// each Pod was made after that, and is ready.
func (in *input) trust(all caSet) bool {
	if len(in.pods) == 0 {
		return true
	}
	for _, r := range issuedRoles {
		if !in.bundle(r).equal(all) {
			return false
		}
	}
	hash := trustHash(all, all)
	for _, p := range in.pods {
		if p.trust != hash || !p.ready {
			return false
		}
	}
	return true
}

// behind reports whether a member was made to trust others.
func (in *input) behind(all caSet) bool {
	hash := trustHash(all, all)
	for _, p := range in.pods {
		if p.trust != "" && p.trust != hash {
			return true
		}
	}
	return false
}

// moved reports whether all of these roles have certificates of the newest CAs,
// and since when.
func (in *input) moved(newest caSet, roles ...role) (bool, time.Time) {
	var last time.Time
	for _, r := range roles {
		p := in.pair(r)
		if p == nil || !newest.sign(p.leaf, p.through) {
			return false, time.Time{}
		}
		at := since(in.kept[r], annotationIssued, newest.id())
		if at.IsZero() {
			at = in.now
		}
		if at.After(last) {
			last = at
		}
	}
	return true, last
}

// dropping reports whether the old CAs were taken out of a Secret already.
func (in *input) dropping(newest caSet) bool {
	for _, r := range issuedRoles {
		if in.kept[r] != nil && in.bundle(r).equal(newest) {
			return true
		}
	}
	return false
}
