package kubectltest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// age is how old the first event is: of ten hours and a half kubectl shows the hours alone.
const age = 10*time.Hour + 30*time.Minute

// Recorder returns an event recorder of one operator that writes each event at once, and dates
// them a second apart: kubectl shows them in their order.
func Recorder(t testing.TB, operator string) events.EventRecorder {
	return &recorder{t: t, client: apiservertest.Client(t), operator: operator, at: time.Now().Add(-age)}
}

type recorder struct {
	t        testing.TB
	client   client.Client
	operator string

	mu sync.Mutex
	at time.Time
	n  int
}

func (r *recorder) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	r.at = r.at.Add(time.Second)
	about := r.reference(regarding)
	e := &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Name: fmt.Sprintf("%s.%d", about.Name, r.n), Namespace: about.Namespace},
		EventTime:           metav1.NewMicroTime(r.at),
		ReportingController: r.operator, ReportingInstance: r.operator,
		Regarding: *about, Type: kind, Reason: reason, Action: action, Note: fmt.Sprintf(note, args...),
	}
	if related != nil {
		e.Related = r.reference(related)
	}
	if err := r.client.Create(context.Background(), e); err != nil {
		r.t.Errorf("write event %s: %v", reason, err)
	}
}

func (r *recorder) reference(to runtime.Object) *corev1.ObjectReference {
	r.t.Helper()
	o, isObject := to.(client.Object)
	gvk, err := apiutil.GVKForObject(to, apiservertest.Scheme())
	if err != nil || !isObject {
		r.t.Fatalf("an event is about %T: %v", to, err)
	}
	return &corev1.ObjectReference{
		APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind,
		Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
	}
}
