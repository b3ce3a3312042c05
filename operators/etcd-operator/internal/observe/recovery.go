package observe

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// recovery reads what is wanted and what was latched of a majority's loss.
func recovery(c *v1beta2.EtcdCluster, out *facts.Cluster) {
	out.Survive = c.Spec.Recovery != nil && c.Spec.Recovery.QuorumLoss == v1beta2.QuorumLossSurvivor
	out.Recover = c.Annotations[v1beta2.AnnotationRecover]
	if since := c.Status.QuorumLostSince; since != nil {
		out.QuorumLostSince = since.Time
	}
	out.Recovery = RecoveryOf(c.Status.Recovery)
}

// RecoveryOf is a recovery as the status records it; nil if it records none.
func RecoveryOf(r *v1beta2.RecoveryStatus) *facts.Recovery {
	if r == nil {
		return nil
	}
	return &facts.Recovery{
		Phase: r.Phase, ClusterID: parseID(r.ClusterID),
		Survivor: r.Survivor, SurvivorUID: r.SurvivorUID, MemberID: parseID(r.MemberID),
		Committed: uint64(max(0, r.CommittedIndex)), Revision: r.Revision, BeginsAt: r.BeginsAt,
		Seed: r.Seed, Token: r.Token, Version: r.Version, Survivors: r.Survivors, Members: r.Members,
	}
}

// parseID reads an id of 16 hexadecimal digits. Only this operator writes it; what is not
// a number latches all the same.
func parseID(s string) uint64 {
	var id uint64
	if _, err := fmt.Sscanf(s, "%x", &id); err != nil || id == 0 {
		return 1
	}
	return id
}

// backupsDeadline bounds the look at EtcdBackups: without them no more is lost than words.
const backupsDeadline = 5 * time.Second

// Backups adds the newest stored snapshot of a cluster to its Observation, for a Decision
// that names it. Where EtcdBackups are not installed, or cannot be read, the Observation
// stays as it is.
func (o *Observer) Backups(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation) {
	ctx, cancel := context.WithTimeout(ctx, backupsDeadline)
	defer cancel()
	var list v1beta2.EtcdBackupList
	if err := o.Live.List(ctx, &list, client.InNamespace(c.Namespace)); err != nil {
		return
	}
	obs.BackupsKnown = true
	for i := range list.Items {
		s := list.Items[i].Status.Snapshot
		if s == nil || s.ClusterID != c.Status.ClusterID || s.CompletionTime == nil {
			continue
		}
		if obs.Backup == nil || s.CompletionTime.After(obs.Backup.Finished) {
			obs.Backup = &facts.Backup{Name: list.Items[i].Name, Revision: s.Revision, Finished: s.CompletionTime.Time}
		}
	}
}
