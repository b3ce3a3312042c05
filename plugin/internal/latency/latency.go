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

// What the alerts of the runbook slow-members allow (deploy/monitoring/etcd-operator-rules.yaml): a
// member that takes longer needs somebody.
const (
	AlertedFsync     = 500 * time.Millisecond
	AlertedCommit    = 250 * time.Millisecond
	AlertedRoundTrip = 150 * time.Millisecond
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
	// Slow says what took longer than the alerts allow.
	Slow []string `json:"slow,omitempty"`
}

// percentile is the one that etcd's documentation advises by.
const percentile = 0.99

// fewest is of how many durations the percentile is compared with an alert: that of fewer is the
// slowest one, such as the first after a start.
const fewest = 100

// Parse reads metrics in Prometheus' text format.
func Parse(text []byte) (*Report, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	r := &Report{}
	for _, of := range []struct {
		family, what string
		to           *time.Duration
		alerted      time.Duration
	}{
		{"etcd_disk_wal_fsync_duration_seconds", "the writes to its log", &r.Fsync, AlertedFsync},
		{"etcd_disk_backend_commit_duration_seconds", "the commits of its database", &r.Commit, AlertedCommit},
		{"etcd_network_peer_round_trip_time_seconds", "its round trips to another member", &r.PeerRoundTrip, AlertedRoundTrip},
	} {
		*of.to = worst(families[of.family], 1)
		if d := worst(families[of.family], fewest); d > of.alerted {
			r.Slow = append(r.Slow, fmt.Sprintf("99 %% of %s took up to %s since it started (alert: %s)", of.what, d.Round(time.Millisecond), of.alerted))
		}
	}
	for _, m := range families["etcd_server_leader_changes_seen_total"].GetMetric() {
		r.LeaderChanges += int64(m.GetCounter().GetValue())
	}
	return r, nil
}

// worst is the highest of the percentiles of a family's histograms that have so many durations;
// negative if there are none.
func worst(f *dto.MetricFamily, atLeast uint64) time.Duration {
	out := time.Duration(-1)
	for _, m := range f.GetMetric() {
		if h := m.GetHistogram(); h.GetSampleCount() >= atLeast {
			v := quantile(h)
			out = max(out, time.Duration(v*float64(time.Second)))
		}
	}
	return out
}

// quantile interpolates in the bucket in which the percentile of a histogram that is not empty lies, as
// Prometheus does. What is in
// the last bucket is told as its lower bound.
func quantile(h *dto.Histogram) float64 {
	rank, below, lower := percentile*float64(h.GetSampleCount()), 0.0, 0.0
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
