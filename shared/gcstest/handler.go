package gcstest

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// handler stands before the fake.
type handler struct {
	fake  *httputil.ReverseProxy
	mu    sync.Mutex
	state map[string]*session
}

// session is a resumable upload.
type session struct {
	mu sync.Mutex
	// next is the offset of the byte that is to come.
	next int64
	// ended says that no more comes, and answer what the last request was answered.
	ended  bool
	answer *httptest.ResponseRecorder
}

func newHandler(addr string) *handler {
	return &handler{state: map[string]*session{}, fake: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: addr})
			r.Out.Host = r.In.Host // the URLs of uploads have it
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}}
}

func (h *handler) uploads() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	open := 0
	for _, s := range h.state {
		if !s.ended {
			open++
		}
	}
	return open
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // a request of which a part came is none
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	switch {
	case !isKnown(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), "http://"+r.Host+"/storage/v1/"):
		refuse(w, r, http.StatusUnauthorized, "authError", "Invalid Credentials")
	case isSession(r):
		h.serveSession(w, r)
	default:
		h.serve(w, r)
	}
}

// serve passes a request on, and says what is not there.
func (h *handler) serve(w http.ResponseWriter, r *http.Request) {
	answer := httptest.NewRecorder()
	h.fake.ServeHTTP(answer, r)
	if answer.Code == http.StatusNotFound {
		bucket := httptest.NewRecorder()
		h.fake.ServeHTTP(bucket, httptest.NewRequestWithContext(r.Context(), http.MethodGet, "/storage/v1/b/"+bucketOf(r), http.NoBody))
		if bucket.Code == http.StatusNotFound {
			refuse(w, r, http.StatusNotFound, "notFound", "The specified bucket does not exist.")
			return
		}
		refuse(w, r, http.StatusNotFound, "notFound", "No such object")
		return
	}
	if at, err := url.Parse(answer.Header().Get("Location")); err == nil && IsBegin(r) {
		h.mu.Lock()
		h.state[at.Query().Get("upload_id")] = &session{}
		h.mu.Unlock()
	}
	write(w, answer)
}

// serveSession serves a request of a resumable upload. Bytes that came before are taken no
// second time, and a last chunk that comes again is answered as before.
func (h *handler) serveSession(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	s := h.state[r.URL.Query().Get("upload_id")]
	h.mu.Unlock()
	if s == nil {
		refuse(w, r, http.StatusNotFound, "notFound", "No such upload")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	first, end := rangeOf(r)
	switch {
	case s.ended && s.answer == nil:
		refuse(w, r, http.StatusGone, "gone", "The upload was cancelled.")
		return
	case s.ended || first >= 0 && end < s.next:
	case r.Method == http.MethodDelete:
		h.end(s)
		w.WriteHeader(499)
		return
	case first >= 0 && first != s.next:
		refuse(w, r, http.StatusBadRequest, "badRequest", "Invalid range")
		return
	default:
		s.answer = httptest.NewRecorder()
		h.fake.ServeHTTP(s.answer, r)
		s.next = max(s.next, end+1)
		if !isOpen(r) {
			h.end(s)
		}
	}
	write(w, s.answer)
}

func (h *handler) end(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.ended = true
}

func write(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()) // the client may be gone
}

func isSession(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/upload/") && r.URL.Query().Has("upload_id")
}

// isOpen tells whether more is to come after a request.
func isOpen(r *http.Request) bool { return strings.HasSuffix(r.Header.Get("Content-Range"), "/*") }

// rangeOf are the first and the last byte that a request has; -1 if none.
func rangeOf(r *http.Request) (first, end int64) {
	span, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Content-Range"), "bytes "), "/")
	from, to, _ := strings.Cut(span, "-")
	first, err := strconv.ParseInt(from, 10, 64)
	if err != nil {
		return -1, -1
	}
	end, err = strconv.ParseInt(to, 10, 64)
	if err != nil {
		return -1, -1
	}
	return first, end
}

func firstOf(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return first
}

// bucketOf is the bucket that a request is about.
func bucketOf(r *http.Request) string {
	if isRead(r) {
		return firstOf(r.URL.Path)
	}
	_, rest, _ := strings.Cut(r.URL.Path, "/b/")
	return firstOf(rest)
}

// isKnown tells whether a token is one of the service account's for this server.
func isKnown(token, audience string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return false
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if rsa.VerifyPKCS1v15(&privateKey().PublicKey, crypto.SHA256, sum[:], signature) != nil {
		return false
	}
	content, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Iss string
		Aud string
		Exp int64
	}
	return err == nil && json.Unmarshal(content, &claims) == nil && claims.Iss == account && claims.Aud == audience && claims.Exp > time.Now().Unix()
}
