package launcher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Waiting is the only [State.State] that a launcher reports: it runs, and the
// data dir holds no write-ahead log. A launcher that cannot tell exits instead.
const Waiting = "Waiting"

// StatePath is where a waiting launcher serves its [State].
const StatePath = "/launcher"

// State is what a waiting launcher says of itself.
type State struct {
	// State is [Waiting].
	State string `json:"state"`
	// Attempt is that of the last grant used, 0 for none. The next grant needs
	// a higher one.
	Attempt int64 `json:"attempt"`
	// Reason is why it waits.
	Reason Reason `json:"reason"`
	// Message is the same for people.
	Message string `json:"message"`
}

// ErrNotWaiting is returned by [Ask] when something else than a waiting launcher
// answers: most often etcd itself, which knows no such path.
var ErrNotWaiting = errors.New("no launcher waits here")

// maxStateBytes bounds what Ask reads; a State is a few hundred bytes.
const maxStateBytes = 16 << 10

// Ask asks the launcher at addr (host:port of the metrics listener) for its
// state. The deadline is ctx's.
func Ask(ctx context.Context, c *http.Client, addr string) (State, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+StatePath, nil)
	if err != nil {
		return State{}, fmt.Errorf("ask launcher at %s: %w", addr, err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return State{}, fmt.Errorf("ask launcher: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		return State{}, fmt.Errorf("ask launcher at %s: %w", addr, ErrNotWaiting)
	}
	if resp.StatusCode != http.StatusOK {
		return State{}, fmt.Errorf("ask launcher at %s: status %s", addr, resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxStateBytes))
	if err != nil {
		return State{}, fmt.Errorf("ask launcher at %s: %w", addr, err)
	}
	var s State
	if err := json.Unmarshal(body, &s); err != nil {
		return State{}, fmt.Errorf("ask launcher at %s: %w", addr, err)
	}
	if s.State != Waiting {
		return State{}, fmt.Errorf("ask launcher at %s: state %q: %w", addr, s.State, ErrNotWaiting)
	}
	return s, nil
}
