package etcdclient

import (
	"context"
	"errors"
	"net"
	"regexp"
	"strings"
	"syscall"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What is wrong with a member that was not reached, in words that stay the same as long
// as the cause does: no address, port or time is in them, and a dial that was cut short
// counts as one that took too long.
const (
	troubleRefused  = "connection refused"
	troubleNoRoute  = "no route to host"
	troubleDialTime = "the connection timed out"
	troubleTime     = "etcd accepts connections and does not answer in time"
	troubleBroke    = "the connection broke"
)

// handshake finds why a TLS handshake failed in what gRPC says: our own complaint, or
// that of the member. What follows is not the same each time.
var handshake = regexp.MustCompile(`(?:authentication handshake failed: |remote error: )((?:tls|x509): [^"]*)`)

// unsteady is what differs from one time to the next, or from one address to another.
var unsteady = regexp.MustCompile(`: current time .*|\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?|\[[0-9a-fA-F:]+\](?::\d+)?`)

// trouble says why a request by d has failed.
func (d *dialer) trouble(err error) string {
	d.mu.Lock()
	dialErr, connected := d.err, d.connected
	d.mu.Unlock()
	if !connected {
		return dialTrouble(dialErr)
	}
	if m := handshake.FindStringSubmatch(err.Error()); m != nil {
		return strings.TrimSpace(unsteady.ReplaceAllString(m[1], ""))
	}
	switch s := status.Convert(err); s.Code() {
	case codes.DeadlineExceeded, codes.Canceled:
		return troubleTime
	case codes.Unknown, codes.Unavailable:
		if strings.HasPrefix(s.Message(), "etcdserver: ") {
			return s.Message()
		}
		return troubleBroke
	default:
		return strings.TrimSpace(unsteady.ReplaceAllString(s.Message(), ""))
	}
}

func dialTrouble(err error) string {
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return troubleRefused
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return troubleNoRoute
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return troubleDialTime
	}
	return troubleBroke
}
