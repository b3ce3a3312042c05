package plan

import (
	"slices"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

// Doubtful is a Job with a name that this EtcdBackup gave it, and that no controller owns. Anyone who can edit a Job
// can change its owner references and labels, and its Pods still run. So it counts neither as this EtcdBackup's nor as
// gone, until a user repairs or deletes it. A Job that another controller owns is not in doubt: it is another's.
type Doubtful struct {
	Name string
	// Scheduled is as in [Job].
	Scheduled time.Time
}

// DoubtText describes what is wrong with the metadata of an object in doubt, and how a user corrects it.
func DoubtText(b *v1beta2.EtcdBackup, kind, name string) string {
	return conditiontext.InDoubt(b.Namespace, kind, name, "EtcdBackup", b.Name, string(b.UID))
}

func (v *view) doubtText(name string) string { return DoubtText(v.Backup, "Job", name) }

// isDoubtfulJob reports whether the Job of a run is in doubt.
func (v *view) isDoubtfulJob(name string) bool {
	return slices.ContainsFunc(v.Doubtful, func(d Doubtful) bool { return d.Name == name })
}

// inDoubt reports the first Job in doubt.
func inDoubt(v *view) *step {
	if len(v.Doubtful) == 0 {
		return nil
	}
	return warn(v1beta2.BackupReasonJobInDoubt, v.doubtText(v.Doubtful[0].Name))
}

// blockedByDoubt returns the Job in doubt that prevents the start of a backup; nil if none does. If the backup of such
// a Job was given up, the Job could still start a Pod at the same time as a newer backup.
func (v *view) blockedByDoubt() *step {
	for i := range v.Doubtful {
		d := &v.Doubtful[i]
		if v.spec.Concurrency() != v1beta2.AllowConcurrent || !v.isActive(d.Name) {
			return warn(v1beta2.BackupReasonJobInDoubt, v.doubtText(d.Name))
		}
	}
	return nil
}
