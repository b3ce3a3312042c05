package writer

import (
	"fmt"
	"time"
)

// Window is what happened in a span of time.
type Window struct {
	Acked  int `json:"acked"`
	Failed int `json:"failed"`
	// LongestGapMS is the longest time between two acknowledged writes, in
	// milliseconds, by the writes that began meanwhile. One that is not over yet
	// counts.
	LongestGapMS int64 `json:"longestGapMs"`
	TookMS       int64 `json:"tookMs"`
	// Errors counts why writes failed.
	Errors map[string]int `json:"errors,omitempty"`
}

// LongestGap is LongestGapMS as a duration.
func (w Window) LongestGap() time.Duration { return time.Duration(w.LongestGapMS) * time.Millisecond }

// String says it in a line.
func (w Window) String() string {
	return fmt.Sprintf("%d writes acknowledged, %d failed, longest gap %s, in %s",
		w.Acked, w.Failed, w.LongestGap(), (time.Duration(w.TookMS) * time.Millisecond).Round(time.Second))
}

// Progress is how it goes right now.
type Progress struct {
	Window
	// SinceLastAckMS is for how long no write has been acknowledged.
	SinceLastAckMS int64 `json:"sinceLastAckMs"`
	// ServedBy is the id of the member that acknowledged the last write, and so
	// the one that the writer is connected to: 16 hexadecimal digits.
	ServedBy string `json:"servedBy,omitempty"`
}

// Report is the verdict: what was read back, against what was acknowledged.
type Report struct {
	Window
	// Lost are acknowledged keys that are missing or hold another value.
	Lost []string `json:"lost"`
	// Foreign are keys under the writer's prefix that it never wrote.
	Foreign []string `json:"foreign,omitempty"`
	// Clusters are the ids of the clusters that acknowledged writes. More than
	// one is a second cluster in the place of the first.
	Clusters []string `json:"clusters"`
	// RevisionWentBack tells that a later write got a lower revision, from
	// whatever began anew.
	RevisionWentBack bool `json:"revisionWentBack"`
}

// Member is what the cluster and one of its members say of that member.
type Member struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Learner bool   `json:"learner"`
	Leader  bool   `json:"leader"`
	Version string `json:"version,omitempty"`
	Error   string `json:"error,omitempty"`
}
