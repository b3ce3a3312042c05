package etcdclient

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What a change of membership may fail with. Each of these but ErrOutcomeUnknown
// means that nothing has changed.
var (
	// ErrUnhealthy: etcd has not been connected to enough members for five
	// seconds, as is so after every change and every restart. Wait.
	ErrUnhealthy = errors.New("etcd calls the cluster unhealthy: it has not been connected to a quorum for 5 s")
	// ErrNotEnoughStarted: the change would leave fewer started members than a
	// quorum.
	ErrNotEnoughStarted = errors.New("too few started members for this change")
	// ErrTooManyLearners: the cluster has as many learners as its members allow.
	ErrTooManyLearners = errors.New("too many learners")
	// ErrLearnerNotReady: the learner has not caught up with the leader. Wait.
	ErrLearnerNotReady = errors.New("the learner is not in sync with the leader")
	// ErrNotLearner: the member to promote is a voter already.
	ErrNotLearner = errors.New("not a learner")
	// ErrNotFound: no member has this id.
	ErrNotFound = errors.New("no such member")
	// ErrAlreadyExists: a member has this peer URL.
	ErrAlreadyExists = errors.New("a member with this peer URL exists")
	// ErrNotLeader: only the leader can do this, and the member asked is not it.
	ErrNotLeader = errors.New("not the leader")
	// ErrBadTransferee: leadership cannot go to this member: it is unknown, a
	// learner, or not connected.
	ErrBadTransferee = errors.New("leadership cannot be moved to this member")
	// ErrNoLeader: the cluster has no leader now. Wait.
	ErrNoLeader = errors.New("no leader")
	// ErrDowngradeRefused: etcd does not lower its cluster version to that version now:
	// it is not one minor lower, or another downgrade is under way.
	ErrDowngradeRefused = errors.New("etcd refuses this downgrade")
	// ErrNoDowngrade: no downgrade is under way.
	ErrNoDowngrade = errors.New("no downgrade is under way")
	// ErrUnauthorized: the cluster has authentication enabled and these
	// credentials do not suffice.
	ErrUnauthorized = errors.New("not authorized")
	// ErrUnreachable: no member could be connected to.
	ErrUnreachable = errors.New("no member could be reached")
	// ErrOutcomeUnknown: the request was sent, and no answer came back. The
	// change may have happened, or may still.
	ErrOutcomeUnknown = errors.New("no answer: the change may have happened")
)

// sentinels translates etcd's refusals. Several of etcd's may mean one of ours.
var sentinels = []struct{ etcd, ours error }{
	{rpctypes.ErrUnhealthy, ErrUnhealthy},
	{rpctypes.ErrMemberNotEnoughStarted, ErrNotEnoughStarted},
	{rpctypes.ErrTooManyLearners, ErrTooManyLearners},
	{rpctypes.ErrMemberLearnerNotReady, ErrLearnerNotReady},
	{rpctypes.ErrMemberNotLearner, ErrNotLearner},
	{rpctypes.ErrMemberNotFound, ErrNotFound},
	{rpctypes.ErrPeerURLExist, ErrAlreadyExists},
	{rpctypes.ErrMemberExist, ErrAlreadyExists},
	{rpctypes.ErrNotLeader, ErrNotLeader},
	{rpctypes.ErrBadLeaderTransferee, ErrBadTransferee},
	{rpctypes.ErrNoLeader, ErrNoLeader},
	{rpctypes.ErrInvalidDowngradeTargetVersion, ErrDowngradeRefused},
	{rpctypes.ErrDowngradeInProcess, ErrDowngradeRefused},
	{rpctypes.ErrNoInflightDowngrade, ErrNoDowngrade},
	{rpctypes.ErrPermissionDenied, ErrUnauthorized},
	{rpctypes.ErrUserEmpty, ErrUnauthorized},
	{rpctypes.ErrUserNotFound, ErrUnauthorized},
	{rpctypes.ErrAuthFailed, ErrUnauthorized},
	{rpctypes.ErrInvalidAuthToken, ErrUnauthorized},
	{rpctypes.ErrAuthOldRevision, ErrUnauthorized},
}

// AddLearner adds a member without a vote that will be reached at peerURL, and
// returns its id. Endpoints are tried in order until one can be connected to;
// put the leader first.
func (c Client) AddLearner(ctx context.Context, endpoints []Endpoint, peerURL string) (id uint64, err error) {
	err = c.change(ctx, endpoints, func(cli *clientv3.Client) error {
		resp, err := cli.MemberAddAsLearner(ctx, []string{peerURL})
		if err != nil {
			return err
		}
		id = resp.Member.ID
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("add a learner at %s: %w", peerURL, err)
	}
	return id, nil
}

// Promote gives the learner a vote. A follower that is asked passes the request
// on to the leader, but repeats it there until its own timeout when the leader
// refuses with ErrNotEnoughStarted; so put the leader first.
func (c Client) Promote(ctx context.Context, endpoints []Endpoint, id uint64) error {
	err := c.change(ctx, endpoints, func(cli *clientv3.Client) error {
		_, err := cli.MemberPromote(ctx, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("promote member %x: %w", id, err)
	}
	return nil
}

// Remove takes a member out of the cluster, for good: its id and its data are
// of no use afterwards.
func (c Client) Remove(ctx context.Context, endpoints []Endpoint, id uint64) error {
	err := c.change(ctx, endpoints, func(cli *clientv3.Client) error {
		_, err := cli.MemberRemove(ctx, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("remove member %x: %w", id, err)
	}
	return nil
}

// MoveLeader asks the leader to hand leadership to the voter with the id target,
// and returns when that leads.
func (c Client) MoveLeader(ctx context.Context, leader Endpoint, target uint64) error {
	err := c.change(ctx, []Endpoint{leader}, func(cli *clientv3.Client) error {
		_, err := cli.MoveLeader(ctx, target)
		return err
	})
	if err != nil {
		return fmt.Errorf("move leadership to member %x: %w", target, err)
	}
	return nil
}

// change sends one request to the first endpoint that can be connected to.
func (c Client) change(ctx context.Context, endpoints []Endpoint, do func(*clientv3.Client) error) error {
	unreachable := ErrUnreachable
	for _, e := range endpoints {
		var d dialer
		err := c.changeBy(ctx, e, &d, do)
		if err == nil {
			return nil
		}
		if !d.neverConnected() {
			return fmt.Errorf("member %s: %w", e.Name, translate(err))
		}
		unreachable = fmt.Errorf("%w: member %s: %w", unreachable, e.Name, err)
	}
	return unreachable
}

func (c Client) changeBy(ctx context.Context, e Endpoint, d *dialer, do func(*clientv3.Client) error) error {
	conn, err := c.connect(ctx, e, d)
	if err != nil {
		return err
	}
	defer conn.Close()
	return SessionOf(ctx).Try(ctx, conn.ActiveConnection(), func() error { return do(conn) })
}

// translate adds our sentinel to etcd's error, which stays in the chain.
func translate(err error) error {
	if errors.Is(err, ErrUnauthorized) {
		return err
	}
	err = etcdError(err)
	for _, s := range sentinels {
		if errors.Is(err, s.etcd) {
			return fmt.Errorf("%w (%w)", s.ours, err)
		}
	}
	if outcomeUnknown(err) {
		return fmt.Errorf("%w (%w)", ErrOutcomeUnknown, err)
	}
	return err
}

// outcomeUnknown tells whether err leaves open what became of the request: time
// ran out, here or in etcd, or the connection broke.
func outcomeUnknown(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return true
	}
	var e rpctypes.EtcdError
	if errors.As(err, &e) {
		return isOpen(e.Code())
	}
	return isOpen(status.Code(err))
}

func isOpen(c codes.Code) bool {
	switch c {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Unknown, codes.Internal:
		return true
	default:
		return false
	}
}
