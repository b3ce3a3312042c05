package etcdclient

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
)

// maxVersionBody bounds what is read of an answer that takes some 50 bytes.
const maxVersionBody = 1 << 10

// undecided is what etcd says while no cluster version has been decided
// (etcdhttp.serveVersion).
const undecided = "not_decided"

// clusterVersion is etcd's cluster version as a member has it. No call of its gRPC API
// tells it; the client listener serves it over HTTP to everybody, in every version from
// 3.4 to 3.7.
func (c Client) clusterVersion(ctx context.Context, e Endpoint) string {
	scheme := "http"
	config := ConfigOf(ctx)
	if config != nil {
		scheme, config = "https", config.Clone()
		config.ServerName = e.ServerName
	}
	client, done := oneAnswer(config)
	defer done()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+e.Addr+"/version", nil)
	if err != nil {
		return ""
	}
	resp, err := client.Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	var told struct {
		Cluster string `json:"etcdcluster"`
	}
	err = json.NewDecoder(io.LimitReader(resp.Body, maxVersionBody)).Decode(&told)
	if err != nil || resp.StatusCode != http.StatusOK || told.Cluster == undecided {
		return ""
	}
	return told.Cluster
}
