// Package knock finds out whom a server of TLS lets in, and which certificate it shows.
// It runs in a Pod of the cluster under test, and is asked by HTTP.
package knock

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"
)

// timeout bounds one attempt.
const timeout = 10 * time.Second

// Answer is what came of an attempt.
type Answer struct {
	// Refused is what the server, or TLS, said; empty if a request was answered.
	Refused string `json:"refused,omitempty"`
	// Serial and Issuer are those of the certificate that the server has shown.
	Serial string `json:"serial,omitempty"`
	Issuer string `json:"issuer,omitempty"`
}

// At tries host:port with the certificate that is mounted at dir, in whichever layout, or
// with none if dir is empty. The server's own certificate is not held against anything.
// The error is that nobody listens there.
func At(ctx context.Context, address, dir string) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true} // it is only looked at
	if dir != "" {
		pair, err := load(dir)
		if err != nil {
			return Answer{}, err
		}
		// It is shown also to a server that does not ask for one of its authority.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return Answer{}, err
	}
	defer raw.Close()
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		return Answer{Refused: err.Error()}, nil
	}
	shown := conn.ConnectionState().PeerCertificates[0]
	answer := Answer{Serial: shown.SerialNumber.Text(16), Issuer: shown.Issuer.String()}
	// By TLS 1.3 a client learns only now that it is refused.
	if err := request(ctx, conn); err != nil {
		answer.Refused = err.Error()
	}
	return answer, nil
}

// InTheClear tries host:port without TLS.
func InTheClear(ctx context.Context, address string) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return Answer{}, err
	}
	defer conn.Close()
	if err := request(ctx, conn); err != nil {
		return Answer{Refused: err.Error()}, nil
	}
	return Answer{}, nil
}

// request asks for etcd's version, which it tells clients and peers alike.
func request(ctx context.Context, conn net.Conn) error {
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(conn, "GET /version HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\n\r\n"); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", resp.Status)
	}
	return nil
}

// load reads a certificate and its key, whatever their names are.
func load(dir string) (tls.Certificate, error) {
	keys, err := filepath.Glob(filepath.Join(dir, "*.key"))
	if err != nil {
		return tls.Certificate{}, err
	}
	if len(keys) != 1 {
		return tls.Certificate{}, fmt.Errorf("%d keys in %s", len(keys), dir)
	}
	return tls.LoadX509KeyPair(strings.TrimSuffix(keys[0], ".key")+".crt", keys[0])
}

// Handler tries what it is asked to:
//
//	GET /readyz
//	GET /knock?at=HOST:PORT            without a certificate
//	GET /knock?at=HOST:PORT&as=NAME    with the one in the folder NAME of root
//	GET /knock?at=HOST:PORT&clear=true without TLS
func Handler(root string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /knock", func(rw http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		dir := ""
		if as := q.Get("as"); as != "" {
			dir = filepath.Join(root, as)
		}
		try := func() (Answer, error) { return At(r.Context(), q.Get("at"), dir) }
		if q.Get("clear") != "" {
			try = func() (Answer, error) { return InTheClear(r.Context(), q.Get("at")) }
		}
		answer, err := try()
		if err != nil {
			http.Error(rw, err.Error(), http.StatusBadGateway)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(answer) // whoever has gone needs no answer
	})
	return mux
}
