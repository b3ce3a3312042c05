package cluster

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"
)

const (
	// readyPoll is how often something that starts is asked whether it is ready.
	readyPoll = 100 * time.Millisecond
	// readyTimeout is how long a single thing may take to be ready; usual is a few seconds.
	readyTimeout = 2 * time.Minute
	// requestTimeout bounds one question.
	requestTimeout = 5 * time.Second
	// dnsTimeout is short, since a question to a DNS that isn't there yet is lost in silence.
	dnsTimeout = 500 * time.Millisecond
)

// waitHTTP waits until the daemon answers 200 at url.
func (c Cluster) waitHTTP(ctx context.Context, name string, client *http.Client, url string) error {
	return c.waitDaemon(ctx, name, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", url, response.Status)
		}
		return nil
	})
}

// waitDaemon waits until ready returns nil, and gives up early when the daemon has died.
func (c Cluster) waitDaemon(ctx context.Context, name string, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		if running, readErr := c.daemons().Running(name); readErr == nil && running == nil {
			return fmt.Errorf("%s exited right after its start: see %s: %s", name, c.logOf(name), tail(c.logOf(name)))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not become ready: see %s: %w", name, c.logOf(name), err)
		case <-time.After(readyPoll):
		}
	}
}

// tail returns the end of a log, for an error.
func tail(path string) string {
	const most = 1000 // bytes
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-most):])
}
