package gcs

import (
	"errors"
	"net/http"
	"net/url"
	"sync"

	"golang.org/x/oauth2"
)

// transport sends requests with a token, to the store alone: an upload goes on at the URL that
// the answer to its first request names.
type transport struct {
	endpoint *url.URL
	tokens   oauth2.TokenSource
	send     http.RoundTripper
}

// errOnce ends what the SDK would read anew, without an end: objectstore.Reader does that.
var errOnce = errors.New("the connection broke")

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	answer, err := t.roundTrip(req)
	if err != nil && req.Body != nil {
		_ = req.Body.Close() // as a RoundTripper must
	}
	return answer, err
}

func (t *transport) roundTrip(req *http.Request) (*http.Response, error) {
	n, _ := req.Context().Value(notesKey{}).(*notes)
	if n.isRead() {
		return nil, errOnce
	}
	if !t.isStore(req.URL) {
		return nil, invalid("the store names %s://%s for what follows, and nothing is sent there: set gcs.endpoint to the URL by which the store knows itself", req.URL.Scheme, req.URL.Host)
	}
	token, err := t.tokens.Token()
	if err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	token.SetAuthHeader(req)
	answer, err := t.send.RoundTrip(req)
	if err == nil {
		n.take(answer)
	}
	return answer, err
}

// isStore tells whether a URL is the endpoint's, or both are Google's.
func (t *transport) isStore(u *url.URL) bool {
	return u.Scheme == t.endpoint.Scheme && u.Host == t.endpoint.Host || isGoogle(u) && isGoogle(t.endpoint)
}

type notesKey struct{}

// notes are of the requests of one context.
type notes struct {
	// once says that one answer is all that is read.
	once bool

	mu sync.Mutex
	// read says that it came.
	read bool
	// session is the URL of the upload that was begun.
	session string
}

func (n *notes) isRead() bool {
	if n == nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.once && n.read
}

func (n *notes) take(answer *http.Response) {
	if n == nil || answer.StatusCode >= http.StatusMultipleChoices {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.read = true
	if at := answer.Header.Get("Location"); at != "" {
		n.session = at
	}
}
