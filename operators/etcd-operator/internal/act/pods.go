package act

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	patches "github.com/evanphx/json-patch/v5"
	"gomodules.xyz/jsonpatch/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/launcher"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// The actions of this file are on Pods and their volumes.

// createPods creates Pods. Where members are persistent, it creates their PVCs first: a PVC without a Pod later
// gets a Pod or is deleted. Each member that returns helps, so the other Pods are tried even if one is rejected
// or its name is taken. createPods stops at a call without an answer: the Pod might still be created (S12).
func (a *Actor) createPods(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, x action.CreatePods) error {
	if err := a.samePods(ctx, c, obs); err != nil {
		return err
	}
	// A member that returns uses its own name, so it cannot collide with another member.
	if slices.ContainsFunc(x.Pods, func(p action.NewPod) bool { return p.Role != facts.Returning }) {
		if err := a.noneUnseen(ctx, c, obs); err != nil {
			return err
		}
	}
	var stopped bool
	return forEach(x.Pods, func(p action.NewPod) error {
		if stopped {
			return nil
		}
		err := a.createPod(ctx, c, p)
		stopped = err != nil && p.Role != facts.Returning // the next Pod would be rejected too
		return err
	})
}

// createPod creates one Pod, and its claim.
func (a *Actor) createPod(ctx context.Context, c *v1beta2.EtcdCluster, p action.NewPod) error {
	claim, isFresh, err := a.claimFor(ctx, c, p)
	if isRejection(err) {
		return rejected(c, action.RejectedPod(p, true), err)
	}
	if err != nil {
		return err
	}
	o := member.Options{Name: p.Name, Version: p.Version, LauncherImage: a.LauncherImage, Role: string(p.Role), New: isNew(p, isFresh)}
	if p.StartPermit != nil {
		o.StartPermit = permitOf(c, *p.StartPermit)
	}
	if claim != nil {
		o.FormerOwners = member.FormerOwners(claim)
	}
	pod, err := member.NewPod(c, o)
	if err != nil {
		return fmt.Errorf("build Pod %s: %w", p.Name, err)
	}
	if p.Recovery != nil {
		if err := a.reseed(c, pod, p.Recovery); err != nil {
			return err
		}
	}
	if err := a.unchanged(ctx, c, BeforePod); err != nil {
		return err
	}
	err = a.Client.Create(ctx, pod)
	if err != nil && !apierrors.IsAlreadyExists(err) {
		// Whatever the error is, the next try uses the same name, because a PVC with this name exists.
		return rejected(c, action.RejectedPod(p, false), fmt.Errorf("create Pod %s: %w", p.Name, err))
	}
	return staleIf(NameIsFree, apierrors.IsAlreadyExists, err, "create Pod "+p.Name)
}

// isNew reports whether a Pod's member has never run. Its launcher then refuses data without a mark. On a volume that
// is not fresh, the seed might have run in an earlier Pod, without a mark if an earlier release created that Pod.
func isNew(p action.NewPod, isFresh bool) bool {
	return p.Role == facts.Joiner || p.Role == facts.Seed && isFresh && p.Recovery == nil
}

// samePods compares the names of the cluster's Pods, read from the API server, with the observed ones.
// Otherwise a cache that lags would make the operator create Pods twice.
func (a *Actor) samePods(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation) error {
	pods, err := a.liveMetadata(ctx, c)
	if err != nil {
		return err
	}
	live, seen := map[string]bool{}, map[string]bool{}
	for i := range pods {
		live[pods[i].Name] = true
	}
	for _, p := range obs.Pods {
		seen[p.Name] = true
	}
	if refuses(SameNames, !maps.Equal(live, seen)) {
		return fmt.Errorf("%w: there are other Pods than were observed", ErrStale)
	}
	return nil
}

// liveMetadata lists what the cluster's Pods are called and labelled.
func (a *Actor) liveMetadata(ctx context.Context, c *v1beta2.EtcdCluster) ([]metav1.PartialObjectMetadata, error) {
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	if err := a.Live.List(ctx, &list, client.InNamespace(c.Namespace), client.MatchingLabels(member.Selector(c.Name))); err != nil {
		return nil, fmt.Errorf("list Pods: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(p metav1.PartialObjectMetadata) bool { return !metav1.IsControlledBy(&p, c) }), nil
}

// claimFor creates the PVC of a new Pod. For a Pod that returns, it checks that the PVC is still a member's, because
// a restore might have retired it. The PVC is nil for a Pod without one. isFresh reports whether no Pod has used the
// Pod's volume before.
func (a *Actor) claimFor(ctx context.Context, c *v1beta2.EtcdCluster, p action.NewPod) (claim *corev1.PersistentVolumeClaim, isFresh bool, err error) {
	if p.Role != facts.Returning {
		return a.createClaim(ctx, c, p)
	}
	claim, err = a.membersClaim(ctx, c, p.Name)
	return claim, false, err
}

// membersClaim reads a volume live that is to be a member's.
func (a *Actor) membersClaim(ctx context.Context, c *v1beta2.EtcdCluster, name string) (*corev1.PersistentVolumeClaim, error) {
	var claim corev1.PersistentVolumeClaim
	err := a.Live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, &claim)
	if err != nil {
		return nil, staleIf(StillThere, apierrors.IsNotFound, err, "read volume "+name)
	}
	if refuses(ClaimIsMembers, !observe.IsMembers(&claim, c)) {
		return nil, fmt.Errorf("%w: PVC %s no longer belongs to the cluster", ErrStale, name)
	}
	return &claim, nil
}

// observedClaim reads a member's volume live that is to be of that uid.
func (a *Actor) observedClaim(ctx context.Context, c *v1beta2.EtcdCluster, name, uid string) (*corev1.PersistentVolumeClaim, error) {
	claim, err := a.membersClaim(ctx, c, name)
	if err == nil && refuses(SameClaim, string(claim.UID) != uid) {
		return nil, fmt.Errorf("%w: PVC %s was replaced", ErrStale, name)
	}
	return claim, err
}

func (a *Actor) createClaim(ctx context.Context, c *v1beta2.EtcdCluster, p action.NewPod) (claim *corev1.PersistentVolumeClaim, isFresh bool, err error) {
	name := p.Name
	claim = member.NewClaim(c, name)
	if claim == nil {
		return nil, true, nil
	}
	if p.Recovery != nil {
		claim.Annotations = map[string]string{v1beta2.AnnotationSurvivorPermit: p.Recovery.Token}
	}
	if err := a.unchanged(ctx, c, BeforeVolume); err != nil {
		return nil, false, err
	}
	err = a.Client.Create(ctx, claim)
	if err == nil || !apierrors.IsAlreadyExists(err) {
		return claim, true, wrap(err, "create volume "+name)
	}
	// It was made by an earlier try that ended before its Pod.
	var live corev1.PersistentVolumeClaim
	if err := a.Live.Get(ctx, client.ObjectKeyFromObject(claim), &live); err != nil {
		return nil, false, fmt.Errorf("read PVC %s: %w", name, err)
	}
	switch foreign := refuses(ClaimIsOurs, !member.Owns(c, &live)); {
	case foreign && p.Role == facts.Joiner:
		return nil, false, fmt.Errorf("%w: PVC %s belongs to someone else", ErrNameTaken, name)
	case foreign:
		return nil, false, fmt.Errorf("PVC %s belongs to someone else", name)
	case p.Role == facts.Joiner && refuses(ClaimIsUsable, !observe.IsMembers(&live, c) || live.DeletionTimestamp != nil):
		return nil, false, fmt.Errorf("%w: PVC %s no longer belongs to the cluster", ErrNameTaken, name)
	}
	return &live, false, nil
}

const (
	rolePath        = "/metadata/labels/" + v1beta2.LabelRole
	annotationsPath = "/metadata/annotations"
	// permitPath is the annotation of the start permit; "/" is written "~1" in a JSON pointer.
	permitPath = annotationsPath + "/etcd.database.coreos.com~1start-permit"
)

// op is one operation of a JSON patch (RFC 6902).
var op = jsonpatch.NewOperation

// annotation sets one. Every Pod that we make has some, so there is where to add it.
func annotation(name, value string) jsonpatch.Operation {
	return op("add", annotationsPath+"/"+strings.ReplaceAll(name, "/", "~1"), value)
}

// tests are what a patch tests first, and the precondition that they are.
type tests struct {
	Precondition
	ops []jsonpatch.Operation
}

// of tests for a uid.
func of(p Precondition, uid string) tests {
	return tests{p, []jsonpatch.Operation{op("test", "/metadata/uid", uid)}}
}

// as tests whether a Pod is as it was read.
func as(p Precondition, pod *corev1.Pod) tests {
	t := of(p, string(pod.UID))
	return tests{p, append(t.ops, op("test", "/metadata/resourceVersion", pod.ResourceVersion))}
}

// patchPod patches a Pod only if it passes the tests.
func (a *Actor) patchPod(ctx context.Context, c *v1beta2.EtcdCluster, name string, tests tests, ops ...jsonpatch.Operation) error {
	if demands(tests.Precondition) {
		ops = append(tests.ops, ops...)
	}
	data, err := json.Marshal(ops)
	if err != nil {
		return fmt.Errorf("patch Pod %s: %w", name, err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.Namespace}}
	err = a.Client.Patch(ctx, pod, client.RawPatch(types.JSONPatchType, data))
	switch {
	case apierrors.IsNotFound(err):
		return staleIf(StillThere, apierrors.IsNotFound, err, "patch Pod "+name)
	case apierrors.IsInvalid(err) && a.applies(ctx, pod, data):
		return wrap(err, "patch Pod "+name) // an admission policy has denied it: no test has failed
	}
	return staleIf(tests.Precondition, apierrors.IsInvalid, err, "patch Pod "+name) // so a failed test is reported
}

// applies reports whether a JSON patch, including its tests, applies to the live Pod. It reads the Pod
// into pod.
func (a *Actor) applies(ctx context.Context, pod *corev1.Pod, patch []byte) bool {
	if err := a.Live.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
		return false
	}
	is, err := json.Marshal(pod)
	if err != nil {
		return false
	}
	ops, err := patches.DecodePatch(patch)
	if err != nil {
		return false
	}
	_, err = ops.Apply(is)
	return err == nil
}

func (a *Actor) setRoles(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, x action.SetRoles) error {
	return forEach(x.Roles, func(r action.PodRole) error {
		return rejectedObject(c, x, r.Name, a.setRole(ctx, c, obs, r))
	})
}

func (a *Actor) setRole(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, r action.PodRole) error {
	seen := podNamed(obs, r.Name)
	if refuses(Observed, seen == nil) {
		return fmt.Errorf("%w: Pod %s was not observed", ErrStale, r.Name)
	}
	if err := a.unchanged(ctx, c, BeforeRole); err != nil {
		return err
	}
	ops := []jsonpatch.Operation{
		op("replace", rolePath, string(r.Role)),
		annotation(v1beta2.AnnotationRoleSince, observe.RoleSince(obs.Now)),
	}
	if r.Role == facts.Voter { // a voter serves
		ops = append(ops, annotation(v1beta2.AnnotationProven, observe.Proven(seen)))
	}
	tests := of(SameRole, r.UID)
	tests.ops = append(tests.ops, op("test", rolePath, string(seen.Role)))
	return a.patchPod(ctx, c, r.Name, tests, ops...)
}

// grantStartPermit gives it to the Pod as it is now. One that arrives late is refused: another
// operator may have granted and withdrawn one meanwhile, and given the seed up.
func (a *Actor) grantStartPermit(ctx context.Context, c *v1beta2.EtcdCluster, x action.GrantStartPermit) error {
	pod, err := a.livePod(ctx, c, x.Name)
	if err != nil {
		return staleIf(StillThere, apierrors.IsNotFound, err, "read Pod "+x.Name)
	}
	if refuses(PermitOfSamePod, string(pod.UID) != x.UID) {
		return fmt.Errorf("%w: Pod %s was replaced", ErrStale, x.Name)
	}
	if err := a.unchanged(ctx, c, BeforePermit); err != nil {
		return err
	}
	return a.patchPod(ctx, c, x.Name, as(PermitAsRead, pod), op("add", permitPath, permitOf(c, x.StartPermit).String()))
}

func (a *Actor) revokeStartPermits(ctx context.Context, c *v1beta2.EtcdCluster, x action.RevokeStartPermits) error {
	return forEach(x.Pods, func(p action.PodRef) error {
		if err := a.unchanged(ctx, c, BeforeRevocation); err != nil {
			return err
		}
		return rejectedObject(c, x, p.Name, a.patchPod(ctx, c, p.Name, of(RevocationOfPod, p.UID), op("remove", permitPath, nil)))
	})
}

// permitOf writes a start permit as the launcher reads it.
func permitOf(c *v1beta2.EtcdCluster, g facts.StartPermit) *launcher.StartPermit {
	var peers []member.Peer
	for _, name := range g.Members {
		urls := []string{member.PeerURL(c, name)}
		if i := slices.IndexFunc(g.Elsewhere, func(e facts.PeerURLs) bool { return e.Name == name }); i >= 0 {
			urls = strings.Split(g.Elsewhere[i].At, ",")
		}
		for _, url := range urls {
			peers = append(peers, member.Peer{Name: name, URL: url})
		}
	}
	out := &launcher.StartPermit{Attempt: int64(g.Attempt), State: launcher.StateExisting, Token: g.Token, InitialCluster: member.InitialCluster(peers), CatchUp: g.CatchUp}
	for _, name := range g.After {
		out.After = append(out.After, member.PeerURL(c, name))
	}
	if g.New {
		out.State = launcher.StateNew
	}
	return out
}

func (a *Actor) deletePod(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, x action.DeletePod) error {
	if x.Members != nil {
		if err := a.sameMembers(ctx, c, obs, x.Members); err != nil {
			return err
		}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: x.Name, Namespace: c.Namespace}}
	return a.deleteIf(ctx, DeletionOfSamePod, pod, types.UID(x.UID), "", "delete Pod "+x.Name)
}

func (a *Actor) deleteClaim(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, x action.DeleteClaim) error {
	claim, err := a.observedClaim(ctx, c, x.Name, x.UID)
	if err != nil {
		return err
	}
	if err := a.sameMembers(ctx, c, obs, x.Members); err != nil {
		return err
	}
	if err := a.noPod(ctx, c, x.Name); err != nil {
		return err
	}
	// As it was read: a restore that retires it meanwhile keeps it.
	return a.deleteIf(ctx, ClaimAsRead, claim, claim.UID, claim.ResourceVersion, "delete volume "+x.Name)
}

// noPod looks live whether no Pod has that name. One of the cluster's gets back the labels
// that it may have lost.
func (a *Actor) noPod(ctx context.Context, c *v1beta2.EtcdCluster, name string) error {
	if err := a.noUnseenPod(ctx, c, &facts.Observation{}, name); err != nil {
		return err
	}
	_, err := a.livePod(ctx, c, name)
	if refuses(NoPodOfClaim, err == nil) {
		return fmt.Errorf("%w: Pod %s exists", ErrStale, name)
	}
	return client.IgnoreNotFound(err)
}

func (a *Actor) livePod(ctx context.Context, c *v1beta2.EtcdCluster, name string) (*corev1.Pod, error) {
	var pod corev1.Pod
	return &pod, a.Live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, &pod)
}

// canAdoptSeed looks whether a restore's seed is still the Pod that was handed over, and nobody
// serves beside it.
func (a *Actor) canAdoptSeed(ctx context.Context, c *v1beta2.EtcdCluster, x action.AdoptSeed) error {
	if err := a.seedIsThere(ctx, c, x); err != nil {
		return err
	}
	pods, err := a.liveMetadata(ctx, c)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(pods, func(p metav1.PartialObjectMetadata) bool {
		return p.Name != x.Name && p.Annotations[v1beta2.AnnotationRestore] == "" && p.DeletionTimestamp == nil
	})
	if i >= 0 && refuses(SeedIsAlone, true) {
		return fmt.Errorf("%w: Pod %s might serve beside the seed %s", ErrStale, pods[i].Name, x.Name)
	}
	return nil
}

func (a *Actor) seedIsThere(ctx context.Context, c *v1beta2.EtcdCluster, x action.AdoptSeed) error {
	pod, err := a.livePod(ctx, c, x.Name)
	if err != nil {
		return staleIf(StillThere, apierrors.IsNotFound, err, "read seed "+x.Name)
	}
	if refuses(SeedIsThere, string(pod.UID) != x.UID || pod.DeletionTimestamp != nil || !metav1.IsControlledBy(pod, c)) {
		return fmt.Errorf("%w: Pod %s has changed", ErrStale, x.Name)
	}
	return nil
}

func podNamed(obs *facts.Observation, name string) *facts.Pod {
	i := slices.IndexFunc(obs.Pods, func(p facts.Pod) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &obs.Pods[i]
}

func goneOrOther(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }
