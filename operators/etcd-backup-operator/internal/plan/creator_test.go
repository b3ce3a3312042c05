package plan

import (
	"cmp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/creator"
)

// Without a check of their rights nobody uses a volume or an account through an EtcdBackup,
// and nobody else is asked for one. It starts by itself when there is a check.
func TestCreatorNotChecked(t *testing.T) {
	const absent = "ValidatingAdmissionPolicyBinding x does not exist"
	missing, unknown := creator.Check{Missing: absent}, creator.Check{Unknown: "the server is down"}
	volume := spec(func(s *specOf) {
		s.StorageType, s.S3, s.PVC = v1beta2.StoragePVC, nil, &v1beta2.PVCSource{ClaimName: "backups", Path: "etcd.db"}
	})
	account := func(name string) change {
		return spec(func(s *specOf) { s.Pod = &v1beta2.AgentPod{ServiceAccountName: name} })
	}
	secrets := spec(func(s *specOf) {
		s.EtcdEndpoints, s.AuthSecret, s.ClientTLSSecret = []string{"https://a:2379"}, "user", "client"
	})
	const refused, waits = v1beta2.BackupFailed, v1beta2.BackupPending
	for name, row := range map[string]struct {
		reason string
		change change
		creator.Check
		asks  bool
		phase v1beta2.BackupPhase // while it is not started; empty if it is not held up
		says  []string
		poll  time.Duration // 0: half a minute
	}{
		"volume": {
			"files of others", volume, missing, true, refused,
			[]string{"PVC backups", absent, "; first delete the EtcdBackups whose creators you do not trust, then run kubectl apply -k deploy/etcd-backup-operator/crd, or start the operator with --trust-creators; the backup then starts by itself"}, 0,
		},
		"refused for an hour": {"it might be mended", func(s *scene) { volume(s); after(time.Hour)(s) }, missing, true, refused, nil, 6 * time.Minute},
		"refused for a month": {"the API server is not asked all the time", func(s *scene) { volume(s); after(30 * 24 * time.Hour)(s) }, missing, true, refused, nil, slowest},
		"account":             {"an identity of others", account("admin"), missing, true, refused, []string{"ServiceAccount admin", absent}, 0},
		"repeated":            {"each time", func(s *scene) { every(time.Hour)(s); volume(s); counted("every 1h0m0s", 0)(s); after(2 * time.Hour)(s) }, missing, true, refused, []string{absent}, slowest},
		"repeated, runs":      {"the next one", func(s *scene) { every(time.Hour)(s); volume(s); started(time.Hour)(s) }, missing, true, v1beta2.BackupRunning, []string{absent}, 0},
		"not known":           {"the API server might answer soon, and who reads the old status takes a failure for the end", volume, unknown, true, waits, []string{"the server is down", "retried every 30s"}, 0},
		"nobody looked":       {"that is no consent", volume, creator.Check{}, true, waits, nil, 0},
		"checked":             {"they can use it themselves", volume, creator.Check{Passed: true}, true, "", nil, 0},
		"default account":     {"every Pod has it", account("default"), missing, false, "", nil, 0},
		"to S3":               {"signed requests tell no key", func(*scene) {}, missing, false, "", nil, 0},
		"Secrets":             {"as the archived operator's manifests have it; the Job has rules of its own", secrets, missing, false, "", nil, 0},
		"it runs":             {"it was accepted", func(s *scene) { volume(s); started(0)(s) }, missing, false, "", nil, 0},
		"it has ended":        {"it was accepted", func(s *scene) { volume(s); before(0, "")(s) }, missing, false, "", nil, 0},
		"copies":              {"files of others", spec(toVolume), missing, true, refused, []string{"PVC copies", absent}, 0},
		"suspended":           {"nothing is started", func(s *scene) { every(time.Hour)(s); volume(s); suspend(s) }, missing, false, "", nil, 0},
		"being deleted":       {"nothing is started", func(s *scene) { volume(s); s.Backup.DeletionTimestamp = &metav1.Time{Time: born} }, missing, false, "", nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			o := observe(row.change, creators(row.Check))
			if got := AsksCreator(o); got != row.asks {
				t.Errorf("%s: asks %t, want %t", row.reason, got, row.asks)
			}
			d := noted(o)
			for _, broken := range oracle(o, d) {
				t.Error(broken)
			}
			if row.phase == "" {
				if d.Reason == v1beta2.BackupReasonCreatorNotChecked || d.Status.Phase == refused {
					t.Errorf("%s: %s: %s", row.reason, d.Reason, d.Message)
				}
				return
			}
			if d.Action != nil || d.Status.Phase != row.phase || d.Reason != v1beta2.BackupReasonCreatorNotChecked || d.RequeueAfter != cmp.Or(row.poll, retry) {
				t.Errorf("%s: %T in phase %s, again in %s: %s: %s", row.reason, d.Action, d.Status.Phase, d.RequeueAfter, d.Reason, d.Message)
			}
			if ended := d.Status.Reason != ""; ended != (row.phase == refused) {
				t.Errorf("%s: status.Reason is %q", row.reason, d.Status.Reason)
			}
			for _, words := range row.says {
				if !strings.Contains(d.Message, words) {
					t.Errorf("%s: %q is not said: %s", row.reason, words, d.Message)
				}
			}
			if row.phase == v1beta2.BackupRunning {
				return
			}
			o.Backup.Status, o.Creator = d.Status, creator.Check{Passed: true}
			if _, ok := noted(o).Action.(StartJob); !ok {
				t.Errorf("%s: checked, it does not start: %+v", row.reason, noted(o))
			}
		})
	}
}
