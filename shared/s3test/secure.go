package s3test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// NewSecureProxy is NewProxy for one that serves by TLS with a certificate of the test's.
func NewSecureProxy(t testing.TB, s *Server, certificate tls.Certificate) *Proxy {
	t.Helper()
	return newProxy(t, s, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
}

// Tunnel is a proxy of the kind that HTTPS_PROXY names: it knows the method CONNECT and no
// other, and it alone can resolve the names that it is asked for.
type Tunnel struct {
	// URL is what HTTPS_PROXY is set to.
	URL string

	// address is where every tunnel leads.
	address string
	mu      sync.Mutex
	asked   []string
}

// NewTunnel starts one whose tunnels all lead to the server at a URL.
func NewTunnel(t testing.TB, endpoint string) *Tunnel {
	t.Helper()
	p := &Tunnel{address: host(t, endpoint)}
	server := httptest.NewServer(p)
	p.URL = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return p
}

// Asked is which hosts were asked for, with their ports, each once.
func (p *Tunnel) Asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(p.asked)))
}

// ServeHTTP implements http.Handler.
func (p *Tunnel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "this proxy knows CONNECT alone", http.StatusMethodNotAllowed)
		return
	}
	p.mu.Lock()
	p.asked = append(p.asked, r.Host)
	p.mu.Unlock()
	there, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", p.address)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = there.Close() }() // there is nobody left to tell
	w.WriteHeader(http.StatusOK)
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = here.Close() }()
	done := make(chan struct{}, 2)
	carry := func(to io.Writer, from io.Reader) {
		_, _ = io.Copy(to, from) // a broken connection ends both, as its end does
		done <- struct{}{}
	}
	go carry(there, buffered)
	go carry(here, there)
	<-done // either end closes both
}
