package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/etcd-operators/etcd-operators/plugin/internal/screen"
	"github.com/etcd-operators/etcd-operators/plugin/internal/tunnel"
	"github.com/etcd-operators/etcd-operators/shared/snapshot"
)

// stallTimeout is how long a snapshot may bring nothing: a member reads its database from a
// slow disk, and port-forwards are buffered on the way.
const stallTimeout = time.Minute

func (a *App) snapshot() *cobra.Command {
	var overwrite bool
	cmd := a.of("snapshot CLUSTER FILE", "Save a snapshot of a cluster to this machine",
		`Save a snapshot of a cluster to a file of this machine, from a follower that a quorum has confirmed
to be up to date, and check its digest. etcdutl and an EtcdRestore take the file. For backups that
are kept, use kubectl etcd backup.`,
		examples("snapshot example example.db"), func(cmd *cobra.Command, args []string) error {
			file := args[1]
			if _, err := os.Stat(file); err == nil && !overwrite {
				return fmt.Errorf("file %s already exists: set --overwrite, or use another file", file)
			}
			open, err := a.reach(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer open.Close()
			m, err := open.follower()
			if err != nil {
				return err
			}
			size, err := a.save(open, m, file)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "Saved %s of member %s to %s, at revision %d or later. Its digest is right.\n", screen.Bytes(size), m.Name, file, open.answers[m.Name].Revision)
			return nil
		}, cobra.ExactArgs(2))
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 1 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return a.clusterNames(cmd, args, "")
	}
	cmd.Flags().BoolVar(&overwrite, "overwrite", false, "replace the file if it exists")
	return cmd
}

// save streams a member's snapshot to a file, which is there only if it is complete.
func (a *App) save(o *opened, m *tunnel.Member, file string) (int64, error) {
	c, err := o.Client(o.ctx, m)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	ctx, giveUp := context.WithCancelCause(o.ctx)
	defer giveUp(nil)
	stalled := time.AfterFunc(stallTimeout, func() { giveUp(fmt.Errorf("no progress for %s", stallTimeout)) })
	defer stalled.Stop()
	failed := func(err error) (int64, error) {
		return 0, fmt.Errorf("snapshot of member %s: %w", m.Name, cmp.Or(context.Cause(ctx), err))
	}
	stream, err := c.Maintenance.Snapshot(ctx)
	if err != nil {
		return failed(err)
	}
	defer stream.Close()
	part, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".part-*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(part.Name()) // it has another name by then if all went well
	defer part.Close()
	p := progress{a: a}
	total := o.answers[m.Name].DBSize
	n, err := io.Copy(part, &counting{from: snapshot.NewReader(stream), tell: func(n int64) {
		stalled.Reset(stallTimeout)
		p.show("%s of %s", screen.Bytes(n), screen.Bytes(total))
	}})
	if err != nil {
		return failed(err)
	}
	if err := errors.Join(part.Sync(), part.Close()); err != nil {
		return 0, err
	}
	return n, os.Rename(part.Name(), file)
}

// counting tells how much was read.
type counting struct {
	from io.Reader
	n    int64
	tell func(int64)
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	c.tell(c.n)
	return n, err
}
