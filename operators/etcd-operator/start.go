package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/etcd-operators/etcd-operators/api/crd"
	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/act"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/controller"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/metrics"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

const (
	// startDeadline bounds what is read from the API server before the start.
	startDeadline = 30 * time.Second
	// apiQPS and apiBurst bound the requests to the API server: a growing cluster
	// needs some tens, an idle one none.
	apiQPS, apiBurst = 200, 400
)

// start runs the operator until ctx ends.
func (o *options) start(ctx context.Context) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the API server: %w", err)
	}
	config.QPS, config.Burst = apiQPS, apiBurst
	scheme, err := operator.Scheme()
	if err != nil {
		return err
	}
	// A client without a cache, for what is asked once before the start.
	direct, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	mayReadNodes, err := o.prepare(ctx, direct)
	if err != nil {
		return err
	}
	mgr, err := o.Manager(config, scheme, caches(mayReadNodes))
	if err != nil {
		return err
	}
	if err := o.controller(mgr, mayReadNodes).SetupWithManager(ctx, mgr, o.Workers); err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	ctrl.Log.Info("starting", "version", operator.BuildVersion(), "namespace", o.Namespace, "clusterWide", o.ClusterWide, "launcherImage", o.Image, "nodes", mayReadNodes)
	return mgr.Start(ctx)
}

func (o *options) controller(mgr ctrl.Manager, mayReadNodes bool) *controller.Reconciler {
	etcd := etcdclient.Client{}
	observer := &observe.Observer{Reader: mgr.GetClient(), Etcd: etcd, DefaultVersion: strings.TrimPrefix(o.defaultVersion, "v")}
	if mayReadNodes {
		observer.Nodes = mgr.GetClient()
	}
	return &controller.Reconciler{
		Client:      mgr.GetClient(),
		Observer:    observer,
		Actor:       &act.Actor{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Etcd: etcd, LauncherImage: o.Image},
		Events:      mgr.GetEventRecorder(name),
		Metrics:     metrics.New(ctrlmetrics.Registry),
		ClusterWide: o.ClusterWide,
	}
}

// prepare does and learns what must be done and known before the caches are set up.
func (o *options) prepare(ctx context.Context, c client.Client) (mayReadNodes bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	if err := o.Prepare(ctx, c, crd.EtcdClusters); err != nil {
		return false, err
	}
	return mayRead(ctx, c, "nodes")
}

// mayRead asks whether the operator has the rights to list and watch a resource of
// the whole cluster.
func mayRead(ctx context.Context, c client.Client, resource string) (bool, error) {
	for _, verb := range []string{"list", "watch"} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Resource: resource},
		}}
		if err := c.Create(ctx, review); err != nil {
			return false, fmt.Errorf("ask whether %s may be read: %w", resource, err)
		}
		if !review.Status.Allowed {
			return false, nil
		}
	}
	return true, nil
}

// caches keep in memory only what is needed: Pods, volumes and EndpointSlices of
// etcd, the owners of Services and PodDisruptionBudgets, the readiness of nodes.
func caches(mayReadNodes bool) cache.Options {
	ours := labels.SelectorFromSet(labels.Set{v1beta2.LabelApp: v1beta2.AppEtcd})
	opts := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:                   {Label: ours},
			&corev1.PersistentVolumeClaim{}: {Label: ours},
			&discoveryv1.EndpointSlice{}:    {Label: ours},
			// All of them, so that those of others are seen in the place of ours.
			&corev1.Service{}:               {Transform: onlyOurs},
			&policyv1.PodDisruptionBudget{}: {Transform: onlyOurs},
		},
	}
	if mayReadNodes {
		opts.ByObject[&corev1.Node{}] = cache.ByObject{Transform: onlyReadiness}
	}
	return opts
}

// onlyOurs leaves of the Services and PodDisruptionBudgets of others only who they
// are and whose.
func onlyOurs(in any) (any, error) {
	o, ok := in.(client.Object)
	if !ok {
		return in, nil
	}
	o.SetManagedFields(nil)
	if o.GetLabels()[v1beta2.LabelCluster] != "" {
		return o, nil
	}
	o.SetAnnotations(nil)
	o.SetLabels(nil)
	switch x := o.(type) {
	case *corev1.Service:
		x.Spec, x.Status = corev1.ServiceSpec{}, corev1.ServiceStatus{}
	case *policyv1.PodDisruptionBudget:
		x.Spec, x.Status = policyv1.PodDisruptionBudgetSpec{}, policyv1.PodDisruptionBudgetStatus{}
	}
	return o, nil
}

// onlyReadiness leaves of a node only its name and whether it is ready.
func onlyReadiness(in any) (any, error) {
	node, ok := in.(*corev1.Node)
	if !ok {
		return in, nil
	}
	small := &corev1.Node{}
	small.Name, small.UID, small.ResourceVersion = node.Name, node.UID, node.ResourceVersion
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			small.Status.Conditions = append(small.Status.Conditions, c)
		}
	}
	return small, nil
}
