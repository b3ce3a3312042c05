package observe

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// conflicts finds objects of names that the cluster needs and that are not its own. A
// cluster cannot do without its Services: its members would not find each other, or
// clients would find another's. Without its budget it can.
func (o *Observer) conflicts(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation) error {
	peer, cl := member.PeerService(c), member.ClientService(c)
	needed := map[string]client.Object{"Service " + peer.Name: peer, "Service " + cl.Name: cl}
	const budget = "PodDisruptionBudget "
	if obs.Cluster.DisruptionBudget && obs.Cluster.Size >= 3 {
		pdb := member.DisruptionBudget(c, 1)
		needed[budget+pdb.Name] = pdb
	}
	for kind, obj := range needed {
		err := o.Reader.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", kind, err)
		}
		switch {
		case metav1.IsControlledBy(obj, c):
		case strings.HasPrefix(kind, budget):
			obs.ForeignBudget = kind + ownerOf(obj)
		default:
			conflict(obs, kind, obj)
		}
	}
	slices.Sort(obs.Conflicts)
	slices.Sort(obs.Unowned)
	return nil
}

// conflict notes an object that is not the cluster's.
func conflict(obs *facts.Observation, kind string, obj client.Object) {
	obs.Conflicts = append(obs.Conflicts, kind+ownerOf(obj))
	if metav1.GetControllerOf(obj) == nil {
		obs.Unowned = append(obs.Unowned, strings.ToLower(strings.Replace(kind, " ", "/", 1)))
	}
}

// orphan notes a Pod of the cluster's name that is not the cluster's: kubectl delete
// --cascade=orphan leaves some, whose etcd runs on. A cluster that has not begun does not
// begin beside them; one that has goes on, since its Services do not select them. Those
// that are ending are not in the way.
func orphan(c *v1beta2.EtcdCluster, obs *facts.Observation, p *corev1.Pod) {
	ended := p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
	switch {
	case p.DeletionTimestamp != nil || ended:
	case c.Status.Bootstrap == nil && c.Status.ClusterID == "":
		conflict(obs, "Pod "+p.Name, p)
		obs.OrphansInTheWay = true
	default:
		obs.Orphans = append(obs.Orphans, p.Name+ownerOf(p))
	}
}

func ownerOf(obj client.Object) string {
	if o := metav1.GetControllerOf(obj); o != nil {
		return fmt.Sprintf(" (of %s %s)", o.Kind, o.Name)
	}
	return ""
}
