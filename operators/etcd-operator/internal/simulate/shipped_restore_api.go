package simulate

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// restoreAPI is the API server as etcd-restore-operator reaches it, for the kinds and verbs that
// it uses.
type restoreAPI struct {
	client.Client
	*restorer
	cached bool
}

var (
	restores = schema.GroupResource{Group: v1beta2.GroupName, Resource: "etcdrestores"}
	jobs     = schema.GroupResource{Group: batchv1.GroupName, Resource: "jobs"}
)

func (a *restoreAPI) Scheme() *runtime.Scheme { return a.scheme }

func (a *restoreAPI) GroupVersionKindFor(o runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(o, a.scheme)
}

func (a *restoreAPI) Status() client.SubResourceWriter { return restoreStatus{restorer: a.restorer} }

func (a *restoreAPI) read(ctx context.Context, verb string, into any, name string, do func() error) error {
	if a.cached {
		return do()
	}
	return a.call(ctx, strings.TrimSpace(fmt.Sprintf("%s %T %s", verb, into, name)), false, do)
}

func (a *restoreAPI) Get(ctx context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	return a.read(ctx, "reading", into, key.Name, func() error {
		var found client.Object
		gone := pods
		switch into.(type) {
		case *v1beta2.EtcdRestore:
			gone = restores
			if o := a.restoreSeen(key.Name); o != nil {
				found = o.DeepCopy()
				if a.cached {
					a.looks.base = o.ResourceVersion
				}
			}
		case *v1beta2.EtcdCluster:
			gone = clusters
			c := &a.w.cluster
			if a.cached {
				c = &a.caches.cluster
			}
			if !c.gone && key.Name == clusterName {
				found = a.w.object(c)
			}
		case *corev1.Pod:
			for _, p := range a.podsSeen() {
				if p.name == key.Name {
					found = a.w.podObject(p)
				}
			}
		case *corev1.PersistentVolumeClaim:
			gone = volumes
			for _, c := range a.claimsSeen() {
				if c.name == key.Name {
					found = a.w.claimAsObject(c)
				}
			}
		case *batchv1.Job:
			gone = jobs
			if r := a.w.restoreOfJob(key.Name); r != nil {
				found = r.job.object
			}
		default:
			panic(fmt.Sprintf("%T is not simulated", into))
		}
		if !a.cached {
			a.note(into, key.Name)
		}
		if found == nil {
			return apierrors.NewNotFound(gone, key.Name)
		}
		a.observe(found)
		reflect.ValueOf(into).Elem().Set(reflect.ValueOf(found).Elem())
		return nil
	})
}

// restoreSeen is an EtcdRestore as a read finds it; nil if it finds none.
func (a *restoreAPI) restoreSeen(name string) *v1beta2.EtcdRestore {
	if !a.cached {
		if r := a.w.restoreOf(name); r != nil {
			return r.object
		}
		return nil
	}
	for _, r := range a.w.restores {
		if o := a.seen[r.uid]; o != nil && o.Name == name && (o.DeletionTimestamp == nil || len(o.Finalizers) > 0) {
			return o
		}
	}
	return nil
}

func (a *restoreAPI) podsSeen() []*pod {
	if a.cached { // the caches of main.go
		return cachedPods(a.caches)
	}
	return a.w.pods
}

func (a *restoreAPI) claimsSeen() []*claimObject {
	if a.cached {
		return cachedClaims(a.caches)
	}
	return liveClaims(a.w)
}

func (a *restoreAPI) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	var which client.ListOptions
	which.ApplyOptions(options)
	return a.read(ctx, "listing", into, "", func() error {
		switch list := into.(type) {
		case *v1beta2.EtcdRestoreList: // all are of the one EtcdCluster
			for _, r := range a.w.restores {
				if o := a.restoreSeen(r.object.Name); o != nil {
					list.Items = append(list.Items, *o.DeepCopy())
				}
			}
		case *corev1.PodList:
			all := a.podsSeen()
			list.Items = make([]corev1.Pod, 0, len(all))
			for _, p := range all {
				if o := a.w.podObject(p); which.LabelSelector.Matches(labels.Set(o.Labels)) {
					a.observe(o)
					list.Items = append(list.Items, *o)
				}
			}
			list.Items = append(list.Items, a.w.jobPods(which.LabelSelector)...)
		case *metav1.PartialObjectMetadataList:
			a.listMetadata(list)
		case *corev1.PersistentVolumeClaimList:
			all := a.claimsSeen()
			list.Items = make([]corev1.PersistentVolumeClaim, 0, len(all))
			for _, c := range all {
				if o := a.w.claimAsObject(c); which.LabelSelector.Matches(labels.Set(o.Labels)) {
					a.observe(o)
					if !a.cached {
						a.note(o, c.name)
					}
					list.Items = append(list.Items, *o)
				}
			}
		default:
			panic(fmt.Sprintf("%T is not simulated", into))
		}
		return nil
	})
}

// listMetadata lists what Pods or volumes are called, and whose they are.
func (a *restoreAPI) listMetadata(list *metav1.PartialObjectMetadataList) {
	switch list.Kind {
	case "PodList":
		a.looks.pods = map[string]bool{}
		for _, p := range a.podsSeen() {
			a.looks.pods[p.uid] = true
			list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: a.w.podObject(p).ObjectMeta})
		}
	case "PersistentVolumeClaimList":
		for _, c := range a.claimsSeen() {
			list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: a.w.claimAsObject(c).ObjectMeta})
		}
	default:
		panic(list.Kind + " is not simulated")
	}
}

func (a *restoreAPI) Create(ctx context.Context, o client.Object, _ ...client.CreateOption) error {
	return a.call(ctx, fmt.Sprintf("creating %T %s", o, o.GetName()), true, func() error {
		switch x := o.(type) {
		case *corev1.Pod:
			return a.createSeed(x)
		case *corev1.PersistentVolumeClaim:
			return a.createSeedClaim(x)
		case *batchv1.Job:
			return a.createJob(x)
		case *v1beta2.EtcdCluster:
			return a.createCluster(x)
		default:
			panic(fmt.Sprintf("%T is not simulated", o))
		}
	})
}

func (a *restoreAPI) Delete(ctx context.Context, o client.Object, options ...client.DeleteOption) error {
	var how client.DeleteOptions
	how.ApplyOptions(options)
	return a.call(ctx, fmt.Sprintf("deleting %T %s", o, o.GetName()), true, func() error {
		w := a.w
		switch x := o.(type) {
		case *corev1.Pod:
			p := w.pod(x.Name)
			if p == nil {
				return apierrors.NewNotFound(pods, x.Name)
			}
			if unmet(how.Preconditions, p.uid, p.resourceVersion()) {
				return apierrors.NewConflict(pods, x.Name, errConflict)
			}
			a.checkStop(p)
			w.deletePod(p)
		case *corev1.PersistentVolumeClaim:
			c := w.claim(x.Name)
			if c == nil {
				return apierrors.NewNotFound(volumes, x.Name)
			}
			if unmet(how.Preconditions, c.uid, resourceVersion(c.revision)) {
				return apierrors.NewConflict(volumes, x.Name, errConflict)
			}
			a.checkDrop(c)
			w.deleteClaim(c)
		case *v1beta2.EtcdCluster:
			if unmet(how.Preconditions, clusterUID(w.cluster.number), resourceVersion(w.cluster.version)) {
				return apierrors.NewConflict(clusters, x.Name, errConflict)
			}
			a.checkDismissal()
			w.edit(func(c *etcdCluster) { c.deleting = true })
		case *batchv1.Job:
			r := w.restoreOfJob(x.Name)
			if r == nil {
				return apierrors.NewNotFound(jobs, x.Name)
			}
			if unmet(how.Preconditions, string(r.job.object.UID), "") {
				return apierrors.NewConflict(jobs, x.Name, errConflict)
			}
			a.checkObserved("is deleted", x, string(r.job.object.UID))
			r.job = nil
		default:
			panic(fmt.Sprintf("%T is not simulated", o))
		}
		return nil
	})
}

func (a *restoreAPI) Patch(ctx context.Context, o client.Object, how client.Patch, _ ...client.PatchOption) error {
	data, err := how.Data(o) // of a merge patch it is the difference
	if err != nil {
		return err
	}
	how = client.RawPatch(how.Type(), data)
	return a.call(ctx, fmt.Sprintf("patching %T %s", o, o.GetName()), true, func() error {
		switch x := o.(type) {
		case *v1beta2.EtcdRestore:
			return a.patchRestore(x, how)
		case *v1beta2.EtcdCluster:
			return a.patchCluster(x, how)
		case *corev1.Pod:
			return a.patchSeed(x.Name, how)
		case *corev1.PersistentVolumeClaim:
			return a.patchClaim(x.Name, how)
		}
		panic(fmt.Sprintf("a patch of %T is not simulated", o))
	})
}

// invalid is a JSON patch of which a test has failed.
func invalid(kind, name string) error {
	return apierrors.NewInvalid(schema.GroupKind{Kind: kind}, name, nil)
}

func (a *restoreAPI) patchRestore(o *v1beta2.EtcdRestore, how client.Patch) error {
	r := a.w.restoreOf(o.Name)
	if r == nil {
		return apierrors.NewNotFound(restores, o.Name)
	}
	var next v1beta2.EtcdRestore
	if err := patched(r.object, how, &next); err != nil {
		return invalid("EtcdRestore", o.Name)
	}
	if next.ResourceVersion != r.object.ResourceVersion {
		return apierrors.NewConflict(restores, o.Name, errConflict)
	}
	r.put(a.w, &next)
	next.DeepCopyInto(o)
	return nil
}

func (a *restoreAPI) patchCluster(o *v1beta2.EtcdCluster, how client.Patch) error {
	w := a.w
	if w.cluster.gone {
		return apierrors.NewNotFound(clusters, o.Name)
	}
	is := w.object(&w.cluster)
	var next v1beta2.EtcdCluster
	if err := patched(is, how, &next); err != nil {
		return invalid("EtcdCluster", o.Name)
	}
	if next.ResourceVersion != is.ResourceVersion || next.UID != is.UID {
		return apierrors.NewConflict(clusters, o.Name, errConflict)
	}
	a.mark(next.Annotations)
	return nil
}

func (a *restoreAPI) patchSeed(name string, how client.Patch) error {
	p := a.w.pod(name)
	if p == nil {
		return apierrors.NewNotFound(pods, name)
	}
	var next corev1.Pod
	if err := patched(a.w.podObject(p), how, &next); err != nil {
		return invalid("Pod", name)
	}
	a.checkPermitted(p, &next)
	p.object = &next
	return nil
}

func (a *restoreAPI) patchClaim(name string, how client.Patch) error {
	c := a.w.claim(name)
	if c == nil {
		return apierrors.NewNotFound(volumes, name)
	}
	var next corev1.PersistentVolumeClaim
	if err := patched(a.w.claimAsObject(&c.claimObject), how, &next); err != nil {
		return invalid("PersistentVolumeClaim", name)
	}
	if next.ResourceVersion != resourceVersion(c.revision) {
		return apierrors.NewConflict(volumes, name, errConflict)
	}
	a.checkRelabel(c, &next)
	c.retired = next.Labels[v1beta2.LabelRetiredBy]
	c.set(&next)
	return nil
}

// restoreStatus writes the status of an EtcdRestore.
type restoreStatus struct {
	client.SubResourceWriter
	*restorer
}

func (s restoreStatus) Update(ctx context.Context, o client.Object, _ ...client.SubResourceUpdateOption) error {
	e, ok := o.(*v1beta2.EtcdRestore)
	if !ok {
		panic(fmt.Sprintf("%T is not simulated", o))
	}
	return s.call(ctx, "writing the status of "+e.Name, false, func() error {
		r := s.w.restoreOf(e.Name)
		switch {
		case r == nil || r.object.UID != e.UID:
			return apierrors.NewNotFound(restores, e.Name)
		case r.object.ResourceVersion != e.ResourceVersion:
			return apierrors.NewConflict(restores, e.Name, errConflict)
		}
		next := r.object.DeepCopy()
		e.Status.DeepCopyInto(&next.Status)
		inWholeSeconds(reflect.ValueOf(&next.Status))
		if s.w.trace != nil {
			if now := next.Status; now.Phase != r.object.Status.Phase || now.SeedMember != r.object.Status.SeedMember {
				s.w.say("EtcdRestore %s: %s, seed %s, %s", e.Name, now.Phase, now.SeedMember, now.Reason)
			}
		}
		r.put(s.w, next)
		e.ResourceVersion = next.ResourceVersion
		return nil
	})
}
