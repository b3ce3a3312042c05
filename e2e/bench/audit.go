package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
)

// flushDelay is for how long after its answer a request may be missing in the
// audit log.
const flushDelay = 2 * time.Second

// auditEvent is what is needed of a line of the audit log.
type auditEvent struct {
	AuditID string `json:"auditID"`
	User    struct {
		Username string `json:"username"`
	} `json:"user"`
	Received time.Time `json:"requestReceivedTimestamp"`
}

// countRequests counts the requests that a user makes from now on for so long. A
// watch counts once, when it begins.
func countRequests(ctx context.Context, path, user string, long time.Duration) (int, error) {
	begin, err := os.Stat(path)
	if err != nil {
		return 0, fmt.Errorf("audit log: %w", err)
	}
	since := time.Now()
	select {
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	case <-time.After(long + flushDelay): // it is a rate that is measured
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("audit log: %w", err)
	}
	defer f.Close()
	// A file that is shorter than it was has been rotated; what is in the old one
	// was before.
	if now, err := f.Stat(); err == nil && os.SameFile(begin, now) {
		if _, err := f.Seek(begin.Size(), io.SeekStart); err != nil {
			return 0, err
		}
	}
	return count(f, user, since, since.Add(long))
}

func count(log io.Reader, user string, from, to time.Time) (int, error) {
	seen := map[string]bool{}
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return len(seen), nil // what has no end yet is not of our time
		}
		if err != nil {
			return 0, err
		}
		var e auditEvent
		if err := json.Unmarshal(line, &e); err != nil {
			continue // the rest of a line that began before
		}
		if e.User.Username == user && !e.Received.Before(from) && e.Received.Before(to) {
			seen[e.AuditID] = true
		}
	}
}
