package s3test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"
)

// Proxy stands before a server and does to chosen requests what networks and stores
// do on bad days. All others pass. Requests stay signed for the proxy's own host.
type Proxy struct {
	// Endpoint is its URL.
	Endpoint string

	mu     sync.Mutex
	faults []*Fault
	forth  *httputil.ReverseProxy
	ended  chan struct{}
}

// Fault is what happens to some requests.
type Fault struct {
	// When chooses the requests; nil: every one.
	When func(*http.Request) bool
	// Times is how many are hit; 0: every one.
	Times int
	// Do is one of the functions below.
	Do Trouble
	// hits is how many were.
	hits int
}

// Trouble handles a request in place of the server; forth is the server itself.
type Trouble func(w http.ResponseWriter, r *http.Request, forth http.Handler)

// NewProxy starts a proxy before a server.
func NewProxy(t testing.TB, s *Server) *Proxy {
	t.Helper()
	return newProxy(t, s, nil)
}

// newProxy starts a proxy that serves by TLS if it is told how.
func newProxy(t testing.TB, s *Server, secure *tls.Config) *Proxy {
	t.Helper()
	target := host(t, s.Endpoint)
	p := &Proxy{ended: make(chan struct{})}
	p.forth = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: target})
			r.Out.Host = r.In.Host // it is signed
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	server := httptest.NewUnstartedServer(p)
	if server.TLS = secure; secure != nil {
		server.StartTLS()
	} else {
		server.Start()
	}
	p.Endpoint = server.URL
	t.Cleanup(func() {
		close(p.ended)
		server.CloseClientConnections()
		server.Close()
	})
	return p
}

// Inject adds a fault, behind those that are there.
func (p *Proxy) Inject(f Fault) *Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, &f)
	return &f
}

// Hits is how many requests a fault has hit.
func (p *Proxy) Hits(f *Fault) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return f.hits
}

// Heal ends all faults.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = nil
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() { // what stalls ends with the test
		select {
		case <-p.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	r = r.WithContext(ctx)
	if f := p.next(r); f != nil {
		f.Do(w, r, p.forth)
		return
	}
	p.forth.ServeHTTP(w, r)
}

func (p *Proxy) next(r *http.Request) *Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.faults {
		if (f.Times == 0 || f.hits < f.Times) && (f.When == nil || f.When(r)) {
			f.hits++
			return f
		}
	}
	return nil
}

// IsPut chooses requests that store an object or a part of one.
func IsPut(r *http.Request) bool { return r.Method == http.MethodPut && !r.URL.Query().Has("tagging") }

// IsPart chooses requests that store one part, of any number if it is empty.
func IsPart(number string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		got := r.URL.Query().Get("partNumber")
		return r.Method == http.MethodPut && got != "" && (number == "" || got == number)
	}
}

// IsBegin chooses requests that begin a multipart upload.
func IsBegin(r *http.Request) bool {
	return r.Method == http.MethodPost && r.URL.Query().Has("uploads")
}

// IsComplete chooses requests that complete a multipart upload.
func IsComplete(r *http.Request) bool {
	return r.Method == http.MethodPost && r.URL.Query().Has("uploadId")
}

// IsAbort chooses requests that abort a multipart upload.
func IsAbort(r *http.Request) bool {
	return r.Method == http.MethodDelete && r.URL.Query().Has("uploadId")
}

// IsGet chooses requests that read an object.
func IsGet(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.RawQuery == "x-id=GetObject"
}

// IsMethod chooses requests by their method.
func IsMethod(method string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.Method == method }
}

// Answer takes the request and answers with an S3 error in place of the server.
func Answer(status int, code string) Trouble {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body) // so that the client is not cut instead
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		if r.Method != http.MethodHead {
			fmt.Fprintf(w, "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>injected by a test</Message></Error>", code)
		}
	}
}

// Cut resets the connection after that many bytes of the request's body.
func Cut(after int64) Trouble {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.CopyN(io.Discard, r.Body, after) // a shorter one is cut at its end
		reset(w)
	}
}

// CutAnswer lets the server do what is asked and resets the connection in place of
// its answer.
func CutAnswer(w http.ResponseWriter, r *http.Request, forth http.Handler) {
	forth.ServeHTTP(httptest.NewRecorder(), r)
	reset(w)
}

// CutDownload resets the connection after that many bytes of the answer's body.
func CutDownload(after int) Trouble {
	return func(w http.ResponseWriter, r *http.Request, forth http.Handler) {
		forth.ServeHTTP(&limited{ResponseWriter: w, left: after}, r)
	}
}

// Stall takes that many bytes of the request's body, and then neither takes more nor
// answers.
func Stall(after int64) Trouble {
	return func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.CopyN(io.Discard, r.Body, after) // a shorter one stalls at its end
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
}

// StallDownload stops after that many bytes of the answer's body.
func StallDownload(after int) Trouble {
	return func(w http.ResponseWriter, r *http.Request, forth http.Handler) {
		forth.ServeHTTP(&limited{ResponseWriter: w, left: after, stall: r.Context().Done()}, r)
	}
}

// Throttle passes the request's body on at that many bytes a second.
func Throttle(bytesPerSecond int) Trouble {
	return func(w http.ResponseWriter, r *http.Request, forth http.Handler) {
		r.Body = &throttled{ReadCloser: r.Body, rate: bytesPerSecond}
		forth.ServeHTTP(w, r)
	}
}

// During calls f and then lets the request pass.
func During(f func()) Trouble {
	return func(w http.ResponseWriter, r *http.Request, forth http.Handler) {
		f()
		forth.ServeHTTP(w, r)
	}
}

// reset closes the client's connection so that it sees a reset, not an end.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // no more than a kinder fault if it fails
	}
	_ = conn.Close() // there is nobody left to tell
}

// limited is an answer that breaks, or stalls if stall is set, after some bytes.
type limited struct {
	http.ResponseWriter
	left  int
	stall <-chan struct{}
}

func (l *limited) Write(p []byte) (int, error) {
	if len(p) <= l.left {
		l.left -= len(p)
		return l.ResponseWriter.Write(p)
	}
	n, err := l.ResponseWriter.Write(p[:l.left])
	l.left = 0
	if err != nil {
		return n, err
	}
	_ = http.NewResponseController(l.ResponseWriter).Flush() // the client may be gone
	if l.stall != nil {
		<-l.stall
	}
	panic(http.ErrAbortHandler)
}

// throttled is read at a rate, in bytes a second.
type throttled struct {
	io.ReadCloser
	rate int
}

func (t *throttled) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	time.Sleep(time.Second * time.Duration(n) / time.Duration(t.rate))
	return n, err
}
