package controller_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/deploy"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/controller"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// While the agent runs, the status tells how far it is.
func TestProgress(t *testing.T) {
	t.Parallel()
	// Of all of 127.0.0.0/8 Linux answers; the process's id keeps packages apart.
	ip := fmt.Sprintf("127.77.%d.%d", os.Getpid()/256%250, 1+os.Getpid()%250)
	listener, err := net.Listen("tcp", net.JoinHostPort(ip, fmt.Sprint(task.ProgressPort)))
	if err != nil {
		t.Fatal(err)
	}
	agent := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == task.ProgressPath {
			fmt.Fprint(w, `{"fetched":1048576,"total":4194304}`)
		}
	})}
	go func() { _ = agent.Serve(listener) }() // until it is closed
	t.Cleanup(func() { _ = agent.Close() })   // nobody asks any more

	b := newBench(t)
	b.kubernetes.fetching.Store(&ip)
	b.cluster("x")
	e := b.restore("x")
	b.until(e, "the progress", func(s *v1beta2.RestoreStatus) bool {
		return s.Phase == v1beta2.RestoreVerifying && s.Progress == "1.0 MiB of 4.0 MiB"
	})
	b.wantMetric(1<<20, "etcd_restore_fetched_bytes", "x", b.namespace)
	b.kubernetes.fetching.Store(nil)
	b.complete(e)
	if e.Status.Progress != "" {
		t.Errorf("the progress is %q when all is done", e.Status.Progress)
	}
}

// That nobody answers is told a minute after the fence was asked for, which the status
// remembers, and not before.
func TestOperatorMissing(t *testing.T) {
	t.Parallel()
	now := atomic.Pointer[time.Time]{}
	b := newBench(t, func(r *controller.Reconciler) {
		r.Now = func() time.Time {
			if at := now.Load(); at != nil {
				return *at
			}
			return time.Now()
		}
	})
	b.etcdOperator.away.Store(true)
	c := b.cluster("x", func(c *v1beta2.EtcdCluster) {
		c.Annotations = map[string]string{v1beta2.AnnotationScope: v1beta2.ScopeClusterwide}
	})
	e := b.restore("x")
	b.until(e, "the fence to be asked for", func(s *v1beta2.RestoreStatus) bool {
		return s.FenceTime != nil && says(s, v1beta2.ConditionFenced, v1beta2.RestoreReasonFencing)
	})
	// look has the operator look again, at a time after the fence was asked for.
	look := func(after time.Duration) {
		at := e.Status.FenceTime.Add(after)
		now.Store(&at)
		n := b.reconciles()
		b.touch(c)
		etcdtest.Eventually(t, "another look", func() error {
			if b.reconciles() == n {
				return errors.New("there was none")
			}
			return nil
		})
		apiservertest.Read(t, b.client, e)
	}
	look(59 * time.Second)
	if !says(&e.Status, v1beta2.ConditionFenced, v1beta2.RestoreReasonFencing) {
		t.Errorf("after 59 s it says %+v", e.Status.Conditions)
	}
	look(time.Minute)
	b.until(e, "it to be told that nobody answers", func(s *v1beta2.RestoreStatus) bool {
		return says(s, v1beta2.ConditionFenced, v1beta2.RestoreReasonOperatorOtherScope)
	})
	b.wantEvents(e, v1beta2.RestoreReasonOperatorOtherScope)
	b.etcdOperator.away.Store(false)
	b.complete(e)
}

// says reports whether a condition has a reason.
func says(s *v1beta2.RestoreStatus, kind, reason string) bool {
	c := meta.FindStatusCondition(s.Conditions, kind)
	return c != nil && c.Reason == reason
}

// touch changes an EtcdCluster in nothing that matters.
func (b *bench) touch(c *v1beta2.EtcdCluster) {
	b.t.Helper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"touched":"%.0f"}}}`, b.reconciles()))
	if err := b.client.Patch(apiservertest.Context(b.t), c, patch); err != nil {
		b.t.Fatal(err)
	}
}

// What the API server does not take is said in its own words.
func TestRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cluster("x")
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "none", Namespace: b.namespace},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/pods": resource.MustParse("3")}},
	}
	apiservertest.Create(t, b.client, quota)
	quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: corev1.ResourceList{"count/pods": resource.MustParse("3")}}
	apiservertest.SetStatus(t, b.client, quota)
	e := b.restore("x")
	b.until(e, "the quota to be told of", func(s *v1beta2.RestoreStatus) bool {
		for _, c := range s.Conditions {
			if strings.Contains(c.Message, "exceeded quota") && strings.Contains(c.Message, "set spec.stopMembers: First") {
				return true
			}
		}
		return false
	})
}

// An operator looks after the restores of its scope alone.
func TestScope(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	annotated := func(e *v1beta2.EtcdRestore) {
		e.Annotations = map[string]string{v1beta2.AnnotationScope: v1beta2.ScopeClusterwide}
		e.Spec.EtcdCluster, e.Spec.ClusterTemplate = nil, &v1beta2.ClusterTemplate{Spec: v1beta2.ClusterSpec{Size: 1, Version: "3.6.16"}}
	}
	theirs := b.restore("theirs", annotated)
	ours := b.restore("ours", func(e *v1beta2.EtcdRestore) { annotated(e); e.Annotations = nil })
	b.complete(ours)
	apiservertest.Read(t, b.client, theirs)
	if theirs.Status.Phase != v1beta2.RestoreNone {
		t.Errorf("a restore of another scope is %s", theirs.Status.Phase)
	}
	b.stop()
	b.startOperator(func(r *controller.Reconciler) { r.ClusterWide = true })
	b.complete(theirs)
	c := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "theirs", Namespace: b.namespace}}
	apiservertest.Read(t, b.client, c)
	if got := c.Annotations[v1beta2.AnnotationScope]; got != v1beta2.ScopeClusterwide {
		t.Errorf("the scope of the EtcdCluster is %q, want its restore's", got)
	}
}

// From an EtcdBackup, as soon as it has stored something.
func TestBackupRef(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.cluster("x")
	backup := &v1beta2.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Name: "backup", Namespace: b.namespace},
		Spec: v1beta2.BackupSpec{
			ClusterRef: &v1beta2.ClusterReference{Name: "x"}, StorageType: v1beta2.StorageS3, S3: &v1beta2.S3Source{Path: "bucket/x", AWSSecret: "aws"},
		},
	}
	apiservertest.Create(t, b.client, backup)
	e := b.restore("x", func(e *v1beta2.EtcdRestore) {
		e.Spec.BackupStorageType, e.Spec.S3, e.Spec.BackupRef = "", nil, &v1beta2.BackupReference{Name: "backup"}
	})
	b.untilPhase(e, v1beta2.RestorePending)
	now := metav1.Now()
	backup.Status = v1beta2.BackupStatus{
		Succeeded: true, Phase: v1beta2.BackupSucceeded,
		Snapshot: &v1beta2.BackupSnapshot{Location: "s3://bucket/x", Size: 20 << 10, SHA256: strings.Repeat("ab", 32), CompletionTime: &now},
	}
	apiservertest.SetStatus(t, b.client, backup)
	b.complete(e)
	b.wantRestored(e, c)
}

// An EtcdCluster that comes later is restored all the same.
func TestClusterComesLater(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e := b.restore("x")
	b.until(e, "the cluster to be waited for", func(s *v1beta2.RestoreStatus) bool {
		return s.Phase == v1beta2.RestorePending && len(s.WaitingFor) > 0
	})
	c := b.cluster("x")
	b.complete(e)
	b.wantRestored(e, c)
}

// The operator writes nothing while nothing changes.
func TestIdle(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.etcdOperator.away.Store(true)
	b.cluster("x")
	e := b.restore("x")
	b.until(e, "the fence to be waited for", func(s *v1beta2.RestoreStatus) bool {
		return s.Phase == v1beta2.RestoreFencing && len(s.WaitingFor) > 0
	})
	version := e.ResourceVersion
	before := b.reconciles()
	// Something that leads to a reconcile, and changes nothing.
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x-a", Namespace: b.namespace}}
	apiservertest.Read(t, b.client, pod)
	pod.Annotations = map[string]string{"example.com/a": "b"}
	if err := b.client.Update(apiservertest.Context(t), pod); err != nil {
		t.Fatal(err)
	}
	etcdtest.Eventually(t, "a reconcile", func() error {
		if n := b.reconciles(); n <= before {
			return fmt.Errorf("there were %v before, and %v now", before, n)
		}
		return nil
	})
	apiservertest.Read(t, b.client, e)
	if e.ResourceVersion != version {
		t.Errorf("the EtcdRestore was written: %+v", e.Status)
	}
}

// On a Kubernetes that has never heard of EtcdClusters and EtcdBackups a restore waits for
// them, and begins as soon as they are there.
func TestWithoutOtherOperators(t *testing.T) {
	t.Parallel()
	config := apiservertest.Another(t)
	apiservertest.Install(t, config, apiservertest.Definition(deploy.EtcdRestores))
	b := &bench{t: t, client: apiservertest.ClientFor(t, config), namespace: metav1.NamespaceDefault, metrics: prometheus.NewRegistry()}
	apiservertest.StartOperator(t, config, b.namespace, b.operator())
	e := b.restore("x", func(e *v1beta2.EtcdRestore) {
		e.Spec.BackupStorageType, e.Spec.S3, e.Spec.BackupRef = "", nil, &v1beta2.BackupReference{Name: "backup"}
	})
	b.untilPhase(e, v1beta2.RestorePending)
	apiservertest.Install(t, config, apiservertest.Definition(deploy.EtcdBackups))
	apiservertest.Install(t, config, apiservertest.Definition(deploy.EtcdClusters))
	etcdtest.Eventually(t, "EtcdClusters to be served", func() error {
		c := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: b.namespace}, Spec: v1beta2.ClusterSpec{Size: 1, Version: "3.6.16"}}
		return client.IgnoreAlreadyExists(b.client.Create(apiservertest.Context(t), c))
	})
	b.until(e, "the EtcdBackup alone to be missed", func(s *v1beta2.RestoreStatus) bool {
		return slices.Equal(s.WaitingFor, []string{"EtcdBackup backup"})
	})
}

// Whatever a restore may ask for, the API server takes what is built of it.
func TestEverythingBuiltIsAccepted(t *testing.T) {
	t.Parallel()
	c, namespace := apiservertest.Client(t), apiservertest.Namespace(t)
	apiservertest.Create(t, c, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "restorer", Namespace: namespace}})
	for _, path := range admissiontest.Glob(t, "../build/testdata/*.golden.yaml") {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for doc := range strings.SplitSeq(strings.TrimPrefix(string(raw), "---\n"), "\n---\n") {
			var o unstructured.Unstructured
			if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
				t.Fatal(err)
			}
			o.SetNamespace(namespace)
			if err := c.Create(apiservertest.Context(t), &o, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
				t.Errorf("%s of %s: %v", o.GetKind(), path, err)
			}
		}
	}
}
