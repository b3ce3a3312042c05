package operator

import (
	"context"
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

const (
	// firstDelay and longestDelay are how soon to look again at what is in the way:
	// often, since the rest of an installation follows at once, and then seldom.
	firstDelay   = time.Second
	longestDelay = 30 * time.Second
	// repeatsBeforeEvent is how many checks in a row must find the same problem before an
	// event reports it: components that are installed together take a moment.
	repeatsBeforeEvent = 3
)

// await looks until nothing is in the way, for as long as that takes. Meanwhile it says
// what is, which look returns as an error: in the log, by /readyz, and in an event.
func (o *Options) await(ctx context.Context, c client.Client, ready *readiness, by string, look func(context.Context) error) error {
	log := ctrl.Log.WithName("ready")
	backoff := wait.Backoff{Duration: firstDelay, Factor: 2, Jitter: 0.1, Steps: math.MaxInt32, Cap: longestDelay}
	said, times := "", 0
	for {
		err := bounded(ctx, look)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil {
			ready.clear(by)
			if said != "" {
				log.Info("no longer waiting", "for", said)
			}
			return nil
		}
		ready.set(by, err.Error())
		if said != err.Error() {
			said, times = err.Error(), 0
			log.Info(said)
		}
		if times++; times == repeatsBeforeEvent {
			log.Error(err, "still waiting")
			if err := o.warn(ctx, c, said); err != nil {
				log.Info("no event tells of it", "error", err.Error())
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(backoff.Step()):
		}
	}
}

// bounded gives a look at the API server [startDeadline].
func bounded(ctx context.Context, look func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	return look(ctx)
}

// warn makes an event about the operator's Pod. The rights to do so may be among those
// that are missing, and older Roles grant events of the core group alone.
func (o *Options) warn(ctx context.Context, c client.Client, note string) error {
	if o.Pod == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	pod := corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: o.Namespace, Name: o.Pod}
	var itself corev1.Pod
	if err := c.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Pod}, &itself); err == nil {
		pod.UID = itself.UID // without it "kubectl describe" does not show the event
	}
	now := metav1.NowMicro()
	meta := metav1.ObjectMeta{Namespace: o.Namespace, Name: fmt.Sprintf("%s.%x", o.Pod, now.UnixNano())}
	err := c.Create(ctx, &eventsv1.Event{
		ObjectMeta: meta, EventTime: now, ReportingController: o.Name, ReportingInstance: o.Pod,
		Type: corev1.EventTypeWarning, Reason: v1beta2.ReasonNotReady, Action: "Wait", Regarding: pod, Note: clipped(note),
	})
	if !apierrors.IsForbidden(err) {
		return err
	}
	seen := metav1.NewTime(now.Time)
	if err := c.Create(ctx, &corev1.Event{
		ObjectMeta: meta, FirstTimestamp: seen, LastTimestamp: seen, Count: 1, Source: corev1.EventSource{Component: o.Name},
		Type: corev1.EventTypeWarning, Reason: v1beta2.ReasonNotReady, InvolvedObject: pod, Message: clipped(note),
	}); err != nil {
		return fmt.Errorf("tell of it about Pod %s: %w", o.Pod, err)
	}
	return nil
}
