package writer

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Options say where to write, and how.
type Options struct {
	// Endpoint is host:port of the Service for clients.
	Endpoint string
	// Rate is how many writes begin in a second.
	Rate int
	// Timeout is how long one write may take.
	Timeout time.Duration
	// Prefix is in front of every key.
	Prefix string
	// Size is that of every value, in bytes; 0: as many as its number takes.
	Size int
	// Count is how many writes there are in all; 0: no end of them.
	Count int
	// TLS is how to connect; nil for plain text.
	TLS *tls.Config
}

// DefaultPrefix is in front of the keys of a writer that was told no other.
const DefaultPrefix = "etcd-writer/"

const (
	// reconnectAfter is how long nothing may be acknowledged until the writer
	// gives its connection up for a new one, as a client does that does not want
	// to hang on a machine which is gone without a word: gRPC's own keepalive
	// takes 10 s at least.
	reconnectAfter = 2 * time.Second
	// reconnectFirst and reconnectMost bound the pause between attempts to
	// connect. gRPC's default of 1 s for the first would be the longest gap of
	// every test.
	reconnectFirst, reconnectMost = 25 * time.Millisecond, time.Second
	// connectTimeout bounds one attempt to connect.
	connectTimeout = time.Second
	// page is how many keys one request reads back, and pageBytes about how much.
	page, pageBytes = 5000, 16 << 20
)

// Writer writes, and remembers.
type Writer struct {
	o      Options
	ledger *ledger

	mu        sync.Mutex
	password  string // of root; empty while authentication is not enabled
	conn      *clientv3.Client
	connected time.Time
	// connecting is true while a new connection is made in place of a silent one.
	connecting bool
}

// New makes a writer that does nothing until [Writer.Run].
func New(o Options) (*Writer, error) {
	w := &Writer{o: o, ledger: newLedger(time.Now(), time.Second/time.Duration(o.Rate))}
	return w, w.reconnect()
}

// Run writes until ctx ends or there are enough writes, and returns when no write is
// under way any more.
func (w *Writer) Run(ctx context.Context) {
	tick := time.NewTicker(w.ledger.interval)
	defer tick.Stop()
	var writes sync.WaitGroup
	defer writes.Wait()
	for n := 0; w.o.Count == 0 || n < w.o.Count; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			// Each write on its own, so that a slow one does not hold up the rate:
			// Rate x Timeout of them at most.
			writes.Go(w.put)
			w.giveUpSilence()
		}
	}
}

func (w *Writer) put() {
	seq := w.ledger.next()
	// Not Run's context: a write that has begun is seen through to its end.
	ctx, cancel := context.WithTimeout(context.Background(), w.o.Timeout)
	defer cancel()
	started := time.Now()
	resp, err := w.client().Put(ctx, w.key(seq), value(seq, w.o.Size))
	if err != nil {
		w.ledger.fail(reason(err))
		return
	}
	h := resp.Header
	w.ledger.ack(ack{seq: seq, started: started, at: time.Now(), cluster: h.ClusterId, member: h.MemberId, revision: h.Revision})
}

// reason is short, so that equal failures are counted together.
func reason(err error) string {
	s, ok := status.FromError(err)
	if !ok || s.Code() == codes.Unknown {
		return err.Error()
	}
	message := s.Message()
	if s.Code() == codes.Unavailable && strings.Contains(message, "connect: ") {
		message = "connect: " + message[strings.LastIndex(message, "connect: ")+len("connect: "):]
	}
	return fmt.Sprintf("%s: %s", s.Code(), message)
}

// giveUpSilence connects anew when nothing has been acknowledged for long. Writes begin
// meanwhile: to be let in with a password can take seconds.
func (w *Writer) giveUpSilence() {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.connecting || min(w.ledger.sinceAck(now), now.Sub(w.connected)) <= reconnectAfter {
		return
	}
	w.connecting = true
	go func() {
		_ = w.reconnect() // fails only while etcd takes no password: it is tried again
		w.mu.Lock()
		defer w.mu.Unlock()
		w.connecting = false
	}()
}

func (w *Writer) reconnect() error {
	conn, err := clientv3.New(w.credentials(clientv3.Config{
		Endpoints: []string{w.o.Endpoint},
		TLS:       w.o.TLS,
		Logger:    zap.NewNop(), // what it would say is counted
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: reconnectFirst, Multiplier: 1.6, Jitter: 0.2, MaxDelay: reconnectMost},
			MinConnectTimeout: connectTimeout,
		})},
	}))
	if err != nil {
		return fmt.Errorf("connect to %s: %w", w.o.Endpoint, err)
	}
	w.mu.Lock()
	old := w.conn
	w.conn, w.connected = conn, time.Now()
	w.mu.Unlock()
	if old != nil {
		// It ends what still waits on it. gRPC first tries for 5 s to say good-bye to
		// a machine that does not listen.
		go func() { _ = old.Close() }()
	}
	return nil
}

func (w *Writer) client() *clientv3.Client {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.conn
}

func (w *Writer) key(seq int) string { return keyOf(w.o.Prefix, seq) }

// Progress is how it goes right now.
func (w *Writer) Progress() Progress { return w.ledger.progress(time.Now()) }

// isDone reports whether there are no more writes, and each was answered.
func (w *Writer) isDone() bool {
	p := w.Progress()
	return w.o.Count > 0 && p.Acked+p.Failed == w.o.Count
}

// Acknowledged are the writes that have been acknowledged until now.
func (w *Writer) Acknowledged() []Span {
	_, acked := w.ledger.snapshot(time.Now())
	return spans(acked)
}

// Cut ends the current window of time and begins the next.
func (w *Writer) Cut() Window { return w.ledger.cut(time.Now()) }

// Verify reads back, linearizably, all that has been acknowledged until now. It
// tries until it succeeds or ctx ends.
func (w *Writer) Verify(ctx context.Context) (Report, error) {
	report, acked := w.ledger.snapshot(time.Now())
	found, err := w.readAll(ctx)
	if err != nil {
		return report, err
	}
	there := ContentOf(w.o.Prefix, found)
	for _, seq := range there.Missing(spans(acked)) {
		report.Lost = append(report.Lost, w.key(seq))
	}
	report.Foreign = there.Foreign
	return report, nil
}

// readAll reads everything under the prefix, all at one revision.
func (w *Writer) readAll(ctx context.Context) (map[string]string, error) {
	for {
		found, err := w.tryReadAll(ctx)
		if err == nil || ctx.Err() != nil {
			return found, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("read back: %w", err)
		case <-time.After(reconnectFirst):
			w.giveUpSilence()
		}
	}
}

func (w *Writer) tryReadAll(ctx context.Context) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, max(w.o.Timeout, 5*time.Second))
	defer cancel()
	found := map[string]string{}
	end := clientv3.GetPrefixRangeEnd(w.o.Prefix)
	opts := []clientv3.OpOption{clientv3.WithRange(end), clientv3.WithLimit(min(page, int64(pageBytes/(w.o.Size+1)+1)))}
	for from := w.o.Prefix; ; {
		resp, err := w.client().Get(ctx, from, opts...)
		if err != nil {
			return nil, err
		}
		for _, kv := range resp.Kvs {
			found[string(kv.Key)] = string(kv.Value)
		}
		if !resp.More {
			return found, nil
		}
		from = string(resp.Kvs[len(resp.Kvs)-1].Key) + "\x00"
	}
}
