package controller_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/podtest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// The tests of this file let real databases fill, and have them repaired and defragmented.

// dial connects to a cluster as its clients do.
func (b *bench) dial(addr string) *clientv3.Client {
	b.t.Helper()
	cli, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}, Logger: zap.NewNop()})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { cli.Close() })
	return cli
}

// aMebibyte is a value that fills a small quota soon.
var aMebibyte = strings.Repeat("x", 1<<20)

// fill writes the same key until there is no space for it.
func (b *bench) fill(cli *clientv3.Client) {
	b.t.Helper()
	for range 100 {
		_, err := cli.Put(apiservertest.Context(b.t), "key", aMebibyte)
		if errors.Is(err, rpctypes.ErrNoSpace) {
			return
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
	b.t.Fatal("100 MiB were taken")
}

func message(s *v1beta2.ClusterStatus, kind string) string {
	if c := meta.FindStatusCondition(s.Conditions, kind); c != nil {
		return c.Message
	}
	return ""
}

// A database that has grown to its quota is reported, and repaired if the user allows it.
func TestNoSpace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	podtest.StartKubelet(t, b.client, b.namespace)
	c := b.create("x", 3, func(c *v1beta2.EtcdCluster) {
		c.Spec.Pod = &v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: member.EnvQuota, Value: "16777216"}}}
	})
	b.untilHealthy(c, 3)
	cli := b.dial(b.serves(c))
	b.fill(cli)
	b.edit(c, func(c *v1beta2.EtcdCluster) { c.Annotations = map[string]string{"example.com/look": "now"} })
	b.until(c, "the alarm to be reported", func(s *v1beta2.ClusterStatus) bool {
		return reason(s, v1beta2.ConditionAvailable) == "NoSpace" && reason(s, v1beta2.ConditionDegraded) == "NoSpace" && len(s.Alarms) > 0
	})
	if said := message(&c.Status, v1beta2.ConditionAvailable); !strings.Contains(said, "autoRepairSpace") || !strings.Contains(said, "quota") {
		t.Errorf("it is said: %s; want what to do", said)
	}
	if c.Status.ReadyMembers != "3/3" {
		t.Errorf("%s members are healthy; a full database is no matter of members", c.Status.ReadyMembers)
	}

	b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.Maintenance = &v1beta2.MaintenancePolicy{AutoRepairSpace: true} })
	b.until(c, "the space to be repaired", func(s *v1beta2.ClusterStatus) bool {
		return len(s.Alarms) == 0 && reason(s, v1beta2.ConditionAvailable) == "Serving"
	})
	if _, err := cli.Put(apiservertest.Context(t), "key", "value"); err != nil {
		t.Errorf("a write fails although the space is repaired: %v", err)
	}
	b.untilHealthy(c, 3)
	b.wantEvents("AlarmRaised", "RepairingSpace", "MemberDefragmented", "SpaceRepaired", "AlarmCleared")
}

// Where only live keys take the space, no more is tried than makes sense, and it is said
// what to do.
func TestNoSpaceToBeWon(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	podtest.StartKubelet(t, b.client, b.namespace)
	c := b.create("x", 1, func(c *v1beta2.EtcdCluster) {
		c.Spec.Pod = &v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: member.EnvQuota, Value: "16777216"}}}
		c.Spec.Maintenance = &v1beta2.MaintenancePolicy{AutoRepairSpace: true}
	})
	b.untilHealthy(c, 1)
	cli := b.dial(b.serves(c))
	told := func(s *v1beta2.ClusterStatus) bool {
		return strings.Contains(message(s, v1beta2.ConditionAvailable), "did not free enough space: delete keys") && reason(s, v1beta2.ConditionProgressing) == "NoSpace"
	}
	// How much of the file is live when it is full depends on how etcd batches writes: the
	// first repair may still win something.
	repaired := func(s *v1beta2.ClusterStatus) bool {
		return s.Maintenance != nil && s.Maintenance.LastRepairTime != nil && len(s.Alarms) == 0
	}
	for n := 0; !told(&c.Status); n++ {
		for i := range 1000 {
			key := fmt.Sprintf("key-%d-%d", n, i)
			if _, err := cli.Put(apiservertest.Context(t), key, aMebibyte[:128<<10]); errors.Is(err, rpctypes.ErrNoSpace) {
				break
			}
		}
		b.edit(c, func(c *v1beta2.EtcdCluster) { c.Annotations = map[string]string{"example.com/look": fmt.Sprint(n)} })
		b.until(c, "the attempt to be reported", func(s *v1beta2.ClusterStatus) bool { return told(s) || repaired(s) })
	}
	if m := c.Status.Maintenance; m == nil || m.LastRepairTime == nil || m.CompactedRevision == 0 {
		t.Errorf("it is recorded: %+v", m)
	}
}

// The members of a cluster are defragmented by a schedule, one after the other, and its
// clients notice nothing.
func TestScheduledDefragmentation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	podtest.StartKubelet(t, b.client, b.namespace)
	c := b.create("x", 3)
	b.untilHealthy(c, 3)
	b.edit(c, func(c *v1beta2.EtcdCluster) {
		c.Spec.Maintenance = &v1beta2.MaintenancePolicy{DefragmentSchedule: "every night"}
	})
	b.until(c, "the schedule to be refused", func(s *v1beta2.ClusterStatus) bool {
		return reason(s, v1beta2.ConditionProgressing) == "ScheduleInvalid"
	})

	end := b.writes(b.serves(c))
	began := time.Now()
	b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.Maintenance.DefragmentSchedule = "@every 3s" })
	b.until(c, "a round to begin", func(s *v1beta2.ClusterStatus) bool {
		return s.Maintenance != nil && s.Maintenance.LastDefragmentTime != nil
	})
	first := *c.Status.Maintenance.LastDefragmentTime
	b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.Maintenance.DefragmentSchedule = "@every 1h" })
	b.untilHealthy(c, 3)
	acked, failed := end()
	t.Logf("three members in %s; %d writes were acknowledged, and %d failed: %v", time.Since(began).Round(time.Millisecond), acked, len(failed), failed)
	if acked == 0 || len(failed) > mostDropped || slices.ContainsFunc(failed, isOther) {
		t.Errorf("%d writes failed, and %d were acknowledged", len(failed), acked)
	}
	for _, p := range b.pods(c) {
		mark := p.Annotations[v1beta2.AnnotationDefragmented]
		words := strings.Fields(mark)
		if len(words) != 3 || words[2] != "done" {
			t.Errorf("Pod %s is marked %q", p.Name, mark)
			continue
		}
		if at, err := time.Parse(time.RFC3339, words[0]); err != nil || at.Before(first.Time) {
			t.Errorf("Pod %s was defragmented at %s (%v), before the round began at %s", p.Name, at, err, first)
		}
		if p.Labels[v1beta2.LabelRole] != v1beta2.RoleVoter {
			t.Errorf("Pod %s is a %s", p.Name, p.Labels[v1beta2.LabelRole])
		}
	}
	b.wantEvents("ScheduleInvalid", "DefragmentationStarted", "MemberDefragmented")
}

// A member that etcd calls corrupt is replaced, although it leads, and its alarm is taken
// back when it is out.
func TestCorruptMember(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	podtest.StartKubelet(t, b.client, b.namespace)
	c := b.create("x", 3)
	b.untilHealthy(c, 3)
	cli := b.dial(b.serves(c))
	status, err := pb.NewMaintenanceClient(cli.ActiveConnection()).Status(apiservertest.Context(t), &pb.StatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	corrupt := c.Status.Leader
	_, err = pb.NewMaintenanceClient(cli.ActiveConnection()).Alarm(apiservertest.Context(t), &pb.AlarmRequest{
		Action: pb.AlarmRequest_ACTIVATE, MemberID: status.Leader, Alarm: pb.AlarmType_CORRUPT,
	})
	if err != nil {
		t.Fatal(err)
	}
	b.until(c, "the corrupt member to be replaced", func(s *v1beta2.ClusterStatus) bool {
		return !slices.ContainsFunc(s.MemberDetails, func(d v1beta2.MemberDetail) bool { return d.Name == corrupt }) && len(s.Alarms) == 0
	})
	b.untilHealthy(c, 3)
	etcdtest.Eventually(t, "writes to be taken again", func() error {
		_, err := b.dial(b.serves(c)).Put(apiservertest.Context(t), "key", "value")
		return err
	})
	b.wantEvents("AlarmRaised", "ReplacingDeadMember", "AlarmDisarmed", "AlarmCleared")
}

// A value that was altered in a member's file, and that etcd does not notice, is found by a
// comparison; the member is replaced, although it leads, and writes are taken all the time. When
// it is out, all are found to agree.
func TestAlteredData(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	kubelet := podtest.StartKubelet(t, b.client, b.namespace)
	c := b.create("x", 3, withVolumes)
	b.untilHealthy(c, 3)
	b.put(c, "key", "true")
	wrong := c.Status.Leader
	_, err := b.at(b.pod(wrong)).Defragment(apiservertest.Context(t), podtest.At(b.pod(wrong).Status.PodIP, member.ClientPort))
	if err != nil {
		t.Fatal(err) // it writes all of the data to its file
	}
	altered := make(chan error, 1)
	kubelet.Spoil(wrong, func(dataDir string) error {
		err := etcdtest.AlterData(dataDir, "true", "lies")
		altered <- err
		return err
	})
	if err := etcdtest.Receive(t, "the container to be killed", altered); err != nil {
		t.Fatal(err)
	}
	b.untilHealthy(c, 3)
	if c.Status.Consistency != nil || len(c.Status.Alarms) > 0 {
		t.Fatalf("it is noticed before anybody has looked: %+v", c.Status.Consistency)
	}
	id := c.Status.ClusterID

	b.edit(c, func(c *v1beta2.EtcdCluster) {
		c.Spec.Maintenance = &v1beta2.MaintenancePolicy{ConsistencyCheck: "@every 1s"}
	})
	// The result is looked for when the cluster is looked at: an idle one once in a minute.
	looks := 0
	b.until(c, "the member whose data differs to be replaced", func(s *v1beta2.ClusterStatus) bool {
		looks++
		b.mark(c, "example.com/look", strconv.Itoa(looks))
		return !slices.Contains(memberNames(s), wrong) && s.Consistency != nil && s.Consistency.Result == v1beta2.ResultConsistent
	})
	b.untilHealthy(c, 3)
	if got := b.get(c, "key"); got != "true" || c.Status.ClusterID != id {
		t.Errorf("cluster %s tells %q, want %s and what was written", c.Status.ClusterID, got, id)
	}
	if said := meta.FindStatusCondition(c.Status.Conditions, v1beta2.ConditionConsistent); said == nil || said.Status != metav1.ConditionTrue {
		t.Errorf("the condition Consistent is %+v", said)
	}
	b.wantEvents("MemberDiffers", "ReplacingDeadMember")
	if n := b.metric("etcd_operator_data_inconsistent", "x", b.namespace); n != 0 {
		t.Errorf("the metric is %v", n)
	}
}
