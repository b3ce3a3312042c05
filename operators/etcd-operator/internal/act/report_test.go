package act_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// countingWrites counts what is written through it.
type countingWrites struct {
	client.Client
	writes int
}

func (c *countingWrites) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	c.writes++
	return c.Client.Create(ctx, o, opts...)
}

func (c *countingWrites) Apply(ctx context.Context, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	c.writes++
	return c.Client.Apply(ctx, o, opts...)
}

func (c *countingWrites) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	c.writes++
	return c.Client.Delete(ctx, o, opts...)
}

func (c *countingWrites) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	c.writes++
	return c.Client.Patch(ctx, o, p, opts...)
}

func (c *countingWrites) Status() client.SubResourceWriter {
	c.writes++
	return c.Client.Status()
}

// report decides and reports on what is observed now, and reads what was written.
func (b *bench) report() plan.Decision {
	b.t.Helper()
	d := plan.Plan(*b.observe())
	b.mustReport(d)
	return d
}

func (b *bench) mustReport(d plan.Decision) {
	b.t.Helper()
	if _, err := b.actor.Report(apiservertest.Context(b.t), b.cluster, d); err != nil {
		b.t.Fatal(err)
	}
	apiservertest.Read(b.t, b.client, b.cluster)
}

// S1: what is latched is written in one piece with the rest.
func TestReportLatches(t *testing.T) {
	b := newBench(t)
	d := b.report()
	begin, ok := d.Action.(action.RecordBootstrap)
	if !ok {
		t.Fatalf("the first action is %T, want RecordBootstrap", d.Action)
	}
	s := b.cluster.Status
	want := &v1beta2.BootstrapStatus{Member: begin.Member, Token: begin.Token, AutoCompactionRetention: "1h"}
	if diff := cmp.Diff(want, s.Bootstrap); diff != "" || s.CurrentVersion != "3.6.16" {
		t.Errorf("version %q, bootstrap (-want +got):\n%s", s.CurrentVersion, diff)
	}
	if s.Phase != v1beta2.PhaseCreating || s.ObservedGeneration != b.cluster.Generation || s.ServiceName != "x-client" || s.ClientPort != 2379 || s.Selector != "app=etcd,etcd_cluster=x" {
		t.Errorf("the status is %+v", s)
	}

	d = plan.Plan(*b.observe())
	d.Action = action.LatchClusterID{ClusterID: 0xc1}
	b.mustReport(d)
	if b.cluster.Status.ClusterID != "00000000000000c1" || b.observe().Cluster.ClusterID != 0xc1 {
		t.Errorf("the cluster id is %q, want 00000000000000c1", b.cluster.Status.ClusterID)
	}

	b.mustReport(plan.Plan(*b.observe()))
	if s := b.cluster.Status; s.ClusterID != "00000000000000c1" || s.Bootstrap == nil || s.CurrentVersion != "3.6.16" {
		t.Errorf("a latch was lost: %+v", s)
	}

	d = plan.Plan(*b.observe())
	d.Action = action.RecordVersion{Current: "3.6.16", Target: "3.7.3", Index: 7, Size: 3}
	b.mustReport(d)
	b.mustReport(plan.Plan(*b.observe()))
	if s, c := b.cluster.Status, b.observe().Cluster; s.CurrentVersion != "3.6.16" || s.TargetVersion != "3.7.3" || s.VersionIndex != 7 || s.UpgradeSize != 3 || c.UpgradeSize != 3 || c.Target != "3.7.3" || c.VersionIndex != 7 {
		t.Errorf("version %s, on the way to %q since %d, is observed as %+v", s.CurrentVersion, s.TargetVersion, s.VersionIndex, c)
	}
	d = plan.Plan(*b.observe())
	d.Action = action.RecordVersion{Current: "3.7.3", Index: 9}
	b.mustReport(d)
	b.mustReport(plan.Plan(*b.observe()))
	if s := b.cluster.Status; s.CurrentVersion != "3.7.3" || s.TargetVersion != "" || s.VersionIndex != 9 || s.UpgradeSize != 0 {
		t.Errorf("version %s, on the way to %q since %d", s.CurrentVersion, s.TargetVersion, s.VersionIndex)
	}
}

// One write per reconcile, none when nothing changed; times of conditions stay.
func TestReportWritesOnlyWhatHasChanged(t *testing.T) {
	b := newBench(t)
	b.report()
	counting := &countingWrites{Client: b.client}
	b.actor.Client = counting
	d := plan.Plan(*b.observe())
	d.Action = nil
	b.mustReport(d)
	if counting.writes != 1 {
		t.Fatalf("%d writes, want 1", counting.writes)
	}
	before := b.cluster.DeepCopy()

	b.mustReport(d)
	d.RequeueAfter = time.Hour // is no part of the status
	b.mustReport(d)
	if counting.writes != 1 || b.cluster.ResourceVersion != before.ResourceVersion {
		t.Errorf("%d writes, version %s, want 1 and %s", counting.writes, b.cluster.ResourceVersion, before.ResourceVersion)
	}

	d.Status.Conditions[0].Message = "another message"
	b.mustReport(d)
	got, was := b.cluster.Status.Conditions[0], before.Status.Conditions[0]
	if counting.writes != 2 || got.Message != "another message" || !got.LastTransitionTime.Equal(&was.LastTransitionTime) || was.LastTransitionTime.IsZero() {
		t.Errorf("%d writes, condition %+v, want the time of %+v", counting.writes, got, was)
	}
}

// A condition that says nothing any more goes.
func TestReportDropsConditions(t *testing.T) {
	b := newBench(t)
	b.report()
	d := plan.Plan(*b.observe())
	special := metav1.Condition{Type: v1beta2.ConditionNameConflict, Status: metav1.ConditionTrue, Reason: "NameConflict", Message: "m"}
	all := d.Status.Conditions
	d.Status.Conditions = append(append([]metav1.Condition{}, all...), special)
	b.mustReport(d)
	if !meta.IsStatusConditionTrue(b.cluster.Status.Conditions, v1beta2.ConditionNameConflict) {
		t.Fatal("the condition was not written")
	}
	d.Status.Conditions = all
	b.mustReport(d)
	if meta.FindStatusCondition(b.cluster.Status.Conditions, v1beta2.ConditionNameConflict) != nil {
		t.Error("the condition is still there")
	}
}

// S1, S11: an EtcdCluster that has changed since it was read is not written, so that
// of two operators one records its beginning.
func TestReportFailsWithAConflict(t *testing.T) {
	b := newBench(t)
	d := plan.Plan(*b.observe())
	b.status(func(s *v1beta2.ClusterStatus) {
		s.Bootstrap = &v1beta2.BootstrapStatus{Member: "x-other", Token: "t"}
	})
	if _, err := b.actor.Report(apiservertest.Context(t), b.cluster, d); !apierrors.IsConflict(err) {
		t.Errorf("error %v, want a conflict", err)
	}
	apiservertest.Read(t, b.client, b.cluster)
	if got := b.cluster.Status.Bootstrap.Member; got != "x-other" {
		t.Errorf("the seed is %s, want x-other", got)
	}
}

// A cluster that begins keeps an hour of its history, and one that began without that is
// not changed by it: neither when it begins once more, nor on the volumes of an earlier one.
func TestCompactionIsLatched(t *testing.T) {
	begin := func(adopted bool) action.RecordBootstrap {
		return action.RecordBootstrap{Bootstrap: facts.Bootstrap{Member: "x-a", Token: "new", Adopted: adopted}, Version: "3.6.16"}
	}
	for name, tc := range map[string]struct {
		before *v1beta2.BootstrapStatus
		do     action.Action
		want   string
	}{
		"a beginning":          {nil, begin(false), "1h"},
		"with earlier volumes": {nil, begin(true), ""},
		"once more":            {&v1beta2.BootstrapStatus{Member: "x-b", Token: "t", AutoCompactionRetention: "5h"}, begin(false), "5h"},
		"once more, without":   {&v1beta2.BootstrapStatus{Member: "x-b", Token: "t"}, begin(false), ""},
		"a restore":            {&v1beta2.BootstrapStatus{Member: "x-b", Token: "t"}, action.AdoptSeed{Restore: "r", Name: "x-a", ClusterID: 7}, ""},
		"a restore anew":       {nil, action.AdoptSeed{Restore: "r", Name: "x-a", ClusterID: 7}, "1h"},
	} {
		b := newBench(t)
		if tc.before != nil {
			b.cluster.Status.Bootstrap = tc.before
			if err := b.client.Status().Update(apiservertest.Context(t), b.cluster); err != nil {
				t.Fatal(err)
			}
		}
		d := plan.Plan(*b.observe())
		d.Action = tc.do
		b.mustReport(d)
		if got := b.cluster.Status.Bootstrap.AutoCompactionRetention; got != tc.want {
			t.Errorf("%s: it keeps %q of the history, want %q", name, got, tc.want)
		}
	}
}
