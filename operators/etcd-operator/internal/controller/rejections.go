package controller

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/act"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// rejections maps the name of each EtcdCluster to what the API server has rejected, for the EtcdCluster with
// that uid only. It is empty when the operator starts, so each effect is tried once more.
type rejections struct {
	mu  sync.Mutex
	all map[client.ObjectKey]rejectionsOf
}

type rejectionsOf struct {
	uid types.UID
	all []facts.Rejection
}

// of are those of a cluster. They are never changed in place.
func (r *rejections) of(c *v1beta2.EtcdCluster) []facts.Rejection {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.all[client.ObjectKeyFromObject(c)]
	if known.uid != c.UID {
		return nil
	}
	return known.all
}

func (r *rejections) set(c *v1beta2.EtcdCluster, all []facts.Rejection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := client.ObjectKeyFromObject(c)
	if len(all) == 0 {
		delete(r.all, key)
		return
	}
	if r.all == nil {
		r.all = map[client.ObjectKey]rejectionsOf{}
	}
	r.all[key] = rejectionsOf{c.UID, all}
}

// seen are those of a cluster whose Pods were observed.
func (r *rejections) seen(c *v1beta2.EtcdCluster, pods []facts.Pod) []facts.Rejection {
	known := r.of(c)
	left := facts.AcceptPods(known, pods)
	if len(left) < len(known) {
		r.set(c, left)
	}
	return left
}

// isHeldBack reports whether an effect was rejected and its next try is not due yet.
func (r *rejections) isHeldBack(c *v1beta2.EtcdCluster, effect facts.Rejection) bool {
	return slices.ContainsFunc(r.of(c), func(o facts.Rejection) bool {
		return o.SameEffect(effect) && o.Generation == c.Generation && time.Now().Before(o.Until)
	})
}

// accept forgets the rejection of an effect that has succeeded.
func (r *rejections) accept(c *v1beta2.EtcdCluster, effect facts.Rejection) {
	r.set(c, slices.DeleteFunc(slices.Clone(r.of(c)), effect.SameEffect))
}

func (r *rejections) forget(key client.ObjectKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, key)
}

// remember records the outcome of an action. It emits an event and a log line for a rejection once, not for
// each try. It reports whether anything was rejected.
func (r *Reconciler) remember(ctx context.Context, c *v1beta2.EtcdCluster, a action.Action, failed error) bool {
	known := r.rejections.of(c)
	if refused, ok := errors.AsType[*act.RejectedError](failed); ok {
		r.rejections.set(c, r.tellRejections(ctx, c, known, refused.Rejections))
		return true
	}
	if (failed == nil || errors.Is(failed, act.ErrNameTaken)) && len(known) > 0 {
		r.rejections.set(c, action.Accept(known, a))
	}
	return false
}

// rememberChildren does the same for the children. It reports whether the API server accepted one that it had
// rejected before.
func (r *Reconciler) rememberChildren(ctx context.Context, c *v1beta2.EtcdCluster, d plan.Decision, failed error) bool {
	known, except := r.rejections.of(c), d.ChildrenHeldBack
	if refused, ok := errors.AsType[*act.RejectedError](failed); ok {
		known = r.tellRejections(ctx, c, known, refused.Rejections)
		except = slices.Concat(except, refused.Rejections)
		if outdated := act.OutdatedChild(c, failed); outdated != nil { // was not tried either
			except = append(except, outdated.Rejections...)
		}
	} else if failed != nil || len(known) == 0 {
		return false
	}
	left := facts.AcceptChildren(known, d.Budget, except...)
	r.rejections.set(c, left)
	return len(left) < len(known)
}

// tellRejections emits an event and a log line for each new rejection, and returns all known rejections with
// them.
func (r *Reconciler) tellRejections(ctx context.Context, c *v1beta2.EtcdCluster, known, refused []facts.Rejection) []facts.Rejection {
	for _, rejection := range refused {
		var news bool
		if known, news = facts.Reject(known, rejection, time.Now()); !news {
			continue
		}
		r.reporter().TellRejection(ctx, c, rejection)
	}
	return known
}

func isRejected(err error) bool { return errors.As(err, new(*act.RejectedError)) }
