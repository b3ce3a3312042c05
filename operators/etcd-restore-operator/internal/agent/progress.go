package agent

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
)

// progressTimeout bounds a question about the progress.
const progressTimeout = 5 * time.Second

// progress is how far a transfer is.
type progress struct{ fetched, total atomic.Int64 }

// begin starts to count from nothing.
func (p *progress) begin(total int64) {
	p.fetched.Store(0)
	p.total.Store(total)
}

// serve tells the progress to whoever asks, until the returned function is called. That
// it cannot is not worth a failure.
func (p *progress) serve(address string, log *slog.Logger) (stop func()) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		log.Warn("cannot serve the progress", "error", err)
		return func() {}
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+task.ProgressPath, p)
	server := &http.Server{Handler: mux, ReadTimeout: progressTimeout, WriteTimeout: progressTimeout}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("no longer serving the progress", "error", err)
		}
	}()
	return func() { _ = server.Close() } // it waits for no request
}

// ServeHTTP implements http.Handler.
func (p *progress) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(task.Progress{Fetched: p.fetched.Load(), Total: p.total.Load()}) // whoever asked might have left
}

// counted counts what is read, and keeps why it broke.
type counted struct {
	src     io.Reader
	ctx     context.Context
	fetched *atomic.Int64
	broken  error
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	if err := context.Cause(c.ctx); err != nil {
		c.broken = err
		return 0, err
	}
	n, err := c.src.Read(p)
	c.fetched.Add(int64(n))
	if err != nil && !errors.Is(err, io.EOF) {
		c.broken = err
	}
	return n, err
}
