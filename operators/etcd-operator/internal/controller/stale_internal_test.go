package controller

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The pause doubles up to its bound, for each cluster by itself, and anew after a pass that
// was not stale.
func TestStalenessBacksOff(t *testing.T) {
	var s staleness
	x, y, now := client.ObjectKey{Name: "x"}, client.ObjectKey{Name: "y"}, time.Unix(1000, 0)
	want := staleDelay
	for range 100 {
		if got := s.note(x, now); got != want {
			t.Fatalf("the pause is %s, want %s", got, want)
		}
		want = min(2*want, staleMost)
	}
	if got := s.note(y, now); got != staleDelay {
		t.Errorf("the pause of another cluster is %s, want %s", got, staleDelay)
	}
	if lasts, _ := s.lasts(x, now.Add(staleGrace-1)); lasts {
		t.Error("it lasts, want it to pass for a cache that lags")
	}
	for _, first := range []bool{true, false} {
		if lasts, told := s.lasts(x, now.Add(staleGrace)); !lasts || told != first {
			t.Errorf("it lasts %t, to be told %t; want true, %t", lasts, told, first)
		}
	}
	s.clear(x)
	if got := s.note(x, now.Add(time.Hour)); got != staleDelay {
		t.Errorf("the pause of a new staleness is %s, want %s", got, staleDelay)
	}
	if lasts, _ := s.lasts(x, now.Add(time.Hour)); lasts {
		t.Error("a new staleness lasts at once")
	}
}
