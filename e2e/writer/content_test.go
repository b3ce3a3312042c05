package writer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestContent(t *testing.T) {
	const prefix = "p/"
	of := func(sizes map[int]int) map[string]string {
		found := map[string]string{}
		for seq, size := range sizes {
			found[keyOf(prefix, seq)] = value(seq, size)
		}
		return found
	}
	with := func(found map[string]string, key, value string) map[string]string {
		found[key] = value
		return found
	}
	tests := map[string]struct {
		reason string
		found  map[string]string
		want   Content
	}{
		"Nothing":      {reason: "an empty cluster has no content", want: Content{}},
		"Gaps":         {reason: "what follows each other is one span", found: of(map[int]int{0: 0, 1: 0, 2: 0, 7: 0, 9: 0, 10: 0}), want: Content{Writes: []Span{{0, 2}, {7, 7}, {9, 10}}}},
		"Large":        {reason: "a value of any size is known by its number", found: of(map[int]int{3: 1000, 4: 3, 5: 2}), want: Content{Writes: []Span{{3, 5}}}},
		"ForeignKey":   {reason: "a key that the writer does not write is told", found: with(of(map[int]int{0: 0}), "p/x", "0"), want: Content{Writes: []Span{{0, 0}}, Foreign: []string{"p/x"}}},
		"ForeignValue": {reason: "nor does it write another's value", found: with(of(nil), keyOf(prefix, 12), value(13, 50)), want: Content{Foreign: []string{"p/0000000012"}}},
		"Corrupt":      {reason: "a byte too few is another value", found: with(of(nil), keyOf(prefix, 12), value(12, 50)[:49]+"x"), want: Content{Foreign: []string{"p/0000000012"}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ContentOf(prefix, tc.found)); diff != "" {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	c := Content{Writes: []Span{{0, 2}, {7, 9}}}
	if diff := cmp.Diff([]int{3, 4, 10}, c.Missing([]Span{{0, 4}, {8, 10}})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := c.Missing([]Span{{1, 2}, {7, 7}}); got != nil {
		t.Errorf("%v are called missing, and are there", got)
	}
}
