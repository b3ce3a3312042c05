package controller_test

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// verification waits for the EtcdRestore that verifies a backup.
func (b *bench) verification(e *v1beta2.EtcdBackup) *v1beta2.EtcdRestore {
	b.t.Helper()
	var found v1beta2.EtcdRestore
	etcdtest.Eventually(b.t, "an EtcdRestore", func() error {
		var list v1beta2.EtcdRestoreList
		if err := b.client.List(apiservertest.Context(b.t), &list, client.InNamespace(b.namespace)); err != nil {
			return err
		}
		if len(list.Items) != 1 || !metav1.IsControlledBy(&list.Items[0], e) {
			return fmt.Errorf("there are %d EtcdRestores", len(list.Items))
		}
		found = list.Items[0]
		return nil
	})
	return &found
}

// What is stored is verified by an EtcdRestore that names the EtcdBackup alone, and its end is told,
// with the rights that the operator is deployed with.
func TestVerification(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e := b.create("x", func(e *v1beta2.EtcdBackup) { e.Spec.Verification = &v1beta2.BackupVerification{} })
	j := b.job(e)
	p := b.pod(&j)
	b.runs(p)
	b.ends(p, agent.ExitDone, stored(7))
	r := b.verification(e)
	if s := r.Spec; !s.VerifyOnly || s.StartEtcd == nil || s.BackupRef == nil || s.BackupRef.Name != "x" || s.BackupRef.Entry != j.Name || s.S3 != nil || s.TimeoutInSecond != v1beta2.DefaultVerificationTimeout {
		t.Errorf("the EtcdRestore is %+v", s)
	}
	b.until(e, "the verification to be told", func(s *v1beta2.BackupStatus) bool {
		return strings.HasPrefix(condition(s, v1beta2.ConditionVerified), "Unknown ")
	})

	now := metav1.Now()
	r.Status = v1beta2.RestoreStatus{Phase: v1beta2.RestoreVerified, Succeeded: true, CompletionTime: &now, Served: &v1beta2.ServedState{EtcdVersion: "3.6.16", TotalKeys: 10}}
	if err := b.client.Status().Update(apiservertest.Context(t), r); err != nil {
		t.Fatal(err)
	}
	b.until(e, "the backup to be verified", func(s *v1beta2.BackupStatus) bool {
		return strings.HasPrefix(condition(s, v1beta2.ConditionVerified), "True ")
	})
	if s := e.Status; s.Verification == nil || s.Verification.LastVerifiedTime == nil || s.History[0].Verification == nil || !s.History[0].Verification.Succeeded {
		t.Errorf("the status is %+v", s)
	}
	b.wantEvents(e, "BackupStarted", "BackupSucceeded", "VerificationStarted", "BackupVerified")
	b.wantMetric(1, "etcd_backup_verifications_total", "x", b.namespace, "verified")

	// Nothing of it is left where nobody wants it any more, and nothing is told again.
	b.edit(e, func(e *v1beta2.EtcdBackup) { e.Spec.Verification = nil })
	etcdtest.Eventually(t, "the EtcdRestore to be deleted", func() error {
		err := b.client.Get(apiservertest.Context(t), client.ObjectKeyFromObject(r), r)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there (%w)", err)
	})
	b.until(e, "the status to be forgotten", func(s *v1beta2.BackupStatus) bool { return s.Verification == nil })
	b.wantMetric(1, "etcd_backup_verifications_total", "x", b.namespace, "verified")
}
