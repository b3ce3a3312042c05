package controller

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

// TestRefusalBacksOff checks that a change which etcd refuses for as long as a member crashes causes at most three
// requests a minute, and that a refusal which ends within etcd's own 5 s is retried without delay.
func TestRefusalBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Reconciler
		key, started := client.ObjectKey{Name: "x"}, time.Now()
		pause := func(err error) time.Duration {
			result, _ := r.next(t.Context(), key, plan.Decision{RequeueAfter: time.Minute}, err)
			return result.RequeueAfter
		}
		refused := fmt.Errorf("add member x-1: %w", etcdclient.ErrUnhealthy)
		for time.Since(started) < refusalGrace {
			got := pause(refused)
			if got != refusalDelay {
				t.Fatalf("after %s the pause is %s, want %s", time.Since(started), got, refusalDelay)
			}
			time.Sleep(got)
		}
		if got := pause(refused); got != refusalDelayLasting {
			t.Errorf("the pause of a lasting refusal is %s, want %s", got, refusalDelayLasting)
		}
		pause(nil)
		if got := pause(refused); got != refusalDelay {
			t.Errorf("after a change that etcd accepted, the pause is %s, want %s", got, refusalDelay)
		}
	})
}
