package etcdclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

func TestTroubleWords(t *testing.T) {
	dialled := func(err error) *dialer { return &dialer{err: err} }
	wrapped := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	handshake := func(why string) error {
		return status.Error(codes.Unavailable, fmt.Sprintf(`connection error: desc = "transport: authentication handshake failed: %s"`, why))
	}
	open := &dialer{connected: true}
	for name, tc := range map[string]struct {
		d    *dialer
		err  error
		want string
	}{
		"nothing listens":           {dialled(wrapped(syscall.ECONNREFUSED)), errors.New("dial tcp 10.0.0.1:2379"), troubleRefused},
		"no route":                  {dialled(wrapped(syscall.EHOSTUNREACH)), errors.New("x"), troubleNoRoute},
		"no network":                {dialled(wrapped(syscall.ENETUNREACH)), errors.New("x"), troubleNoRoute},
		"cut short":                 {dialled(wrapped(context.Canceled)), errors.New("x"), troubleDialTime},
		"too slow":                  {dialled(wrapped(context.DeadlineExceeded)), errors.New("x"), troubleDialTime},
		"not dialled to the end":    {dialled(nil), errors.New("x"), troubleDialTime},
		"something else":            {dialled(errors.New("from 10.0.0.1:34567")), errors.New("x"), troubleBroke},
		"no answer":                 {open, status.Error(codes.DeadlineExceeded, "context deadline exceeded"), troubleTime},
		"no answer, cut short":      {open, status.Error(codes.Canceled, "context canceled"), troubleTime},
		"etcd's own words":          {open, status.Error(codes.Unavailable, "etcdserver: server stopped"), "etcdserver: server stopped"},
		"closed":                    {open, status.Error(codes.Unavailable, "read tcp 10.0.0.9:34567->10.0.0.1:2379: connection reset by peer"), troubleBroke},
		"another's certificate":     {open, handshake("tls: failed to verify certificate: x509: certificate is valid for a, not b"), "tls: failed to verify certificate: x509: certificate is valid for a, not b"},
		"an old certificate":        {open, handshake("tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2026-11-22T07:00:00Z is after 2026-11-22T06:00:00Z"), "tls: failed to verify certificate: x509: certificate has expired or is not yet valid"},
		"an operator's certificate": {open, status.Error(codes.Unavailable, `error reading server preface: remote error: tls: bad certificate`), "tls: bad certificate"},
	} {
		if got := tc.d.trouble(tc.err); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// The same words each time, of a real member that is not there and of one that hangs.
func TestTroubleStaysTheSame(t *testing.T) {
	free := etcdtest.FreeAddrs(t, 2)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	hasty := Client{Deadline: 300 * time.Millisecond}
	for range 3 {
		for want, e := range map[string]Endpoint{
			troubleRefused: {Name: "m", Addr: free[0], MetricsAddr: free[1]},
			troubleTime:    {Name: "m", Addr: l.Addr().String()},
		} {
			if a := hasty.Ask(within(t), []Endpoint{e})["m"]; a.Trouble != want {
				t.Errorf("%q, want %q (%s)", a.Trouble, want, a.Err)
			}
		}
	}
}
