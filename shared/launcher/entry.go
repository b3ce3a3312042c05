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

// Entry is what this package needs of etcd's answer at a peer URL's /members (etcd 3.4 to
// 3.7, etcdhttp.peerMembersHandler; etcd itself asks it before it joins).
type Entry struct {
	PeerURLs   []string `json:"peerURLs"`
	Name       string   `json:"name"`
	ClientURLs []string `json:"clientURLs"`
}

// memberLists asks at all peer URLs side by side, by TLS if config says how.
func memberLists(ctx context.Context, peers []string, config *tls.Config) map[string][]Entry {
	ctx, cancel := context.WithTimeout(ctx, entryAskTimeout)
	defer cancel()
	type told struct {
		peer string
		list []Entry
	}
	answers := make(chan told, len(peers))
	for _, peer := range peers {
		go func() { answers <- told{peer, entries(ctx, peer, config)} }()
	}
	lists := map[string][]Entry{}
	for range peers {
		if a := <-answers; a.list != nil {
			lists[a.peer] = a.list
		}
	}
	return lists
}

func hasStarted(list []Entry, m Member) bool {
	return slices.ContainsFunc(list, func(e Entry) bool {
		return slices.Contains(e.PeerURLs, m.PeerURL) && (e.Name != "" || len(e.ClientURLs) > 0)
	})
}

// entries is the member list as the member at a peer URL has it; nil if it does not tell.
func entries(ctx context.Context, peerURL string, config *tls.Config) []Entry {
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
	var list []Entry
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxEntries)).Decode(&list); err != nil || resp.StatusCode != http.StatusOK {
		return nil
	}
	return list
}
