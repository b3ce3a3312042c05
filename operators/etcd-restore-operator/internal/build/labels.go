package build

import (
	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/agentpod"
)

// Selector is the labels that select the Job and the Pods of an EtcdRestore's
// verification, and hardly ever those of another: owner references tell for sure.
func Selector(restore string) map[string]string {
	return map[string]string{
		v1beta2.LabelApp:     v1beta2.AppEtcdRestore,
		v1beta2.LabelRestore: agentpod.LabelValue(restore),
	}
}

// Labels are those on the Job and its Pods.
func Labels(restore string) map[string]string {
	l := Selector(restore)
	l[v1beta2.LabelName] = v1beta2.AppEtcdRestore
	l[v1beta2.LabelInstance] = agentpod.LabelValue(restore)
	l[v1beta2.LabelManagedBy] = v1beta2.ManagedByRestore
	l[agentpod.LabelComponent] = "restore"
	return l
}
