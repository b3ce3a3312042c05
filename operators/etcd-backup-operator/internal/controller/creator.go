package controller

import (
	"context"
	"fmt"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/shared/creator"
)

// trustedFor is for how long a policy that was found is reported to be there without another
// request. No Job rests on that: see stillChecked.
const trustedFor = 10 * time.Minute

// creators is what is known of the rights of those who create EtcdBackups. That they are not
// checked is never remembered: the backup starts as soon as they are.
func (r *Reconciler) creators(ctx context.Context, now time.Time) creator.Check {
	if at := r.checkedAt.Load(); at != nil && now.Sub(*at).Abs() < trustedFor {
		return creator.Check{Passed: true}
	}
	return r.askCreators(ctx, now)
}

// askCreators reads the policy live.
func (r *Reconciler) askCreators(ctx context.Context, now time.Time) creator.Check {
	c := r.Creators.Check(ctx, r.live)
	r.checkedAt.Store(nil)
	if c.Passed {
		r.checkedAt.Store(&now)
	}
	return c
}

// stillChecked reads the policy live, if the Job that is to be created, now or in the place of
// one that is deleted for it, rests on it.
func (r *Reconciler) stillChecked(ctx context.Context, obs *plan.Observation) error {
	if !plan.AsksCreator(*obs) {
		return nil
	}
	if c := r.askCreators(ctx, obs.Now); !c.Passed {
		return fmt.Errorf("%w: the rights of the creator are not checked any more", errStale)
	}
	return nil
}
