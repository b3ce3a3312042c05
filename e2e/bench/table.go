package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// table is what is printed at the end.
type table struct{ rows []row }

type row struct{ figure, measured, goal, met string }

// add adds a figure with its goal, both for people to read.
func (t *table) add(figure, measured, goal string, met bool) {
	mark := "yes"
	if !met {
		mark = "**no**"
	}
	t.rows = append(t.rows, row{figure, measured, goal, mark})
}

// addGaps adds what a client noticed of a change: the gaps between writes that etcd has
// acknowledged, and how many writes failed.
func (t *table) addGaps(what string, gaps times, acked, failed int) {
	const goal = 50 * time.Millisecond
	t.add(what+": longest gap in writes", fmt.Sprintf("%d ms, at most %d ms, %d of %d failed",
		gaps.median().Milliseconds(), gaps.most().Milliseconds(), failed, failed+acked),
		fmt.Sprintf("%d ms, none failed", goal.Milliseconds()), gaps.median() <= goal && failed == 0)
}

// note adds a figure that has no goal.
func (t *table) note(figure, measured string) {
	t.rows = append(t.rows, row{figure, measured, "", ""})
}

func (t *table) String() string {
	var out strings.Builder
	out.WriteString("| figure | measured | goal | met |\n|---|---|---|---|\n")
	for _, r := range t.rows {
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", r.figure, r.measured, r.goal, r.met)
	}
	return out.String()
}

// times are the measurements of one figure.
type times []time.Duration

func (t times) median() time.Duration {
	sorted := slices.Sorted(slices.Values(t))
	return sorted[len(sorted)/2]
}

func (t times) most() time.Duration { return slices.Max(t) }

// String is the median, and all of them in the order in which they were taken.
func (t times) String() string {
	var all []string
	for _, d := range t {
		all = append(all, seconds(d))
	}
	return fmt.Sprintf("%s s (%s)", seconds(t.median()), strings.Join(all, ", "))
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()) }
