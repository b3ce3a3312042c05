package observe

import (
	"bufio"
	"context"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/etcd-operators/etcd-operators/shared/agentpod"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

const (
	// revisionMetric is what a member tells of its revision on its metrics port, which asks
	// for no credentials (etcd 3.4 to 3.7).
	revisionMetric = "etcd_debugging_mvcc_current_revision"
	// maxMetrics is the longest answer, in bytes, that is read; etcd's has some 100 KB.
	maxMetrics = 4 << 20
)

// AskRevision is the highest revision that the members tell, asked all at once; 0 unless all
// of them do: one that is cut off tells an old one.
func (obs *Observation) AskRevision(ctx context.Context) int64 {
	ctx, cancel := context.WithTimeout(ctx, progressTimeout)
	defer cancel()
	told, c := make([]int64, len(obs.members)), agentpod.Asker(obs.network)
	var asked sync.WaitGroup
	for i, ip := range obs.members {
		asked.Go(func() { told[i] = revisionOf(ctx, c, net.JoinHostPort(ip, strconv.Itoa(member.MetricsPort))) })
	}
	asked.Wait()
	if len(told) == 0 || slices.Contains(told, 0) {
		return 0
	}
	return slices.Max(told)
}

// revisionOf is the revision of the member at an address; 0 if it does not tell.
func revisionOf(ctx context.Context, c *http.Client, address string) int64 {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return 0
	}
	answer, err := c.Do(request)
	if err != nil {
		return 0
	}
	defer func() { _ = answer.Body.Close() }() // only read
	lines := bufio.NewScanner(io.LimitReader(answer.Body, maxMetrics))
	for lines.Scan() {
		value, found := strings.CutPrefix(lines.Text(), revisionMetric+" ")
		if !found {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || math.IsNaN(n) || n < 0 || n > math.MaxInt64/2 {
			return 0
		}
		return int64(math.Ceil(n))
	}
	return 0
}
