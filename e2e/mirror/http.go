package mirror

import (
	"encoding/json"
	"net/http"
)

// Handler serves what the mirror knows as JSON:
//
//	GET /readyz   200 once it has a copy
//	GET /state    what has happened to it (State)
//	GET /copy     what it believes the cluster to hold (Content)
//	GET /cluster  what the cluster holds, read now (Content)
func (m *Mirror) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(rw http.ResponseWriter, _ *http.Request) {
		if err := m.ready(); err != nil {
			http.Error(rw, err.Error(), http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("GET /state", func(rw http.ResponseWriter, _ *http.Request) { answer(rw, m.State(), nil) })
	mux.HandleFunc("GET /copy", func(rw http.ResponseWriter, _ *http.Request) { answer(rw, m.Copy(), nil) })
	mux.HandleFunc("GET /cluster", func(rw http.ResponseWriter, r *http.Request) {
		all, err := m.List(r.Context())
		answer(rw, all, err)
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
