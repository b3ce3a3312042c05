package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"
)

// refusalPatience is how long a server that says nothing is given to refuse a
// certificate, which takes it no time.
const refusalPatience = 500 * time.Millisecond

// tlsRefusal asks host:port whether it refuses us, and returns its TLS alert; nil if it
// does not, or nobody is there.
//
// By TLS 1.3 a server checks the client's certificate when the client takes the handshake
// for done, and hangs up. Whoever has written by then, as gRPC has, may be told of a broken
// pipe in place of the alert. So this one only reads.
func tlsRefusal(ctx context.Context, host, port string, config *tls.Config) error {
	ctx, cancel := context.WithTimeout(ctx, refusalPatience)
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
