package writer

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// ack is what etcd says when it has taken a write.
type ack struct {
	seq      int
	started  time.Time
	at       time.Time
	cluster  uint64
	member   uint64
	revision int64
}

// ledger remembers which writes were acknowledged, and when. It is safe for
// concurrent use.
//
// Its clock for gaps are the writes that have begun, one each interval. So a gap is as long as
// it takes to begin those that nobody acknowledges, and a writer that gets no processor, as etcd
// probably gets none then, sees none.
type ledger struct {
	interval time.Duration

	mu       sync.Mutex
	acked    map[int]bool
	started  int // writes are numbered 0 to started-1
	last     ack
	clusters map[uint64]bool
	wentBack bool

	whole, window tally
}

// tally counts over a span of time.
type tally struct {
	since  time.Time
	acked  int
	failed int
	// atAck is how many writes had begun when one was last acknowledged; 0: none was yet.
	atAck int
	// gap is how many have begun at most from one acknowledgement to the next.
	gap    int
	errors map[string]int
}

func newLedger(now time.Time, interval time.Duration) *ledger {
	return &ledger{
		interval: interval, acked: map[int]bool{}, clusters: map[uint64]bool{},
		whole: newTally(now, 0), window: newTally(now, 0),
	}
}

func newTally(now time.Time, atAck int) tally {
	return tally{since: now, atAck: atAck, errors: map[string]int{}}
}

// next numbers a new write.
func (l *ledger) next() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started++
	return l.started - 1
}

// ack notes that etcd has taken a write.
func (l *ledger) ack(a ack) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked[a.seq] = true
	l.clusters[a.cluster] = true
	// A write that began after another was acknowledged has a higher revision.
	if a.started.After(l.last.at) && a.revision <= l.last.revision {
		l.wentBack = true
	}
	if a.at.After(l.last.at) {
		l.last = a
	}
	for _, t := range []*tally{&l.whole, &l.window} {
		t.acked++
		t.gap = t.longest(l.started)
		t.atAck = l.started
	}
}

// longest is the longest gap until so many writes have begun.
func (t *tally) longest(started int) int {
	if t.atAck == 0 {
		return 0
	}
	return max(t.gap, started-t.atAck)
}

// fail notes a write that etcd did not acknowledge; it may have been taken.
func (l *ledger) fail(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range []*tally{&l.whole, &l.window} {
		t.failed++
		t.errors[why]++
	}
}

// sinceAck is for how long nothing has been acknowledged: 0 before the first.
func (l *ledger) sinceAck(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last.at.IsZero() {
		return 0
	}
	return now.Sub(l.last.at)
}

func (l *ledger) report(t *tally, now time.Time) Window {
	return Window{
		Acked: t.acked, Failed: t.failed, LongestGapMS: (time.Duration(t.longest(l.started)) * l.interval).Milliseconds(),
		TookMS: now.Sub(t.since).Milliseconds(), Errors: maps.Clone(t.errors),
	}
}

// progress is how it went in the current window, so far.
func (l *ledger) progress(now time.Time) Progress {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := Progress{Window: l.report(&l.window, now)}
	if !l.last.at.IsZero() {
		p.SinceLastAckMS = now.Sub(l.last.at).Milliseconds()
		p.ServedBy = id(l.last.member)
	}
	return p
}

// cut ends the current window and begins the next. A gap that spans both counts in
// each with its whole length.
func (l *ledger) cut(now time.Time) Window {
	l.mu.Lock()
	defer l.mu.Unlock()
	done := l.report(&l.window, now)
	l.window = newTally(now, l.window.atAck)
	return done
}

// snapshot is the whole time until now, and what must be there when it is read now.
func (l *ledger) snapshot(now time.Time) (Report, map[int]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := Report{Window: l.report(&l.whole, now), RevisionWentBack: l.wentBack, Lost: []string{}}
	for _, c := range slices.Sorted(maps.Keys(l.clusters)) {
		r.Clusters = append(r.Clusters, id(c))
	}
	return r, maps.Clone(l.acked)
}

func id(n uint64) string { return fmt.Sprintf("%016x", n) }
