package launcher

import (
	"context"
	"crypto/tls"
	"net/http"
	"time"
)

const (
	// turnInterval is how often those before are asked again. A start of etcd
	// takes some 50 ms.
	turnInterval = 20 * time.Millisecond
	// turnAskTimeout is for one question to one member.
	turnAskTimeout = time.Second
	// turnPatience is how long each of a permit's After is waited for. It saves time
	// and no more, so a member that never comes must not hold up the others.
	turnPatience = 5 * time.Second
)

// turn remembers for whom of those before it a launcher has waited, and since when.
type turn struct {
	attempt int64
	since   time.Time
	served  int // so many of the first have answered at once
}

// missing returns the first peer URL that d is to come after and that does not
// answer yet; "" when it is d's turn.
func (t *turn) missing(ctx context.Context, d Decision, h Host) string {
	if t.attempt != d.Use {
		*t = turn{attempt: d.Use, since: h.Now()}
	}
	for i, peer := range d.After {
		if h.Serves(ctx, peer) {
			continue
		}
		if i > t.served {
			t.since, t.served = h.Now(), i
		}
		if h.Now().Sub(t.since) > turnPatience {
			return ""
		}
		return peer
	}
	return ""
}

// answers tells whether an etcd serves, and does not only listen, at a peer URL, asked by TLS if
// config says how.
// Any HTTP answer will do: one that does not serve says nothing at all. (It does shake
// hands by TLS, so that a complaint about a certificate says nothing either.)
func answers(ctx context.Context, peerURL string, config *tls.Config) bool {
	ctx, cancel := context.WithTimeout(ctx, turnAskTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, peerURL+"/version", nil)
	if err != nil {
		return false
	}
	tr := &http.Transport{DisableKeepAlives: true, TLSClientConfig: config}
	defer tr.CloseIdleConnections()
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return true
}
