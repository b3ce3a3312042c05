package latency

import (
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
