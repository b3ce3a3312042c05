package plan

import (
	"cmp"
	"fmt"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

// AsksCreator reports whether the next backup is started only if the creator of the
// EtcdBackup was checked: it would give them a volume or an account of the namespace.
func AsksCreator(o Observation) bool { return newView(o).asksCreator() }

// asksCreator is about a spec that is right otherwise.
func (v *view) asksCreator() bool {
	if v.isIgnored() || reached(v.spec) == "" {
		return false
	}
	if v.spec.Repeated() {
		return !v.spec.Suspend
	}
	return len(v.active) == 0 && (v.final() == nil || v.copyTarget() != nil)
}

// policyPoll is after how long to look for the policy again, which triggers no reconcile: a
// tenth of the age of the EtcdBackup, since what was refused for long is not mended soon.
func (v *view) policyPoll() time.Duration {
	return min(max(v.Now.Sub(v.created())/10, retry), slowest)
}

// reached is the object that an EtcdBackup uses, and that its creator might not be able to;
// empty for none.
func reached(spec *v1beta2.BackupSpec) string {
	switch {
	case spec.StorageType == v1beta2.StoragePVC && spec.PVC != nil:
		return "PVC " + spec.PVC.ClaimName
	case spec.CopyTo != nil && spec.CopyTo.StorageType == v1beta2.StoragePVC && spec.CopyTo.PVC != nil:
		return "PVC " + spec.CopyTo.PVC.ClaimName // with the same rights
	case spec.Pod != nil && spec.Pod.ServiceAccountName != "" && spec.Pod.ServiceAccountName != "default":
		return "ServiceAccount " + spec.Pod.ServiceAccountName
	}
	return ""
}

// checkCreator refuses a backup by which somebody could use what they cannot use otherwise,
// and lets it wait while that is not known.
func (v *view) checkCreator() {
	c := &v.Creator
	if v.refusal != nil || !v.asksCreator() || c.Passed {
		return
	}
	if c.Missing != "" {
		v.refusal = warn(v1beta2.BackupReasonCreatorNotChecked, fmt.Sprintf(
			"the rights of this EtcdBackup's creator are not checked, and it uses %s: %s; first delete the EtcdBackups whose creators you do not trust, then %s; the backup then starts by itself",
			reached(v.spec), c.Missing, c.Advice("etcd-backup-operator")))
		v.wakeAt(v.Now.Add(v.policyPoll()))
		return
	}
	v.source.wait = warn(v1beta2.BackupReasonCreatorNotChecked, fmt.Sprintf(
		"cannot find out whether the rights of this EtcdBackup's creator are checked: %s; retried every %s", conditiontext.Clip(cmp.Or(c.Unknown, "not asked yet")), retry))
	v.wakeAt(v.Now.Add(retry)) // also while another wait is told
}
