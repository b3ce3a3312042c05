package observe

import (
	"context"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/shared/creator"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

// trustedFor is for how long a policy that was found is reported to be there without another
// request. No Job rests on that: each is created after [Creators.Ask].
const trustedFor = 10 * time.Minute

// Creators tells whether the rights of those who create EtcdBackups are checked.
type Creators struct {
	// Policy checks them.
	Policy operator.Creators
	// Live reads from the API server itself.
	Live client.Reader

	// checkedAt is when it last had the policy; nil if it had not.
	checkedAt atomic.Pointer[time.Time]
}

// Check tells what is known of the rights of those who create EtcdBackups. That they are not
// checked is never remembered: the backup starts as soon as they are.
func (c *Creators) Check(ctx context.Context, now time.Time) creator.Check {
	if at := c.checkedAt.Load(); at != nil && now.Sub(*at).Abs() < trustedFor {
		return creator.Check{Passed: true}
	}
	return c.Ask(ctx, now)
}

// Ask reads the policy live.
func (c *Creators) Ask(ctx context.Context, now time.Time) creator.Check {
	check := c.Policy.Check(ctx, c.Live)
	c.checkedAt.Store(nil)
	if check.Passed {
		c.checkedAt.Store(&now)
	}
	return check
}
