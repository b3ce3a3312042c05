package certificates

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

const (
	// deadline bounds one look at the certificates of a cluster.
	deadline = 15 * time.Second
	// keptLasting is how long what was found in Secrets that the user keeps holds while
	// nothing else has changed: no watch tells of Secrets. issuedLasting is for those
	// that are issued, in which only issuers write.
	keptLasting   = 30 * time.Second
	issuedLasting = 5 * time.Minute
	// rounds is how often one look may read again what it has written: a CA, the
	// Secrets, and one more for a write that was refused.
	rounds = 4

	fieldOwner = client.FieldOwner("etcd-operator")
)

// Keeper keeps the certificates of clusters. It is safe for concurrent use, and its zero
// value but for Client and Live is ready.
type Keeper struct {
	// Client reads Pods from a cache, and writes Secrets.
	Client client.Client
	// Live reads from the API server: Secrets by name, and the Pods of clusters for which
	// certificates are issued.
	Live client.Reader

	mu    sync.Mutex
	known map[client.ObjectKey]found
}

// found is the State of a cluster, what it was found for, and until when it holds.
type found struct {
	uid types.UID
	// tries is how often in a row writes were rejected.
	tries int
	of    string
	until time.Time
	state State
	// warned are the warnings that were told.
	warned []Event
}

// Keep brings the certificates of a cluster to what they are to be, and says how they
// are. While the EtcdCluster is being deleted or paused it only reads; a fence does not bound
// it (S12), since the seed of a restore needs certificates. It returns an error
// only if the API server does not do as it is asked; what is wrong with certificates is in
// the State.
func (k *Keeper) Keep(ctx context.Context, c *v1beta2.EtcdCluster) (State, error) {
	key := client.ObjectKeyFromObject(c)
	if k == nil || c.Spec.TLS == nil || (c.Spec.Issued() == nil && !c.UsesTLS()) {
		k.Forget(key)
		return State{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	pods, err := k.pods(ctx, k.Client, c)
	if err != nil {
		return State{}, err
	}
	of := fingerprint(c, pods)
	k.mu.Lock()
	last, ok := k.known[key]
	k.mu.Unlock()
	if ok && last.of == of && time.Now().Before(last.until) {
		last.state.Told = nil
		return last.state, nil
	}
	state, err := k.look(ctx, c, pods)
	if errors.Is(err, ErrChanged) {
		return State{}, err
	}
	if err != nil {
		if last.uid != c.UID {
			last.state = unknown(c)
		}
		state = unreadable(last.state, err, time.Now())
	}
	tries := 0
	if state.isHindered {
		tries = last.tries + 1
		state.TLS.RequeueAfter = min(max(pendingDelay, state.TLS.RequeueAfter)<<min(tries-1, 10), facts.LongestPause)
	}
	next := found{uid: c.UID, tries: tries, of: of, until: time.Now().Add(lasting(c, &state)), state: state}
	state.Told = slices.DeleteFunc(slices.Clone(state.Told), func(e Event) bool {
		if e.Warning {
			next.warned = append(next.warned, e)
		}
		return e.Warning && slices.Contains(last.warned, e)
	})
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil {
		k.known = map[client.ObjectKey]found{}
	}
	k.known[key] = next
	return state, nil
}

// lasting is how long a State holds.
func lasting(c *v1beta2.EtcdCluster, s *State) time.Duration {
	most := keptLasting
	if c.Spec.Issued() != nil {
		most = issuedLasting
	}
	return min(most, cmp.Or(s.TLS.RequeueAfter, most))
}

// Forget drops what is known of a cluster that is gone.
func (k *Keeper) Forget(key client.ObjectKey) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.known, key)
}

// fingerprint is the same as long as what a State follows from is the same, but for the
// Secrets and the time.
func fingerprint(c *v1beta2.EtcdCluster, pods []pod) string {
	trust := ""
	if c.Status.TLS != nil {
		trust = c.Status.TLS.Trust
	}
	return fmt.Sprintf("%s %d %t %q %q %s %v", c.UID, c.Generation, c.DeletionTimestamp.IsZero(),
		c.Annotations[v1beta2.AnnotationRenew], c.Annotations[v1beta2.AnnotationRotateCA], trust, pods)
}

// look reads, decides and writes until there is nothing left to write.
func (k *Keeper) look(ctx context.Context, c *v1beta2.EtcdCluster, pods []pod) (State, error) {
	var told []Event
	var state State
	for n := range rounds {
		in, err := k.read(ctx, c, pods)
		if err != nil {
			return State{}, err
		}
		out, err := k.decide(ctx, in)
		if err != nil {
			return State{}, err
		}
		state = out.state
		if len(out.writes)+len(out.requests) == 0 || c.Spec.Paused || !c.DeletionTimestamp.IsZero() {
			break
		}
		if err := k.unchanged(ctx, c); err != nil {
			return State{}, err
		}
		told = append(told, k.carryOut(ctx, in, &out, n == rounds-1)...)
		if len(in.hindered) > 0 {
			out, err = in.decide()
			if err != nil {
				return State{}, err
			}
			state = out.state
			state.isHindered = true
			break
		}
		// What was written is not in this State.
		state.requeueWithin(time.Millisecond)
	}
	state.Told = append(told, state.Told...)
	return state, nil
}

// decide says what is to be done. While a CA is being replaced, members count whose Pods
// no list of labels has shown: whoever does not trust the new one refuses its certificates.
func (k *Keeper) decide(ctx context.Context, in *input) (outcome, error) {
	out, err := in.decide()
	if err != nil || out.state.TLS.Rotation == "" {
		return out, err
	}
	unlisted, err := k.unlistedPods(ctx, in)
	if err != nil || len(unlisted) == 0 {
		return out, err
	}
	in.pods = append(in.pods, unlisted...)
	return in.decide()
}

// carryOut writes what was decided, and returns what is to be told of it. What stands in
// the way is noted in the input.
//
// The last round reports a Secret that changes each time it is written.
func (k *Keeper) carryOut(ctx context.Context, in *input, out *outcome, last bool) []Event {
	var told []Event
	note := func(event Event, done bool, wrong *problem) {
		if wrong != nil {
			in.hindered = append(in.hindered, *wrong)
		}
		if done && event != (Event{}) {
			told = append(told, event)
		}
	}
	for _, w := range out.writes {
		done, wrong := k.write(ctx, w)
		if last && !done && wrong == nil {
			wrong = &problem{facts.CertificatesPending, fmt.Sprintf("cannot write Secret %s: it %v", w.to.Name, ErrChanged)}
		}
		note(w.told, done, wrong)
	}
	for _, q := range out.requests {
		done, wrong := k.request(ctx, q)
		note(q.told, done, wrong)
	}
	return told
}

// decide says what is to be done.
func (in *input) decide() (outcome, error) {
	if in.cluster.Spec.TLS.Auto != nil {
		return in.auto()
	}
	if in.cluster.Spec.TLS.CertManager != nil {
		return in.certManager(), nil
	}
	return outcome{state: in.state(nil, nil)}, nil
}

// read reads all that is needed. The CA comes last: what is written to the other
// Secrets, as they were read, is refused if they have changed since.
func (k *Keeper) read(ctx context.Context, c *v1beta2.EtcdCluster, pods []pod) (*input, error) {
	in := &input{cluster: c, kept: map[role]*corev1.Secret{}, pods: pods}
	var err error
	for _, r := range issuedRoles {
		if in.kept[r], err = k.secret(ctx, c.Namespace, secretOf(c, r)); err != nil {
			return nil, err
		}
	}
	if in.ca, err = k.secret(ctx, c.Namespace, c.CATLSSecret()); err != nil {
		return nil, err
	}
	if c.Spec.TLS.CertManager != nil {
		if err := k.certManager(ctx, in); err != nil {
			return nil, err
		}
	}
	if c.Spec.Issued() != nil {
		// Nobody is to be taken for restarted by a cache that is behind.
		if in.pods, err = k.pods(ctx, k.Live, c); err != nil {
			return nil, err
		}
	}
	in.now = time.Now()
	return in, nil
}

// secret reads one; nil if it does not exist, or has no name.
func (k *Keeper) secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	if name == "" {
		return nil, nil
	}
	var s corev1.Secret
	err := k.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &s)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", name, err)
	}
	return &s, nil
}

// pods are the members' that may run.
func (k *Keeper) pods(ctx context.Context, from client.Reader, c *v1beta2.EtcdCluster) ([]pod, error) {
	var list corev1.PodList
	if err := from.List(ctx, &list, client.InNamespace(c.Namespace), client.MatchingLabels(member.Selector(c.Name))); err != nil {
		return nil, fmt.Errorf("read Pods: %w", err)
	}
	var all []pod
	for i := range list.Items {
		if p := &list.Items[i]; (metav1.IsControlledBy(p, c) || hasLostOwner(p)) && mayRun(p) {
			all = append(all, podOf(p))
		}
	}
	slices.SortFunc(all, func(a, b pod) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

// unlistedPods returns the Pods of members that might run and that the list of members' Pods did not contain, because
// a label was removed from them.
func (k *Keeper) unlistedPods(ctx context.Context, in *input) ([]pod, error) {
	list := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	if err := k.Live.List(ctx, &list, client.InNamespace(in.cluster.Namespace)); err != nil {
		return nil, fmt.Errorf("list the metadata of Pods: %w", err)
	}
	var all []pod
	for i := range list.Items {
		o := &list.Items[i]
		listed := slices.ContainsFunc(in.pods, func(p pod) bool { return p.name == o.Name })
		if listed || !mayBeMembers(o, in.cluster) {
			continue
		}
		var p corev1.Pod
		err := k.Live.Get(ctx, client.ObjectKeyFromObject(o), &p)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("read Pod %s: %w", o.Name, err)
		}
		if err == nil && mayRun(&p) {
			all = append(all, podOf(&p))
		}
	}
	return all, nil
}

// mayBeMembers reports whether the EtcdCluster controls a Pod, or might control it: no controller owns the Pod, and it
// has the name of a member.
func mayBeMembers(p metav1.Object, c *v1beta2.EtcdCluster) bool {
	return metav1.IsControlledBy(p, c) || hasLostOwner(p) && member.IsName(c.Name, p.GetName())
}

// hasLostOwner reports whether no controller owns a Pod that was created for the CAs of an EtcdCluster. The Pod still
// trusts only these CAs.
func hasLostOwner(p metav1.Object) bool {
	return metav1.GetControllerOf(p) == nil && p.GetAnnotations()[v1beta2.AnnotationTrust] != ""
}

func mayRun(p *corev1.Pod) bool {
	return p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
}

func podOf(p *corev1.Pod) pod {
	ready := slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	return pod{name: p.Name, trust: p.Annotations[v1beta2.AnnotationTrust], ready: ready && p.DeletionTimestamp.IsZero()}
}

// ErrChanged means that an object was changed after it was read, so nothing is written.
var ErrChanged = errors.New("has changed since it was read")

// unchanged reads the EtcdCluster, and returns ErrChanged if its spec has changed since the decision, or if it
// is being deleted.
func (k *Keeper) unchanged(ctx context.Context, c *v1beta2.EtcdCluster) error {
	var live v1beta2.EtcdCluster
	if err := k.Live.Get(ctx, client.ObjectKeyFromObject(c), &live); err != nil {
		return fmt.Errorf("read EtcdCluster: %w", err)
	}
	if live.UID != c.UID || live.Generation != c.Generation || !live.DeletionTimestamp.IsZero() {
		return fmt.Errorf("EtcdCluster %s %w", c.Name, ErrChanged)
	}
	return nil
}

// write writes one Secret, if it is still as it was read. It reports whether it did (if
// not, all is to be read again), or what stands in the way.
func (k *Keeper) write(ctx context.Context, w write) (bool, *problem) {
	var done bool
	var err error
	if w.from == nil {
		done, err = k.create(ctx, w.to)
	} else {
		done, err = k.change(ctx, w.from, w.to)
	}
	if err != nil {
		return false, &problem{facts.CertificatesPending, fmt.Sprintf("cannot write Secret %s: %s", w.to.Name, conditiontext.Clip(err.Error()))}
	}
	return done, nil
}

// create creates an object, and reports whether there was none.
func (k *Keeper) create(ctx context.Context, o client.Object) (bool, error) {
	err := k.Client.Create(ctx, o, fieldOwner)
	if apierrors.IsAlreadyExists(err) {
		return false, nil
	}
	return err == nil, err
}

// change changes an object, and reports whether it was still as it was read.
func (k *Keeper) change(ctx context.Context, from, to client.Object) (bool, error) {
	err := k.Client.Patch(ctx, to, client.MergeFromWithOptions(from, client.MergeFromWithOptimisticLock{}), fieldOwner)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}
