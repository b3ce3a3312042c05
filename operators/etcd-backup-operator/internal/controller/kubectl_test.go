package controller_test

import (
	"errors"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/controller"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/kubectltest"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
	"github.com/etcd-operators/etcd-operators/shared/objectstore/s3"
)

// What kubectl shows of a backup whose credentials the store refuses.
func TestKubectl(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(r *controller.Reconciler) { r.Events = kubectltest.Recorder(t, "etcd-backup-operator") })
	e := b.create("example")
	j := b.job(e)
	refused := fails(v1beta2.ReasonCredentialsInvalid, true)
	refused.Failure = runner.Explain(&objectstore.Error{
		Reason: objectstore.CredentialsInvalid, Op: "put", Where: "s3://bucket/example",
		Advice: s3.Settings{SecretDir: "/secret", Secret: "aws"}.CredentialsAdvice(),
		Err:    errors.New("api error InvalidAccessKeyId: The AWS Access Key Id you provided does not exist in our records"),
	}, "")
	b.ends(b.pod(&j), agent.ExitPermanent, refused)
	b.until(e, "the failure", func(s *v1beta2.BackupStatus) bool { return s.Phase == v1beta2.BackupFailed })
	b.finish(&j, batchv1.JobFailed, batchv1.JobReasonPodFailurePolicy)
	b.wantEvents(e, v1beta2.ReasonCredentialsInvalid)
	b.quiet(e)
	kubectltest.Golden(t, "backup-failed", "etcdbackup", e)
}
