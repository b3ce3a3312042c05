package observe

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/plan"
)

// A Job that no controller owns blocks later backups, until nothing depends on it any more.
func TestBackupInDoubt(t *testing.T) {
	due := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	for name, row := range map[string]struct {
		reason                  string
		ended, recorded, active bool
		newer                   int
		want                    bool
	}{
		"running":                       {"its Pod might run", false, false, true, 0, true},
		"running, recorded":             {"it could start another Pod", false, true, false, 0, true},
		"ended":                         {"its end is not recorded", true, false, true, 0, true},
		"ended, recorded":               {"nothing depends on it", true, true, false, 0, false},
		"ended, recorded, then trimmed": {"ten newer records have taken the place of its record", true, false, false, v1beta2.MaxHistory, false},
		"ended, active, old":            {"its end is not recorded, although newer backups have ended", true, false, true, v1beta2.MaxHistory, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := &v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "ns", UID: "b"}}
			j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
				Name: plan.JobName(b, due), Annotations: map[string]string{v1beta2.AnnotationScheduled: due.Format(time.RFC3339)},
			}}
			if row.ended {
				j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
			}
			record := func(at metav1.Time) {
				b.Status.History = append(b.Status.History, v1beta2.BackupRecord{Name: plan.JobName(b, at.Time), ScheduledTime: &at})
			}
			for i := range row.newer {
				record(metav1.NewTime(due.Add(time.Duration(row.newer-i) * time.Hour)))
			}
			if row.recorded {
				record(metav1.NewTime(due))
			}
			if row.active {
				b.Status.Active = []v1beta2.ActiveBackup{{Name: j.Name, ScheduledTime: metav1.NewTime(due)}}
			}
			if got := isBackupInDoubt(b, j); got != row.want {
				t.Errorf("in doubt: %t, want %t: %s", got, row.want, row.reason)
			}
		})
	}
}
