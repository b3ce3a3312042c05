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
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/build"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/controller"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/launchertest"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/metrics"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/creator"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/member"
	"github.com/etcd-operators/etcd-operators/shared/operator"
	"github.com/etcd-operators/etcd-operators/shared/operatortest"
)

func TestMain(m *testing.M) { os.Exit(apiservertest.Main(m)) }

// image is the operator's own.
const image = "example.com/etcd-restore-operator:test"

// bench is one test's namespace, with an operator of its own, and with all else that a
// restore needs: see kubernetes and etcdOperator.
type bench struct {
	t         *testing.T
	client    client.Client
	namespace string
	metrics   *prometheus.Registry
	// stop ends the operator that was started last.
	stop func()

	kubernetes   *kubernetes
	etcdOperator *etcdOperator
}

// newBench starts an operator for a namespace of its own.
func newBench(t *testing.T, changes ...func(*controller.Reconciler)) *bench {
	t.Helper()
	b := &bench{t: t, client: apiservertest.Client(t), namespace: apiservertest.Namespace(t)}
	b.kubernetes = &kubernetes{client: b.client, namespace: b.namespace, result: verified()}
	b.kubernetes.launcher = launchertest.ServeState(t, b.kubernetes.waits)
	b.etcdOperator = &etcdOperator{client: b.client, namespace: b.namespace}
	play(t, b.kubernetes.tick)
	play(t, b.etcdOperator.tick)
	b.startOperator(changes...)
	return b
}

// startOperator starts one as its main program does, with the rights that it is deployed
// with, and ends it with the test.
func (b *bench) startOperator(changes ...func(*controller.Reconciler)) {
	b.t.Helper()
	b.metrics = prometheus.NewRegistry()
	account := apiservertest.Account(b.t, b.namespace, "../../../../deploy/etcd-restore-operator/base/role.yaml")
	b.stop = apiservertest.StartOperator(b.t, account, b.namespace, b.operator(changes...))
}

// operator is what an operator is made of.
func (b *bench) operator(changes ...func(*controller.Reconciler)) func(context.Context, ctrl.Manager) error {
	return func(ctx context.Context, mgr ctrl.Manager) error {
		r := &controller.Reconciler{
			Client: mgr.GetClient(), Live: mgr.GetAPIReader(),
			Events:  mgr.GetEventRecorder("etcd-restore-operator"),
			Metrics: metrics.New(b.metrics),
			Images:  build.Images{Operator: image, Etcd: "example.com/etcd"},
			// The policy belongs to the whole API server, which the tests share.
			Creators: operator.Creators{Policy: creator.RestorePolicy, Trusted: true},
			Now:      time.Now,
		}
		for _, change := range changes {
			change(r)
		}
		return r.SetupWithManager(ctx, mgr, 4)
	}
}

// cluster makes an EtcdCluster of three members, with volumes and with data.
func (b *bench) cluster(name string, changes ...func(*v1beta2.EtcdCluster)) *v1beta2.EtcdCluster {
	b.t.Helper()
	c := &v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.namespace},
		Spec: v1beta2.ClusterSpec{Size: 3, Version: "3.6.16", Pod: &v1beta2.PodPolicy{
			PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			}},
		}},
	}
	for _, change := range changes {
		change(c)
	}
	apiservertest.Create(b.t, b.client, c)
	c.Status = v1beta2.ClusterStatus{CurrentVersion: "3.6.16", ClusterID: "00000000000000c1", HighestRevision: 5_000_000}
	apiservertest.SetStatus(b.t, b.client, c)
	for _, suffix := range []string{"a", "b", "c"} {
		m := member.Name(name, suffix)
		pod, err := member.NewPod(c, member.Options{Name: m, Version: "3.6.16", LauncherImage: "example.com/etcd-operator:test", Role: v1beta2.RoleVoter})
		if err != nil {
			b.t.Fatal(err)
		}
		apiservertest.Create(b.t, b.client, pod)
		if claim := member.NewClaim(c, m); claim != nil {
			apiservertest.Create(b.t, b.client, claim)
		}
	}
	return c
}

// restore makes an EtcdRestore in place from S3, unless it is changed.
func (b *bench) restore(name string, changes ...func(*v1beta2.EtcdRestore)) *v1beta2.EtcdRestore {
	b.t.Helper()
	e := &v1beta2.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.namespace},
		Spec: v1beta2.RestoreSpec{
			EtcdCluster:       &v1beta2.ClusterReference{Name: name},
			BackupStorageType: v1beta2.StorageS3,
			S3:                &v1beta2.S3Source{Path: "bucket/" + name, AWSSecret: "aws"},
		},
	}
	for _, change := range changes {
		change(e)
	}
	apiservertest.Create(b.t, b.client, e)
	return e
}

// until waits for a restore's status.
func (b *bench) until(e *v1beta2.EtcdRestore, what string, holds func(*v1beta2.RestoreStatus) bool) {
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

// untilPhase waits for a phase.
func (b *bench) untilPhase(e *v1beta2.EtcdRestore, phase v1beta2.RestorePhase) {
	b.t.Helper()
	b.until(e, "phase "+string(phase), func(s *v1beta2.RestoreStatus) bool { return s.Phase == phase })
}

// untilGone waits until an object is deleted.
func (b *bench) untilGone(o client.Object) {
	b.t.Helper()
	etcdtest.Eventually(b.t, fmt.Sprintf("%T %s to be gone", o, o.GetName()), func() error {
		err := b.client.Get(apiservertest.Context(b.t), client.ObjectKeyFromObject(o), o)
		if err == nil {
			return fmt.Errorf("it is there, with the finalizers %v", o.GetFinalizers())
		}
		return client.IgnoreNotFound(err)
	})
}

// pods are the names of a cluster's Pods.
func (b *bench) pods(c *v1beta2.EtcdCluster) []string {
	b.t.Helper()
	var list corev1.PodList
	if err := b.client.List(apiservertest.Context(b.t), &list, client.InNamespace(b.namespace), client.MatchingLabels(member.Selector(c.Name))); err != nil {
		b.t.Fatal(err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	slices.Sort(names)
	return names
}

// claims are the names of the volumes that have a label.
func (b *bench) claims(label, value string) []string {
	b.t.Helper()
	var list corev1.PersistentVolumeClaimList
	if err := b.client.List(apiservertest.Context(b.t), &list, client.InNamespace(b.namespace), client.MatchingLabels{label: value}); err != nil {
		b.t.Fatal(err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	slices.Sort(names)
	return names
}

// wantEvents waits for an event of each reason about a restore.
func (b *bench) wantEvents(e *v1beta2.EtcdRestore, reasons ...string) {
	b.t.Helper()
	operatortest.WantEvents(b.t, b.client, e, reasons...)
}

// wantMetric waits for a metric to have a value: it follows the status.
func (b *bench) wantMetric(want float64, name string, labels ...string) {
	b.t.Helper()
	operatortest.WantMetric(b.t, b.metrics, want, name, labels...)
}

// reconciles is how many there were.
func (b *bench) reconciles() float64 {
	b.t.Helper()
	n, _ := operatortest.Metric(b.t, b.metrics, "etcd_restore_reconcile_duration_seconds")
	return n
}
