package command

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

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
		{"a slow disk, and a member that does not answer", []MemberCheck{of("a", "1f00ab12", 0, slow), of("b", "1f00ab12", 0, nil), silent}, false},
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
	// A write is acknowledged when two of three members have it.
	etcdtest.Eventually(t, "all members to have all writes", func() error { return w.tells("check example", "3 members have the same data at revision 4") })
	if got := w.run("check example"); strings.Contains(got, "error:") {
		t.Fatal(got)
	}
	diagnoses := []string{w.run("diagnose example")}
	cli := members[0].Dial(t, "", "")
	if _, err := pb.NewMaintenanceClient(cli.ActiveConnection()).Alarm(t.Context(), &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, MemberID: idOf(t, members[1]), Alarm: pb.AlarmType_NOSPACE}); err != nil {
		t.Fatal(err)
	}
	etcdtest.Eventually(t, "diagnose to tell of the alarm", func() error { return w.tells("diagnose example", "alarm NOSPACE") })
	diagnoses = append(diagnoses, w.run("diagnose example"))
	if _, err := cli.AlarmDisarm(t.Context(), &clientv3.AlarmMember{}); err != nil {
		t.Fatal(err)
	}
	last := members[2]
	processes[2].Terminate()
	etcdtest.Alter(t, last.Dir, "true", "lies")
	processes[2] = last.Start(t, "existing", members...)
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
	diagnoses = append(diagnoses, hash.ReplaceAllString(w.run("diagnose example"), "$1:${2}HASH"))
	if got := w.run("diagnose example -o json"); !strings.Contains(got, `"runbook": "slow-members"`) {
		t.Error(got)
	}

	// Two members of three are lost.
	w.forward = forwardTo(members)
	processes[0].Kill()
	processes[1].Kill()
	etcdtest.Eventually(t, "diagnose to tell of the quorum", func() error { return w.tells("diagnose example", "no quorum") })
	golden(t, "diagnose-etcd", append(diagnoses, w.run("diagnose example"))...)
}

// hash is that of the data of members.
var hash = regexp.MustCompile(`(example-[abc]{10}):(\s+)[0-9a-f]{8}`)

// tells is an error if a command does not show something.
func (w *world) tells(line, want string) error {
	if got := w.run(line); !strings.Contains(got, want) {
		return fmt.Errorf("%q is not shown:\n%s", want, got)
	}
	return nil
}

// idOf is a member's id.
func idOf(t *testing.T, m *etcdtest.Member) uint64 {
	t.Helper()
	status, err := m.Dial(t, "", "").Status(t.Context(), m.Client)
	if err != nil {
		t.Fatal(err)
	}
	return status.Header.MemberId
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
