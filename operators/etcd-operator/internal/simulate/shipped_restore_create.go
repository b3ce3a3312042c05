package simulate

import (
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// This file is what comes into being by a restore: its seed, with its volume, and an EtcdCluster.

// awaitCreation begins a run of the shipped code without an EtcdCluster: the restore of BornFenced
// makes it.
func (w *world) awaitCreation() {
	if w.cfg.BornFenced {
		w.cluster.gone, w.cluster.fence.Mark, w.cluster.restoredBy = true, "", ""
		w.awaited = true
		w.publishedCluster = w.cluster
		for _, op := range w.operators {
			op.cluster = w.cluster
		}
	}
}

func (s *restorer) createCluster(o *v1beta2.EtcdCluster) error {
	w := s.w
	if !w.cluster.gone {
		return apierrors.NewAlreadyExists(clusters, o.Name)
	}
	s.checkBase("an EtcdCluster is made")
	if s.looks.restore.DeletionTimestamp != nil {
		w.fail("S12", "restore %s makes an EtcdCluster, and its EtcdRestore is being deleted", s.of.uid)
	}
	w.say("restore %s makes the EtcdCluster", s.of.uid)
	w.awaited, w.cluster.gone = false, false
	w.mark(func(f *facts.Fence) { f.Mark = o.Annotations[v1beta2.AnnotationFence] })
	w.cluster.restoredBy = o.Annotations[v1beta2.AnnotationRestoredBy]
	o.UID, o.ResourceVersion = types.UID(clusterUID(w.cluster.number)), resourceVersion(w.cluster.version)
	return nil
}

func (a *restoreAPI) createSeed(p *corev1.Pod) error {
	if a.w.pod(p.Name) != nil {
		return apierrors.NewAlreadyExists(pods, p.Name)
	}
	if a.w.during(RefusePods) {
		return apierrors.NewForbidden(pods, p.Name, errRefused)
	}
	a.checkLeft("a seed is made")
	read := observe.PodOf(a.w.object(&a.w.cluster), p)
	made := &pod{
		object: p.DeepCopy(), name: p.Name, role: read.Role, persistent: read.Persistent, version: read.Version, repository: read.Repository,
		template: templateOf(p), learners: read.Learners, quota: quotaOf(p), trust: p.Annotations[v1beta2.AnnotationTrust], snapshot: a.of.uid,
	}
	a.w.createPod(made)
	p.UID = types.UID(made.uid)
	return nil
}

func (a *restoreAPI) createSeedClaim(p *corev1.PersistentVolumeClaim) error {
	if a.w.claim(p.Name) != nil {
		return apierrors.NewAlreadyExists(volumes, p.Name)
	}
	if a.w.during(RefuseClaims) {
		return apierrors.NewForbidden(volumes, p.Name, errRefused)
	}
	a.checkLeft("a seed's volume is made")
	c := a.w.createClaim(p.Name)
	c.restore = a.of.uid
	c.set(p.DeepCopy())
	c.capacity = c.requested
	p.UID, p.ResourceVersion = types.UID(c.uid), resourceVersion(c.revision)
	return nil
}
