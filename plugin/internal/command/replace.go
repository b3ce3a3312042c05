package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

func (a *App) replace() *cobra.Command {
	var w waiting
	var c confirmation
	cmd := a.of("replace CLUSTER MEMBER", "Replace a member, and its volume, by a new one",
		`Replace a member, and its volume, by a new one. This deletes the member's PVC. Kubernetes keeps the
volume until the Pod has ended, and the operator lets the new member join before it removes this one.
All other members must be ready. The Pod of a member without a volume is evicted: the other members must
also keep the quorum.`,
		examples("replace example example-bbbbbbbbbb"), func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, err := a.open(ctx, args[0])
			if err != nil {
				return err
			}
			if err := s.canReplace(args[1]); err != nil {
				return err
			}
			if !s.cluster.Spec.Persistent() {
				return a.replacePod(ctx, s, args[1], c, w)
			}
			claim, err := s.claimOf(ctx, args[1])
			if err != nil {
				return err
			}
			pods, err := s.Pods(ctx, s.cluster)
			if err != nil {
				return err
			}
			if err := s.errOtherDown(byName(pods), args[1]); err != nil {
				return err
			}
			if err := a.confirm(c, "%s", replacePlan(s, claim.Name)); err != nil {
				return err
			}
			if err := s.Delete(ctx, claim, client.Preconditions{UID: &claim.UID}); err != nil {
				return fmt.Errorf("delete PVC %s: %w", claim.Name, err)
			}
			fmt.Fprintf(a.Out, "Deleted PVC %s: the operator replaces the member.\n", claim.Name)
			w.unseen = s.unmoved()
			if err := a.await(ctx, w, func(ctx context.Context) (string, bool, error) { return s.replaced(ctx, claim.Name) }); err != nil || !w.wait {
				return err
			}
			fmt.Fprintf(a.Out, "Member %s of %s is replaced.\n", claim.Name, s.title())
			return nil
		}, cobra.ExactArgs(2))
	cmd.ValidArgsFunction = a.memberNames
	c.addTo(cmd)
	w.addTo(cmd, rolloutWait)
	return cmd
}

// canReplace says why a member cannot be replaced now; nil if it can.
func (s *scene) canReplace(member string) error {
	if err := s.errPaused(); err != nil {
		return err
	}
	if !s.is(v1beta2.ConditionAvailable, metav1.ConditionTrue) {
		return fmt.Errorf("%s is not available, so that no member can be replaced: %s", s.title(), s.condition(v1beta2.ConditionAvailable))
	}
	if reason := s.reason(v1beta2.ConditionProgressing); reason == v1beta2.ClusterReasonFencing || reason == v1beta2.ClusterReasonFenced {
		return fmt.Errorf("a restore of %s is in progress, for which old volumes are kept: wait until it is done", s.title())
	}
	if names := s.memberNames(); !slices.Contains(names, member) {
		return fmt.Errorf("member %s does not exist: the members of %s are %s", member, s.title(), strings.Join(names, ", "))
	}
	return nil
}

// claimOf is the PVC of a member.
func (s *scene) claimOf(ctx context.Context, member string) (*corev1.PersistentVolumeClaim, error) {
	claim := &corev1.PersistentVolumeClaim{}
	err := s.Get(ctx, client.ObjectKey{Namespace: s.cluster.Namespace, Name: member}, claim)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("member %s has no PVC any more: the operator replaces it by itself", member)
	}
	if err != nil {
		return nil, fmt.Errorf("read PVC %s: %w", member, err)
	}
	if owner := claim.Labels[v1beta2.LabelOwner]; !metav1.IsControlledBy(claim, s.cluster) && owner != string(s.cluster.UID) {
		return nil, fmt.Errorf("PVC %s does not belong to %s, so it is not deleted", member, s.title())
	}
	return claim, nil
}

func (s *scene) memberNames() []string {
	var names []string
	for _, m := range s.cluster.Status.MemberDetails {
		names = append(names, m.Name)
	}
	return names
}

func replacePlan(s *scene, member string) string {
	plan := &strings.Builder{}
	fmt.Fprintf(plan, "This replaces member %s of %s: a new member joins first, and gets the data from the others. Then this one is removed, and its volume with it.", member, s.title())
	if !s.is(v1beta2.ConditionDegraded, metav1.ConditionFalse) {
		fmt.Fprintf(plan, "\nThe operator waits until all members are healthy. Now: %s\nUntil then a restart of this member's Pod costs its data.", s.condition(v1beta2.ConditionDegraded))
	}
	return plan.String()
}

// replaced tells how far a replacement is: done when the member is gone, and nothing is left to do.
func (s *scene) replaced(ctx context.Context, member string) (string, bool, error) {
	if err := s.refresh(ctx); err != nil {
		return "", false, err
	}
	done := !slices.Contains(s.memberNames(), member) && s.reason(v1beta2.ConditionProgressing) == v1beta2.ClusterReasonUpToDate
	return s.condition(v1beta2.ConditionProgressing), done, nil
}
