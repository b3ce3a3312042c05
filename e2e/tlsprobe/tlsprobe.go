// Package tlsprobe finds out which clients a TLS server accepts, and which certificate it
// presents. It runs in a Pod of the cluster under test and is driven over HTTP.
package tlsprobe

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
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

// Caller is who tries, and how.
type Caller struct {
	// Dir is where its certificate is mounted, in whichever layout; empty if it has none.
	Dir string
	// TLS12 is true if it knows of nothing newer, and Clear if it knows of no TLS.
	TLS12, Clear bool
}

// At tries host:port. The server's own certificate is not held against anything. The
// error is that nobody listens there.
func (c Caller) At(ctx context.Context, address string) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true} // it is only looked at
	if c.TLS12 {
		config.MaxVersion = tls.VersionTLS12
	}
	if c.Dir != "" {
		pair, err := load(c.Dir)
		if err != nil {
			return Answer{}, err
		}
		// It is shown also to a server that does not ask for one of its CA.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return Answer{}, err
	}
	defer raw.Close()
	if c.Clear {
		return Answer{Refused: refusal(request(ctx, raw))}, nil
	}
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		return Answer{Refused: err.Error()}, nil
	}
	shown := conn.ConnectionState().PeerCertificates[0]
	// By TLS 1.3 a client learns only now that it is refused.
	refused := refusal(request(ctx, conn))
	return Answer{Refused: refused, Serial: shown.SerialNumber.String(), Issuer: shown.Issuer.String()}, nil
}

func refusal(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// request asks for etcd's version, which it tells clients and peers alike.
func request(ctx context.Context, conn net.Conn) error {
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	_, broken := io.WriteString(conn, "GET /version HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\n\r\n")
	// Why it was broken may be there to read.
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return errors.Join(err, broken)
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
//	GET /probe?at=HOST:PORT            without a certificate
//	GET /probe?at=HOST:PORT&as=NAME    with the one in the folder NAME of root
//	GET /probe?at=HOST:PORT&tls12=true by TLS 1.2
//	GET /probe?at=HOST:PORT&clear=true without TLS
func Handler(root string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /probe", func(rw http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		c := Caller{TLS12: q.Has("tls12"), Clear: q.Has("clear")}
		if as := q.Get("as"); as != "" {
			c.Dir = filepath.Join(root, as)
		}
		answer, err := c.At(r.Context(), q.Get("at"))
		if err != nil {
			http.Error(rw, err.Error(), http.StatusBadGateway)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(answer) // whoever has gone needs no answer
	})
	return mux
}
