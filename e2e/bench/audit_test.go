package main

import (
	"strings"
	"testing"
	"time"
)

func TestCount(t *testing.T) {
	from := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	line := func(id, user, at string) string {
		return `{"auditID":"` + id + `","user":{"username":"` + user + `"},"requestReceivedTimestamp":"2026-01-02T03:` + at + `.000000Z"}` + "\n"
	}
	log := `half a line"}` + "\n" +
		line("a", "us", "03:59") + // before
		line("b", "us", "04:00") +
		line("b", "us", "04:00") + // a watch: it begins, and ends
		line("c", "them", "04:01") +
		line("d", "us", "04:59") +
		line("e", "us", "05:00") // after
	got, err := count(strings.NewReader(log), "us", from, from.Add(time.Minute))
	if err != nil || got != 2 {
		t.Errorf("got %d, %v, want the 2 requests of that minute", got, err)
	}
}

func TestMedian(t *testing.T) {
	if got := (times{5, 1, 3}).median(); got != 3 {
		t.Errorf("got %d, want 3", got)
	}
}
