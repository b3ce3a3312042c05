package writer

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var start = time.Unix(1_000_000, 0)

func at(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }

func acked(seq, ms int, revision int64) ack {
	return ack{seq: seq, started: at(ms - 1), at: at(ms), cluster: 0xc, member: 0xa, revision: revision}
}

// interval is that of the writes.
const interval = 10 * time.Millisecond

// begin begins writes, and returns the last.
func (l *ledger) begin(writes int) (seq int) {
	for range writes {
		seq = l.next()
	}
	return seq
}

func TestLongestGap(t *testing.T) {
	tests := map[string]struct {
		reason string
		// acks are how many writes begin before each acknowledgement, and after how many
		// do after the last.
		acks  []int
		after int
		now   int
		want  int64
	}{
		"NoneYet":    {reason: "before the first write there is nothing that could be interrupted", after: 500, now: 5000, want: 0},
		"Steady":     {reason: "the longest of the gaps counts", acks: []int{1, 1, 3, 1}, now: 60, want: 30},
		"NotOverYet": {reason: "a gap that is still open counts", acks: []int{1, 1}, after: 30, now: 320, want: 300},
		"AtOnce":     {reason: "answers may come at once", acks: []int{5, 0, 0, 1}, now: 40, want: 10},
		"Starved":    {reason: "a writer that begins nothing has seen nothing", acks: []int{1, 1}, after: 1, now: 9000, want: 10},
		"Ended":      {reason: "nothing is awaited after the last write", acks: []int{1, 1}, now: 9000, want: 10},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			l := newLedger(start, interval)
			for i, writes := range tc.acks {
				l.begin(writes)
				l.ack(acked(i, i+1, int64(i+1)))
			}
			l.begin(tc.after)
			if got := l.progress(at(tc.now)).LongestGapMS; got != tc.want {
				t.Errorf("%s: got %d ms, want %d", tc.reason, got, tc.want)
			}
		})
	}
}

func TestCutBeginsAnew(t *testing.T) {
	l := newLedger(start, interval)
	l.ack(acked(l.next(), 10, 2))
	l.fail("because")
	l.ack(acked(l.begin(10), 110, 3))
	want := Window{Acked: 2, Failed: 1, LongestGapMS: 100, TookMS: 120, Errors: map[string]int{"because": 1}}
	if diff := cmp.Diff(want, l.cut(at(120))); diff != "" {
		t.Errorf("the first window: -want +got\n%s", diff)
	}
	l.ack(acked(l.begin(2), 130, 4))
	want = Window{Acked: 1, LongestGapMS: 20, TookMS: 10, Errors: map[string]int{}}
	if diff := cmp.Diff(want, l.cut(at(130))); diff != "" {
		t.Errorf("the second window, whose first gap began in the first: -want +got\n%s", diff)
	}
}

func TestRevisionGoesBackOnlyInAClusterThatBeganAnew(t *testing.T) {
	l := newLedger(start, interval)
	l.ack(acked(0, 10, 100))
	l.ack(ack{seq: 1, started: at(5), at: at(20), cluster: 0xc, revision: 99}) // overtaken by the first
	if r, _ := l.snapshot(at(20)); r.RevisionWentBack {
		t.Error("writes side by side have revisions in any order")
	}
	l.ack(ack{seq: 2, started: at(30), at: at(31), cluster: 0xd, revision: 3})
	r, _ := l.snapshot(at(40))
	if !r.RevisionWentBack || len(r.Clusters) != 2 {
		t.Errorf("a second cluster was not noticed: %+v", r)
	}
}
