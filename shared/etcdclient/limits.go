package etcdclient

import (
	"crypto/tls"
	"net/http"

	"google.golang.org/grpc"
)

// What a member may answer is bounded: its image is the user's, and this process asks for
// all users.
const (
	// maxMessage is the largest gRPC message that is read, in bytes. The largest true one is
	// a list of seven members with alarms, some kilobytes. (clientv3's own limit is 2 GiB.)
	maxMessage = 1 << 20
	// maxHeaders is the same of the headers and trailers of an answer, in which gRPC has its
	// error messages.
	maxHeaders = 16 << 10
	// headerTimeout is how long an HTTP answer may take to begin.
	headerTimeout = DefaultDeadline
)

// limits bound what a connection reads.
func limits() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)), // where no clientv3 sets it
		grpc.WithMaxHeaderListSize(maxHeaders),
	}
}

// oneAnswer is an HTTP client for one question to one member, by TLS if config says how.
// It follows no redirect: a member tells of itself, and never where else to ask, which may
// be a place that only the operator can reach. done closes what it holds.
func oneAnswer(config *tls.Config) (c *http.Client, done func()) {
	t := &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: config,
		MaxResponseHeaderBytes: maxHeaders, ResponseHeaderTimeout: headerTimeout,
	}
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, t.CloseIdleConnections
}
