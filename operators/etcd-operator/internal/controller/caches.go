package controller

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Caches keep in memory only what is needed: Pods, volumes and EndpointSlices of
// etcd, the owners of Services and PodDisruptionBudgets, the readiness of nodes. Live
// lists use member.Selector, which has the label of these, so that both find the same.
func Caches(mayReadNodes, mayReadClasses bool) cache.Options {
	ours := labels.SelectorFromSet(labels.Set{v1beta2.LabelApp: v1beta2.AppEtcd})
	opts := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:                   {Label: ours},
			&corev1.PersistentVolumeClaim{}: {Label: ours},
			&discoveryv1.EndpointSlice{}:    {Label: ours},
			// All of them, so that those of others are seen in the place of ours.
			&corev1.Service{}:               {Transform: onlyOurs},
			&policyv1.PodDisruptionBudget{}: {Transform: onlyOurs},
		},
	}
	if mayReadNodes {
		opts.ByObject[&corev1.Node{}] = cache.ByObject{Transform: onlyReadiness}
	}
	if mayReadClasses {
		opts.ByObject[&storagev1.StorageClass{}] = cache.ByObject{}
	}
	return opts
}

// onlyOurs leaves of the Services and PodDisruptionBudgets of others only who they
// are and whose.
func onlyOurs(in any) (any, error) {
	o, ok := in.(client.Object)
	if !ok {
		return in, nil
	}
	o.SetManagedFields(nil)
	if o.GetLabels()[v1beta2.LabelCluster] != "" {
		return o, nil
	}
	o.SetAnnotations(nil)
	o.SetLabels(nil)
	switch x := o.(type) {
	case *corev1.Service:
		x.Spec, x.Status = corev1.ServiceSpec{}, corev1.ServiceStatus{}
	case *policyv1.PodDisruptionBudget:
		x.Spec, x.Status = policyv1.PodDisruptionBudgetSpec{}, policyv1.PodDisruptionBudgetStatus{}
	}
	return o, nil
}

// onlyReadiness leaves of a node only its name, and whether it is ready and takes Pods.
func onlyReadiness(in any) (any, error) {
	node, ok := in.(*corev1.Node)
	if !ok {
		return in, nil
	}
	small := &corev1.Node{}
	small.Name, small.UID, small.ResourceVersion = node.Name, node.UID, node.ResourceVersion
	small.Spec.Unschedulable = node.Spec.Unschedulable
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			small.Status.Conditions = append(small.Status.Conditions, c)
		}
	}
	return small, nil
}
