package observe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// pods reads the Pods, and returns those that can be asked in the order of
// Observation.Pods.
func (o *Observer) pods(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation) ([]*corev1.Pod, error) {
	var list corev1.PodList
	if err := o.Reader.List(ctx, &list, client.InNamespace(c.Namespace), client.MatchingLabels(member.Selector(c.Name))); err != nil {
		return nil, fmt.Errorf("list Pods: %w", err)
	}
	addressed, err := o.addresses(ctx, c)
	if err != nil {
		return nil, err
	}
	routed, err := o.routed(ctx, c)
	if err != nil {
		return nil, err
	}
	var pods []*corev1.Pod
	for i := range list.Items {
		p := &list.Items[i]
		switch {
		case !metav1.IsControlledBy(p, c) && isInDoubt(c, p):
			obs.Doubtful = append(obs.Doubtful, facts.DoubtfulPod(c.Namespace, p.Name, c.Name, string(c.UID)))
			continue
		case !metav1.IsControlledBy(p, c):
			orphan(c, obs, p)
			continue
		case p.Spec.RestartPolicy == corev1.RestartPolicyNever:
			obs.LegacyPods = append(obs.LegacyPods, p.Name)
			continue
		}
		pods = append(pods, p)
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(obs.LegacyPods)
	slices.Sort(obs.Conflicts)
	slices.Sort(obs.Unowned)
	slices.Sort(obs.Orphans)
	slices.SortFunc(obs.Doubtful, func(a, b facts.Doubtful) int { return strings.Compare(a.Name, b.Name) })
	obs.Pods = slices.Grow(obs.Pods, len(pods))
	for _, p := range pods {
		out := PodOf(c, p)
		out.Addressed = p.Status.PodIP != "" && addressed[p.Name] == p.Status.PodIP
		out.Routed = routed[p.UID]
		if out.NodeLostSince, out.Cordoned, err = o.node(ctx, p); err != nil {
			return nil, err
		}
		obs.Pods = append(obs.Pods, out)
	}
	return pods, nil
}

// addresses are the ones that the headless Service publishes, by member name.
func (o *Observer) addresses(ctx context.Context, c *v1beta2.EtcdCluster) (map[string]string, error) {
	endpoints, err := o.endpoints(ctx, c, member.PeerServiceName(c.Name))
	out := map[string]string{}
	for _, e := range endpoints {
		if e.Hostname != nil && len(e.Addresses) > 0 {
			out[*e.Hostname] = e.Addresses[0]
		}
	}
	return out, err
}

// routed are the Pods, by uid, to which the client Service sends new clients.
func (o *Observer) routed(ctx context.Context, c *v1beta2.EtcdCluster) (map[types.UID]bool, error) {
	endpoints, err := o.endpoints(ctx, c, member.ClientServiceName(c.Name))
	out := map[types.UID]bool{}
	for _, e := range endpoints {
		if ready := e.Conditions.Ready; e.TargetRef != nil && (ready == nil || *ready) {
			out[e.TargetRef.UID] = true
		}
	}
	return out, err
}

// endpoints are those of a Service.
func (o *Observer) endpoints(ctx context.Context, c *v1beta2.EtcdCluster, service string) ([]discoveryv1.Endpoint, error) {
	var list discoveryv1.EndpointSliceList
	if err := o.Reader.List(ctx, &list, client.InNamespace(c.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service}); err != nil {
		return nil, fmt.Errorf("list EndpointSlices: %w", err)
	}
	var all []discoveryv1.Endpoint
	for i := range list.Items {
		all = append(all, list.Items[i].Endpoints...)
	}
	return all, nil
}

// node tells since when the Pod's node is not ready, and whether it is cordoned,
// as far as the operator may know.
func (o *Observer) node(ctx context.Context, p *corev1.Pod) (lostSince time.Time, cordoned bool, err error) {
	if o.Nodes == nil || p.Spec.NodeName == "" {
		return time.Time{}, false, nil
	}
	var node corev1.Node
	err = o.Nodes.Get(ctx, client.ObjectKey{Name: p.Spec.NodeName}, &node)
	switch {
	case apierrors.IsNotFound(err):
		// Since when, nobody can tell: the Pod may have been unready before. Kubernetes takes
		// the Pods of such a node away within a minute.
		return time.Time{}, false, nil
	case err != nil:
		return time.Time{}, false, fmt.Errorf("read node %s: %w", p.Spec.NodeName, err)
	}
	for _, cond := range node.Status.Conditions {
		if cond.Type == corev1.NodeReady && cond.Status != corev1.ConditionTrue {
			lostSince = cond.LastTransitionTime.Time
		}
	}
	return lostSince, node.Spec.Unschedulable, nil
}

// transition is since when a Pod's condition is not true; zero if it is.
func transition(conditions []corev1.PodCondition, kind corev1.PodConditionType) time.Time {
	for _, c := range conditions {
		if c.Type == kind && c.Status != corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}
