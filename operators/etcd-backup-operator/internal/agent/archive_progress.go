package agent

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/archive"
)

const (
	// progressTimeout bounds a question about the progress.
	progressTimeout = 5 * time.Second
	// maxPending is how many marks wait for what they are about to be stored. Of more, those
	// in the middle are left out, so that the recovery point moves in larger steps.
	maxPending = 256
)

// archiveProgress is what an archiver tells.
type archiveProgress struct {
	mu   sync.Mutex
	told task.ArchiveProgress
	// pending are marks of revisions that are not stored yet.
	pending []archive.Mark
	// copies are the newest revisions that are in the second place, of each timeline; nil while
	// nothing is known. copyFailure is why nothing is copied now; nil if nothing has failed.
	copies      map[timeline]int64
	copyFailure *agent.Failure
}

// serve tells the progress to whoever asks, until the returned function is called.
func (p *archiveProgress) serve(address string, log *slog.Logger) (stop func(), err error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+task.ArchivePath, p)
	server := &http.Server{Handler: mux, ReadTimeout: progressTimeout, WriteTimeout: progressTimeout}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("no longer serving the progress", "error", err)
		}
	}()
	return func() { _ = server.Close() }, nil // it waits for no request
}

// ServeHTTP implements http.Handler.
func (p *archiveProgress) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	told := p.told
	told.Copy = p.copyOf(&told)
	p.mu.Unlock()
	told.Time = time.Now().UTC()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(told) // whoever asked might have left
}

// change changes what is told.
func (p *archiveProgress) change(f func(*task.ArchiveProgress)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.told)
}

func (p *archiveProgress) failed(f *agent.Failure) {
	p.change(func(t *task.ArchiveProgress) { t.Failure = f })
}

func (p *archiveProgress) gap(g *task.Gap) { p.change(func(t *task.ArchiveProgress) { t.Gap = g }) }

func (p *archiveProgress) authChanged() {
	p.change(func(t *task.ArchiveProgress) { t.AuthChanged = time.Now().UTC() })
}

// began tells what is recorded, and from where on.
func (p *archiveProgress) began(from member, at place) {
	p.change(func(t *task.ArchiveProgress) {
		if id := hex(from.cluster); t.ClusterID != id || t.Timeline != at.timeline {
			t.ClusterID, t.Timeline, t.Begin, t.RecoveryTime = id, at.timeline, at.begin, time.Time{}
			p.pending = nil
		}
		t.MemberID, t.Revision, t.Newest = hex(from.id), at.position.Revision, from.revision
	})
}

// marked notes where the cluster is: with that, nothing has failed.
func (p *archiveProgress) marked(m archive.Mark) {
	p.change(func(t *task.ArchiveProgress) {
		t.Failure, t.Newest = nil, m.Revision
		if m.Revision <= t.Revision {
			t.RecoveryTime, p.pending = m.Asked.UTC(), nil
			return
		}
		if n := len(p.pending); n > 0 && p.pending[n-1].Revision == m.Revision || n == maxPending {
			p.pending = p.pending[:n-1]
		}
		p.pending = append(p.pending, m)
	})
}

// stored notes that a segment is in the store.
func (p *archiveProgress) stored(s archive.Segment) {
	p.change(func(t *task.ArchiveProgress) {
		t.Revision = max(t.Revision, s.Last)
		for len(p.pending) > 0 && p.pending[0].Revision <= t.Revision {
			t.RecoveryTime = p.pending[0].Asked.UTC()
			p.pending = p.pending[1:]
		}
	})
}

// timeline is one of a cluster.
type timeline struct {
	cluster string
	number  uint32
}

// copied notes a segment that is in the second place. It may be of another timeline than the one
// that is recorded, and be copied before it is known which one that is.
func (p *archiveProgress) copied(s archive.Segment) {
	p.change(func(*task.ArchiveProgress) {
		if p.copies == nil {
			p.copies = map[timeline]int64{}
		}
		of := timeline{hex(s.ClusterID), s.Timeline}
		p.copies[of], p.copyFailure = max(p.copies[of], s.Last), nil
	})
}

// copyEnded notes why something is missing in the second place; nil if nothing is.
func (p *archiveProgress) copyEnded(f *agent.Failure) {
	p.change(func(*task.ArchiveProgress) {
		p.copyFailure = f
		if p.copies == nil {
			p.copies = map[timeline]int64{}
		}
	})
}

// copyOf is what is told of the second place; nil while nothing is known.
func (p *archiveProgress) copyOf(t *task.ArchiveProgress) *task.CopyProgress {
	if p.copies == nil {
		return nil
	}
	return &task.CopyProgress{Revision: p.copies[timeline{t.ClusterID, t.Timeline}], Failure: p.copyFailure}
}
