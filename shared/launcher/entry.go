package launcher

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"time"
)

const (
	// entryAskTimeout is for the question to all members, side by side. Those that serve
	// answer within milliseconds.
	entryAskTimeout = time.Second
	// maxEntries bounds an answer, in bytes. A member takes some 300.
	maxEntries = 1 << 20
)

// entry is what this package needs of etcd's answer at a peer URL's /members (etcd 3.4 to
// 3.7, etcdhttp.peerMembersHandler; etcd itself asks it before it joins).
type entry struct {
	PeerURLs   []string `json:"peerURLs"`
	Name       string   `json:"name"`
	ClientURLs []string `json:"clientURLs"`
}

// startedBefore asks the other members of a permit for their list, and returns the peer URL
// of one in whose list m has started before; "" if there is none, or if none answers: then
// etcd asks them, and does not start without an answer either.
//
// It is a second look at what the operator has seen before it gave the permit (S2 of the
// operator's design): that the member has never had data. The permit may be a copy that the
// kubelet has not renewed for long, and the record of the attempts used may have been lost
// with the data.
func startedBefore(ctx context.Context, m Member, peers []string, config *tls.Config) string {
	ctx, cancel := context.WithTimeout(ctx, entryAskTimeout)
	defer cancel()
	told := make(chan string, len(peers))
	for _, peer := range peers {
		go func() {
			if hasStarted(entries(ctx, peer, config), m) {
				told <- peer
				return
			}
			told <- ""
		}()
	}
	for range peers {
		if peer := <-told; peer != "" {
			return peer
		}
	}
	return ""
}

func hasStarted(list []entry, m Member) bool {
	return slices.ContainsFunc(list, func(e entry) bool {
		return slices.Contains(e.PeerURLs, m.PeerURL) && (e.Name != "" || len(e.ClientURLs) > 0)
	})
}

// entries is the member list as the member at a peer URL has it; nil if it does not tell.
func entries(ctx context.Context, peerURL string, config *tls.Config) []entry {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, peerURL+"/members", nil)
	if err != nil {
		return nil
	}
	tr := &http.Transport{DisableKeepAlives: true, TLSClientConfig: config}
	defer tr.CloseIdleConnections()
	resp, err := tr.RoundTrip(req) // which follows no redirect
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	var list []entry
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxEntries)).Decode(&list); err != nil || resp.StatusCode != http.StatusOK {
		return nil
	}
	return list
}
