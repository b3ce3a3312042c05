package launcher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// What a launcher reports as [State.State]. One that cannot tell exits instead.
const (
	// Waiting: the data dir holds no write-ahead log.
	Waiting = "Waiting"
	// Refusing: it holds one that is not this member's, as far as is known, and etcd is not
	// started on it.
	Refusing = "Refusing"
)

// StatePath is where a waiting launcher serves its [State].
const StatePath = "/launcher"

// State is what a launcher says of itself that has not started etcd.
type State struct {
	// State is [Waiting] or [Refusing].
	State string `json:"state"`
	// Identity is whose launcher it is.
	Identity
	// WaitedSeconds is how long before its last look at the disk this launcher has begun to
	// look, by its own clock: for so long it has found the same. It looks once a second at
	// least.
	WaitedSeconds float64 `json:"waitedSeconds"`
	// Attempt is that of the last permit used, 0 for none. The next permit needs
	// a higher one.
	Attempt int64 `json:"attempt"`
	// Reason is why it waits.
	Reason Reason `json:"reason"`
	// Message is the same for people.
	Message string `json:"message"`
}

// Identity says who answers: an address may belong to another Pod by now. A launcher of
// an earlier release does not tell it, nor does one that cannot read PodUID.
type Identity struct {
	PodUID     string `json:"podUID,omitempty"`
	Member     string `json:"member,omitempty"`
	ClusterUID string `json:"clusterUID,omitempty"`
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
	if s.State != Waiting && s.State != Refusing {
		return State{}, fmt.Errorf("ask launcher at %s: state %q: %w", addr, s.State, ErrNotWaiting)
	}
	return s, nil
}
