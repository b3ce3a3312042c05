package etcdclient

import (
	"context"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
)

// entriesAtOnce is how many entries are under way at a time: few enough for clients not to
// notice them, and enough to share the syncs of a slow disk.
const entriesAtOnce = 16

// AppendEntries has raft append n entries to its log that change nothing: no key, no
// revision, no alarm. Each is a question for alarms, which etcd (3.4 to 3.7) answers by the
// log. Of those that ctx cuts short some are appended.
func (c Client) AppendEntries(ctx context.Context, endpoints []Endpoint, n int) error {
	err := c.change(ctx, endpoints, func(cli *clientv3.Client) error {
		maintenance := pb.NewMaintenanceClient(cli.ActiveConnection())
		questions, ctx := errgroup.WithContext(ctx)
		questions.SetLimit(entriesAtOnce)
		for range n {
			questions.Go(func() error {
				_, err := maintenance.Alarm(ctx, &pb.AlarmRequest{Action: pb.AlarmRequest_GET})
				return err
			})
		}
		return questions.Wait()
	})
	if err != nil {
		return fmt.Errorf("append %d entries to raft's log: %w", n, err)
	}
	return nil
}
