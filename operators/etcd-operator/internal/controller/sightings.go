package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/sighting"
)

// correct replaces the times in an Observation's Pods that decisions use: those that a kubelet or the API server
// dates by its own clock. Without the correction, a node that restarts with a slow clock would lose its member at
// once (S9).
func correct(sightings *sighting.Memory, key client.ObjectKey, o *facts.Observation) {
	look := sightings.Look(key, o.Now)
	defer look.Keep()
	for i := range o.Pods {
		p := &o.Pods[i]
		seen := func(what string, dated time.Time) time.Time { return look.Since(types.UID(p.UID), what, dated) }
		p.Seen = seen("created", p.Created)
		// A loss counts from the first look. The deletion time of a Pod is in the future until its grace period
		// ends. correct does not shorten the grace period.
		if !p.NodeLostSince.IsZero() {
			p.NodeLostSince = seen("node lost", p.NodeLostSince)
		}
		if !p.DeletingSince.IsZero() {
			p.DeletingSince = later(p.DeletingSince, seen("deleting", p.DeletingSince))
		}
		if !p.UnreadySince.IsZero() {
			p.UnreadyDated, p.UnreadySince = p.UnreadySince, seen("unready", p.UnreadySince)
		}
		// A state that has just started gets time. Without the correction, the operator would wait for a time
		// in the future.
		if !p.RunningSince.IsZero() {
			p.RunningSince = earlier(p.RunningSince, seen("running", p.RunningSince))
		}
		if !p.ReadySince.IsZero() {
			p.ReadySince = earlier(p.ReadySince, seen("ready", p.ReadySince))
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
