package plan

import (
	"fmt"
	"maps"
	"strings"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// findCluster waits for the EtcdCluster that is restored in place, and fails if the one
// that this restore has begun to touch was deleted, or if the name of a new one is taken.
func findCluster(v *view) *step {
	c, object := v.Cluster, "EtcdCluster "+v.name
	switch {
	case v.there:
		return nil
	case v.last.ClusterUID != "":
		return v.fail(v1beta2.RestoreReasonClusterGone, fmt.Sprintf("EtcdCluster %s was deleted during its restore: nothing is left to restore or to roll back", v.name))
	case v.fresh && c == nil:
		return nil
	case c == nil:
		return v.missing(object, v1beta2.RestoreReasonClusterNotFound, fmt.Sprintf(
			"EtcdCluster %s does not exist in this namespace: create it, or restore to a new one with target: New or clusterTemplate", v.name))
	case c.DeletionTimestamp != nil && v.fresh && v.made:
		return v.fail(v1beta2.RestoreReasonClusterGone, fmt.Sprintf("the new EtcdCluster %s was deleted during the restore: create another EtcdRestore", v.name))
	case c.DeletionTimestamp != nil:
		return warn(v1beta2.RestorePending, v1beta2.RestoreReasonClusterDeleting, fmt.Sprintf("waiting for EtcdCluster %s to be deleted before the restore begins", v.name), object)
	}
	return v.fail(v1beta2.RestoreReasonAlreadyExists, fmt.Sprintf(
		"EtcdCluster %s already exists, and this restore has not created it: give this EtcdRestore another name, or set target: InPlace to restore that cluster", v.name))
}

// findTemplate waits for the EtcdCluster whose spec a new one gets.
func findTemplate(v *view) *step {
	name := TemplateName(v.Restore)
	if name == "" || v.Template != nil || v.there {
		return nil
	}
	return v.missing("EtcdCluster "+name, v1beta2.RestoreReasonClusterNotFound, fmt.Sprintf(
		"EtcdCluster %s, the one to copy, does not exist in this namespace: correct etcdCluster.name, or set clusterTemplate", name))
}

// createCluster makes the new EtcdCluster, born with the fence.
func createCluster(v *view) *step {
	if !v.fresh || v.there {
		return nil
	}
	return do(v1beta2.RestoreFencing, v.newCluster(), v1beta2.RestoreReasonClusterCreated, fmt.Sprintf("created EtcdCluster %s, fenced for this restore from its start", v.name))
}

// newCluster is the EtcdCluster that a restore makes. From a template's annotations only
// the scope is ours; of another cluster's all but the spec is left behind.
func (v *view) newCluster() CreateCluster {
	created := CreateCluster{Spec: *v.newSpec()}
	scope := v.Restore.Annotations[v1beta2.AnnotationScope]
	if t := v.spec.ClusterTemplate; t != nil {
		created.Labels = maps.Clone(t.Metadata.Labels)
		created.Annotations = maps.Clone(t.Metadata.Annotations)
		if s, ok := created.Annotations[v1beta2.AnnotationScope]; ok {
			scope = s
		}
		maps.DeleteFunc(created.Annotations, func(key, _ string) bool { return strings.HasPrefix(key, v1beta2.GroupName+"/") })
		maps.DeleteFunc(created.Labels, func(key, _ string) bool { return strings.HasPrefix(key, v1beta2.GroupName+"/") })
	}
	if scope != "" {
		if created.Annotations == nil {
			created.Annotations = map[string]string{}
		}
		created.Annotations[v1beta2.AnnotationScope] = scope
	}
	return created
}

// newSpec is the spec of the new EtcdCluster. One that is taken from another cluster
// keeps the version that this runs, also if its spec leaves that open, and does not
// stand still because that one does.
func (v *view) newSpec() *v1beta2.ClusterSpec {
	switch {
	case v.spec.ClusterTemplate != nil:
		return v.spec.ClusterTemplate.Spec.DeepCopy()
	case v.Template == nil:
		return &v1beta2.ClusterSpec{}
	}
	spec := v.Template.Spec.DeepCopy()
	spec.Paused = false
	if spec.Version == "" {
		spec.Version = v.Template.Status.CurrentVersion
	}
	return spec
}

// clusterSpec is the spec of the cluster that is restored or will be made.
func (v *view) clusterSpec() *v1beta2.ClusterSpec {
	if v.there {
		return &v.Cluster.Spec
	}
	return v.newSpec()
}

// recordCluster settles which EtcdCluster is touched, before it is.
func recordCluster(v *view) *step {
	if v.last.ClusterUID != "" {
		return nil
	}
	uid := string(v.Cluster.UID)
	return record(v1beta2.RestoreFencing, v1beta2.RestoreReasonFencing, fmt.Sprintf("preparing to fence EtcdCluster %s", v.name), func(st *v1beta2.RestoreStatus) {
		st.ClusterUID, st.FenceTime = uid, v.now()
	})
}
