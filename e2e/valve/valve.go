// Package valve is an HTTP proxy in front of a store that can be shut: after a number of
// bytes, each upload, or each download, is held back until it is opened again. So a test
// can do something in the middle of a transfer for sure, however fast the machine is.
// Requests without a body, or answers without one, pass all the time.
//
// It runs as a Pod, and is told by HTTP; see [Valve.Handler].
package valve

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

// Valve passes requests on.
type Valve struct {
	forth *httputil.ReverseProxy

	mu      sync.Mutex
	changed *sync.Cond
	shut    bool
	down    bool  // what is held back is downloads, not uploads
	left    int64 // of what may pass while it is shut, in bytes
	held    int   // requests that wait
}

// New makes an open Valve in front of host:port.
func New(to string) *Valve {
	v := &Valve{forth: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: to})
			r.Out.Host = r.In.Host // it is signed
		},
		// As if the store itself were gone.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}}
	v.changed = sync.NewCond(&v.mu)
	return v
}

// State tells how it is.
type State struct {
	// Shut tells that it is shut, or will be after some bytes more.
	Shut bool `json:"shut"`
	// Held is how many transfers wait.
	Held int `json:"held"`
}

// Handler tells of the Valve and turns it, in JSON:
//
//	GET  /readyz                      200
//	GET  /state                       how it is (State)
//	POST /shut?after=BYTES            shuts it when so many bytes more were uploaded (State)
//	POST /shut?after=BYTES&down=true  the same, when they were downloaded (State)
//	POST /open                        opens it (State)
func (v *Valve) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /state", func(rw http.ResponseWriter, _ *http.Request) { v.answer(rw) })
	mux.HandleFunc("POST /shut", func(rw http.ResponseWriter, r *http.Request) {
		after, err := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
		if err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		v.set(true, r.URL.Query().Get("down") == "true", after)
		v.answer(rw)
	})
	mux.HandleFunc("POST /open", func(rw http.ResponseWriter, _ *http.Request) {
		v.set(false, false, 0)
		v.answer(rw)
	})
	return mux
}

func (v *Valve) answer(rw http.ResponseWriter) {
	v.mu.Lock()
	defer v.mu.Unlock()
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(State{Shut: v.shut, Held: v.held}) // whoever has gone needs no answer
}

func (v *Valve) set(shut, down bool, left int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shut, v.down, v.left = shut, down, left
	v.changed.Broadcast()
}

// ServeHTTP passes a request on. What is uploaded is read to its end first: only then
// is it noticed when the client goes, and what a client has given up never arrives.
func (v *Valve) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		content, err := io.ReadAll(r.Body)
		if err == nil {
			err = v.pass(r.Context(), false, len(content))
		}
		if err != nil {
			panic(http.ErrAbortHandler) // the client has gone
		}
		r.Body = io.NopCloser(bytes.NewReader(content))
	}
	v.forth.ServeHTTP(&answer{ResponseWriter: rw, ctx: r.Context(), v: v}, r)
}

// answer is what the store says, piece by piece.
type answer struct {
	http.ResponseWriter
	ctx context.Context
	v   *Valve
}

func (a *answer) Write(piece []byte) (int, error) {
	if err := a.v.pass(a.ctx, true, len(piece)); err != nil {
		return 0, err
	}
	return a.ResponseWriter.Write(piece)
}

// pass returns when n bytes may pass, down or up, or ctx has ended.
func (v *Valve) pass(ctx context.Context, down bool, n int) error {
	stop := context.AfterFunc(ctx, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.changed.Broadcast()
	})
	defer stop()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.down == down {
		v.left -= int64(n)
	}
	v.held++
	defer func() { v.held-- }()
	for v.shut && v.down == down && v.left < 0 && ctx.Err() == nil {
		v.changed.Wait()
	}
	return ctx.Err()
}
