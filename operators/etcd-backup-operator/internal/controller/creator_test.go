package controller_test

import (
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/controller"
	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
)

// A volume or an account is used for nobody while no policy checks the creator, where the
// operator is installed with nothing but its Role; the backup starts by itself once one does.
// What the archived operator's manifests have needs none.
func TestCreatorNotChecked(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(r *controller.Reconciler) { r.Creators.Trusted = false })
	volume := b.create("volume", func(e *v1beta2.EtcdBackup) {
		e.Spec.StorageType, e.Spec.S3, e.Spec.PVC = v1beta2.StoragePVC, nil, &v1beta2.PVCSource{ClaimName: "backups", Path: "etcd.db"}
	})
	account := b.create("account", func(e *v1beta2.EtcdBackup) { e.Spec.Pod = &v1beta2.AgentPod{ServiceAccountName: "admin"} })
	for _, e := range []*v1beta2.EtcdBackup{volume, account} {
		b.until(e, "the refusal", func(s *v1beta2.BackupStatus) bool { return strings.HasPrefix(s.Reason, "CreatorNotChecked: ") })
		for _, words := range []string{"no permission to read ValidatingAdmissionPolicyBinding etcdbackups.etcd.database.coreos.com", "kubectl apply -k deploy/etcd-backup-operator/crd", "--trust-creators"} {
			if !strings.Contains(e.Status.Reason, words) {
				t.Errorf("EtcdBackup %s: %q is not said: %s", e.Name, words, e.Status.Reason)
			}
		}
		b.wantEvents(e, "CreatorNotChecked")
		if jobs := b.jobs(e); len(jobs) > 0 {
			t.Errorf("EtcdBackup %s has %d Jobs", e.Name, len(jobs))
		}
	}
	b.job(b.create("s3"))

	admissiontest.Applies(t, "../../../..", []string{"-k", "deploy/etcd-backup-operator/crd"})
	b.edit(volume, func(e *v1beta2.EtcdBackup) { e.Labels = map[string]string{"looked": "again"} }) // sooner than after half a minute
	b.job(volume)
}
