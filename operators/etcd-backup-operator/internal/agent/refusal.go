package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"
)

// refusalTimeout is how long to wait for a silent server to reject a certificate, which
// takes it no time.
const refusalTimeout = 500 * time.Millisecond

// tlsRefusal returns the TLS alert with which host:port rejects this client; nil if it does
// not, or nothing answers there.
//
// With TLS 1.3 a server checks the client's certificate when the client has finished the
// handshake, and then closes the connection. A client that has written by then, as gRPC has,
// might see a broken pipe in place of the alert. So this one only reads.
func tlsRefusal(ctx context.Context, host, port string, config *tls.Config) error {
	ctx, cancel := context.WithTimeout(ctx, refusalTimeout)
	defer cancel()
	config = config.Clone()
	config.NextProtos = []string{"h2"}
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	if err == nil {
		defer conn.Close()
		deadline, _ := ctx.Deadline()
		if err := conn.SetReadDeadline(deadline); err != nil {
			return nil
		}
		_, err = conn.Read(make([]byte, 1))
	}
	var alert *net.OpError
	if errors.As(err, &alert) && alert.Op == "remote error" {
		return err
	}
	return nil
}
