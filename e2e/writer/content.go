package writer

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Span is the writes with the numbers from First to Last, both included.
type Span struct {
	First int `json:"first"`
	Last  int `json:"last"`
}

// Content is what there is of a writer's keys: in a cluster, or in a snapshot of it.
type Content struct {
	// Writes are those that are there, in order.
	Writes []Span `json:"writes"`
	// Foreign are keys under the writer's prefix that it never wrote.
	Foreign []string `json:"foreign,omitempty"`
}

// ContentOf sorts out the keys and values that are found under the prefix.
func ContentOf(prefix string, found map[string]string) Content {
	var c Content
	there := map[int]bool{}
	for key, got := range found {
		seq, err := strconv.Atoi(strings.TrimPrefix(key, prefix))
		if err != nil || keyOf(prefix, seq) != key || value(seq, len(got)) != got {
			c.Foreign = append(c.Foreign, key)
			continue
		}
		there[seq] = true
	}
	slices.Sort(c.Foreign)
	c.Writes = spans(there)
	return c
}

// Missing are the numbers of the writes that are not among those that are there.
func (c Content) Missing(writes []Span) []int {
	var missing []int
	for _, s := range writes {
		for seq := s.First; seq <= s.Last; seq++ {
			if !slices.ContainsFunc(c.Writes, func(there Span) bool { return there.First <= seq && seq <= there.Last }) {
				missing = append(missing, seq)
			}
		}
	}
	return missing
}

// Count is how many writes the spans hold.
func Count(writes []Span) int {
	n := 0
	for _, s := range writes {
		n += s.Last - s.First + 1
	}
	return n
}

// spans are the numbers in order, with those that follow each other as one.
func spans(numbers map[int]bool) []Span {
	var all []Span
	for _, n := range slices.Sorted(maps.Keys(numbers)) {
		if last := len(all) - 1; last >= 0 && all[last].Last == n-1 {
			all[last].Last = n
			continue
		}
		all = append(all, Span{n, n})
	}
	return all
}

func keyOf(prefix string, seq int) string { return fmt.Sprintf("%s%010d", prefix, seq) }

// value is what a write of that number writes: the number and, up to the size in bytes,
// what no compression makes smaller. Another number's never looks like it.
func value(seq, size int) string {
	number := strconv.Itoa(seq)
	if size <= len(number) {
		return number
	}
	rest := make([]byte, size-len(number)-1)
	var seed [32]byte
	copy(seed[:], number)
	_, _ = rand.NewChaCha8(seed).Read(rest) // it never fails
	return number + ":" + string(rest)
}
