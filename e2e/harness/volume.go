package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Claim claims a volume of the default class or, with a name, that very volume.
func Claim(namespace, name, volume string) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")}
	if volume != "" {
		none := ""
		c.Spec.StorageClassName, c.Spec.VolumeName = &none, volume
	}
	return c
}

// GrowingClass makes a storage class like the default one, but that its volumes may grow.
// remove takes it away.
func (e *Env) GrowingClass(ctx context.Context, name string) (remove func() error, err error) {
	var classes storagev1.StorageClassList
	if err := e.Client.List(ctx, &classes); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(classes.Items, func(c storagev1.StorageClass) bool {
		return c.Annotations["storageclass.kubernetes.io/is-default-class"] == "true"
	})
	if i < 0 {
		return nil, errors.New("there is no default storage class")
	}
	class := classes.Items[i]
	class.ObjectMeta = metav1.ObjectMeta{Name: name}
	class.AllowVolumeExpansion = new(true)
	return func() error { return e.Client.Delete(context.Background(), &class) }, e.Client.Create(ctx, &class)
}

// Resize gives a claim and its volume what it asks for, as the resizer of a storage driver
// does. (The volumes of localkube are folders, which have no size.)
func (e *Env) Resize(ctx context.Context, c *corev1.PersistentVolumeClaim) error {
	capacity := corev1.ResourceList{corev1.ResourceStorage: c.Spec.Resources.Requests[corev1.ResourceStorage]}
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: c.Spec.VolumeName}}
	old := v.DeepCopy()
	v.Spec.Capacity = capacity
	if err := e.Client.Patch(ctx, v, client.MergeFrom(old)); err != nil {
		return err
	}
	c = c.DeepCopy()
	was := c.DeepCopy()
	c.Status.Capacity, c.Status.Conditions = capacity, nil
	return e.Client.Status().Patch(ctx, c, client.MergeFrom(was))
}

// SmallVolume makes a volume that is full after a quarter of a mebibyte, whatever its
// claim says. It needs localkube, whose first node is this machine: the volume is a
// memory file system here. remove takes it away, whoever still has it mounted.
func (e *Env) SmallVolume(ctx context.Context, name string) (remove func() error, err error) {
	if e.Local == nil {
		return nil, ErrNoNodeAccess
	}
	dir, err := os.MkdirTemp("", "etcd-operators-small-")
	if err != nil {
		return nil, err
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		return nil, errors.Join(fmt.Errorf("mount a tmpfs at %s: %w", dir, err), os.Remove(dir))
	}
	v := smallVolume(name, dir, e.Local.NodeName(1))
	remove = func() error {
		err := e.Client.Delete(context.Background(), v)
		return errors.Join(err, unix.Unmount(dir, unix.MNT_DETACH), os.Remove(dir))
	}
	if err := e.Client.Create(ctx, v); err != nil {
		return nil, errors.Join(err, unix.Unmount(dir, unix.MNT_DETACH), os.Remove(dir))
	}
	return remove, nil
}

// smallVolume is a folder of a node.
func smallVolume(name, dir, node string) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	v.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")}
	v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	v.Spec.Local = &corev1.LocalVolumeSource{Path: dir}
	v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
	}}}}
	return v
}
