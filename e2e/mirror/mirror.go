package mirror

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

const (
	// page is how many keys one request lists.
	page = 5000
	// listTimeout bounds one list, and retryAfter is the pause before the next attempt
	// at whatever has failed.
	listTimeout, retryAfter = 10 * time.Second, 100 * time.Millisecond
	// connectTimeout and reconnectMost bound one attempt to connect, and the pause
	// between them.
	connectTimeout, reconnectMost = time.Second, time.Second
	// aliveTime and aliveTimeout find a member that is gone without a word, as one on a
	// node that is cut off: etcd forbids to ask more often than every 5 s.
	aliveTime, aliveTimeout = 10 * time.Second, 3 * time.Second
)

// Mirror keeps a copy of a cluster's keys.
type Mirror struct {
	client *clientv3.Client

	mu    sync.Mutex
	state State
	copy  map[string]Key
}

// State is what has happened to it.
type State struct {
	// Revision is the newest that it knows of.
	Revision int64 `json:"revision"`
	// Keys is how many there are in its copy.
	Keys int `json:"keys"`
	// Lists is how often it has listed everything.
	Lists int `json:"lists"`
	// Compacted is how often it was told that what it wanted to watch was compacted.
	Compacted int `json:"compacted"`
	// WentBack tells that it was shown a revision that is older than one it knew.
	WentBack bool `json:"wentBack"`
}

// New makes a mirror of the etcd at host:port, which does nothing until [Mirror.Run].
// config is how to connect; nil for plain text.
func New(endpoint string, config *tls.Config) (*Mirror, error) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            []string{endpoint},
		TLS:                  config,
		Logger:               zap.NewNop(), // what it would say is counted
		DialKeepAliveTime:    aliveTime,
		DialKeepAliveTimeout: aliveTimeout,
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: retryAfter, Multiplier: 1.6, Jitter: 0.2, MaxDelay: reconnectMost},
			MinConnectTimeout: connectTimeout,
		})},
	})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", endpoint, err)
	}
	return &Mirror{client: client, copy: map[string]Key{}}, nil
}

// Run keeps the copy until ctx ends.
func (m *Mirror) Run(ctx context.Context) {
	defer m.client.Close()
	listed := false
	for ctx.Err() == nil {
		if !listed {
			all, err := m.List(ctx)
			if err != nil {
				pause(ctx)
				continue
			}
			m.listed(all)
			listed = true
		}
		if m.watch(ctx) {
			listed = false
			continue
		}
		pause(ctx)
	}
}

func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(retryAfter):
	}
}

// List reads all keys, linearizably, at one revision.
func (m *Mirror) List(ctx context.Context) (Content, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	all := Content{Keys: map[string]Key{}}
	for from := "\x00"; ; {
		options := []clientv3.OpOption{clientv3.WithFromKey(), clientv3.WithLimit(page)}
		if all.Revision != 0 {
			options = append(options, clientv3.WithRev(all.Revision))
		}
		got, err := m.client.Get(ctx, from, options...)
		if err != nil {
			return all, fmt.Errorf("list: %w", err)
		}
		if all.Revision == 0 {
			all.Revision = got.Header.Revision
		}
		for _, kv := range got.Kvs {
			all.Keys[string(kv.Key)] = KeyOf(kv)
		}
		if !got.More {
			return all, nil
		}
		from = string(got.Kvs[len(got.Kvs)-1].Key) + "\x00"
	}
}

func (m *Mirror) listed(all Content) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state.Lists++
	m.knows(all.Revision)
	m.copy = all.Keys
}

// knows notes a revision that etcd has shown.
func (m *Mirror) knows(revision int64) {
	if revision < m.state.Revision {
		m.state.WentBack = true
	}
	m.state.Revision = revision
}

// watch follows the changes after what is known, until the watch ends; it tells
// whether that is because they were compacted.
func (m *Mirror) watch(ctx context.Context) (compacted bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	from := m.State().Revision + 1
	// Without a leader a watch would be silent, as if nothing happened.
	for got := range m.client.Watch(clientv3.WithRequireLeader(ctx), "\x00", clientv3.WithFromKey(), clientv3.WithRev(from)) {
		if got.CompactRevision != 0 {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.state.Compacted++
			return true
		}
		if got.Err() != nil {
			return false
		}
		m.changed(got.Events)
	}
	return false
}

func (m *Mirror) changed(events []*clientv3.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range events {
		m.knows(e.Kv.ModRevision)
		if e.Type == mvccpb.Event_DELETE {
			delete(m.copy, string(e.Kv.Key))
			continue
		}
		m.copy[string(e.Kv.Key)] = KeyOf(e.Kv)
	}
}

// State is what has happened until now.
func (m *Mirror) State() State {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.state
	s.Keys = len(m.copy)
	return s
}

// Copy is what it believes the cluster to hold.
func (m *Mirror) Copy() Content {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Content{Revision: m.state.Revision, Keys: maps.Clone(m.copy)}
}

// errNotListed is what readiness lacks at first.
var errNotListed = errors.New("nothing has been listed yet")

func (m *Mirror) ready() error {
	if m.State().Lists == 0 {
		return errNotListed
	}
	return nil
}
