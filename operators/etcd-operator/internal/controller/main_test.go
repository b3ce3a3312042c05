package controller_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/act"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/certificates"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/consistency"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/controller"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/credentials"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/metrics"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/podtest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/operatortest"
)

func TestMain(m *testing.M) {
	podtest.BecomeLauncher()
	ctrl.SetLogger(zap.New(zap.WriteTo(io.Discard)))
	os.Exit(apiservertest.Main(m))
}

// version is that of all members here; other versions are e2e's.
const version = "3.6.16"

// bench is a namespace with an operator of its own.
type bench struct {
	t         *testing.T
	client    client.Client
	namespace string
	metrics   *prometheus.Registry
	requests  *requests
}

// newBench starts an operator for a namespace of its own.
func newBench(t *testing.T, changes ...func(*controller.Reconciler)) *bench {
	t.Helper()
	b := &bench{t: t, client: apiservertest.Client(t), namespace: apiservertest.Namespace(t), metrics: prometheus.NewRegistry(), requests: &requests{}}
	b.startOperator(b.metrics, changes...)
	return b
}

// startOperator starts one as its main program does, with its caches, and ends it with
// the test.
func (b *bench) startOperator(registry prometheus.Registerer, changes ...func(*controller.Reconciler)) {
	b.t.Helper()
	to := apiservertest.Confined(b.t, b.namespace, "etcd-operator", "../../../../deploy/etcd-operator/crd/admission.yaml")
	to.Wrap(b.requests.count)
	apiservertest.StartOperatorWith(b.t, to, b.namespace, controller.Caches(true, true), func(ctx context.Context, mgr ctrl.Manager) error {
		etcd := etcdclient.Client{}
		comparisons := consistency.New(etcd)
		r := &controller.Reconciler{
			Client:   mgr.GetClient(),
			Observer: &observe.Observer{Reader: mgr.GetClient(), Live: mgr.GetAPIReader(), Nodes: mgr.GetClient(), Etcd: etcd, DefaultVersion: version},
			Actor:    &act.Actor{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Etcd: etcd, Comparisons: comparisons, LauncherImage: "example.com/etcd-operator:test"},
			Events:   mgr.GetEventRecorder("etcd-operator"),
			Metrics:  metrics.New(registry),

			Comparisons:  comparisons,
			Credentials:  &credentials.Keeper{Live: mgr.GetAPIReader()},
			Certificates: &certificates.Keeper{Client: mgr.GetClient(), Live: mgr.GetAPIReader()},
		}
		for _, change := range changes {
			change(r)
		}
		return r.SetupWithManager(ctx, mgr, 4)
	})
}

// create makes an EtcdCluster.
func (b *bench) create(name string, size int, changes ...func(*v1beta2.EtcdCluster)) *v1beta2.EtcdCluster {
	b.t.Helper()
	c := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.namespace}, Spec: v1beta2.ClusterSpec{Size: size}}
	for _, change := range changes {
		change(c)
	}
	apiservertest.Create(b.t, b.client, c)
	return c
}

// edit changes an EtcdCluster as a user does.
func (b *bench) edit(c *v1beta2.EtcdCluster, change func(*v1beta2.EtcdCluster)) {
	b.t.Helper()
	operatortest.Edit(b.t, b.client, c, change)
}

// until waits for a cluster's status.
func (b *bench) until(c *v1beta2.EtcdCluster, what string, holds func(*v1beta2.ClusterStatus) bool) {
	b.t.Helper()
	etcdtest.Eventually(b.t, what, func() error {
		apiservertest.Read(b.t, b.client, c)
		if holds(&c.Status) {
			return nil
		}
		return fmt.Errorf("%s ready; %s", c.Status.ReadyMembers, said(&c.Status))
	})
}

// untilHealthy waits until a cluster has so many voters, all of them healthy, and
// nothing is left to do.
func (b *bench) untilHealthy(c *v1beta2.EtcdCluster, n int) {
	b.t.Helper()
	b.until(c, fmt.Sprintf("%d healthy members", n), func(s *v1beta2.ClusterStatus) bool {
		return s.ReadyMembers == fmt.Sprintf("%d/%d", n, n) && s.Size == n && reason(s, v1beta2.ConditionProgressing) == "UpToDate"
	})
}

func (b *bench) pods(c *v1beta2.EtcdCluster) []corev1.Pod {
	b.t.Helper()
	var list corev1.PodList
	if err := b.client.List(apiservertest.Context(b.t), &list, client.InNamespace(b.namespace), client.MatchingLabels{v1beta2.LabelCluster: c.Name}); err != nil {
		b.t.Fatal(err)
	}
	return list.Items
}

func reason(s *v1beta2.ClusterStatus, kind string) string {
	if c := meta.FindStatusCondition(s.Conditions, kind); c != nil {
		return c.Reason
	}
	return ""
}

func said(s *v1beta2.ClusterStatus) string {
	all := ""
	for _, c := range s.Conditions {
		all += fmt.Sprintf("%s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	return all
}
