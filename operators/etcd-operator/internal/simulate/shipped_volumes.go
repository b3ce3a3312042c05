package simulate

import (
	"errors"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// This file is the volumes of the shipped code: PersistentVolumeClaims as the API server has
// them, and what the world goes by of them.

// className is the StorageClass of all volumes.
const className = "class"

// errFrozen is what the API server says of a volume that cannot grow.
var errFrozen = errors.New("the storage class that provisions the volume must support resize")

// readsClasses reports whether operators may read StorageClasses.
func (c *Config) readsClasses() bool { return c.Expansion == growing || c.Expansion == frozen }

func (w *world) class() *storagev1.StorageClass {
	grows := w.cfg.Expansion < frozen
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: className}, AllowVolumeExpansion: &grows}
}

// ships reports whether the operators are the shipped code.
func (w *world) ships() bool { return len(w.operators) > 0 && w.operators[0].shipped != nil }

// set takes from a claim's object what the world goes by.
func (c *claimObject) set(o *corev1.PersistentVolumeClaim) {
	owner := ""
	if member.IsRetained(o) {
		owner = o.Labels[v1beta2.LabelOwner]
	}
	if ref := metav1.GetControllerOf(o); ref != nil {
		owner = string(ref.UID)
	}
	c.object, c.owner, c.retained = o, clusterNumber(owner), member.IsRetained(o)
	c.version, c.reseed = o.Annotations[member.AnnotationVersion], o.Annotations[v1beta2.AnnotationSurvivorPermit]
	c.refused, c.refusedAt = 0, 0
	if words := strings.Fields(o.Annotations[v1beta2.AnnotationGrowthRefused]); len(words) > 1 {
		c.refused, _ = strconv.ParseInt(words[0], 10, 64) // as the operator writes it
		at, _ := time.Parse(time.RFC3339, words[1])
		c.refusedAt = at.Sub(epoch)
	}
	c.requested = o.Spec.Resources.Requests.Storage().Value()
}

// clusterNumber is the number in clusterUID; -1 if it is none.
func clusterNumber(uid string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(uid, clusterUIDs))
	if err != nil {
		return -1
	}
	return n
}

// changeClaim is a change of a claim that the API server is asked for.
func (w *world) changeClaim(c *claim, next *corev1.PersistentVolumeClaim) error {
	switch size := next.Spec.Resources.Requests.Storage().Value(); {
	case size < c.requested:
		return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim").GroupKind(), c.name, nil)
	case size > c.requested && w.cfg.Expansion >= frozen:
		return apierrors.NewForbidden(volumes, c.name, errFrozen)
	}
	w.touch("a volume is changed")
	owner, reseed := c.owner, c.reseed
	c.set(next)
	if c.owner != owner {
		w.checkTaken(c)
	}
	if c.reseed != reseed {
		w.checkMarks()
	}
	return nil
}
