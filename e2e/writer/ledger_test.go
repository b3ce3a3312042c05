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

func TestLongestGap(t *testing.T) {
	tests := map[string]struct {
		reason string
		acks   []int
		now    int
		want   int64
	}{
		"NoneYet":    {reason: "before the first write there is nothing that could be interrupted", now: 5000, want: 0},
		"Steady":     {reason: "the longest of the gaps counts", acks: []int{10, 20, 50, 60}, now: 60, want: 30},
		"NotOverYet": {reason: "a gap that is still open counts", acks: []int{10, 20}, now: 320, want: 300},
		"OutOfOrder": {reason: "answers may overtake each other", acks: []int{10, 30, 20, 40}, now: 40, want: 20},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			l := newLedger(start)
			for i, ms := range tc.acks {
				l.ack(acked(i, ms, int64(i+1)))
			}
			if got := l.progress(at(tc.now)).LongestGapMS; got != tc.want {
				t.Errorf("%s: got %d ms, want %d", tc.reason, got, tc.want)
			}
		})
	}
}

func TestCutBeginsAnew(t *testing.T) {
	l := newLedger(start)
	l.ack(acked(l.next(), 10, 2))
	l.fail("because")
	l.ack(acked(l.next(), 110, 3))
	want := Window{Acked: 2, Failed: 1, LongestGapMS: 100, TookMS: 120, Errors: map[string]int{"because": 1}}
	if diff := cmp.Diff(want, l.cut(at(120))); diff != "" {
		t.Errorf("the first window: -want +got\n%s", diff)
	}
	l.ack(acked(l.next(), 130, 4))
	want = Window{Acked: 1, LongestGapMS: 20, TookMS: 10, Errors: map[string]int{}}
	if diff := cmp.Diff(want, l.cut(at(130))); diff != "" {
		t.Errorf("the second window, whose first gap began in the first: -want +got\n%s", diff)
	}
}

func TestSilenceAfterTheLastWriteIsNoGap(t *testing.T) {
	l := newLedger(start)
	l.ack(acked(l.next(), 10, 2))
	l.end(at(20))
	if r, _ := l.snapshot(at(3000)); r.LongestGapMS != 10 {
		t.Errorf("got a gap of %d ms, want the 10 until no more was written", r.LongestGapMS)
	}
}

func TestRevisionGoesBackOnlyInAClusterThatBeganAnew(t *testing.T) {
	l := newLedger(start)
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

// What the writer did not see, since it had no processor, is no gap; what it saw is one.
func TestAStarvedWriterSeesNoGap(t *testing.T) {
	l := newLedger(at(0))
	l.ack(acked(l.next(), 10, 2))
	l.starve(5 * time.Second)
	l.ack(acked(l.next(), 5110, 3))
	if got := l.cut(at(5200)); got.LongestGapMS != 100 {
		t.Errorf("the longest gap is %s", got)
	}
	if got := l.cut(at(7200)); got.LongestGapMS != 2090 {
		t.Errorf("then it is %s", got)
	}
}
