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

// rejections holds what the API server has refused of each EtcdCluster, by its name, and
// only for the one of that uid. An operator that starts knows of none, and tries each
// effect once more.
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

func (r *rejections) forget(key client.ObjectKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, key)
}

// remember notes how an action ended, and makes an event and a log line of what the API
// server refuses: once, not for each try. It reports whether it refused anything.
func (r *Reconciler) remember(ctx context.Context, c *v1beta2.EtcdCluster, a action.Action, failed error) bool {
	known := r.rejections.of(c)
	var refused *act.RejectedError
	if !errors.As(failed, &refused) {
		if (failed == nil || errors.Is(failed, act.ErrNameTaken)) && len(known) > 0 {
			r.rejections.set(c, action.Accept(known, a))
		}
		return false
	}
	r.rejections.set(c, r.tellRejections(ctx, c, known, refused))
	return true
}

// rememberChildren does the same of the children, and reports whether any was accepted that
// had been refused.
func (r *Reconciler) rememberChildren(ctx context.Context, c *v1beta2.EtcdCluster, d plan.Decision, failed error) bool {
	known, but := r.rejections.of(c), d.ChildrenHeldBack
	var refused *act.RejectedError
	if errors.As(failed, &refused) {
		known = r.tellRejections(ctx, c, known, refused)
		but = slices.Concat(but, refused.Rejections)
	} else if failed != nil || len(known) == 0 {
		return false
	}
	left := facts.AcceptChildren(known, d.Budget, but...)
	r.rejections.set(c, left)
	return len(left) < len(known)
}

// tellRejections makes an event and a log line of each refusal that is news, and returns
// what is known with them.
func (r *Reconciler) tellRejections(ctx context.Context, c *v1beta2.EtcdCluster, known []facts.Rejection, refused *act.RejectedError) []facts.Rejection {
	for _, rejection := range refused.Rejections {
		var news bool
		if known, news = facts.Reject(known, rejection, time.Now()); !news {
			continue
		}
		r.reporter().TellRejection(ctx, c, rejection)
	}
	return known
}

func isRejected(err error) bool {
	var refused *act.RejectedError
	return errors.As(err, &refused)
}
