package plan

import (
	"fmt"
	"strings"
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
	return fmt.Sprintf("%s %s might be this EtcdBackup's, but its owner references do not show to whom it belongs: if it belongs to this EtcdBackup, run %s; delete it only if it does not",
		kind, name, conditiontext.PatchOwner(b.Namespace, strings.ToLower(kind)+" "+name, "EtcdBackup", b.Name, string(b.UID)))
}

func (v *view) doubtText(name string) string { return DoubtText(v.Backup, "Job", name) }

// isDoubtfulJob reports whether the Job of a run is in doubt.
func (v *view) isDoubtfulJob(name string) bool {
	for i := range v.Doubtful {
		if v.Doubtful[i].Name == name {
			return true
		}
	}
	return false
}

// inDoubt reports the first Job in doubt.
func inDoubt(v *view) *step {
	if len(v.Doubtful) == 0 {
		return nil
	}
	return warn(v1beta2.BackupReasonJobInDoubt, v.doubtText(v.Doubtful[0].Name))
}

// blockedByDoubt returns why no backup is started beside a Job in doubt; nil if one can be. A Job whose backup was
// given up could start a Pod beside any newer backup.
func (v *view) blockedByDoubt() *step {
	for i := range v.Doubtful {
		d := &v.Doubtful[i]
		if v.spec.Concurrency() != v1beta2.AllowConcurrent || !v.isActive(d.Name) {
			return warn(v1beta2.BackupReasonJobInDoubt, v.doubtText(d.Name))
		}
	}
	return nil
}
