package member

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// AnnotationVersion on a member's Pod holds the etcd version in its image,
// without a "v". The predecessor's annotation, read by others. On the claim of a member
// whose volume is retained it is the version of an etcd that starts on it.
const AnnotationVersion = "etcd.version"

// Recommended labels that the user may set to something else.
const (
	labelComponent = "app.kubernetes.io/component"
	labelPartOf    = "app.kubernetes.io/part-of"
)

// Selector is the labels that select every object of a cluster: in caches and in live
// lists. Who lists by anything else sees what the caches do not. Pods that an earlier
// EtcdCluster of that name has left have them too: Services tell these apart by
// v1beta2.LabelOwner.
func Selector(cluster string) map[string]string {
	return map[string]string{
		v1beta2.LabelApp:     v1beta2.AppEtcd,
		v1beta2.LabelCluster: cluster,
	}
}

// podSelector selects the Pods of the EtcdCluster, and of no other of its name.
func podSelector(c *v1beta2.EtcdCluster) map[string]string {
	s := Selector(c.Name)
	s[v1beta2.LabelOwner] = string(c.UID)
	return s
}

// voterSelector selects the Pods of the members that may serve clients. They
// are also the ones that count for the quorum.
func voterSelector(c *v1beta2.EtcdCluster) map[string]string {
	return map[string]string{
		v1beta2.LabelCluster: c.Name,
		v1beta2.LabelRole:    v1beta2.RoleVoter,
		v1beta2.LabelOwner:   string(c.UID),
	}
}

// IsLabelled reports whether a Pod has the labels by which Services select it: one that an
// earlier release made lacks LabelOwner until the operator has put it there.
func IsLabelled(c *v1beta2.EtcdCluster, pod metav1.Object) bool {
	return pod.GetLabels()[v1beta2.LabelOwner] == string(c.UID)
}

// SelectByName makes a Service or PodDisruptionBudget select as those of an earlier release
// do: while one of the cluster's Pods is not labelled, it would lose that.
func SelectByName(o metav1.Object) {
	switch o := o.(type) {
	case *corev1.Service:
		delete(o.Spec.Selector, v1beta2.LabelOwner)
	case *policyv1.PodDisruptionBudget:
		delete(o.Spec.Selector.MatchLabels, v1beta2.LabelOwner)
	}
}

// SelectsByOwner reports whether a Service or PodDisruptionBudget selects the Pods of one
// EtcdCluster alone.
func SelectsByOwner(o metav1.Object) bool {
	switch o := o.(type) {
	case *corev1.Service:
		return o.Spec.Selector[v1beta2.LabelOwner] != ""
	case *policyv1.PodDisruptionBudget:
		return o.Spec.Selector != nil && o.Spec.Selector.MatchLabels[v1beta2.LabelOwner] != ""
	}
	return false
}

// clusterLabels are on every object of a cluster.
func clusterLabels(cluster string) map[string]string {
	l := Selector(cluster)
	l[v1beta2.LabelName] = v1beta2.AppEtcd
	l[v1beta2.LabelInstance] = cluster
	l[v1beta2.LabelManagedBy] = v1beta2.ManagedBy
	l[labelComponent] = "database"
	l[labelPartOf] = cluster
	return l
}

// objectMeta is that of an object of a cluster which is deleted with it.
func objectMeta(c *v1beta2.EtcdCluster, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:            name,
		Namespace:       c.Namespace,
		Labels:          clusterLabels(c.Name),
		OwnerReferences: []metav1.OwnerReference{Owner(c)},
	}
}

// memberLabels are on a member's Pod and claim.
func memberLabels(cluster, name string) map[string]string {
	l := clusterLabels(cluster)
	l[v1beta2.LabelMember] = name
	return l
}

// ClaimLabels are on a member's claim, beside LabelOwner where volumes are retained.
func ClaimLabels(c *v1beta2.EtcdCluster, name string) map[string]string {
	return memberLabels(c.Name, name)
}

// podLabels adds the user's labels. What the operator selects by is never theirs
// (admission refuses it, and this ignores it); the rest of the recommended
// labels is a default.
func podLabels(c *v1beta2.EtcdCluster, name, role string) map[string]string {
	l := map[string]string{}
	if c.Spec.Pod != nil {
		maps.Copy(l, c.Spec.Pod.Labels)
	}
	for k, v := range memberLabels(c.Name, name) {
		if _, set := l[k]; set && (k == labelComponent || k == labelPartOf) {
			continue
		}
		l[k] = v
	}
	l[v1beta2.LabelRole] = role
	l[v1beta2.LabelOwner] = string(c.UID)
	return l
}

// Owner is the reference by which a cluster's objects are deleted with it.
//
// BlockOwnerDeletion is false: true would need the right to update the
// finalizers of EtcdClusters wherever OwnerReferencesPermissionEnforcement is on
// (OpenShift), and would only serve deletion in the foreground.
func Owner(c *v1beta2.EtcdCluster) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion:         v1beta2.GroupVersion.String(),
		Kind:               "EtcdCluster",
		Name:               c.Name,
		UID:                c.UID,
		Controller:         new(true),
		BlockOwnerDeletion: new(false),
	}
}
