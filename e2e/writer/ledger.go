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
type ledger struct {
	mu       sync.Mutex
	acked    map[int]bool
	started  int // writes are numbered 0 to started-1
	last     ack
	clusters map[uint64]bool
	wentBack bool

	// ended is when the last write began; the silence after it is no gap.
	ended time.Time
	// starved is for how long the writer itself got no processor: that is part of no gap.
	starved time.Duration

	whole, window tally
}

// tally counts over a span of time.
type tally struct {
	since  time.Time
	acked  int
	failed int
	// lastAck is by a clock that stands still while the writer is starved.
	lastAck time.Time
	gap     time.Duration
	errors  map[string]int
}

func newLedger(now time.Time) *ledger {
	return &ledger{
		acked: map[int]bool{}, clusters: map[uint64]bool{},
		whole: newTally(now, time.Time{}), window: newTally(now, time.Time{}),
	}
}

func newTally(now, lastAck time.Time) tally {
	return tally{since: now, lastAck: lastAck, errors: map[string]int{}}
}

// next numbers a new write.
func (l *ledger) next() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started++
	return l.started - 1
}

// starve notes that the writer could not begin a write, for so long.
func (l *ledger) starve(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.starved += d
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
	l.whole.ack(a.at.Add(-l.starved))
	l.window.ack(a.at.Add(-l.starved))
}

func (t *tally) ack(at time.Time) {
	t.acked++
	if !t.lastAck.IsZero() {
		t.gap = max(t.gap, at.Sub(t.lastAck))
	}
	if at.After(t.lastAck) {
		t.lastAck = at
	}
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

// end notes that no write begins any more.
func (l *ledger) end(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = now
}

// clock is the time up to which gaps count.
func (l *ledger) clock(now time.Time) time.Time {
	if l.ended.IsZero() {
		return now
	}
	return l.ended
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

func (t *tally) report(now time.Time, starved time.Duration) Window {
	gap := t.gap
	if !t.lastAck.IsZero() {
		gap = max(gap, now.Add(-starved).Sub(t.lastAck))
	}
	return Window{
		Acked: t.acked, Failed: t.failed, LongestGapMS: gap.Milliseconds(),
		TookMS: now.Sub(t.since).Milliseconds(), Errors: maps.Clone(t.errors),
	}
}

// progress is how it went in the current window, so far.
func (l *ledger) progress(now time.Time) Progress {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := Progress{Window: l.window.report(l.clock(now), l.starved)}
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
	done := l.window.report(l.clock(now), l.starved)
	l.window = newTally(now, l.window.lastAck)
	return done
}

// snapshot is the whole time until now, and what must be there when it is read now.
func (l *ledger) snapshot(now time.Time) (Report, map[int]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := Report{Window: l.whole.report(l.clock(now), l.starved), RevisionWentBack: l.wentBack, Lost: []string{}}
	for _, c := range slices.Sorted(maps.Keys(l.clusters)) {
		r.Clusters = append(r.Clusters, id(c))
	}
	return r, maps.Clone(l.acked)
}

func id(n uint64) string { return fmt.Sprintf("%016x", n) }
