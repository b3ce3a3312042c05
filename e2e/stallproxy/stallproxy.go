// Package stallproxy is an HTTP proxy in front of a store that stalls on demand: after a
// number of bytes, every upload, or every download, is held back until the proxy is opened
// again. So a test can act in the middle of a transfer for sure, however fast the machine
// is. Requests without a body, or answers without one, always pass.
//
// It runs as a Pod and is driven over HTTP; see [Proxy.Handler].
package stallproxy

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
)

// Proxy passes requests on.
type Proxy struct {
	forth *httputil.ReverseProxy

	mu      sync.Mutex
	changed *sync.Cond
	shut    bool
	down    bool  // what is held back is downloads, not uploads
	left    int64 // of what may pass while it is shut, in bytes
	held    int   // requests that wait
}

// New makes an open Proxy in front of host:port.
func New(to string) *Proxy {
	p := &Proxy{forth: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: to})
			r.Out.Host = r.In.Host // it is signed
		},
		// As if the store itself were gone.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}}
	p.changed = sync.NewCond(&p.mu)
	return p
}

// State tells how it is.
type State struct {
	// Shut tells that it is shut, or will be after some bytes more.
	Shut bool `json:"shut"`
	// Held is how many transfers wait.
	Held int `json:"held"`
}

// Handler reports the Proxy's state and changes it, in JSON:
//
//	GET  /readyz                      200
//	GET  /state                       how it is (State)
//	POST /shut?after=BYTES            shuts it when so many bytes more were uploaded (State)
//	POST /shut?after=BYTES&down=true  the same, when they were downloaded (State)
//	POST /open                        opens it (State)
func (p *Proxy) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /state", func(rw http.ResponseWriter, _ *http.Request) { p.answer(rw) })
	mux.HandleFunc("POST /shut", func(rw http.ResponseWriter, r *http.Request) {
		after, err := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
		if err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		p.set(true, r.URL.Query().Get("down") == "true", after)
		p.answer(rw)
	})
	mux.HandleFunc("POST /open", func(rw http.ResponseWriter, _ *http.Request) {
		p.set(false, false, 0)
		p.answer(rw)
	})
	return mux
}

func (p *Proxy) answer(rw http.ResponseWriter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(State{Shut: p.shut, Held: p.held}) // whoever has gone needs no answer
}

func (p *Proxy) set(shut, down bool, left int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut, p.down, p.left = shut, down, left
	p.changed.Broadcast()
}

// ServeHTTP passes a request on. What is uploaded is read to its end first: only then
// is it noticed when the client goes, and what a client has given up never arrives.
func (p *Proxy) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		content, err := io.ReadAll(r.Body)
		if err == nil {
			err = p.pass(r.Context(), false, len(content))
		}
		if err != nil {
			panic(http.ErrAbortHandler) // the client has gone
		}
		r.Body = io.NopCloser(bytes.NewReader(content))
	}
	p.forth.ServeHTTP(&answer{ResponseWriter: rw, ctx: r.Context(), p: p}, r)
}

// answer is what the store says, piece by piece.
type answer struct {
	http.ResponseWriter
	ctx context.Context
	p   *Proxy
}

func (a *answer) Write(piece []byte) (int, error) {
	if err := a.p.pass(a.ctx, true, len(piece)); err != nil {
		return 0, err
	}
	return a.ResponseWriter.Write(piece)
}

// pass returns when n bytes may pass, down or up, or ctx has ended.
func (p *Proxy) pass(ctx context.Context, down bool, n int) error {
	stop := context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.changed.Broadcast()
	})
	defer stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down == down {
		p.left -= int64(n)
	}
	p.held++
	defer func() { p.held-- }()
	for p.shut && p.down == down && p.left < 0 && ctx.Err() == nil {
		p.changed.Wait()
	}
	return ctx.Err()
}
