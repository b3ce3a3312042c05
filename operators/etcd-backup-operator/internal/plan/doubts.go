package plan

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
)

// isDoubtful is true for a backup that is stored, but of a source that was not healthy, or
// that no quorum confirmed to be up to date. Older agents did not ask.
func isDoubtful(quorum *bool, unhealthy string) bool {
	return quorum != nil && !*quorum || unhealthy != ""
}

// doubts says why a backup that is stored is not a good one; the reason is empty if it is.
func doubts(r *v1beta2.BackupRecord) (reason, message string) {
	const rest = "replaces no other backup, and retention neither counts nor deletes it"
	switch {
	case !r.Succeeded || !isDoubtful(r.Quorum, r.Unhealthy):
		return "", ""
	case r.Unhealthy != "":
		return v1beta2.ReasonSourceUnhealthy, fmt.Sprintf("backup is of an unhealthy member, as no healthy one answered: %s; it is stored at %s, %s; repair the cluster, or restore it from an earlier backup", r.Unhealthy, r.Location, rest)
	}
	return v1beta2.ReasonNoQuorum, fmt.Sprintf("backup was made without a quorum and might lack the latest writes; it is stored at %s, %s; bring back a majority of the members", r.Location, rest)
}

// quorum says whether the last backup that was stored is a good one; nil if none was, or its
// agent did not ask.
func (v *view) quorum() *metav1.Condition {
	i := slices.IndexFunc(v.history, func(r v1beta2.BackupRecord) bool { return r.Succeeded })
	if i < 0 || v.history[i].Quorum == nil {
		return nil
	}
	c := v.condition(v1beta2.ConditionQuorum, true, v1beta2.ReasonSourceHealthy, "a quorum confirmed that the last backup's source was up to date")
	if reason, message := doubts(&v.history[i]); reason != "" {
		c = v.condition(v1beta2.ConditionQuorum, false, reason, message)
	}
	return &c
}

// keep makes a backup that has succeeded the newest good one, unless it is a doubtful one
// and there is one that is not: that might hold writes which this one lacks.
func (v *view) keep(e *end) {
	v.notes = append(v.notes, e.result.Notes...)
	newest := v.last.Snapshot
	if newest == nil && v.last.LastSuccessDate != nil {
		newest = &v1beta2.BackupSnapshot{} // the archived operator's
	}
	if v.stored != nil {
		newest = &v1beta2.BackupSnapshot{Quorum: v.stored.Quorum, Unhealthy: v.stored.Unhealthy}
	}
	if newest != nil && isDoubtful(e.result.Quorum, e.result.Unhealthy) && !isDoubtful(newest.Quorum, newest.Unhealthy) {
		return
	}
	v.stored, v.storedAt = e.result, e.record.CompletionTime.DeepCopy()
}

// remarks is what to know of a backup that is stored, in the words of its record.
func remarks(r *task.Result) string {
	var all []string
	for _, n := range r.Notes {
		all = append(all, n.Message)
	}
	if r.Spared > 0 {
		all = append(all, fmt.Sprintf("kept %d older backups that spec.backupPolicy would delete, as they are of another cluster, of a higher revision, or of an unknown cluster: delete them yourself, or set spec.overwritePolicy to Always", r.Spared))
	}
	if r.RetentionError != "" {
		all = append(all, "cannot delete older backups: "+r.RetentionError)
	}
	return strings.Join(all, "; ")
}
