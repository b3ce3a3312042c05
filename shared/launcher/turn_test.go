package launcher

import (
	"context"
	"slices"
	"testing"
	"time"
)

// serving is a host with a clock of its own, at which only those serve that a test names.
type serving struct {
	Host
	now  time.Time
	urls []string
}

func (s *serving) Now() time.Time { return s.now }
func (s *serving) Serves(_ context.Context, peerURL string) bool {
	return slices.Contains(s.urls, peerURL)
}

// TestTurn: those before a member may take their time, one after the other, as they do where a
// start of etcd is slow. One that never comes holds up the others for turnPatience, and one that
// comes and goes for no longer than as many as there are would.
func TestTurn(t *testing.T) {
	const nearly = turnPatience - time.Millisecond
	type step struct {
		after time.Duration
		serve []string
		want  string // who is waited for
	}
	for name, steps := range map[string][]step{
		"each takes its time":    {{0, nil, "a"}, {nearly, []string{"a"}, "b"}, {nearly, []string{"a", "b"}, "c"}, {nearly, []string{"a", "b", "c"}, ""}},
		"nobody comes":           {{0, nil, "a"}, {turnPatience, nil, "a"}, {time.Millisecond, nil, ""}},
		"the second never comes": {{0, nil, "a"}, {nearly, []string{"a"}, "b"}, {turnPatience, []string{"a"}, "b"}, {time.Millisecond, []string{"a"}, ""}},
		"the first never comes":  {{0, nil, "a"}, {nearly, []string{"b"}, "a"}, {2 * time.Millisecond, []string{"b", "c"}, ""}},
		"the first comes and goes": {
			{0, nil, "a"}, {nearly, []string{"a"}, "b"}, {nearly, nil, "a"}, {time.Millisecond, []string{"a"}, "b"}, {time.Millisecond, nil, ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var tn turn
			h := &serving{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
			for i, s := range steps {
				h.now, h.urls = h.now.Add(s.after), s.serve
				d := Decision{Use: 1, After: []string{"a", "b", "c"}}
				if got := tn.missing(t.Context(), d, h); got != s.want {
					t.Fatalf("step %d waits for %q, want %q", i, got, s.want)
				}
			}
			h.urls = nil
			if got := tn.missing(t.Context(), Decision{Use: 2, After: []string{"d"}}, h); got != "d" {
				t.Errorf("the next permit waits for %q, want d: its wait starts again", got)
			}
		})
	}
}
