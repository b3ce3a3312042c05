package etcdclient

import (
	"context"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// writeTTL is how long a lease lives, in seconds, that TryWrite could not revoke.
const writeTTL = 60

// TryWrite returns nil once a quorum has acknowledged a write, asked for at one member: a
// lease is granted and revoked, which goes through raft as every write does, and changes no
// key and no revision. etcd refuses it as it refuses other writes, for the alarms NOSPACE
// and CORRUPT, and where its database has reached the quota.
func (c Client) TryWrite(ctx context.Context, e Endpoint) error {
	err := c.change(ctx, []Endpoint{e}, func(cli *clientv3.Client) error {
		leases := pb.NewLeaseClient(cli.ActiveConnection())
		granted, err := leases.LeaseGrant(ctx, &pb.LeaseGrantRequest{TTL: writeTTL})
		if err != nil {
			return err
		}
		_, err = leases.LeaseRevoke(ctx, &pb.LeaseRevokeRequest{ID: granted.ID})
		return err
	})
	if err != nil {
		return fmt.Errorf("grant and revoke a lease: %w", err)
	}
	return nil
}
