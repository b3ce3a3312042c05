package tunnel

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// TestEndedPods: it is noticed that a Pod is deleted, was deleted before, or has ended. Who has no
// right to watch Pods is not told, and nobody waits for ever.
func TestEndedPods(t *testing.T) {
	for name, tc := range map[string]struct {
		refused bool
		do      func(ctx context.Context, c *fake.Clientset) error
		want    bool
	}{
		"deleted": {do: func(ctx context.Context, c *fake.Clientset) error {
			return c.CoreV1().Pods("ns").Delete(ctx, "pod", metav1.DeleteOptions{})
		}, want: true},
		"ended": {do: func(ctx context.Context, c *fake.Clientset) error {
			_, err := c.CoreV1().Pods("ns").Update(ctx, aPod(corev1.PodFailed), metav1.UpdateOptions{})
			return err
		}, want: true},
		"only changed": {do: func(ctx context.Context, c *fake.Clientset) error {
			_, err := c.CoreV1().Pods("ns").Update(ctx, aPod(corev1.PodRunning), metav1.UpdateOptions{})
			return err
		}},
		"watched by nobody": {refused: true, do: func(context.Context, *fake.Clientset) error { return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientset(aPod(corev1.PodRunning))
			if tc.refused {
				c.PrependWatchReactor("pods", func(clienttesting.Action) (bool, watch.Interface, error) {
					return true, nil, apierrors.NewForbidden(corev1.Resource("pods"), "pod", nil)
				})
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			got := make(chan bool, 1)
			go func() { got <- ended(ctx, c.CoreV1().Pods("ns"), "pod") }()
			if err := tc.do(ctx, c); err != nil {
				t.Fatal(err)
			}
			if name == "only changed" {
				time.AfterFunc(100*time.Millisecond, cancel)
			}
			if is := <-got; is != tc.want {
				t.Errorf("ended: %t, want %t", is, tc.want)
			}
		})
	}
	if c := fake.NewClientset(); !ended(t.Context(), c.CoreV1().Pods("ns"), "pod") {
		t.Error("a Pod that is not there has not ended")
	}
}

func aPod(phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: "uid"}, Status: corev1.PodStatus{Phase: phase}}
}
