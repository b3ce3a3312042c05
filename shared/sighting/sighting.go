// Package sighting records when an operator first saw a state that another machine dates.
//
// Clocks of other machines can be wrong by any amount. A decision that compared such a time with the operator's own
// clock would come too early if the other clock is slow, and too late, or never, if it is fast. An operator therefore
// counts from its first look at the state. An operator that starts has seen nothing, so a restart only delays
// decisions. But an operator that restarts more often than a deadline lasts never reaches that deadline.
package sighting

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Memory has the sightings of each object that an operator reconciles. The zero value is ready to use.
type Memory struct {
	mu  sync.Mutex
	all map[types.NamespacedName]map[state]time.Time
}

// state identifies a state of an object by the time that the other machine gave it. If a state ends and starts
// again, it has another time.
type state struct {
	uid   types.UID
	what  string
	dated int64
}

// Look is one look at an object and at all that belongs to it. A Look that no Memory made trusts every clock.
type Look struct {
	// Now is the operator's clock.
	Now time.Time

	memory      *Memory
	key         types.NamespacedName
	before, now map[state]time.Time
}

// Look begins a look at an object.
func (m *Memory) Look(key types.NamespacedName, now time.Time) *Look {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &Look{Now: now, memory: m, key: key, before: m.all[key], now: map[state]time.Time{}}
}

// Since returns when the operator first saw a state, by its own clock: at this look, unless it has seen the state
// before. uid is that of the object in the state, and dated is when another machine says that the state began.
func (l *Look) Since(uid types.UID, what string, dated time.Time) time.Time {
	if l.memory == nil {
		return dated
	}
	s := state{uid, what, dated.UnixNano()}
	at, ok := l.before[s]
	if !ok {
		at = l.Now
	}
	l.now[s] = at
	return at
}

// Keep ends a look. What it has not seen is forgotten.
func (l *Look) Keep() {
	l.memory.mu.Lock()
	defer l.memory.mu.Unlock()
	if l.memory.all == nil {
		l.memory.all = map[types.NamespacedName]map[state]time.Time{}
	}
	l.memory.all[l.key] = l.now
}

// Forget drops the sightings of an object.
func (m *Memory) Forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, key)
}

// Knows reports whether there are sightings of an object.
func (m *Memory) Knows(key types.NamespacedName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.all[key]) > 0
}
