package job

import (
	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/agentpod"
)

// Selector is the labels that select the Jobs and Pods of an EtcdBackup, and hardly
// ever those of another: owner references tell for sure.
func Selector(backup string) map[string]string {
	return map[string]string{
		v1beta2.LabelApp:    v1beta2.AppEtcdBackup,
		v1beta2.LabelBackup: agentpod.LabelValue(backup),
	}
}

// Labels are those on the Jobs and Pods of an EtcdBackup.
func Labels(backup string) map[string]string {
	l := Selector(backup)
	l[v1beta2.LabelName] = v1beta2.AppEtcdBackup
	l[v1beta2.LabelInstance] = agentpod.LabelValue(backup)
	l[v1beta2.LabelManagedBy] = v1beta2.ManagedByBackup
	l[agentpod.LabelComponent] = "backup"
	return l
}

// archiveComponent is the component that archivers are labelled with.
const archiveComponent = "archive"

// ArchiverLabels are those on the Job and the Pod of an EtcdBackup's archiver.
func ArchiverLabels(backup string) map[string]string {
	l := Labels(backup)
	l[agentpod.LabelComponent] = archiveComponent
	return l
}

// copyComponent is the component that Jobs are labelled with which copy.
const copyComponent = "copy"

// CopierLabels are those on the Job and the Pods that copy the backups of an EtcdBackup.
func CopierLabels(backup string) map[string]string {
	l := Labels(backup)
	l[agentpod.LabelComponent] = copyComponent
	return l
}
