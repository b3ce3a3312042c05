// Package growth remembers, for each EtcdCluster and for some hours, how much of the
// members' databases was in use, and tells how fast that grows.
//
// What it remembers is in the operator's memory alone, and costs nothing in etcd or in
// Kubernetes: the sizes come with answers that are asked for anyway. An operator that was
// restarted knows nothing at first, and says so. Nothing is decided by it: it is for a
// warning.
package growth

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

const (
	// interval is the time that one sample stands for, and samples is how many are kept, of
	// each cluster: six hours in less than a kilobyte.
	interval = 10 * time.Minute
	samples  = 36
	// leastSamples is from how many on the growth is told. Each half of them spans more than
	// the hour that usually passes between two compactions, before which a database always
	// grows.
	leastSamples = 18
)

// Keeper keeps what was seen. The zero Keeper is ready, and safe for concurrent use.
type Keeper struct {
	mu  sync.Mutex
	all map[types.NamespacedName]*series
}

// series is what was seen of one cluster, by etcd's id of it; the oldest sample first.
type series struct {
	cluster uint64
	seen    []sample
}

// sample is the least that was in use of the fullest database, in an interval from begun on.
type sample struct {
	begun time.Time
	inUse int64
}

// Note takes down what an Observation shows, and returns how fast the databases fill.
func (k *Keeper) Note(key types.NamespacedName, o *facts.Observation) facts.Growth {
	inUse := fullest(o)
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.all[key]
	if s == nil || s.cluster != o.Cluster.ClusterID {
		if k.all == nil {
			k.all = map[types.NamespacedName]*series{}
		}
		s = &series{cluster: o.Cluster.ClusterID}
		k.all[key] = s
	}
	if inUse > 0 {
		s.add(o.Now, inUse)
	}
	return s.growth(o.Now)
}

// Forget drops what is known of a cluster.
func (k *Keeper) Forget(key types.NamespacedName) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.all, key)
}

// fullest is how many bytes are in use of the fullest database of a member that answered; 0
// if none did.
func fullest(o *facts.Observation) int64 {
	var most int64
	for i := range o.Pods {
		if a := &o.Pods[i].Answer; a.Reached && o.Cluster.ClusterID != 0 && a.ClusterID == o.Cluster.ClusterID {
			most = max(most, a.DBSizeInUse)
		}
	}
	return most
}

func (s *series) add(now time.Time, inUse int64) {
	if n := len(s.seen); n > 0 && now.Sub(s.seen[n-1].begun) < interval {
		s.seen[n-1].inUse = min(s.seen[n-1].inUse, inUse)
		return
	}
	if len(s.seen) == samples {
		s.seen = append(s.seen[:0], s.seen[1:]...)
	}
	s.seen = append(s.seen, sample{now, inUse})
}

// growth compares the least of the first half with the least of the second: so what each
// compaction frees again does not count.
func (s *series) growth(now time.Time) facts.Growth {
	n := len(s.seen)
	if n < leastSamples || now.Sub(s.seen[n-1].begun) > 2*interval {
		return facts.Growth{}
	}
	half := n / 2
	took := s.seen[half].begun.Sub(s.seen[0].begun)
	grown := least(s.seen[half:]) - least(s.seen[:half])
	return facts.Growth{Known: true, PerHour: int64(float64(grown) / took.Hours())}
}

func least(all []sample) int64 {
	smallest := all[0].inUse
	for _, s := range all {
		smallest = min(smallest, s.inUse)
	}
	return smallest
}
