package screen

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/plugin/internal/runbook"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/goldentest"
)

// now is the time of all screens.
var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

const gib = 1 << 30

// seen is a cluster of four whose members were asked: one lags, one does not tell its quota, as
// before etcd 3.6, one is a learner, and one does not answer.
func seen() Seen {
	c := &v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "example"},
		Spec:       v1beta2.ClusterSpec{Size: 4, Version: "3.6.16"},
		Status: v1beta2.ClusterStatus{
			Phase: v1beta2.PhaseRunning, ReadyMembers: "3/4", CurrentVersion: "3.6.16", ClusterID: "8a3fc1e07b2d4c55", Leader: "example-a",
			Conditions: []metav1.Condition{
				{Type: v1beta2.ConditionAvailable, Status: metav1.ConditionTrue, Reason: "Serving", Message: "2 of 3 voters serve"},
				{Type: v1beta2.ConditionProgressing, Status: metav1.ConditionTrue, Reason: "AddingMember", Message: "waiting for example-c to catch up"},
			},
		},
	}
	s := Seen{Seen: runbook.Seen{Cluster: c, Now: now, Answers: map[string]etcdclient.Answer{}}}
	for i, name := range []string{"example-a", "example-b", "example-c", "example-d"} {
		c.Status.MemberDetails = append(c.Status.MemberDetails, v1beta2.MemberDetail{
			Name: name, ID: fmt.Sprintf("%016x", i+1), Role: v1beta2.MemberVoter, Version: "3.6.16", Node: "node-" + name[len(name)-1:],
		})
		s.Pods = append(s.Pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		}})
	}
	s.Answers["example-a"] = etcdclient.Answer{
		Reached: true, Read: true, MemberID: 18, Leader: 19, Term: 7, RaftIndex: 5000, AppliedIndex: 5000, Version: "3.6.16",
		Revision: 1290, DBSize: gib, DBSizeInUse: gib / 2, Quota: 2 * gib,
	}
	s.Answers["example-b"] = etcdclient.Answer{
		Reached: true, Read: true, MemberID: 19, Leader: 19, Term: 7, RaftIndex: 5003, AppliedIndex: 4990, Version: "3.5.33",
		Revision: 1280, DBSize: 3 << 20, DBSizeInUse: 1000,
	}
	s.Answers["example-c"] = etcdclient.Answer{
		Reached: true, MemberID: 20, Leader: 19, Term: 7, RaftIndex: 5003, AppliedIndex: 5003, Version: "3.6.16", Learner: true,
		Revision: 1293, DBSize: 20 << 20, DBSizeInUse: 12 << 20, Quota: 8 * gib,
	}
	s.Answers["example-d"] = etcdclient.Answer{Trouble: "connection refused", Err: "context deadline exceeded"}
	return s
}

// inBothFormats shows a screen in both formats for people.
func inBothFormats(t *testing.T, show func(*strings.Builder, Format) error) string {
	t.Helper()
	out := &strings.Builder{}
	for _, f := range []Format{Text, Wide} {
		fmt.Fprintf(out, "# -o %q\n", f)
		if err := show(out, f); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// What etcd says of itself is newer than the status, and is shown in its place: who leads, the
// versions and the ids.
func TestStatus(t *testing.T) {
	goldentest.Compare(t, "testdata/status.golden", inBothFormats(t, func(out *strings.Builder, f Format) error { return StatusOf(seen()).Print(out, f) }))
}

// Alarms are those that etcd tells, also before the operator has heard of them; and lead to their
// runbook.
func TestStatusWithAlarm(t *testing.T) {
	s := seen()
	s.Cluster.Status.Alarms = []v1beta2.AlarmStatus{{Kind: "CORRUPT", Member: "example-d"}} // disarmed since
	a := s.Answers["example-b"]
	a.Alarms = []etcdclient.Alarm{{Kind: etcdclient.NoSpace, MemberID: 18}, {Kind: etcdclient.NoSpace, MemberID: 4}}
	s.Answers["example-b"] = a
	goldentest.Compare(t, "testdata/status-alarm.golden", inBothFormats(t, func(out *strings.Builder, f Format) error { return StatusOf(s).Print(out, f) }))
}

func TestMembers(t *testing.T) {
	s := seen()
	members := Members(s.Cluster, s.Pods, s.Answers)
	text := inBothFormats(t, func(out *strings.Builder, f Format) error { return MemberTable(members).Print(out, f) })
	for _, f := range []Format{JSON, YAML} {
		out := &strings.Builder{}
		if err := Print(out, f, members, nil); err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("# -o %q\n%s", f, out)
	}
	goldentest.Compare(t, "testdata/members.golden", text)
}

func TestParseFormat(t *testing.T) {
	for text, isRight := range map[string]bool{"": true, "json": true, "yaml": true, "wide": true, "table": false, "JSON": false} {
		if _, err := ParseFormat(text); (err == nil) != isRight {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 20 << 20: "20.0 MiB", 8 * gib: "8.0 GiB", 5 << 50: "5120.0 TiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d bytes: %q, want %q", n, got, want)
		}
	}
}

func TestAge(t *testing.T) {
	for then, want := range map[time.Time]string{{}: "", now: "0s", now.Add(-90 * time.Second): "90s", now.Add(-50 * time.Hour): "2d2h"} {
		if got := Age(now, then); got != want {
			t.Errorf("since %s: %q, want %q", then, got, want)
		}
	}
}

// Prose is broken at the width of a screen; a word that is longer stays whole.
func TestWrap(t *testing.T) {
	long := strings.Repeat("x", width+5)
	for text, want := range map[string]string{
		"one\n  line": "one line",
		strings.Repeat("word ", 20) + long + " end": strings.TrimSuffix(strings.Repeat("word ", 19), " ") + "\n  word\n  " + long + "\n  end",
	} {
		if got := wrap(text, 2); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
