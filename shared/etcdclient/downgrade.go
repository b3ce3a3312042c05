package etcdclient

import (
	"context"
	"errors"
	"fmt"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// EnableDowngrade has etcd lower its cluster version to a minor, such as "3.5.0", so that
// members of that minor may start on the data of the later one. etcd validates first: only
// the minor below its cluster version will do, and ErrDowngradeRefused says otherwise.
// Any member may be asked; put the leader first. It returns when the request is
// committed; the cluster version follows within seconds.
func (c Client) EnableDowngrade(ctx context.Context, endpoints []Endpoint, to string) error {
	err := c.change(ctx, endpoints, func(cli *clientv3.Client) error {
		if _, err := cli.Downgrade(ctx, clientv3.DowngradeValidate, to); err != nil {
			return err
		}
		_, err := cli.Downgrade(ctx, clientv3.DowngradeEnable, to)
		return err
	})
	if err != nil {
		return fmt.Errorf("enable the downgrade to %s: %w", to, err)
	}
	return nil
}

// CancelDowngrade cancels what [Client.EnableDowngrade] has asked for. What members
// run, and the cluster version, stay as they are; etcd raises that again when all members
// run a later one. ErrNoDowngrade says that there was none (etcd from 3.6 on says nothing).
// Etcd 3.5 does it and does not answer: ErrOutcomeUnknown; put later ones first.
func (c Client) CancelDowngrade(ctx context.Context, endpoints []Endpoint) error {
	err := c.change(ctx, endpoints, func(cli *clientv3.Client) error {
		_, err := cli.Downgrade(ctx, clientv3.DowngradeCancel, "")
		return err
	})
	if err != nil {
		return fmt.Errorf("cancel the downgrade: %w", err)
	}
	return nil
}

// downgradeTarget is the version that the cluster is being downgraded to, as a member
// tells; empty if it is not, or if that can't be told. From 3.6 on the status says so.
// Etcd 3.5 says it only to who asks whether another downgrade could be enabled, which
// changes nothing.
func downgradeTarget(ctx context.Context, conn *clientv3.Client, status *pb.StatusResponse) string {
	if d := status.GetDowngradeInfo(); d.GetEnabled() {
		return d.GetTargetVersion()
	}
	if !strings.HasPrefix(status.GetVersion(), "3.5.") {
		return ""
	}
	_, err := pb.NewMaintenanceClient(conn.ActiveConnection()).Downgrade(ctx, &pb.DowngradeRequest{Action: pb.DowngradeRequest_VALIDATE, Version: "3.4.0"})
	if errors.Is(rpctypes.Error(err), rpctypes.ErrDowngradeInProcess) {
		return "3.5.0" // no other has members of 3.5
	}
	return ""
}
