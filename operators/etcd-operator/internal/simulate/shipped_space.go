package simulate

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// This file is what space and alarms are to the shipped operator: spec and status, what
// members tell of them, and the calls that make room.

// etcdPolicy is spec.etcd. Nothing compacts by itself.
func (w *world) etcdPolicy() *v1beta2.EtcdPolicy {
	e := &v1beta2.EtcdPolicy{AutoCompactionRetention: "0", SnapshotCount: new(int64(snapshotEntries))}
	if w.quota > 0 {
		e.QuotaBackendBytes = resource.NewQuantity(int64(w.quota)*unit, resource.BinarySI)
	}
	return e
}

// quotaOf is what a Pod's etcd is told of its quota, in units.
func quotaOf(p *corev1.Pod) int {
	n, _ := strconv.ParseInt(envOf(p, member.EnvQuota), 10, 64) // none is 0
	return int(n / unit)
}

// maintenancePolicy is spec.maintenance.
func (w *world) maintenancePolicy() *v1beta2.MaintenancePolicy {
	m := &v1beta2.MaintenancePolicy{DefragmentAbovePercent: w.cfg.AbovePercent, AutoRepairSpace: w.cfg.AutoRepair, ConsistencyCheck: w.consistencyCheck()}
	if w.cfg.Scheduled {
		m.DefragmentSchedule = everyRound
	}
	return m
}

// keepMaintenance takes from a status what the world goes by.
func (w *world) keepMaintenance(st *v1beta2.ClusterStatus) {
	c := &w.cluster
	at := func(t *metav1.Time) time.Duration {
		if t == nil {
			return never
		}
		return t.Sub(epoch)
	}
	if m := st.Maintenance; m != nil {
		c.begun, c.repaired, c.compacted = at(m.LastDefragmentTime), at(m.LastRepairTime), m.CompactedRevision
	}
}

// toldOfSpace is what a member tells of alarms and of space.
func toldOfSpace(out *etcdclient.Answer, a facts.Answer) {
	for _, alarm := range a.Alarms {
		out.Alarms = append(out.Alarms, etcdclient.Alarm{MemberID: alarm.MemberID, Kind: etcdclient.AlarmKind(alarm.Kind)})
	}
	slices.SortFunc(out.Alarms, func(a, b etcdclient.Alarm) int {
		return cmp.Or(cmp.Compare(a.MemberID, b.MemberID), cmp.Compare(a.Kind, b.Kind))
	})
	if minorOf(a.Version) >= 6 { // those before do not tell
		out.Quota = a.Quota
	}
}

func (m *members) Disarm(ctx context.Context, via []etcdclient.Endpoint, a etcdclient.Alarm) error {
	return m.change(ctx, "disarming an alarm", via, func(r *run) error {
		return m.w.disarmAlarm(m.op.todo, r, action.DisarmAlarm{MemberID: a.MemberID, Alarm: facts.AlarmKind(a.Kind)})
	})
}

func (m *members) Compact(ctx context.Context, via []etcdclient.Endpoint, revision int64) error {
	return m.change(ctx, "compacting", via, func(r *run) error {
		if a, _ := m.op.todo.decision.Action.(action.Compact); a.Revision != revision {
			m.w.fail("Alarm", "the database is compacted to revision %d, and %d was decided on", revision, a.Revision)
		}
		return m.w.compactBy(r)
	})
}

// Defragment returns once the member has done it, which may be long after its caller has lost
// patience.
func (m *members) Defragment(ctx context.Context, e etcdclient.Endpoint) error {
	return m.change(ctx, "defragmenting "+e.Name, []etcdclient.Endpoint{e}, func(r *run) error {
		a, _ := m.op.todo.decision.Action.(action.Defragment)
		m.w.checkDefragment(m.op.todo, r, a)
		m.w.beginDefragment(r)
		m.wait(ctx, "", func() bool { return r.etcd == nil || !m.w.busy(r) })
		if r.etcd == nil || m.w.busy(r) {
			return errUnavailable
		}
		return nil
	})
}
