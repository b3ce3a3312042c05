package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// api is the API server as the shipped operator reaches it: for the kinds and verbs that it
// uses, and no others (they panic). Reads of the cached one are of the operator's caches, and
// are no calls.
type api struct {
	client.Client
	*shipped
	scheme *runtime.Scheme
	cached bool
}

// timedOut is what is told of a call of which nobody knows whether it took effect.
var timedOut = apierrors.NewTimeoutError("the API server did not answer in time", 0)

var (
	volumes  = schema.GroupResource{Resource: "persistentvolumeclaims"}
	pods     = schema.GroupResource{Resource: "pods"}
	clusters = schema.GroupResource{Group: v1beta2.GroupName, Resource: "etcdclusters"}
)

func (a *api) Scheme() *runtime.Scheme { return a.scheme }

func (a *api) GroupVersionKindFor(o runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(o, a.scheme)
}

func (a *api) Status() client.SubResourceWriter { return status{shipped: a.shipped} }

// read is a read of a cache, or a call.
func (a *api) read(ctx context.Context, verb string, into any, name string, do func() error) error {
	if a.cached {
		return do()
	}
	return a.call(ctx, strings.TrimSpace(fmt.Sprintf("%s %T %s", verb, into, name)), timedOut, do)
}

func (a *api) Get(ctx context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	return a.read(ctx, "reading", into, key.Name, func() error {
		var found client.Object
		switch into.(type) {
		case *v1beta2.EtcdCluster:
			if !a.cached {
				a.noteLook()
			}
			if c := a.clusterSeen(); !c.gone {
				found = a.w.object(c)
			}
		case *corev1.Pod:
			for _, p := range a.podsSeen() {
				if p.name == key.Name {
					found = a.w.podObject(p)
				}
			}
		case *corev1.PersistentVolumeClaim:
			for _, c := range a.claimsSeen() {
				if c.name == key.Name {
					found = a.w.claimAsObject(c)
				}
			}
		case *corev1.Node:
			found = a.w.nodeObject(key.Name)
		case *storagev1.StorageClass:
			found = a.w.class()
		case *corev1.Service, *policyv1.PodDisruptionBudget:
			if o, ok := a.w.children[childKey(into, key.Name)]; ok {
				found = a.w.childObject(o)
				a.looks.noteChild(childKey(into, key.Name), o)
			}
		case *corev1.Secret: // changed in place by who reads it
			if s := a.w.secret(key.Name); s != nil {
				found = s.DeepCopy()
			}
		default:
			panic(fmt.Sprintf("%T is not simulated", into))
		}
		if found == nil {
			gvk, err := a.GroupVersionKindFor(into)
			if err != nil {
				return err
			}
			plural, _ := meta.UnsafeGuessKindToResource(gvk)
			return apierrors.NewNotFound(plural.GroupResource(), key.Name)
		}
		reflect.ValueOf(into).Elem().Set(reflect.ValueOf(found).Elem())
		return nil
	})
}

func (a *api) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	var which client.ListOptions
	which.ApplyOptions(options)
	return a.read(ctx, "listing", into, "", func() error {
		switch list := into.(type) {
		case *corev1.PodList:
			all := a.podsSeen()
			if !a.cached {
				a.op.todo.asked.seesPods(a.w)
			}
			list.Items = make([]corev1.Pod, 0, len(all))
			for _, p := range all {
				if which.LabelSelector.Matches(labels.Set(p.object.Labels)) {
					list.Items = append(list.Items, *a.w.podObject(p))
				}
			}
		case *metav1.PartialObjectMetadataList: // of Pods
			for _, p := range a.podsSeen() {
				if which.LabelSelector == nil || which.LabelSelector.Matches(labels.Set(p.object.Labels)) {
					list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: a.w.podObject(p).ObjectMeta})
				}
			}
		case *corev1.PersistentVolumeClaimList:
			all := a.claimsSeen()
			list.Items = make([]corev1.PersistentVolumeClaim, 0, len(all))
			for _, c := range all {
				if o := a.w.claimAsObject(c); which.LabelSelector.Matches(labels.Set(o.Labels)) {
					list.Items = append(list.Items, *o)
				}
			}
		case *v1beta2.EtcdBackupList: // nobody has made any
		case *discoveryv1.EndpointSliceList:
			list.Items = append(list.Items, a.w.endpoints(a.podsSeen()))
		default:
			panic(fmt.Sprintf("%T is not simulated", into))
		}
		return nil
	})
}

// clusterSeen is the EtcdCluster as a read finds it.
func (a *api) clusterSeen() *etcdCluster {
	if a.cached {
		return &a.op.cluster
	}
	return &a.w.cluster
}

// podsSeen are the Pods as a read finds them.
func (a *api) podsSeen() []*pod {
	if a.cached {
		return cachedPods(a.op)
	}
	return a.w.pods
}

// cachedPods are those that caches hold (controller.Caches).
func cachedPods(op *operator) []*pod {
	all := make([]*pod, 0, len(op.pods))
	for i := range op.pods {
		if p := &op.pods[i]; p.object.Labels[v1beta2.LabelApp] == v1beta2.AppEtcd {
			all = append(all, p)
		}
	}
	return all
}

// claimsSeen are the volumes as a read finds them.
func (a *api) claimsSeen() []*claimObject {
	if a.cached {
		return cachedClaims(a.op)
	}
	return liveClaims(a.w)
}

func cachedClaims(op *operator) []*claimObject {
	all := make([]*claimObject, len(op.claims))
	for i := range op.claims {
		all[i] = &op.claims[i]
	}
	return all
}

func liveClaims(w *world) []*claimObject {
	all := make([]*claimObject, len(w.claims))
	for i, c := range w.claims {
		all[i] = &c.claimObject
	}
	return all
}

func (a *api) Create(ctx context.Context, o client.Object, _ ...client.CreateOption) error {
	switch x := o.(type) {
	case *corev1.Pod:
		return a.write(ctx, "creating Pod "+x.Name, timedOut, func() error { return a.createPod(x) })
	case *corev1.PersistentVolumeClaim:
		return a.write(ctx, "creating PVC "+x.Name, timedOut, func() error { return a.createClaim(x) })
	case *corev1.Secret:
		return a.write(ctx, "creating Secret "+x.Name, timedOut, func() error { return a.createSecret(x) })
	}
	panic(fmt.Sprintf("%T is not simulated", o))
}

func (a *api) createPod(p *corev1.Pod) error {
	if a.w.pod(p.Name) != nil {
		return apierrors.NewAlreadyExists(pods, p.Name)
	}
	p = a.w.otherLearners(p)
	read := observe.PodOf(a.w.object(&a.w.cluster), p)
	if a.w.during(RefusePods) {
		if a.w.claim(p.Name) != nil && read.Role != facts.Returning {
			a.w.checkOrphans(a.op, p.Name)
		}
		return apierrors.NewForbidden(pods, p.Name, errRefused)
	}
	a.w.touch("a Pod is made")
	a.w.checkCreate(&action.NewPod{Name: p.Name, Version: read.Version, Role: read.Role, StartPermit: read.StartPermit})
	a.w.checkCertified(&a.op.todo.seen.Cluster, p.Name)
	a.w.createPod(&pod{
		object: p.DeepCopy(), name: p.Name, role: read.Role, permit: read.StartPermit, persistent: read.Persistent,
		version: read.Version, repository: read.Repository, template: templateOf(p), learners: read.Learners, quota: quotaOf(p), trust: p.Annotations[v1beta2.AnnotationTrust],
		recovery: taskOf(p), survivorPermit: read.SurvivorPermit,
	})
	return nil
}

func (a *api) createClaim(p *corev1.PersistentVolumeClaim) error {
	if a.w.claim(p.Name) != nil {
		return apierrors.NewAlreadyExists(volumes, p.Name)
	}
	if a.w.during(RefuseClaims) {
		return apierrors.NewForbidden(volumes, p.Name, errRefused)
	}
	a.w.touch("a volume is made")
	c := a.w.createClaim(p.Name)
	c.set(p.DeepCopy())
	c.capacity = c.requested
	p.UID, p.ResourceVersion = types.UID(c.uid), resourceVersion(c.revision)
	return nil
}

func (a *api) Delete(ctx context.Context, o client.Object, options ...client.DeleteOption) error {
	var how client.DeleteOptions
	how.ApplyOptions(options)
	return a.write(ctx, fmt.Sprintf("deleting %T %s", o, o.GetName()), timedOut, func() error {
		switch x := o.(type) {
		case *corev1.Pod:
			p := a.w.pod(x.Name)
			if p == nil {
				return apierrors.NewNotFound(pods, x.Name)
			}
			if unmet(how.Preconditions, p.uid, p.resourceVersion()) {
				return apierrors.NewConflict(pods, x.Name, errConflict)
			}
			a.w.touch("a Pod is deleted")
			switch d := a.op.todo.decision.Action.(type) {
			case action.RecreatePod:
				a.w.checkStartable(a.op.todo, p)
				a.w.checkPodDeletion(a.op.todo, p, false)
				a.w.checkRecreate(a.op.todo, p)
			case action.DeletePod:
				a.w.checkPodDeletion(a.op.todo, p, len(d.Members) > 0)
				a.w.checkKept(p)
			case action.DropSeed:
				a.w.checkSeedDrop(p.name)
			default:
				a.w.fail("S11", "%s deletes Pod %s", action.KindOf(d), p.name)
			}
			a.w.deletePod(p)
		case *corev1.PersistentVolumeClaim:
			c := a.w.claim(x.Name)
			if c == nil {
				return apierrors.NewNotFound(volumes, x.Name)
			}
			if unmet(how.Preconditions, c.uid, resourceVersion(c.revision)) {
				return apierrors.NewConflict(volumes, x.Name, errConflict)
			}
			a.w.touch("a volume is deleted")
			if _, drops := a.op.todo.decision.Action.(action.DropSeed); drops {
				a.w.checkSeedDrop(c.name)
			} else {
				a.w.checkClaimDeletion(c, a.op.todo)
				a.w.checkOldData(c.name, c.disk)
			}
			a.w.deleteClaim(c)
		case *policyv1.PodDisruptionBudget:
			is := a.w.children[childKey(x, x.Name)]
			if is == nil {
				return apierrors.NewNotFound(policyv1.Resource("poddisruptionbudgets"), x.Name)
			}
			if unmet(how.Preconditions, string(is.GetUID()), is.GetResourceVersion()) {
				return apierrors.NewConflict(policyv1.Resource("poddisruptionbudgets"), x.Name, errConflict)
			}
			a.w.touch("the PodDisruptionBudget is deleted")
			a.w.checkBudget(a.op.todo, facts.NoBudget)
			delete(a.w.children, childKey(x, x.Name))
			a.w.budget = 0
		default:
			panic(fmt.Sprintf("%T is not simulated", o))
		}
		return nil
	})
}

// unmet reports whether a precondition does not hold.
func unmet(p *metav1.Preconditions, uid, version string) bool {
	return p != nil && ((p.UID != nil && string(*p.UID) != uid) || (p.ResourceVersion != nil && *p.ResourceVersion != version))
}

func (a *api) Patch(ctx context.Context, o client.Object, how client.Patch, _ ...client.PatchOption) error {
	switch o.(type) {
	case *corev1.Pod:
		return a.write(ctx, "patching Pod "+o.GetName(), timedOut, func() error { return a.patchPod(o.GetName(), how) })
	case *corev1.PersistentVolumeClaim:
		return a.write(ctx, "patching PVC "+o.GetName(), timedOut, func() error { return a.patchClaim(o.GetName(), how) })
	case *corev1.Secret:
		return a.write(ctx, "patching Secret "+o.GetName(), timedOut, func() error { return a.patchSecret(o, how) })
	}
	panic(fmt.Sprintf("a patch of %T is not simulated", o))
}

func (a *api) patchPod(name string, how client.Patch) error {
	p := a.w.pod(name)
	if p == nil {
		return apierrors.NewNotFound(pods, name)
	}
	var next corev1.Pod
	if err := patched(a.w.podObject(p), how, &next); err != nil {
		return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), name, nil)
	}
	a.w.touch("a Pod is changed")
	read := observe.PodOf(a.w.object(&a.w.cluster), &next)
	if read.Role != p.role {
		a.w.checkRole(p, read.Role)
		p.role = read.Role
	}
	if read.StartPermit != nil && (p.permit == nil || p.permit.Attempt != read.StartPermit.Attempt) {
		a.w.checkPermit(p.name, read.StartPermit)
	}
	if read.Version != p.version || read.Repository != p.repository {
		x, _ := a.op.todo.decision.Action.(action.ChangeImage)
		a.w.checkImage(a.op.todo, p, x)
		p.changeTo(read.Repository, read.Version)
	}
	p.survivorPermit = read.SurvivorPermit
	p.permit, p.object = read.StartPermit, &next
	p.provenRestarts, p.provenImage = read.ProvenRestarts, read.ProvenImage
	if !read.RoleSince.IsZero() {
		p.roleAt = read.RoleSince.Sub(epoch)
	}
	return nil
}

func (a *api) patchClaim(name string, how client.Patch) error {
	c := a.w.claim(name)
	if c == nil {
		return apierrors.NewNotFound(volumes, name)
	}
	var next corev1.PersistentVolumeClaim
	is := a.w.claimAsObject(&c.claimObject)
	if err := patched(is, how, &next); err != nil {
		return err
	}
	if next.UID != is.UID || next.ResourceVersion != is.ResourceVersion {
		return apierrors.NewConflict(volumes, name, errConflict)
	}
	return a.w.changeClaim(c, &next)
}

// Apply is server-side apply by one who owns all that he applies.
func (a *api) Apply(ctx context.Context, what runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	data, err := json.Marshal(what)
	if err != nil {
		return err
	}
	var u unstructured.Unstructured
	if err := json.Unmarshal(data, &u.Object); err != nil {
		return err
	}
	return a.write(ctx, "applying "+u.GetKind()+" "+u.GetName(), timedOut, func() error {
		o, err := a.scheme.New(u.GroupVersionKind())
		if err != nil {
			return err
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o); err != nil {
			return err
		}
		a.w.touch("a child is changed")
		if pdb, ok := o.(*policyv1.PodDisruptionBudget); ok {
			a.w.budget = pdb.Spec.MinAvailable.IntValue()
			a.w.checkBudget(a.op.todo, a.w.budget)
		}
		a.w.keepChild(childKey(o.(client.Object), u.GetName()), o.(client.Object))
		return nil
	})
}

// checkBudget: the PodDisruptionBudget becomes what was decided on.
func (w *world) checkBudget(t *todo, n int) {
	if t.decision.Budget != n {
		w.fail("Budget", "the PodDisruptionBudget becomes %d, and %d was decided on", n, t.decision.Budget)
	}
}

func childKey(o client.Object, name string) string { return reflect.TypeOf(o).String() + " " + name }

// status writes the status of the EtcdCluster.
type status struct {
	client.SubResourceWriter
	*shipped
}

func (s status) Update(ctx context.Context, o client.Object, _ ...client.SubResourceUpdateOption) error {
	c, ok := o.(*v1beta2.EtcdCluster)
	if !ok {
		panic(fmt.Sprintf("%T is not simulated", o))
	}
	return s.call(ctx, "writing the status", timedOut, func() error {
		if s.w.cluster.gone || c.UID != types.UID(clusterUID(s.w.cluster.number)) {
			return apierrors.NewNotFound(clusters, c.Name)
		}
		if c.ResourceVersion != "" && c.ResourceVersion != resourceVersion(s.w.cluster.version) {
			return apierrors.NewConflict(clusters, c.Name, errConflict)
		}
		next := c.Status.DeepCopy()
		inWholeSeconds(reflect.ValueOf(next))
		s.w.keepStatus(next)
		c.ResourceVersion = resourceVersion(s.w.cluster.version)
		return nil
	})
}

// endpoints is the EndpointSlice of both Services.
func (w *world) endpoints(all []*pod) discoveryv1.EndpointSlice {
	s := discoveryv1.EndpointSlice{Endpoints: make([]discoveryv1.Endpoint, 0, len(all))}
	for _, p := range all {
		if !p.addressed && !p.routed || p.unlabelled() {
			continue
		}
		e := discoveryv1.Endpoint{Conditions: discoveryv1.EndpointConditions{Ready: new(p.routed)}, TargetRef: &corev1.ObjectReference{UID: types.UID(p.uid)}}
		if p.addressed {
			e.Hostname, e.Addresses = &p.name, []string{address(p.uid)}
		}
		s.Endpoints = append(s.Endpoints, e)
	}
	return s
}
