package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/etcd-operators/etcd-operators/plugin/internal/screen"
	"github.com/etcd-operators/etcd-operators/plugin/internal/tunnel"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

// defragmentTimeout bounds the defragmentation of one member: a second for each 100 MB, and
// more on a slow disk.
const defragmentTimeout = 10 * time.Minute

func (a *App) moveLeader() *cobra.Command {
	cmd := a.of("move-leader CLUSTER [MEMBER]", "Transfer the leadership to another member",
		`Transfer the leadership to another member, by default to the follower that is the most up to date.
A write that arrives in that moment can fail, and can be tried again.`,
		examples("move-leader example", "move-leader example example-bbbbbbbbbb"), func(cmd *cobra.Command, args []string) error {
			open, err := a.reach(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer open.Close()
			if err := open.settled(); err != nil {
				return err
			}
			from, err := open.leader()
			if err != nil {
				return err
			}
			to, err := open.follower()
			if len(args) > 1 {
				to, err = open.Named(args[1])
			}
			if err != nil {
				return err
			}
			return a.transfer(open, from, to)
		}, cobra.RangeArgs(1, 2))
	cmd.ValidArgsFunction = a.memberNames
	return cmd
}

// transfer moves the leadership from one member to another.
func (a *App) transfer(o *opened, from, to *tunnel.Member) error {
	answer := o.answers[to.Name]
	switch {
	case from.Name == to.Name && len(o.Members) == 1:
		return fmt.Errorf("member %s is the only one, and leads", to.Name)
	case from.Name == to.Name:
		return fmt.Errorf("member %s leads already", to.Name)
	case !answer.Reached || answer.Learner:
		return fmt.Errorf("member %s cannot lead: it does not answer, or has no vote", to.Name)
	}
	ctx, cancel := context.WithTimeout(o.ctx, requestTimeout)
	defer cancel()
	if err := (etcdclient.Client{}).MoveLeader(ctx, from.Endpoint(), answer.MemberID); err != nil {
		return fmt.Errorf("transfer the leadership from %s to %s: %w", from.Name, to.Name, err)
	}
	fmt.Fprintf(a.Out, "Member %s leads. It was %s.\n", to.Name, from.Name)
	return nil
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
	var c confirmation
	cmd := a.of("defrag CLUSTER [MEMBER...]", "Defragment the members' databases, one at a time",
		`Defragment the members' databases, one at a time: followers first, the leader last, after its
leadership is transferred. A member does not serve meanwhile: about a second for each 100 MB. The
operator sends new clients elsewhere first, which this command cannot: for that set
spec.maintenance.defragmentSchedule.`,
		examples("defrag example", "defrag example example-bbbbbbbbbb"), func(cmd *cobra.Command, args []string) error {
			open, err := a.reach(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer open.Close()
			names, err := open.defragmentOrder(args[1:])
			if err != nil {
				return err
			}
			if err := a.confirm(c, "This defragments %s of %s, one at a time. Clients of a member wait meanwhile.", strings.Join(names, ", "), open.title()); err != nil {
				return err
			}
			for _, name := range names {
				if err := a.defragment(open, name); err != nil {
					return err
				}
			}
			return nil
		}, cobra.MinimumNArgs(1))
	cmd.ValidArgsFunction = a.memberNames
	c.addTo(cmd)
	return cmd
}

// defragmentOrder are the members to defragment: those that are named, or all; the leader last.
func (o *opened) defragmentOrder(named []string) ([]string, error) {
	if err := o.healthy(); err != nil {
		return nil, err
	}
	leader, err := o.leader()
	if err != nil {
		return nil, err
	}
	for _, name := range named {
		if _, err := o.Named(name); err != nil {
			return nil, err
		}
	}
	var names []string
	for _, m := range o.Members {
		if m.Name != leader.Name && (len(named) == 0 || slices.Contains(named, m.Name)) {
			names = append(names, m.Name)
		}
	}
	if len(named) == 0 || slices.Contains(named, leader.Name) {
		names = append(names, leader.Name)
	}
	return names, nil
}

// healthy says why no member can be spared; nil if each answers by a quorum, and the operator is
// at rest.
func (o *opened) healthy() error {
	if err := o.settled(); err != nil {
		return err
	}
	if len(o.Members) < len(o.cluster.Status.MemberDetails) {
		return fmt.Errorf("not all members of %s can be reached%s", o.title(), o.troubles())
	}
	for name, a := range o.answers {
		if !a.Reached || !a.Read {
			return fmt.Errorf("member %s of %s does not serve%s", name, o.title(), o.troubles())
		}
	}
	return nil
}

// defragment defragments one member, if all are healthy.
func (a *App) defragment(o *opened, name string) error {
	// A member that was defragmented has to catch up.
	if err := a.await(o.ctx, waiting{wait: true, timeout: reconcileWait}, func(ctx context.Context) (string, bool, error) {
		o.ask()
		err := o.refresh(ctx)
		return "", err == nil && o.healthy() == nil, err
	}); err != nil {
		return cmp.Or(o.healthy(), err)
	}
	m, err := o.Named(name)
	if err != nil {
		return err
	}
	if leader, err := o.leader(); err == nil && leader.Name == name && len(o.Members) > 1 {
		to, err := o.follower()
		if err != nil {
			return err
		}
		if err := a.transfer(o, leader, to); err != nil {
			return err
		}
	}
	before := o.answers[name]
	fmt.Fprintf(a.ErrOut, "defragmenting %s: %s, of which %s are in use\n", name, screen.Bytes(before.DBSize), screen.Bytes(before.DBSizeInUse))
	ctx, cancel := context.WithTimeout(o.ctx, defragmentTimeout)
	defer cancel()
	if err := (etcdclient.Client{}).Defragment(ctx, m.Endpoint()); err != nil {
		return fmt.Errorf("defragment member %s: %w", name, err)
	}
	o.ask()
	fmt.Fprintf(a.Out, "Member %s is defragmented: %s, before %s.\n", name, screen.Bytes(o.answers[name].DBSize), screen.Bytes(before.DBSize))
	return nil
}
