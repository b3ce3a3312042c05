package objects

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

const (
	// pace is how long the writer takes between two writes.
	pace = 20 * time.Millisecond
	// writeTimeout bounds one write.
	writeTimeout = 5 * time.Second
	// updatesPerObject is how many updates there are for each object that is created.
	updatesPerObject = 3
)

// Writer creates and updates objects, one write after the other. An update names the resource
// version that was acknowledged last, so that the API server refuses it if it has another one.
type Writer struct {
	client typedcorev1.ConfigMapInterface

	mu sync.Mutex // held during each write, so that none is under way while the writer is paused
	// acknowledged is each object as it was acknowledged last.
	acknowledged Content
	// unsure are objects of which a write failed, that may be done all the same. They are written
	// no more.
	unsure map[string]bool
	next   int   // the number of the next write
	newest int64 // the highest resource version that was acknowledged
	writes int   // how many were acknowledged
	broken []string
	errors map[string]int
}

// NewWriter returns a writer that writes nothing yet.
func NewWriter(client typedcorev1.ConfigMapInterface) *Writer {
	return &Writer{client: client, acknowledged: Content{}, unsure: map[string]bool{}, errors: map[string]int{}}
}

// Run writes until ctx ends.
func (w *Writer) Run(ctx context.Context) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.write(ctx)
		}
	}
}

func (w *Writer) write(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	w.next++
	if names := w.sure(); w.next%(updatesPerObject+1) != 0 && len(names) > 0 {
		w.update(ctx, names[w.next%len(names)])
		return
	}
	w.create(ctx, fmt.Sprintf("object-%06d", w.next))
}

// sure are the objects of which it is known what they are.
func (w *Writer) sure() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(w.acknowledged)), func(name string) bool { return w.unsure[name] })
}

func (w *Writer) create(ctx context.Context, name string) {
	o, err := w.client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{valueKey: "0"}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		w.broken = append(w.broken, name+" exists, and was never created")
	}
	w.note(name, o, err)
}

func (w *Writer) update(ctx context.Context, name string) {
	old := w.acknowledged[name]
	o, err := w.client.Update(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: old.UID, ResourceVersion: strconv.FormatInt(old.Version, 10)},
		Data:       map[string]string{valueKey: strconv.Itoa(old.Value + 1)},
	}, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		w.broken = append(w.broken, fmt.Sprintf("%s is not what was acknowledged, %+v: %v", name, old, err))
	}
	w.note(name, o, err)
}

// note keeps what was answered.
func (w *Writer) note(name string, o *corev1.ConfigMap, err error) {
	var now Object
	if err == nil {
		now, err = read(o)
	}
	if err != nil {
		w.unsure[name] = true
		w.errors[err.Error()]++
		return
	}
	if now.Version <= w.newest {
		w.broken = append(w.broken, fmt.Sprintf("%s was written at resource version %d, after one at %d", name, now.Version, w.newest))
	}
	w.acknowledged[name], w.newest = now, now.Version
	w.writes++
}

// Writes is how many were acknowledged, and the failures by what was said of them.
func (w *Writer) Writes() (acknowledged int, failures map[string]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.writes, maps.Clone(w.errors)
}

// Pause returns when no write is under way, and lets none begin until the returned function is
// called.
func (w *Writer) Pause() (resume func()) {
	w.mu.Lock()
	return w.mu.Unlock
}

// GivesUp makes what is there now all that was acknowledged, as after a restore. The writer is
// paused.
func (w *Writer) GivesUp(all Content) {
	w.acknowledged, w.unsure = maps.Clone(all), map[string]bool{}
}

// Check says what of the acknowledged is not there; the writer is paused. Of objects whose last
// write failed, either state is right.
func (w *Writer) Check(all Content) []string {
	found := slices.Clone(w.broken)
	for name, want := range w.acknowledged {
		got, ok := all[name]
		switch {
		case !ok:
			found = append(found, fmt.Sprintf("%s is lost: it was %+v", name, want))
		case w.unsure[name] && got.UID == want.UID && got.Value == want.Value+1:
		case got != want:
			found = append(found, fmt.Sprintf("%s is %+v, and was acknowledged as %+v", name, got, want))
		}
	}
	for name := range all {
		if _, known := w.acknowledged[name]; !known && !w.unsure[name] {
			found = append(found, name+" is there, and nobody has created it")
		}
	}
	slices.Sort(found)
	return found
}
