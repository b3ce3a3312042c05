package agent

import (
	"context"
	"net"
	"time"
)

// gatherTime is for how long what etcd sends stays with the kernel before it is read. At 1,000
// writes a second a watch gets as many messages. Whoever reads each at once takes the processor
// from etcd just when it answers the one who wrote.
const gatherTime = 100 * time.Millisecond

// gathering is a connection that is read once in gatherTime, but at once where more has come than
// was asked for. It is for one reader.
type gathering struct {
	net.Conn
	last time.Time
	more bool
	// closed is done once the connection is closed, which ends a wait.
	closed context.Context
	close  context.CancelFunc
}

func newGathering(conn net.Conn) *gathering {
	g := &gathering{Conn: conn}
	g.closed, g.close = context.WithCancel(context.Background())
	return g
}

// dialGathering is the dialer of an archiver, which is in no hurry.
func dialGathering(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := dialTCP(ctx, addr)
	if err != nil {
		return nil, err
	}
	return newGathering(conn), nil
}

// Read implements io.Reader.
func (g *gathering) Read(p []byte) (int, error) {
	if !g.more {
		select {
		case <-g.closed.Done():
		case <-time.After(gatherTime - time.Since(g.last)):
		}
	}
	n, err := g.Conn.Read(p)
	g.last, g.more = time.Now(), n == len(p)
	return n, err
}

// Close implements io.Closer.
func (g *gathering) Close() error {
	g.close()
	return g.Conn.Close()
}
