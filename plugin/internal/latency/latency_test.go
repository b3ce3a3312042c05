package latency

import (
	"fmt"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const metrics = `# TYPE etcd_disk_wal_fsync_duration_seconds histogram
etcd_disk_wal_fsync_duration_seconds_bucket{le="0.001"} 50
etcd_disk_wal_fsync_duration_seconds_bucket{le="0.002"} 98
etcd_disk_wal_fsync_duration_seconds_bucket{le="0.004"} 100
etcd_disk_wal_fsync_duration_seconds_bucket{le="+Inf"} 100
etcd_disk_wal_fsync_duration_seconds_sum 0.1
etcd_disk_wal_fsync_duration_seconds_count 100
# TYPE etcd_disk_backend_commit_duration_seconds histogram
etcd_disk_backend_commit_duration_seconds_bucket{le="0.001"} 0
etcd_disk_backend_commit_duration_seconds_bucket{le="0.002"} 0
etcd_disk_backend_commit_duration_seconds_bucket{le="+Inf"} 7
etcd_disk_backend_commit_duration_seconds_sum 7
etcd_disk_backend_commit_duration_seconds_count 7
# TYPE etcd_network_peer_round_trip_time_seconds histogram
etcd_network_peer_round_trip_time_seconds_bucket{To="a",le="0.5"} 10
etcd_network_peer_round_trip_time_seconds_bucket{To="a",le="+Inf"} 10
etcd_network_peer_round_trip_time_seconds_sum{To="a"} 1
etcd_network_peer_round_trip_time_seconds_count{To="a"} 10
etcd_network_peer_round_trip_time_seconds_bucket{To="b",le="0.5"} 0
etcd_network_peer_round_trip_time_seconds_bucket{To="b",le="+Inf"} 0
etcd_network_peer_round_trip_time_seconds_sum{To="b"} 0
etcd_network_peer_round_trip_time_seconds_count{To="b"} 0
# TYPE etcd_server_leader_changes_seen_total counter
etcd_server_leader_changes_seen_total 3
`

func TestParse(t *testing.T) {
	got, err := Parse([]byte(metrics))
	if err != nil {
		t.Fatal(err)
	}
	want := &Report{
		Fsync:         3 * time.Millisecond,   // the 99th of 100 is half-way in the bucket from 2 to 4 ms
		Commit:        2 * time.Millisecond,   // beyond all buckets: at least as long as the last one's bound
		PeerRoundTrip: 495 * time.Millisecond, // of b nothing is known
		LeaderChanges: 3,
		Slow:          nil, // ten round trips are too few to say so
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, err := Parse(nil); err != nil || got.Fsync >= 0 {
		t.Errorf("nothing is told, and read as %+v: %v", got, err)
	}
	if _, err := Parse([]byte("<html>")); err == nil {
		t.Error("what is no metric is read")
	}
}

// What is slower than an alert allows is told, if there is enough to tell it from.
func TestSlow(t *testing.T) {
	const histogram = `# TYPE %[1]s histogram
%[1]s_bucket{To="a",le="%[2]s"} 0
%[1]s_bucket{To="a",le="%[3]s"} %[4]d
%[1]s_bucket{To="a",le="+Inf"} %[4]d
%[1]s_sum{To="a"} 1
%[1]s_count{To="a"} %[4]d
`
	const fsync, commit, roundTrip = "etcd_disk_wal_fsync_duration_seconds", "etcd_disk_backend_commit_duration_seconds", "etcd_network_peer_round_trip_time_seconds"
	for reason, row := range map[string]struct {
		family, from, to string
		count            int
		want             []string
	}{
		"a slow log":                   {fsync, "0.5", "0.6", 100, []string{"99 % of the writes to its log took up to 599ms since it started (alert: 500ms)"}},
		"a slow log, for a short time": {fsync, "0.5", "0.6", 99, nil},
		"a log that is fast enough":    {fsync, "0.4", "0.5", 100, nil},
		"a slow database":              {commit, "0.25", "0.3", 100, []string{"99 % of the commits of its database took up to 300ms since it started (alert: 250ms)"}},
		"a database, fast enough":      {commit, "0.2", "0.25", 100, nil},
		"a slow network":               {roundTrip, "0.15", "0.2", 100, []string{"99 % of its round trips to another member took up to 200ms since it started (alert: 150ms)"}},
		"a network, fast enough":       {roundTrip, "0.1", "0.15", 100, nil},
	} {
		got, err := Parse(fmt.Appendf(nil, histogram, row.family, row.from, row.to, row.count))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(row.want, got.Slow); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
}

// The alerts of the runbook slow-members fire at what is called slow here.
func TestAlertsAgree(t *testing.T) {
	rules, err := os.ReadFile("../../../deploy/monitoring/etcd-operator-rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for family, alerted := range map[string]time.Duration{
		"etcd_disk_wal_fsync_duration_seconds": AlertedFsync, "etcd_disk_backend_commit_duration_seconds": AlertedCommit, "etcd_network_peer_round_trip_time_seconds": AlertedRoundTrip,
	} {
		alert := regexp.MustCompile(family + `_bucket\{.*> ` + regexp.QuoteMeta(fmt.Sprint(alerted.Seconds())) + `'`)
		if !alert.Match(rules) {
			t.Errorf("no alert fires when %s is above %s", family, alerted)
		}
	}
}
