package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/plugin/internal/kube"
	"github.com/etcd-operators/etcd-operators/plugin/internal/screen"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

func (a *App) upgrade() *cobra.Command {
	var w waiting
	var c confirmation
	var dryRun bool
	cmd := a.of("upgrade CLUSTER VERSION", "Move a cluster to another version of etcd, or back",
		`Move a cluster to another version of etcd, or back: show the plan, ask, and follow it. One member at
a time runs the new version, the leader last. Set the earlier version to roll back, also half-way.`,
		examples("upgrade example 3.7.3", "upgrade example 3.7.3 --dry-run"), func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, err := a.open(ctx, args[0])
			if err != nil {
				return err
			}
			wanted := strings.TrimPrefix(args[1], "v")
			plan, err := planUpgrade(s, wanted, a)
			if err != nil {
				return err
			}
			if plan == "" {
				fmt.Fprintf(a.Out, "%s runs etcd %s already.\n", s.title(), wanted)
				return nil
			}
			// The API server refuses what no operator would take, before anybody is asked.
			trial := s.cluster.DeepCopy()
			if err := s.tryPatch(ctx, trial, func() { trial.Spec.Version = wanted }); err != nil {
				return err
			}
			if dryRun {
				fmt.Fprintln(a.Out, plan)
				return nil
			}
			if err := a.confirm(c, "%s", plan); err != nil {
				return err
			}
			if err := s.Patch(ctx, s.cluster, func() { s.cluster.Spec.Version = wanted }); err != nil {
				return err
			}
			generation := s.cluster.Generation
			w.wait = w.wait && !s.cluster.Spec.Paused // as the plan says, nothing happens until it is resumed
			fmt.Fprintf(a.Out, "Asked %s to move to etcd %s.\n", s.title(), wanted)
			w.unseen = s.unmoved()
			if err := a.await(ctx, w, func(ctx context.Context) (string, bool, error) { return s.upgraded(ctx, wanted, generation) }); err != nil || !w.wait {
				return err
			}
			fmt.Fprintf(a.Out, "All members of %s run etcd %s.\n", s.title(), wanted)
			return nil
		}, cobra.ExactArgs(2))
	cmd.ValidArgsFunction = a.clusterThenVersion
	c.addTo(cmd)
	w.addTo(cmd, rolloutWait)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show the plan only")
	return cmd
}

// tryPatch asks the API server whether it would take a change.
func (s *scene) tryPatch(ctx context.Context, o client.Object, change func()) error {
	before := o.DeepCopyObject().(client.Object)
	change()
	if err := s.Client.Patch(ctx, o, client.MergeFrom(before), client.FieldOwner(kube.FieldOwner), client.DryRunAll); err != nil {
		return fmt.Errorf("the API server refuses the change: %w", err)
	}
	return nil
}

// planUpgrade is what the operator will do, by the rules that it has, too; empty if there is
// nothing to do.
func planUpgrade(s *scene, wanted string, a *App) (string, error) {
	c := s.cluster
	runs := c.Status.CurrentVersion
	if runs == "" {
		return "", fmt.Errorf("the version of %s is not known, because it does not serve yet: run \"%s status %s\" to see why", s.title(), Name, c.Name)
	}
	if wanted == runs && c.Status.TargetVersion == "" && (c.Spec.EtcdVersion() == wanted || c.Spec.Version == "") {
		return "", nil
	}
	steps, err := steps(runs, wanted)
	if err != nil {
		return "", err
	}
	plan := &strings.Builder{}
	fmt.Fprintf(plan, "%s moves from etcd %s to %s:\n", s.title(), runs, strings.Join(steps, ", then to "))
	followers, leader := []v1beta2.MemberDetail{}, []v1beta2.MemberDetail{}
	for _, m := range c.Status.MemberDetails {
		if m.Name == c.Status.Leader {
			leader = append(leader, m)
			continue
		}
		followers = append(followers, m)
	}
	for i, m := range append(followers, leader...) {
		what := "restarts with the new image"
		if m.Name == c.Status.Leader && len(followers) > 0 {
			what = "transfers its leadership, then restarts with the new image"
		}
		fmt.Fprintf(plan, "  %d. %s (%s) %s\n", i+1, m.Name, m.Version, what)
	}
	for _, note := range upgradeNotes(s, runs, wanted, a) {
		fmt.Fprintf(plan, "Note: %s.\n", note)
	}
	return strings.TrimSuffix(plan.String(), "\n"), nil
}

// steps are the versions on the way.
func steps(runs, wanted string) ([]string, error) {
	var all []string
	for at := runs; at != wanted; {
		next, refusal := etcdversion.Next(at, wanted)
		if refusal != "" {
			return nil, errors.New(refusal)
		}
		if next == at || len(all) > len(etcdversion.All()) {
			return nil, fmt.Errorf("no path from etcd %s to %s is known", runs, wanted)
		}
		all, at = append(all, next), next
	}
	if len(all) == 0 {
		all = []string{wanted} // an upgrade that is under way is turned back
	}
	return all, nil
}

// upgradeNotes is what to know before one agrees.
func upgradeNotes(s *scene, runs, wanted string, a *App) []string {
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	c := s.cluster
	if etcdversion.Parse(wanted).CompareMinor(etcdversion.Parse(runs)) < 0 {
		note("etcd lowers its cluster version first; meanwhile no member can be added")
	}
	if len(c.Status.MemberDetails) == 1 {
		note("the only member does not serve while its container restarts")
	}
	if c.Spec.Paused {
		note("nothing happens until you run %s resume %s, because reconciliation is paused", Name, c.Name)
	}
	if !s.is(v1beta2.ConditionDegraded, metav1.ConditionFalse) {
		note("the operator waits until all members are healthy; now: %s", s.condition(v1beta2.ConditionDegraded))
	}
	if b := c.Status.Backup; b == nil || b.Newest == nil {
		note("there is no good backup: make one first, with %s backup %s", Name, c.Name)
	} else {
		note("the newest good backup is %s old", screen.Age(a.Now(), b.Newest.CompletionTime.Time))
	}
	return notes
}

// upgraded tells how far an upgrade is.
func (s *scene) upgraded(ctx context.Context, wanted string, generation int64) (string, bool, error) {
	if err := s.refresh(ctx); err != nil {
		return "", false, err
	}
	if s.cluster.Generation != generation && s.cluster.Spec.EtcdVersion() != wanted {
		return "", false, fmt.Errorf("spec.version was changed to %s by another client", s.cluster.Spec.Version)
	}
	if s.cluster.Status.ObservedGeneration < generation {
		return "", false, nil
	}
	if c := meta.FindStatusCondition(s.cluster.Status.Conditions, v1beta2.ConditionUpgrading); c != nil && c.Reason == v1beta2.ClusterReasonVersionRefused {
		return "", false, errors.New(c.Message)
	}
	done := s.cluster.Status.CurrentVersion == wanted && s.cluster.Status.TargetVersion == ""
	return s.condition(v1beta2.ConditionUpgrading), done, nil
}
