package sighting_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/shared/sighting"
)

// A state counts from the first look at it, whatever another machine's clock says, until it begins again, a look does
// not see it, or its object is forgotten.
func TestSince(t *testing.T) {
	var m sighting.Memory
	key, start := types.NamespacedName{Namespace: "n", Name: "x"}, time.Unix(10_000, 0)
	look := func(after time.Duration, dated ...time.Time) (seen []time.Duration) {
		l := m.Look(key, start.Add(after))
		for _, at := range dated {
			seen = append(seen, l.Since("uid", "deleted", at).Sub(start))
		}
		l.Keep()
		return seen
	}
	slow, fast := start.Add(-time.Hour), start.Add(time.Hour)
	want := func(what string, got []time.Duration, slow, fast time.Duration) {
		t.Helper()
		if got[0] != slow || got[1] != fast {
			t.Errorf("%s: seen after %v, want %v and %v", what, got, slow, fast)
		}
	}
	want("the first look", look(0, slow, fast), 0, 0)
	want("a later look", look(time.Minute, slow, fast), 0, 0)
	want("one begins again", look(2*time.Minute, slow, fast.Add(1)), 0, 2*time.Minute)
	look(3 * time.Minute)
	want("both end and begin again", look(4*time.Minute, slow, fast), 4*time.Minute, 4*time.Minute)
	m.Forget(key)
	if m.Knows(key) {
		t.Error("a forgotten object is known")
	}
	want("the object is forgotten", look(5*time.Minute, slow, fast), 5*time.Minute, 5*time.Minute)
	if got := (&sighting.Look{Now: start}).Since("uid", "deleted", slow); !got.Equal(slow) {
		t.Errorf("without a memory: since %v, want %v", got, slow)
	}
}
