package observe_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

func TestMaintenance(t *testing.T) {
	b := newBench(t, func(c *v1beta2.EtcdCluster) {
		c.Spec.Maintenance = &v1beta2.MaintenancePolicy{DefragmentSchedule: "CRON_TZ=Europe/Berlin 30 3 * * *", DefragmentAbovePercent: 40, AutoRepairSpace: true}
		c.Annotations = map[string]string{v1beta2.AnnotationDefragment: "today", v1beta2.AnnotationMoveLeader: "x-b " + strings.Repeat("please ", 10000)}
	})
	then := metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))
	b.status(func(s *v1beta2.ClusterStatus) {
		s.Maintenance = &v1beta2.MaintenanceStatus{
			LastDefragmentTime: &then, Schedule: "cron 0 * * * *", ScheduleSince: &then, LastRepairTime: &then, CompactedRevision: 9,
			DefragmentRequest: "yesterday", LeaderRequest: "x-a",
		}
	})
	m := b.observe().Cluster.Maintenance
	if m.Schedule.String() != "cron CRON_TZ=Europe/Berlin 30 3 * * *" || m.Invalid != "" || m.AbovePercent != 40 || !m.AutoRepairSpace {
		t.Errorf("the policy is observed as %+v", m)
	}
	if !m.Begun.Equal(then.Time) || !m.Since.Equal(then.Time) || !m.Repaired.Equal(then.Time) || m.Counted != "cron 0 * * * *" || m.CompactedRevision != 9 {
		t.Errorf("the status is observed as %+v", m)
	}
	if m.DefragmentRequest != "today" || m.DefragmentAnswered != "yesterday" || m.LeaderAsked() != "x-b" || m.LeaderAnswered != "x-a" {
		t.Errorf("the requests are observed as %+v", m)
	}
	if len(m.LeaderRequest) > conditiontext.MaxText {
		t.Errorf("%d bytes of a request would be written into the status", len(m.LeaderRequest))
	}

	b = newBench(t, func(c *v1beta2.EtcdCluster) {
		c.Spec.Maintenance = &v1beta2.MaintenancePolicy{DefragmentSchedule: "every night"}
	})
	if m := b.observe().Cluster.Maintenance; m.Schedule.String() != "" || !strings.Contains(m.Invalid, "5 fields") {
		t.Errorf("a schedule that can't be read is observed as %+v", m)
	}
}

func TestDefragmented(t *testing.T) {
	then := time.Date(2026, 10, 1, 12, 0, 0, 5000, time.UTC)
	for name, tc := range map[string]struct {
		written string
		want    facts.Defragmented
	}{
		"x-never":   {"", facts.Defragmented{}},
		"x-asked":   {"2026-10-01T12:00:00.000005Z 300", facts.Defragmented{Since: then, Before: 300}},
		"x-done":    {"2026-10-01T12:00:00.000005Z 300 done", facts.Defragmented{Since: then, Before: 300, Done: true}},
		"x-edited":  {"yesterday", facts.Defragmented{}},
		"x-edited2": {"yesterday 300 done", facts.Defragmented{}},
		"x-edited3": {"2026-10-01T12:00:00Z much", facts.Defragmented{}},
	} {
		b := newBench(t)
		b.pod(name, func(p *corev1.Pod) { p.Annotations[v1beta2.AnnotationDefragmented] = tc.written })
		if diff := cmp.Diff(tc.want, seen(t, b.observe(), name).Defragmented); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tc.written, diff)
		}
	}
}

// A member of 3.5 does not tell its quota: it has the one that its Pod gives it.
func TestQuota(t *testing.T) {
	const gibibyte = 1 << 30
	for name, tc := range map[string]struct {
		told int64
		env  string
		want int64
	}{
		"x-told":      {7 * gibibyte, "1073741824", 7 * gibibyte},
		"x-set":       {0, "1073741824", gibibyte},
		"x-default":   {0, "", 2 * gibibyte},
		"x-zero":      {0, "0", 2 * gibibyte},
		"x-unlimited": {0, "-1", 0},
		"x-nonsense":  {0, "8Gi", 0},
	} {
		b := newBench(t)
		b.runs(b.pod(name, func(p *corev1.Pod) {
			if tc.env != "" {
				p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env, corev1.EnvVar{Name: member.EnvQuota, Value: tc.env})
			}
		}), "10.0.0.1")
		b.asked.answers = map[string]etcdclient.Answer{name: {
			Reached: true, Quota: tc.told, DBSize: 30, DBSizeInUse: 20, Alarms: []etcdclient.Alarm{{MemberID: 7, Kind: etcdclient.NoSpace}, {Kind: etcdclient.Corrupt}},
		}}
		a := seen(t, b.observe(), name).Answer
		if a.Quota != tc.want || a.DBSize != 30 || a.DBSizeInUse != 20 {
			t.Errorf("%s has a quota of %d, and %d of %d bytes in use; want %d", name, a.Quota, a.DBSizeInUse, a.DBSize, tc.want)
		}
		if diff := cmp.Diff([]facts.Alarm{{MemberID: 7, Kind: facts.NoSpace}, {Kind: facts.Corrupt}}, a.Alarms); diff != "" {
			t.Errorf("alarms (-want +got):\n%s", diff)
		}
	}
}
