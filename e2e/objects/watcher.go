package objects

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
)

// Watcher keeps a copy of all objects with client-go's reflector, as every informer does, and
// looks at all that this is told.
type Watcher struct {
	client typedcorev1.ConfigMapInterface
	store  cache.Store

	mu sync.Mutex
	// newest is the highest resource version that it was told.
	newest int64
	// values are those of the objects as it was told them last.
	values  map[string]int
	lists   int
	expired int
	broken  []string
}

// NewWatcher returns one that watches nothing yet.
func NewWatcher(client typedcorev1.ConfigMapInterface) *Watcher {
	return &Watcher{client: client, store: cache.NewStore(cache.MetaNamespaceKeyFunc), values: map[string]int{}}
}

// Run watches until ctx ends.
func (w *Watcher) Run(ctx context.Context) {
	from := listFirst{&cache.ListWatch{ListWithContextFunc: w.list, WatchFuncWithContext: w.watch}}
	cache.NewReflector(from, &corev1.ConfigMap{}, w.store, 0).RunWithContext(ctx)
}

// listFirst lets the reflector list, and then watch: by the events of a list that comes as a watch,
// no order of resource versions can be told.
type listFirst struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported is for the reflector.
func (listFirst) IsWatchListSemanticsUnSupported() bool { return true }

func (w *Watcher) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := w.client.List(ctx, options)
	if err != nil {
		w.note(err)
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lists++
	version, err := parseVersion(list.ResourceVersion)
	switch {
	case err != nil:
		w.broken = append(w.broken, err.Error())
	case version < w.newest:
		w.broken = append(w.broken, fmt.Sprintf("a list at resource version %d, after %d", version, w.newest))
	}
	w.newest = max(w.newest, version)
	clear(w.values)
	for i := range list.Items {
		o, err := read(&list.Items[i])
		if err != nil {
			w.broken = append(w.broken, err.Error())
		}
		w.values[list.Items[i].Name] = o.Value
	}
	return list, nil
}

func (w *Watcher) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	from, err := w.client.Watch(ctx, options)
	if err != nil {
		w.note(err)
		return nil, err
	}
	return watch.Filter(from, func(e watch.Event) (watch.Event, bool) {
		w.see(e)
		return e, true
	}), nil
}

// note counts the answers that what the watcher knows is too old to go on from.
func (w *Watcher) note(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		w.expired++
	}
}

// see looks at an event.
func (w *Watcher) see(e watch.Event) {
	o, isObject := e.Object.(*corev1.ConfigMap)
	if !isObject {
		w.note(apierrors.FromObject(e.Object))
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	version, err := parseVersion(o.ResourceVersion)
	switch {
	case err != nil:
		w.broken = append(w.broken, err.Error())
	case version < w.newest, version == w.newest && e.Type != watch.Bookmark:
		w.broken = append(w.broken, fmt.Sprintf("%s %s at resource version %d, after %d", e.Type, o.Name, version, w.newest))
	}
	w.newest = max(w.newest, version)
	switch e.Type {
	case watch.Added, watch.Modified:
		now, err := read(o)
		if err != nil {
			w.broken = append(w.broken, err.Error())
		}
		if old, known := w.values[o.Name]; known && now.Value <= old {
			w.broken = append(w.broken, fmt.Sprintf("%s %s with the value %d, after %d", e.Type, o.Name, now.Value, old))
		}
		w.values[o.Name] = now.Value
	case watch.Deleted:
		w.broken = append(w.broken, o.Name+" is deleted, by nobody")
	case watch.Bookmark, watch.Error: // they tell of no object
	}
}

// Copy is what the watcher believes to be there.
func (w *Watcher) Copy() (Content, error) {
	all := Content{}
	for _, item := range w.store.List() {
		o := item.(*corev1.ConfigMap)
		var err error
		if all[o.Name], err = read(o); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Report is what has happened to the watcher: how often it has listed, how often it was told that
// what it knew had expired, and what should never have happened.
func (w *Watcher) Report() (lists, expired int, broken []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lists, w.expired, slices.Clone(w.broken)
}
