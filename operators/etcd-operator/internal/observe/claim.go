package observe

import (
	"context"
	"fmt"
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

// claimOf is what the planner needs of a claim, but for what its class allows.
func claimOf(p *corev1.PersistentVolumeClaim) facts.Claim {
	c := facts.Claim{
		Name: p.Name, UID: string(p.UID), Deleting: p.DeletionTimestamp != nil, Created: p.CreationTimestamp.Time,
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
