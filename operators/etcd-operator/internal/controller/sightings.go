package controller

import (
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// sightings remember, for each EtcdCluster, since when this operator has seen what a kubelet or the API
// server dates by its own clock. Clocks of other machines can be wrong by any amount: a node that restarts
// with a slow clock would lose its member at once (S9). The zero value is ready to use.
//
// An operator that starts has seen nothing. It counts from its first look, which only delays.
type sightings struct {
	mu  sync.Mutex
	all map[client.ObjectKey]map[sighting]time.Time
}

// sighting is a state of a Pod, with the time that the other machine has given it: a state that ended and
// began again has another one.
type sighting struct {
	uid, what string
	dated     int64
}

// correct replaces the times in the Pods of an Observation that decisions count from.
func (s *sightings) correct(key client.ObjectKey, o *facts.Observation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, now := s.all[key], map[sighting]time.Time{}
	seen := func(p *facts.Pod, what string, dated time.Time) time.Time {
		x := sighting{p.UID, what, dated.UnixNano()}
		at, ok := before[x]
		if !ok {
			at = o.Now
		}
		now[x] = at
		return at
	}
	for i := range o.Pods {
		p := &o.Pods[i]
		p.Seen = seen(p, "created", p.Created)
		// A loss counts from the first look. The deletion of a Pod has a time in the future, at which its
		// grace period ends: it is not shortened.
		if !p.NodeLostSince.IsZero() {
			p.NodeLostSince = seen(p, "node lost", p.NodeLostSince)
		}
		if !p.DeletingSince.IsZero() {
			p.DeletingSince = later(p.DeletingSince, seen(p, "deleting", p.DeletingSince))
		}
		if !p.UnreadySince.IsZero() {
			p.UnreadySince = seen(p, "unready", p.UnreadySince)
		}
		// What has just begun is given time. A time in the future would be waited for.
		if !p.RunningSince.IsZero() {
			p.RunningSince = earlier(p.RunningSince, seen(p, "running", p.RunningSince))
		}
		if !p.ReadySince.IsZero() {
			p.ReadySince = earlier(p.ReadySince, seen(p, "ready", p.ReadySince))
		}
	}
	if s.all == nil {
		s.all = map[client.ObjectKey]map[sighting]time.Time{}
	}
	s.all[key] = now
}

// forget drops what is known of a cluster.
func (s *sightings) forget(key client.ObjectKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, key)
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
