package etcdclient

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-operators/etcd-operators/shared/launcher"
)

const (
	// stragglerGrace is how much longer than the majority a member may take. One that
	// is alive answers in milliseconds, or within some hundred on a busy machine.
	stragglerGrace = 500 * time.Millisecond
	// doubtfulGrace is the same for members that are not expected to answer, once all
	// others have. An etcd that starts or ends accepts connections and says nothing.
	doubtfulGrace = 50 * time.Millisecond
)

// readKey is a key that nobody has. Reading it, and only the count of it, shows
// that the member can serve linearizable reads without touching a user's data.
const readKey = "\x00etcd-operator/no-such-key"

// Answer is what one member said of itself, at one moment.
type Answer struct {
	// Reached: the member answered for its own status. Everything below is set
	// only then, except Err, Trouble, Read and Launcher.
	Reached bool
	// Err says why it was not reached.
	Err string
	// Trouble says so in words for people that stay the same as long as the cause does.
	Trouble string

	ClusterID uint64
	MemberID  uint64
	// Leader is the id of the member that it takes for the leader, 0 for none.
	Leader uint64
	Term   uint64
	// RaftIndex is the index of the last entry that it knows to be committed.
	RaftIndex uint64
	// AppliedIndex is the index of the last entry that it has applied.
	AppliedIndex uint64
	Learner      bool
	// Version is that of its etcd, without a "v".
	Version string
	// ClusterVersion is etcd's cluster version as this member has it, such as "3.6.0":
	// the minor that all members have been seen to run. Empty if it is not decided yet,
	// or could not be had.
	ClusterVersion string
	// StorageVersion is that of its data, such as "3.6.0": the oldest minor that can start
	// on it. Empty if it is not told, as by etcd before 3.6.
	StorageVersion string
	// Downgrade is the version that the cluster is being downgraded to, such as "3.5.0";
	// empty if it is not.
	Downgrade string
	// DBSize is what its database takes on disk, in bytes.
	DBSize int64
	// DBSizeInUse is what of it is in use; the rest is free, and given back to the disk by
	// a defragmentation.
	DBSizeInUse int64
	// Quota is the size that its database may grow to, in bytes; 0 if the member does not
	// tell it, as before 3.6.
	Quota int64
	// Revision is that of its key space.
	Revision int64
	// Errors are what it complains of, such as no leader.
	Errors []string
	// Alarms are all that are raised, of whatever member, as this one knows them. Sorted
	// by member.
	Alarms []Alarm

	// Members is the member list by a linearizable read: the cluster's, not only
	// this member's. Empty if that failed, as it does without quorum and on a
	// learner. (etcd before 3.5 gives its own list.) Sorted by id.
	Members []Member
	// LocalMembers is the list as this member has it, perhaps outdated. It is
	// there also without quorum, to tell how many members there were; it is not
	// fit to decide a change by. Empty on a learner.
	LocalMembers []Member
	// Read: a linearizable read succeeded, so a quorum answered this member.
	Read bool
	// Refused says that etcd's authentication keeps the member from answering, or from
	// doing what the operator may ask of it, and why; empty if it does not. Without
	// credentials Read is all that can be had of it (from older patches, its status too).
	Refused Refusal
	// RefusedBecause says in words what is wrong with the credentials.
	RefusedBecause string

	// NeedsLogin: it was not reached because it wants a token that it takes, and without a
	// quorum etcd gives none.
	NeedsLogin bool

	// Launcher is set when etcd does not listen and a launcher answers in its place: the
	// member has no data, or data that etcd is not started on. Whose launcher it is, is the
	// caller's to compare.
	Launcher *launcher.State
}

// Member is an entry of etcd's member list.
type Member struct {
	ID uint64
	// Name is empty until the member has started.
	Name     string
	PeerURLs []string
	Learner  bool
	// Started: it has published its name or client URLs once.
	Started bool
}

// Ask asks all members side by side and returns when each has answered, when the
// deadline has passed, or [stragglerGrace] after a majority of them has answered: a
// member on a dead node, which swallows every packet, is not to slow down what the
// others need. Doubtful ones get [doubtfulGrace], once all others have
// answered. The result has one entry per endpoint, by name.
func (c Client) Ask(ctx context.Context, endpoints []Endpoint) map[string]Answer {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.Deadline, DefaultDeadline))
	defer cancel()

	used := SessionOf(ctx).current()
	answers := make([]Answer, len(endpoints))
	var wg, expected sync.WaitGroup
	var answered atomic.Int64
	for i, e := range endpoints {
		if !e.Doubtful {
			expected.Add(1)
		}
		wg.Go(func() {
			answers[i] = c.ask(ctx, e)
			if spoke := answers[i].Reached || answers[i].Launcher != nil; spoke && int(answered.Add(1)) == len(endpoints)/2+1 {
				cancelIn(ctx, stragglerGrace, cancel)
			}
			if !e.Doubtful {
				expected.Done()
			}
		})
	}
	expected.Wait()
	if answered.Load() > 0 {
		cancelIn(ctx, doubtfulGrace, cancel)
	}
	wg.Wait()

	if !slices.ContainsFunc(answers, func(a Answer) bool { return a.Reached }) {
		SessionOf(ctx).discard(used)
	}
	byName := make(map[string]Answer, len(endpoints))
	for i, e := range endpoints {
		byName[e.Name] = answers[i]
	}
	return byName
}

// cancelIn cancels ctx after a while, and leaves nothing behind if it ends earlier.
func cancelIn(ctx context.Context, after time.Duration, cancel func()) {
	stop := time.AfterFunc(after, cancel)
	context.AfterFunc(ctx, func() { stop.Stop() })
}

func (c Client) ask(ctx context.Context, e Endpoint) Answer {
	var d dialer
	a := c.askEtcd(ctx, e, &d)
	if !a.Reached && d.refused() {
		a.Launcher = askLauncher(ctx, e)
	}
	if a.Launcher != nil {
		a.Trouble = "" // it is not etcd's turn yet
	}
	return a
}

func (c Client) askEtcd(ctx context.Context, e Endpoint, d *dialer) Answer {
	conn, err := c.connect(ctx, e, d)
	if err != nil {
		return Answer{Err: err.Error(), Trouble: dialTrouble(err)}
	}
	defer conn.Close()

	return SessionOf(ctx).Ask(ctx, conn.ActiveConnection(), func(token string) (Answer, error) { return c.questions(ctx, e, conn, d, token) })
}

// refused is an answer that etcd's authentication cut short, if that is why.
func (a Answer) refused(err error) Answer {
	var why *RefusedError
	if errors.As(err, &why) {
		a.Refused, a.RefusedBecause, a.Trouble, a.NeedsLogin = why.Refusal, why.Err.Error(), "", false
	}
	return a
}

// questions asks a member all that there is to ask. Denied is how etcd's authentication
// refused one of the questions for want of a token that it takes; nil if it refused none.
// Used is the token that they show.
func (c Client) questions(ctx context.Context, e Endpoint, conn *clientv3.Client, d *dialer, used string) (a Answer, denied error) {
	// Side by side on one connection: without quorum, two of them take the whole
	// of the deadline to fail.
	var (
		wg                          sync.WaitGroup
		status                      *pb.StatusResponse
		statusErr, listErr, readErr error
		members, local              []Member
		clusterVersion              string
		downgrade                   string
	)
	wg.Go(func() {
		// Not clientv3's Status, which dials a connection of its own.
		status, statusErr = pb.NewMaintenanceClient(conn.ActiveConnection()).Status(ctx, &pb.StatusRequest{})
		if statusErr == nil {
			downgrade = downgradeTarget(ctx, conn, status)
		}
	})
	wg.Go(func() { members, listErr = memberList(ctx, conn) })
	wg.Go(func() { local, _ = memberList(ctx, conn, clientv3.WithSerializable()) })
	wg.Go(func() { _, readErr = conn.Get(ctx, readKey, clientv3.WithCountOnly()) })
	wg.Go(func() { clusterVersion = c.clusterVersion(ctx, e) })
	wg.Wait()

	for _, err := range []error{statusErr, listErr, readErr} {
		if denied == nil && (wantsToken(err) || powerlessName(used, err)) {
			denied = rpctypes.Error(err)
		}
	}
	read := canRead(readErr)
	learner := rpctypes.ErrorDesc(readErr) == rpctypes.ErrorDesc(rpctypes.ErrGRPCNotSupportedForLearner)
	if wantsToken(statusErr) && learner {
		// It has the token of the others, or none; it can't give one itself.
		SessionOf(ctx).discard(used)
	}
	if statusErr != nil {
		return Answer{
			Err: rpctypes.Error(statusErr).Error(), Trouble: d.trouble(statusErr), Read: read,
			NeedsLogin: wantsToken(statusErr) && !read && !learner,
		}, denied
	}
	alarms, complaints := parseAlarms(status.GetErrors())
	return Answer{
		Reached:        true,
		ClusterID:      status.GetHeader().GetClusterId(),
		MemberID:       status.GetHeader().GetMemberId(),
		Leader:         status.GetLeader(),
		Term:           status.GetRaftTerm(),
		RaftIndex:      status.GetRaftIndex(),
		AppliedIndex:   status.GetRaftAppliedIndex(),
		Learner:        status.GetIsLearner(),
		Version:        status.GetVersion(),
		ClusterVersion: clusterVersion,
		StorageVersion: status.GetStorageVersion(),
		Downgrade:      downgrade,
		DBSize:         status.GetDbSize(),
		DBSizeInUse:    status.GetDbSizeInUse(),
		Quota:          status.GetDbSizeQuota(),
		Revision:       status.GetHeader().GetRevision(),
		Errors:         complaints,
		Alarms:         alarms,
		Members:        members,
		LocalMembers:   local,
		Read:           read,
	}, denied
}

// memberList is nil when the list cannot be had.
func memberList(ctx context.Context, conn *clientv3.Client, opts ...clientv3.OpOption) ([]Member, error) {
	resp, err := conn.MemberList(ctx, opts...)
	if err != nil {
		return nil, err
	}
	members := make([]Member, len(resp.Members))
	for i, m := range resp.Members {
		members[i] = Member{
			ID:       m.ID,
			Name:     m.Name,
			PeerURLs: m.PeerURLs,
			Learner:  m.IsLearner,
			Started:  m.Name != "" || len(m.ClientURLs) > 0,
		}
	}
	slices.SortFunc(members, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
	return members, nil
}

// canRead tells by how a linearizable read ended whether the member serves them. A
// refusal for lack of rights counts: etcd (3.4 to 3.7, EtcdServer.Range) asks the quorum
// for the read index before it looks at tokens and permissions.
func canRead(err error) bool {
	return err == nil || wantsToken(err) || errors.Is(rpctypes.Error(err), rpctypes.ErrPermissionDenied)
}

// askLauncher returns nil when no launcher answers.
func askLauncher(ctx context.Context, e Endpoint) *launcher.State {
	c, done := oneAnswer(nil)
	defer done()
	state, err := launcher.Ask(ctx, c, e.metricsAddr())
	if err != nil {
		return nil
	}
	return &state
}
