package controller

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/act"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/certificates"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

const (
	// staleDelay lets a cache catch up with what is already written. It doubles with each
	// pass in a row that was stale, up to staleMost: a watch wakes the operator sooner.
	staleDelay = 25 * time.Millisecond
	staleMost  = 30 * time.Second
	// staleGrace is for how long caches may lag behind before anyone is told. They do by
	// milliseconds, and by a second or two where an API server has just been restarted.
	staleGrace = 5 * time.Second
)

// staleness counts, for each cluster, the passes in a row whose observation was not any
// more what the world is. The zero value is ready to use.
type staleness struct {
	mu  sync.Mutex
	all map[client.ObjectKey]*stalled
}

// stalled is the staleness of one cluster.
type stalled struct {
	since time.Time
	tries int
	told  bool
}

// note counts one more pass that was stale, and returns after how long to try again.
func (s *staleness) note(key client.ObjectKey, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.begin(key, now)
	// No more doublings than it takes: the shift must not overflow.
	delay := min(staleDelay<<min(x.tries, 16), staleMost)
	x.tries++
	return delay
}

// age returns for how long all passes of a cluster have been stale, including the current one. It is 0 for the first
// stale pass.
func (s *staleness) age(key client.ObjectKey, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.Sub(s.begin(key, now).since)
}

// begin returns the record of a cluster's stale passes. It creates the record if the last pass was not stale. The caller
// holds s.mu.
func (s *staleness) begin(key client.ObjectKey, now time.Time) *stalled {
	x := s.all[key]
	if x == nil {
		if s.all == nil {
			s.all = map[client.ObjectKey]*stalled{}
		}
		x = &stalled{since: now}
		s.all[key] = x
	}
	return x
}

// clear ends the staleness of a cluster.
func (s *staleness) clear(key client.ObjectKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, key)
}

// lasts reports whether a cluster has been stale for longer than caches lag, and whether
// nobody was told yet.
func (s *staleness) lasts(key client.ObjectKey, now time.Time) (lasts, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.all[key]
	if x == nil || now.Sub(x.since) < staleGrace {
		return false, false
	}
	first, x.told = !x.told, true
	return true, first
}

// isStale reports whether a pass ended because the observation was outdated.
func isStale(err error) bool {
	return errors.Is(err, act.ErrStale) || errors.Is(err, certificates.ErrChanged) || apierrors.IsConflict(err)
}

// next says when to look at a cluster again, and counts the passes in a row that were
// stale.
func (r *Reconciler) next(ctx context.Context, key client.ObjectKey, d plan.Decision, err error) (ctrl.Result, error) {
	if !refused(err) {
		r.refused.clear(key)
	}
	if !isStale(err) {
		r.stale.clear(key)
		return r.after(ctx, key, d, err)
	}
	delay := r.stale.note(key, time.Now())
	log.FromContext(ctx).V(1).Info("observing again", "because", err.Error(), "after", delay)
	return ctrl.Result{RequeueAfter: delay}, nil
}

// holdBackStale keeps an action or a child whose precondition fails repeatedly from holding up others. If it
// fails for longer than caches lag, the error outdated is remembered like a rejection.
func (r *Reconciler) holdBackStale(
	ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, d plan.Decision, stale error, outdated *act.RejectedError,
) (v1beta2.ClusterStatus, error) {
	known := r.rejections.of(c)
	isKnown := func(o facts.Rejection) bool {
		return o.Outdated && slices.ContainsFunc(outdated.Rejections, o.SameEffect)
	}
	status, lasts := c.Status, slices.ContainsFunc(known, isKnown)
	if lasts {
		r.Metrics.Stale(client.ObjectKeyFromObject(c))
	} else {
		status, lasts = r.reportStale(ctx, c, obs, d, stale)
	}
	if !lasts {
		return status, stale
	}
	for _, o := range outdated.Rejections {
		known, _ = facts.Reject(known, o, time.Now())
	}
	r.rejections.set(c, known)
	return status, outdated
}

// reportStale reports which step is held up, and which object differs, once a cluster has been stale for longer
// than caches lag. It sets the condition Progressing, increments the metric etcd_operator_stale_passes_total
// and emits one event. It does not write what the decision would record with its action. It returns whether the
// staleness has lasted.
func (r *Reconciler) reportStale(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, d plan.Decision, stale error) (v1beta2.ClusterStatus, bool) {
	lasts, first := r.stale.lasts(client.ObjectKeyFromObject(c), time.Now())
	if !lasts {
		return c.Status, false
	}
	r.Metrics.Stale(client.ObjectKeyFromObject(c))
	if action.Records(d.Action) {
		d.Status = *c.Status.DeepCopy()
	} else { // what was decided was not done
		d.Status = plan.Failed(*obs, stale, false)
	}
	d.Action = nil
	message := conditiontext.Clip(plan.Stalled(staleGrace, stale))
	d.Status.Conditions = stalledConditions(d.Status.Conditions, c.Generation, message)
	if first {
		r.reporter().TellStale(ctx, c, message)
	}
	status, err := r.report(ctx, c, d)
	if err != nil && !apierrors.IsConflict(err) {
		log.FromContext(ctx).Error(err, "cannot report that the observation is stale")
	}
	return status, true
}

// isConflictLasting reports whether writes of the status have failed with a conflict for longer than caches
// lag, or had done so before the last pause.
func (r *Reconciler) isConflictLasting(c *v1beta2.EtcdCluster) bool {
	lasts, _ := r.stale.lasts(client.ObjectKeyFromObject(c), time.Now())
	return lasts || slices.ContainsFunc(r.rejections.of(c), func(o facts.Rejection) bool { return o.IsOfStatus() })
}

// stalledConditions are the conditions with Progressing saying that nothing is done.
func stalledConditions(conditions []metav1.Condition, generation int64, message string) []metav1.Condition {
	conditions = slices.Clone(conditions)
	meta.SetStatusCondition(&conditions, metav1.Condition{
		Type: v1beta2.ConditionProgressing, Status: metav1.ConditionFalse, Reason: v1beta2.ClusterReasonObservationStale,
		Message: message, ObservedGeneration: generation,
	})
	for i := range conditions {
		conditions[i].LastTransitionTime = metav1.Time{} // set when they are written
	}
	return conditions
}
