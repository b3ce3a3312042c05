package command

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/plugin/internal/screen"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// What etcd can be asked for by itself is asked of the operator here, which does it when no member
// is spared for anything else, and sends clients elsewhere before.

func (a *App) moveLeader() *cobra.Command {
	var w waiting
	cmd := a.of("move-leader CLUSTER [MEMBER]", "Transfer the leadership to another member",
		`Ask the operator to transfer the leadership to a member, by default to any other voter. The operator
does it once, as soon as all members are healthy and nothing else is going on. A write that arrives in
that moment can fail, and can be tried again.`,
		examples("move-leader example", "move-leader example example-bbbbbbbbbb"), func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, err := a.open(ctx, args[0])
			if err != nil {
				return err
			}
			if err := s.errPaused(); err != nil {
				return err
			}
			to, err := s.nextLeader(args[1:])
			if err != nil {
				return err
			}
			request := to + " " + a.stamp()
			if err := s.annotate(ctx, v1beta2.AnnotationMoveLeader, request); err != nil {
				return err
			}
			w.unseen = s.unmoved()
			fmt.Fprintf(a.Out, "Requested a leadership transfer to member %s of %s.\n", to, s.title())
			if err := a.await(ctx, w, func(ctx context.Context) (string, bool, error) {
				return s.answered(ctx, v1beta2.AnnotationMoveLeader, request, func(m *v1beta2.MaintenanceStatus) (bool, error) {
					return m.LeaderRequest == request, nil
				})
			}); err != nil || !w.wait {
				return err
			}
			if refused := s.cluster.Status.Maintenance.LeaderRefused; refused != "" {
				return fmt.Errorf("the leadership was not transferred: %s", refused)
			}
			fmt.Fprintf(a.Out, "Member %s leads.\n", to)
			return nil
		}, cobra.RangeArgs(1, 2))
	cmd.ValidArgsFunction = a.memberNames
	w.addTo(cmd, rolloutWait)
	return cmd
}

// nextLeader is the member that is named, or another voter than the one that leads.
func (s *scene) nextLeader(named []string) (string, error) {
	for _, m := range s.cluster.Status.MemberDetails {
		if m.Role == v1beta2.MemberVoter && (len(named) == 0 && m.Name != s.cluster.Status.Leader || slices.Contains(named, m.Name)) {
			return m.Name, nil
		}
	}
	if len(named) > 0 {
		return "", fmt.Errorf("%s is not a voter of %s: run \"%s members %s\" to see the voters", named[0], s.title(), Name, s.cluster.Name)
	}
	return "", fmt.Errorf("%s has no other voter that could lead", s.title())
}

// answered tells what the operator does until a request, by the annotation of that key, is carried out.
func (s *scene) answered(ctx context.Context, key, request string, done func(*v1beta2.MaintenanceStatus) (bool, error)) (string, bool, error) {
	if err := s.refresh(ctx); err != nil {
		return "", false, err
	}
	if err := s.errPaused(); err != nil {
		return "", false, err
	}
	if s.cluster.Annotations[key] != request {
		return "", false, fmt.Errorf("another client has changed the annotation %s of %s, so the request is withdrawn or replaced", key, s.title())
	}
	if m := s.cluster.Status.Maintenance; m != nil {
		if isDone, err := done(m); isDone || err != nil {
			return "", isDone, err
		}
	}
	if s.reason(v1beta2.ConditionProgressing) == v1beta2.ClusterReasonUpToDate {
		return "", false, nil // the operator has not read the request
	}
	return s.condition(v1beta2.ConditionProgressing), false, nil
}

// defragmentedSince reports whether all voters were defragmented, or have been created, since then.
func (s *scene) defragmentedSince(ctx context.Context, begun time.Time) (bool, error) {
	pods, err := s.Pods(ctx, s.cluster)
	if err != nil {
		return false, err
	}
	isDone := func(p corev1.Pod) bool {
		at, _, _ := member.Defragmented(&p)
		return !at.Before(begun) || !p.CreationTimestamp.Time.Before(begun)
	}
	for _, m := range s.cluster.Status.MemberDetails {
		if m.Role == v1beta2.MemberVoter && !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.Name == m.Name && isDone(p) }) {
			return false, nil
		}
	}
	return true, nil
}

// memberNames completes a cluster's name, and then those of its members.
func (a *App) memberNames(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.clusterNames(cmd, args, toComplete)
	}
	s, err := a.open(cmd.Context(), args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := slices.DeleteFunc(s.memberNames(), func(name string) bool { return slices.Contains(args[1:], name) })
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (a *App) defrag() *cobra.Command {
	var w waiting
	var c confirmation
	cmd := a.of("defrag CLUSTER", "Defragment the members' databases, one at a time",
		`Ask the operator to defragment the members' databases once, one at a time: followers first, the
leader last, after its leadership is transferred. It begins as soon as all members are healthy and
nothing else is going on. A member does not serve meanwhile: about a second for each 100 MB. New
clients are sent to the others before. To have it done regularly, set
spec.maintenance.defragmentSchedule.`,
		examples("defrag example", "defrag example --yes --wait=false"), func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, err := a.open(ctx, args[0])
			if err != nil {
				return err
			}
			if err := s.errPaused(); err != nil {
				return err
			}
			if s.cluster.Status.ClusterID == "" {
				return fmt.Errorf("%s has not started yet: %s", s.title(), s.condition(v1beta2.ConditionAvailable))
			}
			if err := a.confirm(c, "This defragments the %d members of %s, one at a time. Clients that are connected to a member wait meanwhile.", len(s.cluster.Status.MemberDetails), s.title()); err != nil {
				return err
			}
			before, err := defragmentations(ctx, s)
			if err != nil {
				return err
			}
			request := a.stamp()
			if err := s.annotate(ctx, v1beta2.AnnotationDefragment, request); err != nil {
				return err
			}
			w.unseen = s.unmoved()
			fmt.Fprintf(a.Out, "Requested the defragmentation of the members of %s.\n", s.title())
			if err := a.await(ctx, w, func(ctx context.Context) (string, bool, error) {
				return s.answered(ctx, v1beta2.AnnotationDefragment, request, func(m *v1beta2.MaintenanceStatus) (bool, error) {
					if m.DefragmentRequest != request || m.LastDefragmentTime == nil || !s.is(v1beta2.ConditionProgressing, metav1.ConditionFalse) {
						return false, nil
					}
					return s.defragmentedSince(ctx, m.LastDefragmentTime.Time)
				})
			}); err != nil || !w.wait {
				return err
			}
			fmt.Fprintf(a.Out, "The members of %s are defragmented.\n", s.title())
			after, err := defragmentations(ctx, s)
			for _, e := range after {
				if !slices.ContainsFunc(before, func(b corev1.Event) bool { return sameEvent(b, e) }) {
					fmt.Fprintln(a.Out, e.Message)
				}
			}
			return err
		}, cobra.ExactArgs(1))
	c.addTo(cmd)
	w.addTo(cmd, rolloutWait)
	return cmd
}

// defragmentations are the events that say what the members' defragmentations have won, the newest
// last; none if the user may not list events.
func defragmentations(ctx context.Context, s *scene) ([]corev1.Event, error) {
	list := &corev1.EventList{}
	err := s.List(ctx, list, client.InNamespace(s.Namespace))
	if apierrors.IsForbidden(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	events := slices.DeleteFunc(list.Items, func(e corev1.Event) bool {
		return e.InvolvedObject.UID != s.cluster.UID || e.Reason != v1beta2.ClusterReasonMemberDefragmented
	})
	slices.SortStableFunc(events, func(a, b corev1.Event) int { return screen.EventTime(a).Compare(screen.EventTime(b)) })
	return events, nil
}

// sameEvent reports whether an event has not happened again.
func sameEvent(a, b corev1.Event) bool {
	return a.UID == b.UID && a.Name == b.Name && screen.EventTime(a).Equal(screen.EventTime(b))
}
