package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// What commands wait for at most, unless --timeout says otherwise.
const (
	// reconcileWait is for what the operator does in its next reconcile.
	reconcileWait = time.Minute
	// rolloutWait is for a change that restarts each member: some minutes each, where images are pulled.
	rolloutWait = 30 * time.Minute
)

// annotate sets an annotation by which the operator is asked for something.
func (s *scene) annotate(ctx context.Context, key, value string) error {
	return s.Patch(ctx, s.cluster, func() { metav1.SetMetaDataAnnotation(&s.cluster.ObjectMeta, key, value) })
}

// refresh reads the cluster again.
func (s *scene) refresh(ctx context.Context) error {
	fresh, err := s.Cluster(ctx, s.cluster.Name)
	if err != nil {
		return err
	}
	if fresh.UID != s.cluster.UID {
		return fmt.Errorf("EtcdCluster %s was deleted, and another one of its name was created", s.cluster.Name)
	}
	s.cluster = fresh
	return nil
}

// is reports whether a condition of the cluster has a status.
func (s *scene) is(kind string, status metav1.ConditionStatus) bool {
	return meta.IsStatusConditionPresentAndEqual(s.cluster.Status.Conditions, kind, status)
}

// reason is that of a condition; empty if there is none.
func (s *scene) reason(kind string) string {
	if c := meta.FindStatusCondition(s.cluster.Status.Conditions, kind); c != nil {
		return c.Reason
	}
	return ""
}

// condition is a condition in a line, with the words of another where it refers to that.
func (s *scene) condition(kind string) string {
	c := meta.FindStatusCondition(s.cluster.Status.Conditions, kind)
	if c == nil {
		return ""
	}
	message := c.Message
	if other, refers := strings.CutPrefix(message, "see the condition "); refers {
		if told := meta.FindStatusCondition(s.cluster.Status.Conditions, other); told != nil {
			message = told.Message
		}
	}
	return c.Reason + ": " + message
}

// title is how the cluster is called in messages.
func (s *scene) title() string { return "EtcdCluster " + s.cluster.Namespace + "/" + s.cluster.Name }

// errPaused is why nothing would happen.
func (s *scene) errPaused() error {
	if !s.cluster.Spec.Paused {
		return nil
	}
	return fmt.Errorf("the operator would not act, because reconciliation of %s is paused: run \"%s resume %s\" first", s.title(), Name, s.cluster.Name)
}

func (a *App) pause() *cobra.Command {
	var w waiting
	cmd := a.of("pause CLUSTER", "Pause the reconciliation of a cluster",
		`Pause the reconciliation of a cluster (spec.paused). The operator changes nothing until it is
resumed. etcd keeps running, but no lost member is replaced.`,
		examples("pause example"), func(cmd *cobra.Command, args []string) error {
			return a.setPaused(cmd.Context(), args[0], w, true)
		}, cobra.ExactArgs(1))
	w.addTo(cmd, reconcileWait)
	return cmd
}

func (a *App) resume() *cobra.Command {
	var w waiting
	cmd := a.of("resume CLUSTER", "Resume the reconciliation of a cluster", "Resume the reconciliation of a cluster that was paused (spec.paused).",
		examples("resume example"), func(cmd *cobra.Command, args []string) error {
			return a.setPaused(cmd.Context(), args[0], w, false)
		}, cobra.ExactArgs(1))
	w.addTo(cmd, reconcileWait)
	return cmd
}

func (a *App) setPaused(ctx context.Context, name string, w waiting, paused bool) error {
	s, err := a.open(ctx, name)
	if err != nil {
		return err
	}
	if s.cluster.Spec.Paused != paused {
		if err := s.Patch(ctx, s.cluster, func() { s.cluster.Spec.Paused = paused }); err != nil {
			return err
		}
	}
	w.unseen = s.unmoved()
	if err := a.await(ctx, w, func(ctx context.Context) (string, bool, error) {
		err := s.refresh(ctx)
		return "", err == nil && s.cluster.Status.ControlPaused == paused, err
	}); err != nil {
		return err
	}
	if !w.wait {
		fmt.Fprintf(a.Out, "Set spec.paused of %s to %t.\n", s.title(), paused)
		return nil
	}
	if paused {
		fmt.Fprintf(a.Out, "Reconciliation of %s is paused. etcd keeps running, and no lost member is replaced.\n", s.title())
		return nil
	}
	fmt.Fprintf(a.Out, "Reconciliation of %s is resumed.\n", s.title())
	return nil
}

func (a *App) restart() *cobra.Command {
	var w waiting
	var c confirmation
	cmd := a.of("restart CLUSTER", "Restart all members, one at a time",
		`Restart all members, one at a time, once all are healthy: followers first, the leader last, after
its leadership is transferred. Members with volumes keep their data; others are replaced.`,
		examples("restart example", "restart example --yes --wait=false"), func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, err := a.open(ctx, args[0])
			if err != nil {
				return err
			}
			if err := s.errPaused(); err != nil {
				return err
			}
			before, err := s.Pods(ctx, s.cluster)
			if err != nil {
				return err
			}
			if err := a.confirm(c, "%s", restartPlan(s)); err != nil {
				return err
			}
			if err := s.annotate(ctx, v1beta2.AnnotationRestart, a.stamp()); err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "Asked for the restart of the members of %s.\n", s.title())
			w.unseen = s.unmoved()
			if err := a.await(ctx, w, func(ctx context.Context) (string, bool, error) { return s.restarted(ctx, before) }); err != nil || !w.wait {
				return err
			}
			fmt.Fprintf(a.Out, "All members of %s run in new Pods.\n", s.title())
			return nil
		}, cobra.ExactArgs(1))
	c.addTo(cmd)
	w.addTo(cmd, rolloutWait)
	return cmd
}

// stamp is a value that a request's annotation did not have before.
func (a *App) stamp() string { return a.Now().UTC().Format(time.RFC3339Nano) }

func restartPlan(s *scene) string {
	plan := &strings.Builder{}
	n := len(s.cluster.Status.MemberDetails)
	fmt.Fprintf(plan, "This restarts the %d members of %s, one at a time, the leader last.", n, s.title())
	if !s.cluster.Spec.Persistent() {
		fmt.Fprint(plan, "\nThey have no volumes: each one is replaced by a new member, which gets the data from the others.")
	}
	if n == 1 {
		fmt.Fprint(plan, "\nThe only member does not serve while its Pod is recreated.")
	}
	if !s.is(v1beta2.ConditionDegraded, metav1.ConditionFalse) {
		fmt.Fprintf(plan, "\nThe operator waits until all members are healthy. Now: %s", s.condition(v1beta2.ConditionDegraded))
	}
	return plan.String()
}

// restarted tells how far a restart is: done when none of the Pods of before is left.
func (s *scene) restarted(ctx context.Context, before []corev1.Pod) (string, bool, error) {
	if err := s.refresh(ctx); err != nil {
		return "", false, err
	}
	pods, err := s.Pods(ctx, s.cluster)
	if err != nil {
		return "", false, err
	}
	left := 0
	for _, p := range pods {
		if slices.ContainsFunc(before, func(b corev1.Pod) bool { return b.UID == p.UID }) {
			left++
		}
	}
	done := left == 0 && s.reason(v1beta2.ConditionProgressing) == v1beta2.ClusterReasonUpToDate
	return fmt.Sprintf("%d of %d Pods are new; %s", len(before)-left, len(before), s.condition(v1beta2.ConditionProgressing)), done, nil
}

func (a *App) recover() *cobra.Command {
	var w waiting
	var c confirmation
	cmd := a.of("recover CLUSTER", "Start a cluster whose quorum is lost again from a survivor's data",
		`Start a cluster whose quorum is lost again, once, from the data of its most advanced surviving
member. Writes that had not reached that member are lost. Bring lost volumes and nodes back first,
if you can: then nothing is lost.`,
		examples("recover example"), func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, err := a.open(ctx, args[0])
			if err != nil {
				return err
			}
			if err := s.errPaused(); err != nil {
				return err
			}
			if got := s.reason(v1beta2.ConditionAvailable); got != v1beta2.ClusterReasonQuorumLost {
				return fmt.Errorf("there is nothing to recover, because the quorum of %s is not known to be lost: the condition Available has the reason %s, not %s", s.title(), got, v1beta2.ClusterReasonQuorumLost)
			}
			id := s.cluster.Status.ClusterID
			if err := a.confirm(c, "%s\n\nThis starts %s again from the data of its most advanced survivor. WRITES THAT HAD NOT REACHED IT ARE LOST.", s.condition(v1beta2.ConditionAvailable), s.title()); err != nil {
				return err
			}
			if err := s.annotate(ctx, v1beta2.AnnotationRecover, id); err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "Allowed %s to recover from a survivor.\n", s.title())
			w.unseen = s.unmoved()
			if err := a.await(ctx, w, func(ctx context.Context) (string, bool, error) { return s.recovered(ctx, id) }); err != nil || !w.wait {
				return err
			}
			r := s.cluster.Status.Recovery
			fmt.Fprintf(a.Out, "%s serves again, from the data of member %s up to its revision %d. It continues at revision %d.\n", s.title(), r.Survivor, r.Revision, r.BeginsAt)
			return nil
		}, cobra.ExactArgs(1))
	c.addTo(cmd)
	w.addTo(cmd, rolloutWait)
	return cmd
}

// recovered tells how far the recovery of the cluster with that id is.
func (s *scene) recovered(ctx context.Context, id string) (string, bool, error) {
	if err := s.refresh(ctx); err != nil {
		return "", false, err
	}
	r := s.cluster.Status.Recovery
	isOurs := r != nil && r.ClusterID == id
	if s.cluster.Status.ClusterID == id && s.is(v1beta2.ConditionAvailable, metav1.ConditionTrue) {
		return "", false, errors.New("the recovery was aborted, and nothing is lost: the old cluster serves again")
	}
	progress := v1beta2.ConditionRecovering
	if s.reason(v1beta2.ConditionAvailable) == v1beta2.ClusterReasonQuorumLost && !isOurs {
		progress = v1beta2.ConditionAvailable // it says what the operator waits for before it begins
	}
	return s.condition(progress), isOurs && r.Phase == v1beta2.RecoveryComplete, nil
}

func (a *App) adoptVolumes() *cobra.Command {
	var w waiting
	var c confirmation
	var owner string
	cmd := a.of("adopt-volumes CLUSTER", "Start a new cluster on the volumes of an earlier one of its name",
		`Start a new EtcdCluster on the volumes that an earlier one of its name has left
(storage.deletionPolicy: Retain). It continues with the same members, keys and cluster id.`,
		examples("adopt-volumes example", "adopt-volumes example --owner 0f5c…"), func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, err := a.open(ctx, args[0])
			if err != nil {
				return err
			}
			if err := s.errPaused(); err != nil {
				return err
			}
			volumes, err := s.leftVolumes(ctx)
			if err != nil {
				return err
			}
			if owner, err = s.chooseOwner(volumes, types.UID(owner)); err != nil {
				return err
			}
			var names []string
			for _, v := range volumes {
				if v.Labels[v1beta2.LabelOwner] == owner {
					names = append(names, v.Name)
				}
			}
			if err := a.confirm(c, "This starts %s on %d of the PVCs of the EtcdCluster with the uid %s: %s.", s.title(), len(names), owner, strings.Join(names, ", ")); err != nil {
				return err
			}
			unasked := s.condition(v1beta2.ConditionAvailable)
			if s.cluster.Annotations[v1beta2.AnnotationAdoptVolumes] == owner {
				unasked = "" // it was asked before, and that is the answer
			}
			if err := s.annotate(ctx, v1beta2.AnnotationAdoptVolumes, owner); err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "Asked for the adoption of the volumes.\n")
			w.unseen = s.unmoved()
			if err := a.await(ctx, w, func(ctx context.Context) (string, bool, error) { return s.adopted(ctx, unasked) }); err != nil || !w.wait {
				return err
			}
			fmt.Fprintf(a.Out, "%s serves the data of the volumes.\n", s.title())
			return nil
		}, cobra.ExactArgs(1))
	c.addTo(cmd)
	w.addTo(cmd, rolloutWait)
	cmd.Flags().StringVar(&owner, "owner", "", "the uid of the EtcdCluster whose volumes are adopted, where there are volumes of several")
	return cmd
}

// adopted tells how far the adoption of volumes is, before which the operator said what is unasked. What
// it says else of a cluster that existed is why it adopts none.
func (s *scene) adopted(ctx context.Context, unasked string) (string, bool, error) {
	if err := s.refresh(ctx); err != nil {
		return "", false, err
	}
	answer := s.condition(v1beta2.ConditionAvailable)
	if why, refused := strings.CutPrefix(answer, v1beta2.ClusterReasonClusterExisted+": "); refused && answer != unasked {
		return "", false, fmt.Errorf("%s does not adopt the volumes: %s", s.title(), why)
	}
	return s.condition(v1beta2.ConditionProgressing), s.is(v1beta2.ConditionAvailable, metav1.ConditionTrue), nil
}

// leftVolumes are the PVCs of earlier EtcdClusters of the cluster's name.
func (s *scene) leftVolumes(ctx context.Context) ([]corev1.PersistentVolumeClaim, error) {
	list := &corev1.PersistentVolumeClaimList{}
	if err := s.List(ctx, list, client.InNamespace(s.Namespace), client.MatchingLabels{v1beta2.LabelCluster: s.cluster.Name}); err != nil {
		return nil, fmt.Errorf("list PVCs: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(v corev1.PersistentVolumeClaim) bool {
		owner := v.Labels[v1beta2.LabelOwner]
		return owner == "" || owner == string(s.cluster.UID)
	}), nil
}

// chooseOwner is the uid of the EtcdCluster whose volumes are to be adopted.
func (s *scene) chooseOwner(volumes []corev1.PersistentVolumeClaim, asked types.UID) (string, error) {
	var owners []string
	for _, v := range volumes {
		if owner := v.Labels[v1beta2.LabelOwner]; !slices.Contains(owners, owner) {
			owners = append(owners, owner)
		}
	}
	slices.Sort(owners)
	switch {
	case s.cluster.Status.ClusterID != "":
		return "", fmt.Errorf("%s has already started, with the cluster id %s: volumes can only be adopted before a cluster starts", s.title(), s.cluster.Status.ClusterID)
	case !s.cluster.Spec.Persistent():
		return "", fmt.Errorf("%s has no pod.persistentVolumeClaimSpec: delete it, and create it with one", s.title())
	case len(owners) == 0:
		return "", fmt.Errorf("there is no volume of an earlier EtcdCluster %s: run \"kubectl get pvc -l %s=%s\" to see all volumes", s.cluster.Name, v1beta2.LabelCluster, s.cluster.Name)
	case asked != "" && !slices.Contains(owners, string(asked)):
		return "", fmt.Errorf("there is no volume of an EtcdCluster with the uid %s: set --owner to %s", asked, strings.Join(owners, " or "))
	case asked != "":
		return string(asked), nil
	case len(owners) > 1:
		return "", fmt.Errorf("there are volumes of %d EtcdClusters: set --owner to one of %s", len(owners), strings.Join(owners, ", "))
	}
	return owners[0], nil
}
