package controller

import (
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// sightings records, for each EtcdCluster, when this operator first saw a state that a kubelet or the API
// server dates by its own clock. Clocks of other machines can be wrong by any amount. Without the correction, a
// node that restarts with a slow clock would lose its member at once (S9). The zero value is ready to use.
//
// An operator that starts has seen nothing. It counts from its first look, so a restart only delays decisions.
type sightings struct {
	mu  sync.Mutex
	all map[client.ObjectKey]map[sighting]time.Time
}

// sighting identifies a state of a Pod by the time that the other machine gave it. If a state ends and starts
// again, it has another time.
type sighting struct {
	uid, what string
	dated     int64
}

// correct replaces the times in an Observation's Pods that decisions use.
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
		// A loss counts from the first look. The deletion time of a Pod is in the future until its grace period
		// ends. correct does not shorten the grace period.
		if !p.NodeLostSince.IsZero() {
			p.NodeLostSince = seen(p, "node lost", p.NodeLostSince)
		}
		if !p.DeletingSince.IsZero() {
			p.DeletingSince = later(p.DeletingSince, seen(p, "deleting", p.DeletingSince))
		}
		if !p.UnreadySince.IsZero() {
			p.UnreadyDated, p.UnreadySince = p.UnreadySince, seen(p, "unready", p.UnreadySince)
		}
		// A state that has just started gets time. Without the correction, the operator would wait for a time
		// in the future.
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

// forget drops the sightings of a cluster.
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
