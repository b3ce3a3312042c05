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
}

// dialGathering is the dialer of an archiver, which is in no hurry.
func dialGathering(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := dialTCP(ctx, addr)
	if err != nil {
		return nil, err
	}
	return &gathering{Conn: conn}, nil
}

// Read implements io.Reader.
func (g *gathering) Read(p []byte) (int, error) {
	if !g.more {
		time.Sleep(gatherTime - time.Since(g.last))
	}
	n, err := g.Conn.Read(p)
	g.last, g.more = time.Now(), n == len(p)
	return n, err
}
