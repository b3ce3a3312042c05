package agentpod

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	// askTimeout is how long what runs in a Pod may take to answer an operator; a look is not
	// worth more.
	askTimeout = time.Second
	// maxAnswer is the longest answer that is read, in bytes.
	maxAnswer = 16 << 10
)

var podNetwork = &http.Transport{DisableKeepAlives: true}

// Asker asks what runs in Pods. It keeps no connections, since Pods live for a moment, and follows
// no redirects. network is how Pods are reached; nil: by the network there is.
func Asker(network http.RoundTripper) *http.Client {
	if network == nil {
		network = podNetwork
	}
	return &http.Client{
		Timeout:       askTimeout,
		Transport:     network,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Ask reads the JSON that an agent tells at a path of its address. An answer of any other status
// than 200 is an error.
func Ask(ctx context.Context, asker *http.Client, address, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return err
	}
	answer, err := asker.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // only read
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("ask %s%s: %s", address, path, answer.Status)
	}
	return json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(into)
}
