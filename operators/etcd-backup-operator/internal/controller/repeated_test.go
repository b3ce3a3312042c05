package controller_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/deploy"
	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// everySecond makes a backup every second.
func everySecond(e *v1beta2.EtcdBackup) {
	e.Spec.BackupPolicy = &v1beta2.BackupPolicy{BackupIntervalInSecond: 1}
}

// The first of repeated backups is made at once, and the next when its time has come;
// of Jobs that have ended the newest is kept.
func TestRepeated(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e := b.create("x", everySecond)
	var done []batchv1.Job
	for i := range 3 {
		j := b.job(e, done...)
		b.ends(b.pod(&j), agent.ExitDone, stored(int64(7+i)))
		b.finish(&j, batchv1.JobComplete, "")
		b.until(e, "the backup to be stored", func(s *v1beta2.BackupStatus) bool { return s.EtcdRevision == int64(7+i) })
		done = append(done, j)
	}
	b.until(e, "three to be in the history", func(s *v1beta2.BackupStatus) bool { return len(s.History) == 3 && s.LastScheduleTime != nil })
	if !e.Status.Succeeded || e.Status.History[0].Name != done[2].Name {
		t.Errorf("the status is %+v", e.Status)
	}
	b.until(e, "the old Jobs to be deleted", func(*v1beta2.BackupStatus) bool {
		for _, j := range b.jobs(e) {
			if j.UID == done[0].UID || j.UID == done[1].UID {
				return false
			}
		}
		return true
	})

	b.edit(e, func(e *v1beta2.EtcdBackup) { e.Spec.Suspend = true })
	b.until(e, "the suspension to be noticed", func(s *v1beta2.BackupStatus) bool { return s.ObservedGeneration == e.Generation })
	for _, j := range b.jobs(e) {
		if j.Status.CompletionTime == nil {
			b.ends(b.pod(&j), agent.ExitDone, stored(20))
			b.finish(&j, batchv1.JobComplete, "")
		}
	}
	b.until(e, "the rest", func(s *v1beta2.BackupStatus) bool { return s.Phase == v1beta2.BackupSuspended && len(s.Active) == 0 })
	b.quiet(e)
}

// A failure is told, and the next backup is made all the same.
func TestRepeatedFailure(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e := b.create("x", everySecond)
	first := b.job(e)
	b.ends(b.pod(&first), agent.ExitPermanent, fails("NoSpace", true))
	b.finish(&first, batchv1.JobFailed, batchv1.JobReasonPodFailurePolicy)
	second := b.job(e, first)
	b.ends(b.pod(&second), agent.ExitDone, stored(9))
	b.until(e, "the second to be stored", func(s *v1beta2.BackupStatus) bool { return s.Succeeded && s.EtcdRevision == 9 })
	b.wantEvents(e, "NoSpace", "BackupSucceeded")
}

// The endpoints and the certificate follow from the EtcdCluster, once it has members.
func TestClusterRef(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e := b.create("x", func(e *v1beta2.EtcdBackup) {
		e.Spec.EtcdEndpoints, e.Spec.ClusterRef = nil, &v1beta2.ClusterReference{Name: "c"}
	})
	b.until(e, "the cluster to be missed", func(s *v1beta2.BackupStatus) bool {
		return s.Phase == v1beta2.BackupPending && condition(s, v1beta2.ConditionComplete) == "False ClusterNotFound"
	})
	c := cluster(b.namespace)
	apiservertest.Create(t, b.client, c)
	b.until(e, "its members to be missed", func(s *v1beta2.BackupStatus) bool {
		return condition(s, v1beta2.ConditionComplete) == "False ClusterNotReady"
	})
	b.ready(c, "c-aaaaaaaaaa")
	j := b.job(e)
	if got := told(t, &j).Endpoints; len(got) != 1 || got[0] != "http://c-aaaaaaaaaa.c."+b.namespace+".svc:2379" {
		t.Errorf("the endpoints are %v", got)
	}
}

// Backups of endpoints work on a Kubernetes that has never heard of EtcdClusters; those
// of a cluster, as soon as it has.
func TestWithoutEtcdOperator(t *testing.T) {
	t.Parallel()
	config := apiservertest.Another(t)
	apiservertest.Install(t, config, apiservertest.Definition(deploy.EtcdBackups))
	b := &bench{t: t, client: apiservertest.ClientFor(t, config), namespace: metav1.NamespaceDefault, metrics: prometheus.NewRegistry()}
	apiservertest.StartOperator(t, config, b.namespace, b.operator())
	b.job(b.create("endpoints"))
	e := b.create("ref", func(e *v1beta2.EtcdBackup) {
		e.Spec.EtcdEndpoints, e.Spec.ClusterRef = nil, &v1beta2.ClusterReference{Name: "c"}
	})
	b.until(e, "the cluster to be missed", func(s *v1beta2.BackupStatus) bool {
		return condition(s, v1beta2.ConditionComplete) == "False ClusterNotFound"
	})

	apiservertest.Install(t, config, apiservertest.Definition(deploy.EtcdClusters))
	c := cluster(b.namespace)
	etcdtest.Eventually(t, "EtcdClusters to be served", func() error { return b.client.Create(apiservertest.Context(t), c) })
	b.ready(c, "c-aaaaaaaaaa")
	begun := time.Now()
	b.job(e)
	t.Logf("the Job was made %s after the cluster was ready", time.Since(begun).Round(time.Millisecond))
}

// Whatever a backup may ask for, the API server takes the Job that is made of it.
func TestEveryJobIsAccepted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := cluster(b.namespace)
	c.Name = "example"
	apiservertest.Create(t, b.client, c)
	c.Status.Members.Ready = []string{"example-aaaaaaaaaa"}
	apiservertest.SetStatus(t, b.client, c)
	for i, path := range admissiontest.Glob(t, "../job/testdata/*.backup.yaml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			var e v1beta2.EtcdBackup
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(admissiontest.Manifest(t, path).Object, &e); err != nil {
				t.Fatal(err)
			}
			e.Namespace, e.Name = b.namespace, fmt.Sprintf("%d.%s", i, e.Name)
			if e.Spec.Schedule() != "" { // which is due at some other time
				e.Spec.BackupPolicy.Schedule, e.Spec.BackupPolicy.BackupIntervalInSecond = "", 3600
			}
			apiservertest.Create(t, b.client, &e)
			b.job(&e)
		})
	}
}

// ready gives an EtcdCluster a ready member, as etcd-operator does, beside whatever this
// operator applies to its status.
func (b *bench) ready(c *v1beta2.EtcdCluster, member string) {
	b.t.Helper()
	etcdtest.Eventually(b.t, "the status to be written", func() error {
		apiservertest.Read(b.t, b.client, c)
		c.Status.Members.Ready = []string{member}
		return b.client.Status().Update(apiservertest.Context(b.t), c)
	})
}

func cluster(namespace string) *v1beta2.EtcdCluster {
	return &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: namespace}}
}
