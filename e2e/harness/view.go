package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// View sees the objects of some namespaces as they change. What it returns is
// shared and must not be changed.
type View struct {
	cache cache.Cache

	mu      sync.Mutex
	changed chan struct{} // closed and made anew at every change
}

// watched are the kinds that every View follows.
func watched() []client.Object {
	return []client.Object{
		&v1beta2.EtcdCluster{}, &corev1.Pod{}, &corev1.PersistentVolumeClaim{}, &corev1.Service{},
		&policyv1.PodDisruptionBudget{}, &appsv1.Deployment{},
	}
}

// Watch starts a View that lasts until ctx ends. The kind EtcdCluster must exist.
func (e *Env) Watch(ctx context.Context, namespaces ...string) (*View, error) {
	inThese := map[string]cache.Config{}
	for _, ns := range namespaces {
		inThese[ns] = cache.Config{}
	}
	shared := true
	c, err := cache.New(e.Config, cache.Options{Scheme: e.scheme, DefaultNamespaces: inThese, DefaultUnsafeDisableDeepCopy: &shared})
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", strings.Join(namespaces, ", "), err)
	}
	v := &View{cache: c, changed: make(chan struct{})}
	go func() { _ = c.Start(ctx) }() // it ends with ctx, and has no other error
	return v, v.follow(ctx, watched()...)
}

// WatchBackups makes the View see EtcdBackups and their Jobs as well. The kind
// EtcdBackup must exist.
func (v *View) WatchBackups(ctx context.Context) error {
	return v.follow(ctx, &v1beta2.EtcdBackup{}, &batchv1.Job{})
}

// WatchRestores makes the View see EtcdRestores and their Jobs as well. The kind
// EtcdRestore must exist.
func (v *View) WatchRestores(ctx context.Context) error {
	return v.follow(ctx, &v1beta2.EtcdRestore{}, &batchv1.Job{})
}

func (v *View) follow(ctx context.Context, kinds ...client.Object) error {
	notify := toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { v.poke() },
		UpdateFunc: func(_, _ any) { v.poke() },
		DeleteFunc: func(any) { v.poke() },
	}
	for _, kind := range kinds {
		informer, err := v.cache.GetInformer(ctx, kind)
		if err != nil {
			return fmt.Errorf("watch %T: %w", kind, err)
		}
		if _, err := informer.AddEventHandler(notify); err != nil {
			return fmt.Errorf("watch %T: %w", kind, err)
		}
	}
	return nil
}

func (v *View) poke() {
	v.mu.Lock()
	defer v.mu.Unlock()
	close(v.changed)
	v.changed = make(chan struct{})
}

func (v *View) change() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.changed
}

// Await waits until check has nothing to object to, and looks again at every
// change. If ctx ends before, the error says what check objected to last.
func (v *View) Await(ctx context.Context, what string, check func() (objection string)) error {
	for {
		changed := v.change() // before the look, so that no change is missed
		objection := check()
		if objection == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w: %s", what, context.Cause(ctx), objection)
		case <-changed:
		}
	}
}

// Stays looks at every change for so long, and fails as soon as check objects.
func (v *View) Stays(ctx context.Context, what string, long time.Duration, check func() (objection string)) error {
	over := time.NewTimer(long)
	defer over.Stop()
	for {
		changed := v.change()
		if objection := check(); objection != "" {
			return fmt.Errorf("it did not stay %s: %s", what, objection)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-over.C:
			return nil
		case <-changed:
		}
	}
}

// State is all that Kubernetes has of one EtcdCluster, sorted by name.
type State struct {
	// Cluster is nil when there is no such EtcdCluster.
	Cluster  *v1beta2.EtcdCluster
	Pods     []corev1.Pod
	Claims   []corev1.PersistentVolumeClaim
	Services []corev1.Service
	Budgets  []policyv1.PodDisruptionBudget
}

// State returns what there is of an EtcdCluster, as far as the watches have
// reported.
func (v *View) State(namespace, name string) State {
	var s State
	ctx := context.Background() // a synced cache answers at once
	c := &v1beta2.EtcdCluster{}
	if err := v.cache.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, c); err == nil {
		s.Cluster = c
	}
	in, of := client.InNamespace(namespace), client.MatchingLabels{v1beta2.LabelCluster: name}
	var pods corev1.PodList
	var claims corev1.PersistentVolumeClaimList
	var services corev1.ServiceList
	var budgets policyv1.PodDisruptionBudgetList
	for _, list := range []client.ObjectList{&pods, &claims, &services, &budgets} {
		if err := v.cache.List(ctx, list, in, of); err != nil {
			panic(fmt.Sprintf("list from a synced cache: %v", err)) // not reached
		}
	}
	s.Pods, s.Claims, s.Services, s.Budgets = pods.Items, claims.Items, services.Items, budgets.Items
	slices.SortFunc(s.Pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Claims, func(a, b corev1.PersistentVolumeClaim) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Services, func(a, b corev1.Service) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// Get reads one object of a watched kind; it reports whether it exists.
func (v *View) Get(namespace, name string, into client.Object) bool {
	return v.cache.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, into) == nil
}

// create creates an object, and returns when the View has seen it: a check that comes right
// after finds the object, or knows that it is gone.
func (e *Env) create(ctx context.Context, v *View, obj client.Object) error {
	if err := e.Client.Create(ctx, obj); err != nil {
		return err
	}
	seen := obj.DeepCopyObject().(client.Object)
	return v.Await(ctx, "the watch to report it", func() string {
		if !v.Get(obj.GetNamespace(), obj.GetName(), seen) || seen.GetUID() != obj.GetUID() {
			return "it has not"
		}
		return ""
	})
}

// pollEvery is how often Poll asks: seldom enough not to disturb what it measures.
const pollEvery = 200 * time.Millisecond

// Poll asks for what no watch reports, until there is no objection. Its error has the last one: what
// it asks when its time is up is only cut short.
func Poll(ctx context.Context, what string, ask func(context.Context) (objection string, err error)) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var objection string
	for {
		now, err := ask(ctx)
		switch {
		case err == nil && now == "":
			return nil
		case err == nil:
			objection = now
		case ctx.Err() == nil || objection == "":
			objection = err.Error()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w: %s", what, context.Cause(ctx), objection)
		case <-tick.C:
		}
	}
}
