package controller_test

import (
	"regexp"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/operatortest"
)

// foreign is a reference to an owner that is not a controller.
func foreign() metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "other"}
}

// Anyone who can edit a Job can change its owner references and labels. Its Pod still runs, so the backup must not be
// started a second time, nor recorded as lost.
func TestEditedJob(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		reason  string
		edit    func(*batchv1.Job)
		inDoubt bool
	}{
		"a foreign reference is added": {
			"the EtcdBackup still controls it", func(j *batchv1.Job) { j.OwnerReferences = append(j.OwnerReferences, foreign()) }, false,
		},
		"a foreign reference in place of ours": {
			"no controller owns it", func(j *batchv1.Job) { j.OwnerReferences = []metav1.OwnerReference{foreign()} }, true,
		},
		"our reference is no longer the controller's": {
			"no controller owns it", func(j *batchv1.Job) { j.OwnerReferences[0].Controller = nil }, true,
		},
		"no reference and no labels": {
			"its name is in the status", func(j *batchv1.Job) { j.OwnerReferences, j.Labels = nil, nil }, true,
		},
		"our labels are removed": {
			"the EtcdBackup still controls it", func(j *batchv1.Job) { j.Labels = nil }, false,
		},
		"the labels of an archiver": {
			"its name says what it is", func(j *batchv1.Job) { j.Labels["app.kubernetes.io/component"] = "archive" }, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			e := b.create("x")
			j := b.job(e)
			b.until(e, "the Job to be recorded", func(s *v1beta2.BackupStatus) bool { return len(s.Active) == 1 })
			p := b.pod(&j)
			b.runs(p)
			operatortest.Edit(t, b.client, &j, row.edit)
			b.edit(e, func(e *v1beta2.EtcdBackup) { metav1.SetMetaDataAnnotation(&e.ObjectMeta, "looked", "1") })
			if row.inDoubt {
				b.until(e, "the doubt", func(s *v1beta2.BackupStatus) bool {
					return condition(s, v1beta2.ConditionComplete) == "False JobInDoubt"
				})
				b.wantEvents(e, "JobInDoubt")
			}
			b.quiet(e)
			var jobs batchv1.JobList
			if err := b.client.List(apiservertest.Context(t), &jobs, client.InNamespace(b.namespace)); err != nil {
				t.Fatal(err)
			}
			if len(jobs.Items) != 1 || len(e.Status.History) != 0 || len(e.Status.Active) != 1 {
				t.Fatalf("%d Jobs and status %+v, want the Job to count: %s", len(jobs.Items), e.Status, row.reason)
			}
			if row.inDoubt {
				repair(t, meta.FindStatusCondition(e.Status.Conditions, v1beta2.ConditionComplete).Message)
			}
			b.ends(p, agent.ExitDone, stored(42))
			b.until(e, "the end", func(s *v1beta2.BackupStatus) bool { return s.Phase == v1beta2.BackupSucceeded })
		})
	}
}

// The labels and owner references of a Pod can be edited, too. What its agent reports must not be lost.
func TestEditedPod(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*corev1.Pod){
		"our labels are removed": func(p *corev1.Pod) {
			p.Labels = map[string]string{batchv1.ControllerUidLabel: p.Labels[batchv1.ControllerUidLabel]}
		},
		"a foreign reference in place of the Job's": func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{foreign()} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			e := b.create("x")
			j := b.job(e)
			p := b.pod(&j)
			operatortest.Edit(t, b.client, p, edit)
			b.ends(p, agent.ExitDone, stored(42))
			b.finish(&j, batchv1.JobComplete, "")
			b.until(e, "the end", func(s *v1beta2.BackupStatus) bool { return s.Phase == v1beta2.BackupSucceeded })
		})
	}
}

// patch is the kubectl command in the message about an object in doubt.
var patch = regexp.MustCompile(`kubectl -n (\S+) patch (\S+) (\S+) --type=merge -p '([^']+)'`)

// repair runs the command that a message contains.
func repair(t *testing.T, message string) {
	t.Helper()
	m := patch.FindStringSubmatch(message)
	if m == nil {
		t.Fatalf("the message has no command: %s", message)
	}
	if out, err := apiservertest.Kubectl(t, t.TempDir(), "-n", m[1], "patch", m[2], m[3], "--type=merge", "-p", m[4]); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
