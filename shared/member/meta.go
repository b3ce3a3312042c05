package member

import (
	"maps"

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

// Selector is the labels that select every object of a cluster: in caches, in live lists
// and in Services. Who lists by anything else sees what the caches do not.
func Selector(cluster string) map[string]string {
	return map[string]string{
		v1beta2.LabelApp:     v1beta2.AppEtcd,
		v1beta2.LabelCluster: cluster,
	}
}

// voterSelector selects the Pods of the members that may serve clients. They
// are also the ones that count for the quorum.
func voterSelector(cluster string) map[string]string {
	return map[string]string{
		v1beta2.LabelCluster: cluster,
		v1beta2.LabelRole:    v1beta2.RoleVoter,
	}
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
