package controller

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/certificates"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/consistency"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/credentials"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/metrics"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// oneCluster is a client that reads at most one EtcdCluster.
type oneCluster struct {
	client.Client
	cluster *v1beta2.EtcdCluster
}

func (o oneCluster) Get(_ context.Context, key client.ObjectKey, to client.Object, _ ...client.GetOption) error {
	if o.cluster == nil {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	o.cluster.DeepCopyInto(to.(*v1beta2.EtcdCluster))
	return nil
}

// The operator forgets an EtcdCluster that is deleted or leaves its scope. Otherwise its memory would be
// outdated when an EtcdCluster with this name comes back.
func TestForgets(t *testing.T) {
	elsewhere := &v1beta2.EtcdCluster{}
	elsewhere.Name, elsewhere.Annotations = "x", map[string]string{v1beta2.AnnotationScope: v1beta2.ScopeClusterwide}
	for name, c := range map[string]*v1beta2.EtcdCluster{"deleted": nil, "out of scope": elsewhere} {
		t.Run(name, func(t *testing.T) {
			r := &Reconciler{
				Client: oneCluster{cluster: c}, Metrics: metrics.New(prometheus.NewRegistry()), Comparisons: &consistency.Keeper{},
				Credentials: &credentials.Keeper{}, Certificates: &certificates.Keeper{},
			}
			key := client.ObjectKey{Name: "x"}
			now := time.Now()
			r.stale.note(key, now)
			r.replaced.Store(key, "1")
			o := facts.Observation{Now: now, Pods: []facts.Pod{{UID: "u", Answer: facts.Answer{Reached: true, ClusterID: 1, DBSizeInUse: 1}}}}
			o.Cluster.ClusterID = 1
			r.growth.Note(key, &o)
			correct(&r.sightings, key, &o)
			of := &v1beta2.EtcdCluster{}
			of.Name = "x"
			r.rejections.set(of, []facts.Rejection{{}})
			if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
				t.Fatal(err)
			}
			if _, ok := r.replaced.Load(key); ok || r.stale.all[key] != nil || r.sightings.Knows(key) || len(r.rejections.all) > 0 {
				t.Errorf("kept: replaced %t, stale %v, sightings %t, rejections %v", ok, r.stale.all[key], r.sightings.Knows(key), r.rejections.all)
			}
			later := facts.Observation{Now: now.Add(time.Minute)}
			if g := r.growth.Note(key, &later); g != (facts.Growth{}) {
				t.Errorf("kept: growth %+v", g)
			}
		})
	}
}
