package command

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/plugin/internal/latency"
	"github.com/etcd-operators/etcd-operators/plugin/internal/screen"
	"github.com/etcd-operators/etcd-operators/plugin/internal/tunnel"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// Each result of a check is shown; only members that were compared have the same data.
func TestCheckScreens(t *testing.T) {
	fast := &latency.Report{Fsync: 2 * time.Millisecond, Commit: 4500 * time.Microsecond, PeerRoundTrip: 700 * time.Microsecond, LeaderChanges: 1}
	advised := &latency.Report{Fsync: latency.AdvisedFsync, Commit: latency.AdvisedCommit, PeerRoundTrip: -1}
	slow := &latency.Report{Fsync: 1234 * time.Millisecond, Commit: 26 * time.Millisecond, PeerRoundTrip: 90 * time.Millisecond, LeaderChanges: 12}
	of := func(name, hash string, compacted int64, l *latency.Report) MemberCheck {
		return MemberCheck{Name: "example-" + name, Hash: hash, CompactRevision: compacted, RoundTrip: 1500 * time.Microsecond, Latency: l}
	}
	silent := MemberCheck{Name: "example-c", Trouble: "connection refused"}
	var screens []string
	for _, c := range []struct {
		reason  string
		members []MemberCheck
		isSame  bool
	}{
		{"all have the same data, as fast as etcd advises", []MemberCheck{of("a", "1f00ab12", 900, fast), of("b", "1f00ab12", 900, advised)}, true},
		{"one has other data", []MemberCheck{of("a", "1f00ab12", 900, fast), of("b", "1f00ab12", 900, fast), of("c", "00000001", 900, fast)}, false},
		{"a slow disk, and a member that does not answer", []MemberCheck{of("a", "1f00ab12", 0, slow), of("b", "1f00ab12", 0, nil), silent}, true},
		{"members were compacted differently", []MemberCheck{of("a", "1f00ab12", 900, fast), of("b", "1f00ab12", 901, fast)}, false},
		{"nobody answers", []MemberCheck{silent}, false},
	} {
		found := &Check{Revision: 1290, Members: c.members, Same: true}
		found.conclude()
		if found.Same != c.isSame {
			t.Errorf("%s: same data: %t", c.reason, found.Same)
		}
		out := &strings.Builder{}
		if err := aWorld(t).app(out).printCheck(found, screen.Text); err != nil {
			t.Fatal(err)
		}
		screens = append(screens, "# "+c.reason+"\n"+out.String())
	}
	golden(t, "check", screens...)
}

// A member whose database was altered, as by a bad disk, is found; and a slow disk is told by the
// metrics that each member serves.
func TestCheckFinds(t *testing.T) {
	c := aCluster("example")
	members, processes := startMembers(t, c)
	w := aWorld(t, append(podsOf(c), c)...)
	w.forward = forwardTo(members)
	for i := range 3 {
		if _, err := members[0].Dial(t, "", "").Put(t.Context(), fmt.Sprint("/keys/", i), "true"); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.run("check example"); !strings.Contains(got, "3 members have the same data at revision 4") || strings.Contains(got, "error:") {
		t.Fatal(got)
	}
	last := members[2]
	processes[2].Terminate()
	etcdtest.Alter(t, last.Dir, "true", "lies")
	last.Start(t, "existing", members...)
	last.WaitReady(t)
	w.forward = withMetrics(t, w.forward, slowMetrics)
	got := w.run("check example")
	for _, want := range []string{
		"THE DATA DIFFERS at revision 4: see the condition Consistent, and the runbook inconsistent\n", "error: exit code 1\n",
		"the disk of " + last.Name + " is slow: 99 % of the writes to its log take up to 796ms, and etcd advises 10ms\n",
		"the disk of " + last.Name + " is slow: 99 % of the commits of its database take up to 396ms, and etcd advises 25ms\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not shown:\n%s", want, got)
		}
	}
	if got := w.run("check example -o json"); !strings.Contains(got, `"same": false`) || !strings.Contains(got, `"fsync99": 796000000`) || !strings.Contains(got, "error: exit code 1\n") {
		t.Error(got)
	}
}

// slowMetrics are those of a member whose disk is slow.
const slowMetrics = `# TYPE etcd_disk_wal_fsync_duration_seconds histogram
etcd_disk_wal_fsync_duration_seconds_bucket{le="0.4"} 0
etcd_disk_wal_fsync_duration_seconds_bucket{le="0.8"} 1000
etcd_disk_wal_fsync_duration_seconds_bucket{le="+Inf"} 1000
etcd_disk_wal_fsync_duration_seconds_sum 600
etcd_disk_wal_fsync_duration_seconds_count 1000
# TYPE etcd_disk_backend_commit_duration_seconds histogram
etcd_disk_backend_commit_duration_seconds_bucket{le="0"} 0
etcd_disk_backend_commit_duration_seconds_bucket{le="0.4"} 1000
etcd_disk_backend_commit_duration_seconds_bucket{le="+Inf"} 1000
etcd_disk_backend_commit_duration_seconds_sum 200
etcd_disk_backend_commit_duration_seconds_count 1000
`

// withMetrics has all members serve these metrics instead of their own.
func withMetrics(t *testing.T, forward tunnel.Forward, text string) tunnel.Forward {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }))
	t.Cleanup(server.Close)
	local := server.Listener.Addr().(*net.TCPAddr).Port
	return forwardInstead(forward, member.MetricsPort, local)
}
