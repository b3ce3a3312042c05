package etcdclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// AlarmKind is what an alarm is about.
type AlarmKind string

const (
	// NoSpace: a member's database has grown to its quota. etcd refuses every write
	// that takes space, on all members, until the alarm is disarmed.
	NoSpace AlarmKind = "NOSPACE"
	// Corrupt: a member's data differs from that of the others. etcd refuses every
	// write of keys, on all members, until the alarm is disarmed, and its members are
	// not ready (/readyz).
	Corrupt AlarmKind = "CORRUPT"
)

// Alarm is an alarm that is raised. All members know of all alarms.
type Alarm struct {
	// MemberID names the member that the alarm is about. It is 0 for a CORRUPT of which
	// etcd could not tell who it is (compact hash check without a majority).
	MemberID uint64
	Kind     AlarmKind
}

// alarmText is an alarm in the errors of etcd's status: AlarmMember in the text format of
// protocol buffers, which puts one blank or two between fields, and leaves out what is
// zero. (Maintenance.Alarm could be asked in place of that, and each question is a
// proposal to raft: an entry in every member's log.)
var alarmText = regexp.MustCompile(`^(?:memberID:\s*(\d+)\s+)?alarm:\s*(\w+)\s*$`)

// parseAlarms takes the alarms out of what a member complains of. What it can't read
// stays among the complaints.
func parseAlarms(all []string) (alarms []Alarm, rest []string) {
	for _, e := range all {
		found := alarmText.FindStringSubmatch(e)
		if found == nil {
			rest = append(rest, e)
			continue
		}
		a := Alarm{Kind: AlarmKind(found[2])}
		var err error
		if found[1] != "" {
			a.MemberID, err = strconv.ParseUint(found[1], 10, 64)
		}
		if known := a.Kind == NoSpace || a.Kind == Corrupt; err != nil || !known {
			rest = append(rest, e)
			continue
		}
		alarms = append(alarms, a)
	}
	slices.SortFunc(alarms, func(a, b Alarm) int {
		return cmp.Or(cmp.Compare(a.MemberID, b.MemberID), cmp.Compare(a.Kind, b.Kind))
	})
	return alarms, rest
}

// Disarm takes an alarm back. What caused it is to be gone: else etcd raises it again, or,
// if it was CORRUPT, serves what is not true.
func (c Client) Disarm(ctx context.Context, endpoints []Endpoint, a Alarm) error {
	kinds := map[AlarmKind]pb.AlarmType{NoSpace: pb.AlarmType_NOSPACE, Corrupt: pb.AlarmType_CORRUPT}
	err := c.change(ctx, endpoints, func(cli *clientv3.Client) error {
		// Not clientv3's AlarmDisarm, which takes all zeros for all alarms.
		_, err := pb.NewMaintenanceClient(cli.ActiveConnection()).Alarm(ctx, &pb.AlarmRequest{
			Action: pb.AlarmRequest_DEACTIVATE, MemberID: a.MemberID, Alarm: kinds[a.Kind],
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("disarm %s of member %x: %w", a.Kind, a.MemberID, err)
	}
	return nil
}

// Compact drops all that was before a revision, on every member, and returns when the
// member that was asked has done so in its database: the space is free then, in the file.
// One that was compacted before is no error.
func (c Client) Compact(ctx context.Context, endpoints []Endpoint, revision int64) error {
	err := c.change(ctx, endpoints, func(cli *clientv3.Client) error {
		_, err := cli.Compact(ctx, revision, clientv3.WithCompactPhysical())
		if errors.Is(err, rpctypes.ErrCompacted) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("compact to revision %d: %w", revision, err)
	}
	return nil
}

// Defragment makes one member write its database anew, without the free space in it. The
// member serves nothing meanwhile (a second for some 100 MB, more on a slow disk). It goes
// on if ctx ends before; the error is [ErrOutcomeUnknown] then.
func (c Client) Defragment(ctx context.Context, e Endpoint) error {
	err := c.change(ctx, []Endpoint{e}, func(cli *clientv3.Client) error {
		_, err := pb.NewMaintenanceClient(cli.ActiveConnection()).Defragment(ctx, &pb.DefragmentRequest{})
		return err
	})
	if err != nil {
		return fmt.Errorf("defragment: %w", err)
	}
	return nil
}
