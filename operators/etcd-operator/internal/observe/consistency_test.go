package observe_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Data is compared once a day unless the user says when, or never; and what the last
// comparison has shown is known.
func TestConsistency(t *testing.T) {
	asks := func(when string) func(*v1beta2.EtcdCluster) {
		return func(c *v1beta2.EtcdCluster) {
			c.Spec.Maintenance = &v1beta2.MaintenancePolicy{ConsistencyCheck: when}
		}
	}
	b := newBench(t)
	c := b.observe().Cluster.Consistency
	first := c.Schedule.Next(c.Since, c.Since)
	if second := c.Schedule.Next(first, first); second.Sub(first) != 24*time.Hour || c.Since.IsZero() || c.Result != "" {
		t.Errorf("by default it is %s and then %s, since %s", first, second, c.Since)
	}
	if c := newBench(t, asks("0 4 * * 0")).observe().Cluster.Consistency; c.Schedule.String() != "cron 0 4 * * 0" {
		t.Errorf("the schedule is %q", c.Schedule)
	}
	if c := newBench(t, asks("Never")).observe().Cluster.Consistency; c.Schedule.String() != "" || c.Invalid != "" {
		t.Errorf("Never is observed as %q, %q", c.Schedule, c.Invalid)
	}
	if c := newBench(t, asks("every night")).observe().Cluster.Consistency; c.Schedule.String() != "" || !strings.Contains(c.Invalid, "5 fields") {
		t.Errorf("a schedule that can't be read is observed as %q, %q", c.Schedule, c.Invalid)
	}

	then := metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))
	b.status(func(s *v1beta2.ClusterStatus) {
		s.Consistency = &v1beta2.ConsistencyStatus{LastCheckTime: then, Revision: 9, Result: v1beta2.ResultMemberDiffers, DifferingMembers: []string{"00000000000000ab"}}
	})
	c = b.observe().Cluster.Consistency
	if diff := cmp.Diff([]uint64{0xab}, c.Differing); diff != "" || !c.Since.Equal(then.Time) || c.Revision != 9 || c.Result != v1beta2.ResultMemberDiffers {
		t.Errorf("the status is observed as %+v", c)
	}
}

// An etcd that refuses to start since its data differs is told from one that fails for any
// other reason by its last words.
func TestInconsistentExit(t *testing.T) {
	for name, tc := range map[string]struct {
		last string
		want bool
	}{
		"x-differs": {`{"level":"fatal","msg":"discovery failed","error":"6321aad5f50f112f found data inconsistency with peers"}`, true},
		"x-other":   {`{"level":"fatal","msg":"discovery failed","error":"listen tcp: address already in use"}`, false},
	} {
		b := newBench(t)
		b.runs(b.pod(name), "10.0.0.1", func(s *corev1.PodStatus) {
			s.ContainerStatuses = []corev1.ContainerStatus{{Name: "etcd", LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: tc.last}}}}
		})
		if got := seen(t, b.observe(), name).Inconsistent; got != tc.want {
			t.Errorf("%s: Inconsistent is %t", tc.last, got)
		}
	}
}
