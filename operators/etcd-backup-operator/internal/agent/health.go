package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-semver/semver"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
	"github.com/etcd-operators/etcd-operators/shared/snapshotname"
)

// readKey is a key that nobody has: reading it shows that a quorum answers, and touches no
// user's data.
const readKey = "\x00etcd-backup-agent/no-such-key"

// health is what decides whether a member is fit to be the source.
type health struct {
	// quorum: a linearizable read succeeded, so a quorum answered the member, and it has
	// applied all that was committed by then.
	quorum bool
	// leaderless: it knows of no leader.
	leaderless bool
	// alarms are all that it knows of, of whatever member.
	alarms []etcdclient.Alarm
	// complaints are what else it reports, but that it has no leader.
	complaints []string
	// corrupt: a CORRUPT alarm names it, of whoever answered.
	corrupt bool
}

// standing orders members by how fit they are, the best first.
type standing int

const (
	// standingGood: healthy, with a leader, and a quorum has answered it.
	standingGood standing = iota
	// standingNoQuorum: nothing is known against it, but it might lack the latest writes.
	standingNoQuorum
	// standingUnhealthy: it reports errors, or a CORRUPT alarm names it.
	standingUnhealthy
)

func (h *health) standing() standing {
	switch {
	case h.corrupt || len(h.complaints) > 0:
		return standingUnhealthy
	case h.leaderless || !h.quorum:
		return standingNoQuorum
	}
	return standingGood
}

// mark is the part of a snapshot's name about its source; empty for a healthy one with a quorum.
func (h *health) mark() string {
	switch h.standing() {
	case standingUnhealthy:
		return snapshotname.MarkUnhealthy
	case standingNoQuorum:
		return snapshotname.MarkNoQuorum
	default:
		return ""
	}
}

// unhealthyReason is why a member is not healthy; empty if it is.
func (h *health) unhealthyReason() string {
	var words []string
	if h.corrupt {
		words = append(words, "a CORRUPT alarm says that its data differs from that of other members")
	}
	if len(h.complaints) > 0 {
		words = append(words, "it reports errors: "+strings.Join(h.complaints, "; "))
	}
	return strings.Join(words, ", and ")
}

// problem describes to a person what is wrong with a source; empty if nothing is.
func (m *member) problem() string {
	who := fmt.Sprintf("member %016x at %s", m.id, m.endpoint)
	switch m.standing() {
	case standingUnhealthy:
		return fmt.Sprintf("%s, the best available source, is unhealthy: %s", who, m.unhealthyReason())
	case standingNoQuorum:
		return fmt.Sprintf("no quorum confirmed that %s, the best available source, is up to date: it might lack the latest writes", who)
	default:
		return ""
	}
}

// examine reads a member's own health from its status. That a member's
// database is full (NOSPACE) does not matter: it can be read.
func examine(status *pb.StatusResponse) health {
	h := health{leaderless: status.GetLeader() == 0}
	var complaints []string
	h.alarms, complaints = etcdclient.ParseErrors(status.GetErrors())
	h.complaints = slices.DeleteFunc(complaints, func(c string) bool { return c == errNoLeader })
	return h
}

// errNoLeader stands in the status of a member without a leader (ErrNoLeader in etcd's package
// etcdserver, 3.4 to 3.7).
const errNoLeader = "etcdserver: no leader"

// markCorrupt marks the members that a CORRUPT alarm names, whichever member reported it: one that is
// cut off does not know of alarms that were raised since.
func markCorrupt(answers []answer) []answer {
	corrupt := map[uint64]bool{}
	for _, a := range answers {
		for _, alarm := range a.alarms {
			if alarm.Kind == etcdclient.Corrupt {
				corrupt[alarm.MemberID] = true
			}
		}
	}
	all := slices.Clone(answers)
	for i := range all {
		// An alarm of 0 is one whose member etcd does not know.
		all[i].corrupt = corrupt[all[i].id] || corrupt[0]
	}
	return all
}

// reading is how a linearizable read has ended.
type reading struct {
	quorum   bool
	revision int64
}

// readIndex asks a member for a key that nobody has. Without a quorum it takes until ctx ends.
func readIndex(ctx context.Context, conn grpc.ClientConnInterface) reading {
	got, err := pb.NewKVClient(conn).Range(ctx, &pb.RangeRequest{Key: []byte(readKey), Limit: 1, KeysOnly: true})
	return reading{quorum: etcdclient.ProvesQuorum(err), revision: got.GetHeader().GetRevision()}
}

// quorumTimeout is how long to wait for a quorum: elections and restarts pass. It is a
// small part of the time that the backup may take.
func (j *job) quorumTimeout() time.Duration {
	if j.task.Timeout > 0 {
		return min(j.limits.quorum, j.task.Timeout/4)
	}
	return j.limits.quorum
}

// notes are what a person should know of a source, beside its health.
func notes(m *member) []task.Note {
	var all []task.Note
	if m.revision <= 1 {
		all = append(all, task.Note{Reason: v1beta2.ReasonSourceEmpty, Message: "snapshot is empty: nothing was ever written to this etcd; check that spec.clusterRef or spec.etcdEndpoints name the right cluster"})
	}
	if minor := minorOf(m.version); minor != "" && !slices.Contains(etcdversion.Minors(), minor) {
		all = append(all, task.Note{Reason: v1beta2.ReasonSourceTooOld, Message: fmt.Sprintf(
			"source runs etcd %s, and an EtcdRestore supports only %s: upgrade the cluster and back it up again, or restore this snapshot by hand with the etcdutl of that version", m.version, strings.Join(etcdversion.Minors(), ", "))})
	}
	return all
}

// minorOf is the minor version, such as 3.6; empty if it is unknown.
func minorOf(version string) string {
	v, err := semver.NewVersion(version)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d.%d", v.Major, v.Minor)
}
