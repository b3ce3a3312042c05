package act

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// Report writes the status of the decision, together with what its action records
// there, once, and only if anything in it has changed. It fails with a conflict if
// the EtcdCluster has changed since c was read: then nothing is recorded.
// It returns the EtcdCluster as it is now, and c itself if nothing was written.
func (a *Actor) Report(ctx context.Context, c *v1beta2.EtcdCluster, d plan.Decision) (*v1beta2.EtcdCluster, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	next := c.DeepCopy()
	next.Status = *d.Status.DeepCopy()
	next.Status.ServiceName = member.ClientService(c).Name
	next.Status.ClientPort = member.ClientPort
	next.Status.Selector = labels.SelectorFromSet(member.Selector(c.Name)).String()
	switch x := d.Action.(type) {
	case plan.RecordBootstrap:
		next.Status.Bootstrap = &v1beta2.BootstrapStatus{Member: x.Member, Token: x.Token, Adopted: x.Adopted}
		if !x.Adopted { // the data of an earlier cluster keeps the history that it has
			next.Status.Bootstrap.AutoCompactionRetention = member.DefaultRetention(c)
		}
		next.Status.CurrentVersion = x.Version
	case plan.RecordVersion:
		next.Status.CurrentVersion, next.Status.TargetVersion = x.Current, x.Target
		next.Status.VersionIndex = int64(x.Index)
		next.Status.UpgradeSize = x.Size
	case plan.BeginDefragment:
		maintenanceOf(&next.Status).LastDefragmentTime = at(x.At)
	case plan.Compact:
		m := maintenanceOf(&next.Status)
		m.LastDefragmentTime, m.LastRepairTime, m.CompactedRevision = at(x.At), at(x.At), x.Revision
	case plan.RecordConsistency:
		next.Status.Consistency = consistencyOf(x)
	case plan.LatchClusterID:
		next.Status.ClusterID = fmt.Sprintf("%016x", x.ClusterID)
	case plan.AcknowledgeFence:
		next.Status.FencedBy = x.Restore
	case plan.LiftFence:
		next.Status.FencedBy = ""
	case plan.AdoptSeed:
		next.Status.FencedBy = ""
		next.Status.AdoptedSeed = &v1beta2.AdoptedSeed{Restore: x.Restore, Pod: x.Name, PodUID: x.UID}
		next.Status.Bootstrap = &v1beta2.BootstrapStatus{Member: x.Name, Token: x.Restore, AutoCompactionRetention: member.DefaultRetention(c)}
		next.Status.ClusterID = fmt.Sprintf("%016x", x.ClusterID)
		next.Status.CurrentVersion = cmp.Or(x.Version, next.Status.CurrentVersion)
		next.Status.TargetVersion, next.Status.VersionIndex, next.Status.UpgradeSize = "", 0, 0
		if m := next.Status.Maintenance; m != nil { // of another history
			m.LastRepairTime, m.CompactedRevision = nil, 0
		}
		next.Status.Recovery, next.Status.Consistency = nil, nil // of a cluster that is no more
	case plan.RecordSurvivor:
		next.Status.Recovery = recoveryOf(x.Recovery)
	case plan.AdoptSurvivor:
		r := next.Status.Recovery
		r.Phase = v1beta2.RecoveryGrowing
		next.Status.Bootstrap = &v1beta2.BootstrapStatus{Member: x.Name, Token: x.Token, AutoCompactionRetention: member.DefaultRetention(c)}
		next.Status.ClusterID = fmt.Sprintf("%016x", x.ClusterID)
		next.Status.CurrentVersion = r.Version
		next.Status.Consistency = nil // of members that are no more
		next.Status.TargetVersion, next.Status.VersionIndex, next.Status.UpgradeSize = "", 0, 0
		if m := next.Status.Maintenance; m != nil { // of another history
			m.LastRepairTime, m.CompactedRevision = nil, 0
		}
	case plan.EndRecovery:
		if !x.Complete {
			next.Status.Recovery = nil
			break
		}
		next.Status.Recovery.Phase = v1beta2.RecoveryComplete
	default: // its effect is observed
	}
	keepForeign(&c.Status, &next.Status)
	next.Status.Conditions = replaceOwned(c.DeepCopy().Status.Conditions, d.Status.Conditions)
	fit(&next.Status)
	if equality.Semantic.DeepEqual(c.Status, next.Status) {
		return c, nil
	}
	if err := a.Client.Status().Update(ctx, next); err != nil {
		return c, fmt.Errorf("write status: %w", err)
	}
	return next, nil
}

// consistencyOf is what the status says of a comparison.
func consistencyOf(x plan.RecordConsistency) *v1beta2.ConsistencyStatus {
	out := &v1beta2.ConsistencyStatus{LastCheckTime: *at(x.At), Revision: x.Revision, Result: x.Result}
	for _, id := range x.Differing {
		out.DifferingMembers = append(out.DifferingMembers, fmt.Sprintf("%016x", id))
	}
	return out
}

// maintenanceOf is the part of a status about maintenance, made if there is none.
func maintenanceOf(s *v1beta2.ClusterStatus) *v1beta2.MaintenanceStatus {
	if s.Maintenance == nil {
		s.Maintenance = &v1beta2.MaintenanceStatus{}
	}
	return s.Maintenance
}

// at is a moment as the API server keeps it: in whole seconds, never later than it was.
func at(t time.Time) *metav1.Time {
	whole := metav1.NewTime(t.Truncate(time.Second))
	return &whole
}
