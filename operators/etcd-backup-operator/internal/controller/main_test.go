package controller_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/controller"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/metrics"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/creator"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/operator"
	"github.com/etcd-operators/etcd-operators/shared/operatortest"
)

func TestMain(m *testing.M) { os.Exit(apiservertest.Main(m)) }

// bench is one test's namespace, with an operator of its own. The test is the Job
// controller, the scheduler and the kubelet.
type bench struct {
	t         *testing.T
	client    client.Client
	namespace string
	metrics   *prometheus.Registry
	// stop ends the operator that was started last.
	stop func()
}

// newBench starts an operator for a namespace of its own.
func newBench(t *testing.T, changes ...func(*controller.Reconciler)) *bench {
	t.Helper()
	b := &bench{t: t, client: apiservertest.Client(t), namespace: apiservertest.Namespace(t)}
	b.startOperator(changes...)
	return b
}

// startOperator starts one as its main program does, with the rights that it is deployed
// with, and ends it with the test.
func (b *bench) startOperator(changes ...func(*controller.Reconciler)) {
	b.t.Helper()
	b.metrics = prometheus.NewRegistry()
	account := apiservertest.Account(b.t, b.namespace, "../../../../deploy/etcd-backup-operator/base/role.yaml")
	b.stop = apiservertest.StartOperator(b.t, account, b.namespace, b.operator(changes...))
}

// operator is what an operator is made of.
func (b *bench) operator(changes ...func(*controller.Reconciler)) func(context.Context, ctrl.Manager) error {
	return func(ctx context.Context, mgr ctrl.Manager) error {
		r := &controller.Reconciler{
			Client:  mgr.GetClient(),
			Events:  mgr.GetEventRecorder("etcd-backup-operator"),
			Metrics: metrics.New(b.metrics),
			Image:   "example.com/etcd-backup-operator:test",
			// The policy belongs to the whole API server, which the tests share.
			Creators: operator.Creators{Policy: creator.BackupPolicy, Trusted: true},
			Now:      time.Now,
		}
		for _, change := range changes {
			change(r)
		}
		return r.SetupWithManager(ctx, mgr, 4)
	}
}

// create makes an EtcdBackup to S3, from two endpoints unless it is changed.
func (b *bench) create(name string, changes ...func(*v1beta2.EtcdBackup)) *v1beta2.EtcdBackup {
	b.t.Helper()
	e := &v1beta2.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.namespace},
		Spec: v1beta2.BackupSpec{
			EtcdEndpoints: []string{"http://x-client:2379"},
			StorageType:   v1beta2.StorageS3,
			S3:            &v1beta2.S3Source{Path: "bucket/" + name, AWSSecret: "aws"},
		},
	}
	for _, change := range changes {
		change(e)
	}
	apiservertest.Create(b.t, b.client, e)
	return e
}

// edit changes an EtcdBackup as a user does.
func (b *bench) edit(e *v1beta2.EtcdBackup, change func(*v1beta2.EtcdBackup)) {
	b.t.Helper()
	operatortest.Edit(b.t, b.client, e, change)
}

// until waits for a backup's status.
func (b *bench) until(e *v1beta2.EtcdBackup, what string, holds func(*v1beta2.BackupStatus) bool) {
	b.t.Helper()
	etcdtest.Eventually(b.t, what, func() error {
		apiservertest.Read(b.t, b.client, e)
		if holds(&e.Status) {
			return nil
		}
		said, err := json.Marshal(e.Status)
		if err != nil {
			return err
		}
		return fmt.Errorf("%s", said)
	})
}

// jobs are those of a backup, oldest first.
func (b *bench) jobs(e *v1beta2.EtcdBackup) []batchv1.Job {
	b.t.Helper()
	var list batchv1.JobList
	if err := b.client.List(apiservertest.Context(b.t), &list, client.InNamespace(b.namespace)); err != nil {
		b.t.Fatal(err)
	}
	all := slices.DeleteFunc(list.Items, func(j batchv1.Job) bool { return !metav1.IsControlledBy(&j, e) })
	slices.SortFunc(all, func(x, y batchv1.Job) int { return x.CreationTimestamp.Compare(y.CreationTimestamp.Time) })
	return all
}

// job waits for a Job of a backup that is not among those before.
func (b *bench) job(e *v1beta2.EtcdBackup, before ...batchv1.Job) batchv1.Job {
	b.t.Helper()
	var found batchv1.Job
	etcdtest.Eventually(b.t, "a Job", func() error {
		for _, j := range b.jobs(e) {
			if !slices.ContainsFunc(before, func(old batchv1.Job) bool { return old.UID == j.UID }) {
				found = j
				return nil
			}
		}
		return fmt.Errorf("there is no new one")
	})
	return found
}

// pod makes a Pod of a Job, as the Job controller does, and puts it on a node.
func (b *bench) pod(j *batchv1.Job) *corev1.Pod {
	b.t.Helper()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: j.Name + "-", Namespace: j.Namespace,
			Labels: j.Spec.Template.Labels, Annotations: j.Spec.Template.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec: *j.Spec.Template.Spec.DeepCopy(),
	}
	apiservertest.Create(b.t, b.client, p)
	apiservertest.Bind(b.t, b.client, p, "node-1")
	return p
}

// runs reports a Pod as the kubelet does that has started it.
func (b *bench) runs(p *corev1.Pod) {
	b.t.Helper()
	apiservertest.Read(b.t, b.client, p)
	p.Status.Phase = corev1.PodRunning
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: task.Container, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	apiservertest.SetStatus(b.t, b.client, p)
}

// ends reports a Pod as the kubelet does whose agent has ended.
func (b *bench) ends(p *corev1.Pod, code int32, result task.Result) {
	b.t.Helper()
	message, err := json.Marshal(result)
	if err != nil {
		b.t.Fatal(err)
	}
	apiservertest.Read(b.t, b.client, p)
	p.Status.Phase = corev1.PodFailed
	if code == agent.ExitDone {
		p.Status.Phase = corev1.PodSucceeded
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: task.Container, State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: string(message)},
	}}}
	apiservertest.SetStatus(b.t, b.client, p)
}

// finish reports a Job as the Job controller does whose Pods have ended.
func (b *bench) finish(j *batchv1.Job, kind batchv1.JobConditionType, reason string) {
	b.t.Helper()
	apiservertest.Read(b.t, b.client, j)
	now := metav1.Now()
	j.Status.StartTime = &now
	before := batchv1.JobSuccessCriteriaMet
	if kind == batchv1.JobFailed {
		before = batchv1.JobFailureTarget
	} else {
		j.Status.CompletionTime = &now
		j.Status.Succeeded = 1
	}
	for _, k := range []batchv1.JobConditionType{before, kind} {
		j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: k, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: now})
	}
	j.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	apiservertest.SetStatus(b.t, b.client, j)
}

// stored is what an agent reports that has done its work.
func stored(revision int64) task.Result {
	now := time.Now().UTC()
	return task.Result{
		Location: "s3://bucket/x", Size: 20 << 10, SHA256: "abc", SnapshotSize: 20 << 10, Revision: revision, EtcdVersion: "3.6.16",
		ClusterID: "00c0ffee00c0ffee", MemberID: "00c0ffee00c0ff01", Duration: 0.5, Started: now.Add(-time.Second), Finished: now,
	}
}

// fails is what an agent reports that could not do its work.
func fails(reason string, permanent bool) task.Result {
	now := time.Now().UTC()
	return task.Result{Started: now, Finished: now, Failure: &agent.Failure{Reason: reason, Message: "the words of the agent", Permanent: permanent}}
}

// condition is that of a type, as "status reason".
func condition(s *v1beta2.BackupStatus, kind string) string {
	if c := meta.FindStatusCondition(s.Conditions, kind); c != nil {
		return string(c.Status) + " " + c.Reason
	}
	return ""
}

// wantEvents waits for an event of each reason about a backup.
func (b *bench) wantEvents(e *v1beta2.EtcdBackup, reasons ...string) {
	b.t.Helper()
	operatortest.WantEvents(b.t, b.client, e, reasons...)
}

// wantMetric waits for a metric to have a value: it follows the status.
func (b *bench) wantMetric(want float64, name string, labels ...string) {
	b.t.Helper()
	operatortest.WantMetric(b.t, b.metrics, want, name, labels...)
}

// told is what a Job's agent is told to do.
func told(t *testing.T, j *batchv1.Job) task.Task {
	t.Helper()
	for _, env := range j.Spec.Template.Spec.Containers[0].Env {
		if env.Name != task.Env {
			continue
		}
		var tk task.Task
		if err := json.Unmarshal([]byte(env.Value), &tk); err != nil {
			t.Fatal(err)
		}
		return tk
	}
	t.Fatalf("Job %s has no %s", j.Name, task.Env)
	return task.Task{}
}
