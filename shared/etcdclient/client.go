package etcdclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// metricsPort is where a member's launcher answers while it waits.
const metricsPort = 2381

// DefaultDeadline is how long [Client.Ask] waits for the slowest member. An
// election takes one to two seconds with etcd's defaults, so a cluster that is
// about to have a leader again is still seen to have one.
const DefaultDeadline = 2 * time.Second

// Endpoint is where one member can be asked.
type Endpoint struct {
	// Name is the member's name, by which answers are returned.
	Name string
	// Addr is host:port of its client listener. A Pod's IP, not its DNS name, so
	// that no name is looked up before its record exists.
	Addr string
	// MetricsAddr is host:port where a launcher may wait. Empty stands for port
	// 2381 on Addr's host.
	MetricsAddr string
	// ServerName is what the member's certificate must be for. Unused without
	// TLS (see [By]).
	ServerName string
	// Doubtful says that the member is not expected to serve now, since it is starting
	// or ending or its node is gone. It may answer; the others' answers don't wait for
	// it for long.
	Doubtful bool
}

func (e Endpoint) metricsAddr() string {
	if e.MetricsAddr != "" {
		return e.MetricsAddr
	}
	host, _, err := net.SplitHostPort(e.Addr)
	if err != nil {
		host = e.Addr
	}
	return net.JoinHostPort(host, strconv.Itoa(metricsPort))
}

// Client asks members and changes memberships. It talks to them by plain HTTP, unless a
// call's context says how to use TLS (see [By]). It holds no connection and may be used
// from many goroutines. It is a stranger to members with authentication enabled, unless a
// call's context is that of a [Session] (see [As]).
type Client struct {
	// Deadline bounds one [Client.Ask]; 0 stands for DefaultDeadline.
	Deadline time.Duration
}

type tlsKey struct{}

// By makes all calls with this context use TLS; nil stands for none. The ServerName of
// the config is not used: each endpoint has its own.
func By(ctx context.Context, config *tls.Config) context.Context {
	return context.WithValue(ctx, tlsKey{}, config)
}

// ConfigOf is how a context says to use TLS, nil for none.
func ConfigOf(ctx context.Context) *tls.Config {
	config, _ := ctx.Value(tlsKey{}).(*tls.Config)
	return config
}

// dialer remembers what became of its dials, which gRPC reports as text only.
type dialer struct {
	mu        sync.Mutex
	err       error
	connected bool
}

func (d *dialer) dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
	d.connected = d.connected || err == nil
	return conn, err
}

// refused tells whether the host is there and nothing listens.
func (d *dialer) refused() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return errors.Is(d.err, syscall.ECONNREFUSED)
}

// neverConnected tells whether no byte can have reached the member.
func (d *dialer) neverConnected() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.connected
}

// connect makes a client that dials by d and shows the token of the context's session.
// Nothing is dialled before the first request. The caller closes it.
func (c Client) connect(ctx context.Context, e Endpoint, d *dialer) (*clientv3.Client, error) {
	cfg := clientv3.Config{
		Context:   ctx,
		Endpoints: []string{"http://" + e.Addr},
		// One try: a request that fails is an answer, and the next observation
		// tries again.
		MaxUnaryRetries:    1,
		MaxCallRecvMsgSize: maxMessage,
		DialOptions: []grpc.DialOption{
			grpc.WithContextDialer(d.dial),
			grpc.WithChainUnaryInterceptor(failFast),
		},
		Logger: zap.NewNop(),
	}
	cfg.DialOptions = append(cfg.DialOptions, limits()...)
	cfg.DialOptions = append(cfg.DialOptions, SessionOf(ctx).DialOptions()...)
	if config := ConfigOf(ctx); config != nil {
		cfg.Endpoints = []string{"https://" + e.Addr}
		cfg.TLS = config
		if e.ServerName != "" {
			// TLS.ServerName would have no effect: etcd's resolver puts the
			// endpoint's own host in its place, an IP here.
			cfg.DialOptions = append(cfg.DialOptions, grpc.WithAuthority(e.ServerName))
		}
	}
	cli, err := clientv3.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to member %s at %s: %w", e.Name, e.Addr, err)
	}
	return cli, nil
}

// failFast makes a request fail as soon as a dial has failed. clientv3 makes
// every request wait for a connection until its deadline.
func failFast(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return invoker(ctx, method, req, reply, cc, append(opts, grpc.WaitForReady(false))...)
}
