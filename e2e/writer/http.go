package writer

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// verifyTimeout bounds the reading back, which waits for a cluster that is just
// coming back.
const verifyTimeout = 90 * time.Second

// Handler serves the writer's knowledge as JSON:
//
//	GET  /readyz        200 once a write has been acknowledged, or all have failed
//	GET  /progress      the current window so far (Progress)
//	GET  /acknowledged  the writes that have been acknowledged ([]Span)
//	POST /cut           ends the current window and returns it (Window)
//	POST /verify        reads back what has been acknowledged (Report)
//	POST /finish        the same, after it has stopped writing
//	GET  /members       etcd's member list, with what each says of itself ([]Member)
//	POST /move-leader?to=NAME
//	POST /enable-auth?password=WORD
//	POST /delete?prefix=PREFIX  the revision at which all keys with it are deleted (int64)
//	GET  /stranger      what etcd tells a client without credentials (string)
//
// stop makes Run return, and returns when it has.
func (w *Writer) Handler(stop func()) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(rw http.ResponseWriter, _ *http.Request) {
		if w.ledger.sinceAck(time.Now()) == 0 && !w.isDone() {
			http.Error(rw, "no write has been acknowledged yet", http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("GET /progress", func(rw http.ResponseWriter, _ *http.Request) { answer(rw, w.Progress(), nil) })
	mux.HandleFunc("GET /acknowledged", func(rw http.ResponseWriter, _ *http.Request) { answer(rw, w.Acknowledged(), nil) })
	mux.HandleFunc("POST /cut", func(rw http.ResponseWriter, _ *http.Request) { answer(rw, w.Cut(), nil) })
	verify := func(rw http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), verifyTimeout)
		defer cancel()
		report, err := w.Verify(ctx)
		answer(rw, report, err)
	}
	mux.HandleFunc("POST /verify", verify)
	mux.HandleFunc("POST /finish", func(rw http.ResponseWriter, r *http.Request) {
		stop()
		verify(rw, r)
	})
	mux.HandleFunc("GET /members", func(rw http.ResponseWriter, r *http.Request) {
		members, err := w.Members(r.Context())
		answer(rw, members, err)
	})
	mux.HandleFunc("POST /move-leader", func(rw http.ResponseWriter, r *http.Request) {
		answer(rw, struct{}{}, w.MoveLeader(r.Context(), r.URL.Query().Get("to")))
	})
	mux.HandleFunc("POST /enable-auth", func(rw http.ResponseWriter, r *http.Request) {
		answer(rw, struct{}{}, w.EnableAuth(r.Context(), r.URL.Query().Get("password")))
	})
	mux.HandleFunc("POST /delete", func(rw http.ResponseWriter, r *http.Request) {
		revision, err := w.Delete(r.Context(), r.URL.Query().Get("prefix"))
		answer(rw, revision, err)
	})
	mux.HandleFunc("GET /stranger", func(rw http.ResponseWriter, r *http.Request) {
		told, err := w.Stranger(r.Context())
		answer(rw, told, err)
	})
	return mux
}

func answer(rw http.ResponseWriter, v any, err error) {
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadGateway)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(v) // whoever has gone needs no answer
}
