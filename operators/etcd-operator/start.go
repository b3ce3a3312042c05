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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/api/crd"
	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/act"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/controller"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/metrics"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

const (
	// name is that of the Lease, of the field manager and of the event source.
	name = "etcd-operator"
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
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1beta2.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
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
	probes := &probes{}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         o.cache(mayReadNodes),
		Metrics:                       metricsserver.Options{BindAddress: o.listenAddr, ExtraHandlers: probes.handlers()},
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              name,
		LeaderElectionNamespace:       o.namespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	if err := mgr.Add(probes); err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	if err := o.controller(mgr, mayReadNodes).SetupWithManager(ctx, mgr, o.workers); err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	ctrl.Log.Info("starting", "version", version(), "namespace", o.namespace, "clusterWide", o.clusterWide, "launcherImage", o.launcherImage, "nodes", mayReadNodes)
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
		Actor:       &act.Actor{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Etcd: etcd, LauncherImage: o.launcherImage},
		Events:      mgr.GetEventRecorder(name),
		Metrics:     metrics.New(ctrlmetrics.Registry),
		ClusterWide: o.clusterWide,
	}
}

// prepare does and learns what must be done and known before the caches are set up.
func (o *options) prepare(ctx context.Context, c client.Client) (mayReadNodes bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	if o.createCRD {
		if err := createCRD(ctx, c); err != nil {
			return false, err
		}
	}
	if o.launcherImage == "" {
		if o.launcherImage, err = o.ownImage(ctx, c); err != nil {
			return false, err
		}
	}
	return mayRead(ctx, c, "nodes")
}

// createCRD installs the CustomResourceDefinition, or brings it up to date.
func createCRD(ctx context.Context, c client.Client) error {
	var u unstructured.Unstructured
	if err := yaml.Unmarshal(crd.EtcdClusters, &u.Object); err != nil {
		return fmt.Errorf("read the embedded CustomResourceDefinition: %w", err)
	}
	if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(&u), client.FieldOwner(name), client.ForceOwnership); err != nil {
		return fmt.Errorf("install CustomResourceDefinition %s (without --create-crd somebody else installs it): %w", u.GetName(), err)
	}
	return nil
}

// ownImage is the image of the operator's own Pod, as the archived operator's
// Deployment leaves it to be found out.
func (o *options) ownImage(ctx context.Context, c client.Client) (string, error) {
	var pod corev1.Pod
	if err := c.Get(ctx, client.ObjectKey{Namespace: o.namespace, Name: o.pod}, &pod); err != nil {
		return "", fmt.Errorf("read the operator's own Pod for its image (or set --image): %w", err)
	}
	for _, container := range pod.Spec.Containers {
		if container.Name == name {
			return container.Image, nil
		}
	}
	return pod.Spec.Containers[0].Image, nil
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

// cache keeps in memory only what is needed: Pods, volumes and EndpointSlices of
// etcd, the owners of Services and PodDisruptionBudgets, the readiness of nodes.
func (o *options) cache(mayReadNodes bool) cache.Options {
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
	if !o.clusterWide {
		opts.DefaultNamespaces = map[string]cache.Config{o.namespace: {}}
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
