package etcdclient

import (
	"context"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Hash is what a member's data comes to. Two members have the same data if their Hash has
// the same Value; what differs in HashRevision or CompactRevision cannot be compared.
type Hash struct {
	ClusterID, MemberID uint64
	// Revision is the member's newest.
	Revision int64
	// HashRevision is the revision up to which Value counts; 0 if the member does not tell
	// it, as before 3.6. CompactRevision is the one to which the member has compacted its
	// data.
	HashRevision, CompactRevision int64
	Value                         uint32
}

// HashKV has a member hash its data up to a revision, or all of it if that is 0. The member
// reads its whole database (about a second for a GiB that is in memory), and applies no
// writes meanwhile. It goes on if ctx ends before.
func (c Client) HashKV(ctx context.Context, e Endpoint, revision int64) (Hash, error) {
	var h Hash
	err := c.change(ctx, []Endpoint{e}, func(cli *clientv3.Client) error {
		got, err := pb.NewMaintenanceClient(cli.ActiveConnection()).HashKV(ctx, &pb.HashKVRequest{Revision: revision})
		if err != nil {
			return err
		}
		h = Hash{
			ClusterID: got.GetHeader().GetClusterId(), MemberID: got.GetHeader().GetMemberId(), Revision: got.GetHeader().GetRevision(),
			HashRevision: got.GetHashRevision(), CompactRevision: got.GetCompactRevision(), Value: got.GetHash(),
		}
		return nil
	})
	if err != nil {
		return Hash{}, fmt.Errorf("hash the data: %w", err)
	}
	return h, nil
}
