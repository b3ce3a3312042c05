package cluster

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/host"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/network"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/topology"
)

var errNotUp = errors.New("no cluster is running: start one with `localkube up`")

// Down takes the cluster away and leaves the machine as it was, but for the logs. Nothing on it is asked to end in
// good order, since nothing of it stays.
func (c Cluster) Down(ctx context.Context) error {
	return c.locked(ctx, "down", DownTimeout, c.down)
}

func (c Cluster) down(ctx context.Context) error {
	before, err := host.Recall(c.Layout.Before())
	if err != nil {
		return err
	}
	if before == nil {
		if _, err := os.Stat(c.Layout.Run); errors.Is(err, fs.ErrNotExist) {
			c.Log.Printf("no cluster is running")
			return nil
		}
		before = &host.Before{} // of an up that ended before its first change
	}
	if err := c.killAll(ctx); err != nil {
		return err
	}
	c.Log.Printf("stopped all processes")
	if err := host.Unmount(ctx, c.Layout.State, c.Layout.Run); err != nil {
		return err
	}
	if err := network.Remove(ctx, before.Tables); err != nil {
		return err
	}
	if err := c.removeFiles(); err != nil {
		return err
	}
	if err := before.Restore(); err != nil {
		return err
	}
	if err := remove(c.Layout.Before()); err != nil { // last: until here, another down has all that it needs
		return err
	}
	c.Log.Printf("down: logs are kept in %s", c.Layout.Log())
	return nil
}

// killAll ends every process of the cluster and removes their cgroups.
func (c Cluster) killAll(ctx context.Context) error {
	names, err := c.daemons().Names()
	if err != nil {
		return err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for _, name := range names {
		group.Go(func() error { return c.daemons().Kill(groupCtx, name) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := killStrays(ctx, c.Layout.State, c.Layout.Run); err != nil {
		return err
	}
	for _, n := range topology.All() {
		cgroup, err := host.OpenCgroup(n.Cgroup())
		if err != nil {
			return err
		}
		if err := errors.Join(cgroup.Kill(ctx), cgroup.Remove(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// removeFiles removes the cluster's files but for its logs and what is needed to put the machine back.
func (c Cluster) removeFiles() error {
	var errs []error
	entries, err := os.ReadDir(c.Layout.State)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(c.Layout.State, entry.Name())
		if path != c.Layout.Log() && path != c.Layout.Before() {
			errs = append(errs, os.RemoveAll(path))
		}
	}
	errs = append(errs, os.RemoveAll(c.Layout.Run), c.removeForeign())
	return errors.Join(errs...)
}

// removeForeign removes our files in folders that others may use too: CNI's cache and kubelet's links to pods' logs.
func (c Cluster) removeForeign() error {
	var errs []error
	cached, err := filepath.Glob("/var/lib/cni/results/" + topology.CNINetwork + "-*")
	errs = append(errs, err)
	for _, path := range cached {
		errs = append(errs, os.Remove(path))
	}
	links, err := filepath.Glob("/var/log/containers/*.log")
	errs = append(errs, err)
	for _, path := range links {
		if target, err := os.Readlink(path); err == nil && strings.HasPrefix(target, c.Layout.State+"/") {
			errs = append(errs, os.Remove(path))
		}
	}
	return errors.Join(errs...)
}
