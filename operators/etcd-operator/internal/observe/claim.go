package observe

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// IsMembers reports whether a volume is a member's, or may be: it is the EtcdCluster's,
// and no restore has retired it.
func IsMembers(claim *corev1.PersistentVolumeClaim, c *v1beta2.EtcdCluster) bool {
	_, retired := claim.Labels[v1beta2.LabelRetiredBy]
	return claim.Labels[v1beta2.LabelCluster] == c.Name && !retired && member.Owns(c, claim)
}

// claims reads the volumes; those of an earlier cluster of this name show that
// one existed.
func (o *Observer) claims(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation) error {
	var list corev1.PersistentVolumeClaimList
	if err := o.Reader.List(ctx, &list, client.InNamespace(c.Namespace), client.MatchingLabels(member.Selector(c.Name))); err != nil {
		return fmt.Errorf("list volumes: %w", err)
	}
	var others []string
	for i := range list.Items {
		p := &list.Items[i]
		switch {
		case !member.Owns(c, p):
			others = append(others, p.Name)
			if member.IsInDoubt(c, p) && (!member.IsRetained(p) || member.IsListed(c, p.Name)) {
				obs.Doubtful = append(obs.Doubtful, facts.DoubtfulPVC(c.Namespace, p.Name, c.Name, string(c.UID)))
			}
			if member.IsRetained(p) {
				obs.Retained = append(obs.Retained, facts.Retained{
					Name: p.Name, UID: string(p.UID), Owner: p.Labels[v1beta2.LabelOwner], Deleting: p.DeletionTimestamp != nil, Version: p.Annotations[member.AnnotationVersion],
					Reseed: p.Annotations[v1beta2.AnnotationSurvivorPermit] != "",
				})
			}
			continue
		case !IsMembers(p, c):
			continue
		}
		claim := claimOf(p)
		claim.Reseed = p.Annotations[v1beta2.AnnotationSurvivorPermit]
		if err := o.expansion(ctx, &claim); err != nil {
			return err
		}
		obs.Claims = append(obs.Claims, claim)
	}
	slices.Sort(others)
	if len(others) > 0 {
		obs.Cluster.Existed = fmt.Sprintf("PVCs of an earlier cluster of this name exist: %s", strings.Join(others, ", "))
	}
	slices.SortFunc(obs.Retained, func(a, b facts.Retained) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(obs.Claims, func(a, b facts.Claim) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// AnnotationSelectedNode is the scheduler's: the node of the Pod that a volume was made for.
const AnnotationSelectedNode = "volume.kubernetes.io/selected-node"

// claimOf is what the planner needs of a claim, but for what its class allows.
func claimOf(p *corev1.PersistentVolumeClaim) facts.Claim {
	c := facts.Claim{
		Name: p.Name, UID: string(p.UID), Deleting: p.DeletionTimestamp != nil, Created: p.CreationTimestamp.Time,
		Node: p.Annotations[AnnotationSelectedNode],
		Lost: p.Status.Phase == corev1.ClaimLost, Retained: member.IsRetained(p),
		Requested: p.Spec.Resources.Requests.Storage().Value(), Capacity: p.Status.Capacity.Storage().Value(),
		Resizing: resizing(p), Version: p.Annotations[member.AnnotationVersion],
	}
	if p.Spec.StorageClassName != nil {
		c.Class = *p.Spec.StorageClassName
	}
	c.RefusedSize, c.RefusedAt, c.Refusal = refusal(p)
	return c
}

// resizing are Kubernetes' words on the growth of a claim.
func resizing(p *corev1.PersistentVolumeClaim) string {
	var said []string
	for _, c := range p.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case corev1.PersistentVolumeClaimFileSystemResizePending:
			said = append(said, "its file system grows next, with some storage drivers only when its Pod is started again")
		case corev1.PersistentVolumeClaimResizing:
			said = append(said, strings.TrimSuffix("it is being resized: "+c.Message, ": "))
		case corev1.PersistentVolumeClaimControllerResizeError, corev1.PersistentVolumeClaimNodeResizeError:
			said = append(said, strings.TrimSuffix(string(c.Type)+": "+c.Message, ": "))
		default: // of something else than growth
		}
	}
	return strings.Join(said, "; ")
}

// Refused writes down that the API server has refused to let a claim grow.
func Refused(size int64, at time.Time, words string) string {
	return fmt.Sprintf("%d %s %s", size, at.UTC().Format(time.RFC3339), words)
}

// refusal reads that; what can't be read is none.
func refusal(p *corev1.PersistentVolumeClaim) (size int64, at time.Time, words string) {
	parts := strings.SplitN(p.Annotations[v1beta2.AnnotationGrowthRefused], " ", 3)
	if len(parts) != 3 {
		return 0, time.Time{}, ""
	}
	size, err := strconv.ParseInt(parts[0], 10, 64)
	at, malformed := time.Parse(time.RFC3339, parts[1])
	if err != nil || malformed != nil {
		return 0, time.Time{}, ""
	}
	return size, at, parts[2]
}

// expansion looks whether a claim's class lets volumes grow, where classes may be read.
func (o *Observer) expansion(ctx context.Context, c *facts.Claim) error {
	if o.Classes == nil {
		return nil
	}
	if c.Class == "" {
		c.Expansion = facts.ExpansionRefused
		return nil
	}
	var class storagev1.StorageClass
	err := o.Classes.Get(ctx, client.ObjectKey{Name: c.Class}, &class)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read StorageClass %s: %w", c.Class, err)
	}
	c.Expansion = facts.ExpansionRefused
	if class.AllowVolumeExpansion != nil && *class.AllowVolumeExpansion {
		c.Expansion = facts.ExpansionAllowed
	}
	return nil
}
