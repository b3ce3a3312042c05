// Package latency reads from a member's metrics how fast its disk and its network are.
package latency

import (
	"bytes"
	"fmt"
	"math"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// What etcd's documentation advises
// (https://etcd.io/docs/v3.6/faq/#what-does-the-etcd-warning-failed-to-send-out-heartbeat-on-time-mean):
// 99 % of the writes to the log within 10 ms, and of the commits of the database within 25 ms.
const (
	AdvisedFsync  = 10 * time.Millisecond
	AdvisedCommit = 25 * time.Millisecond
)

// Report is how fast a member was since it started.
type Report struct {
	// Fsync is the 99th percentile of the time that a write to its raft log takes, Commit that of
	// a commit of its database, and PeerRoundTrip that of the slowest way to another member.
	// Negative if it does not tell.
	Fsync         time.Duration `json:"fsync99"`
	Commit        time.Duration `json:"commit99"`
	PeerRoundTrip time.Duration `json:"peerRoundTrip99"`
	// LeaderChanges is how often it has seen the leader change.
	LeaderChanges int64 `json:"leaderChanges"`
}

// percentile is the one that etcd's documentation advises by.
const percentile = 0.99

// Parse reads metrics in Prometheus' text format.
func Parse(text []byte) (*Report, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	r := &Report{
		Fsync:         worst(families["etcd_disk_wal_fsync_duration_seconds"]),
		Commit:        worst(families["etcd_disk_backend_commit_duration_seconds"]),
		PeerRoundTrip: worst(families["etcd_network_peer_round_trip_time_seconds"]),
	}
	for _, m := range families["etcd_server_leader_changes_seen_total"].GetMetric() {
		r.LeaderChanges += int64(m.GetCounter().GetValue())
	}
	return r, nil
}

// worst is the highest of the percentiles of a family's histograms; negative if there are none.
func worst(f *dto.MetricFamily) time.Duration {
	out := time.Duration(-1)
	for _, m := range f.GetMetric() {
		if v := quantile(m.GetHistogram()); v >= 0 {
			out = max(out, time.Duration(v*float64(time.Second)))
		}
	}
	return out
}

// quantile interpolates in the bucket in which the percentile lies, as Prometheus does. What is in
// the last bucket is told as its lower bound.
func quantile(h *dto.Histogram) float64 {
	total := float64(h.GetSampleCount())
	if total == 0 {
		return -1
	}
	rank, below, lower := percentile*total, 0.0, 0.0
	for _, b := range h.GetBucket() {
		count, upper := float64(b.GetCumulativeCount()), b.GetUpperBound()
		if count >= rank {
			if math.IsInf(upper, 1) {
				return lower
			}
			return lower + (upper-lower)*(rank-below)/(count-below)
		}
		below, lower = count, upper
	}
	return lower
}
