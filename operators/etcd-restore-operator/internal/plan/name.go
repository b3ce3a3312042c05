package plan

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

const (
	// maxJobName is the longest name of a Job whose Pods carry it in a label.
	maxJobName = 63
	// hashLength is how many characters of base32 tell the Jobs of EtcdRestores of one
	// name, or whose names begin alike, apart: 50 bits.
	hashLength = 10
)

// JobName is the name of the Job that verifies: the same for the same EtcdRestore, and
// another for one of the same name that is made after it.
func JobName(r *v1beta2.EtcdRestore) string {
	sum := sha256.Sum256([]byte(r.UID))
	hash := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:hashLength]
	// A Job's name is also its Pods' hostname, which has no dots.
	name := strings.ReplaceAll(r.Name, ".", "-")
	if longest := maxJobName - 1 - hashLength; len(name) > longest {
		name = name[:longest]
	}
	return strings.TrimRight(name, "-") + "-" + hash
}

// ClusterName is the name of the EtcdCluster that is restored, or made; empty if the
// restore only verifies.
func ClusterName(r *v1beta2.EtcdRestore) string {
	switch {
	case r.Spec.VerifyOnly:
		return ""
	case r.Status.Cluster != "":
		return r.Status.Cluster
	case makesCluster(&r.Spec) || r.Spec.EtcdCluster == nil:
		return r.Name
	}
	return r.Spec.EtcdCluster.Name
}

// TemplateName is the name of the EtcdCluster whose spec a new one gets; empty if that
// is not asked for, or the restore only verifies.
func TemplateName(r *v1beta2.EtcdRestore) string {
	if r.Spec.VerifyOnly || !makesCluster(&r.Spec) || r.Spec.ClusterTemplate != nil || r.Spec.EtcdCluster == nil {
		return ""
	}
	return r.Spec.EtcdCluster.Name
}

// BackupName is the name of the EtcdBackup that has made the snapshot; empty if the spec
// names none.
func BackupName(r *v1beta2.EtcdRestore) string {
	if r.Spec.BackupRef == nil {
		return ""
	}
	return r.Spec.BackupRef.Name
}

// makesCluster reports whether the restore makes an EtcdCluster.
func makesCluster(spec *v1beta2.RestoreSpec) bool {
	return spec.ClusterTemplate != nil || spec.Target == v1beta2.TargetNew
}
