package cluster

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/network"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/topology"
)

// Status prints what runs, and returns an error if anything doesn't that should.
func (c Cluster) Status(ctx context.Context, out io.Writer) error {
	if err := CheckRoot(); err != nil {
		return err
	}
	nodes, err := c.nodes()
	if err != nil {
		return err
	}
	if len(nodes) == 0 {
		return errNotUp
	}
	var table strings.Builder
	table.WriteString("DAEMON\tSTATE\tSINCE\n")
	dead := 0
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		dead += c.statusOf(&table, name, false)
	}
	for _, n := range nodes {
		off := stopped(c.Layout.Node(n))
		for _, name := range []string{containerd(n), kubelet(n), kubeProxy(n)} {
			dead += c.statusOf(&table, name, off)
		}
	}
	table.WriteString("\nNODE\tSTATE\tADDRESS\n")
	for _, n := range nodes {
		fmt.Fprintf(&table, "%s\t%s\t%s\n", n.Name(), c.nodeState(ctx, n), n.Address())
	}
	fmt.Fprintf(&table, "\nkubeconfig\t%s\nkubectl\t%s/kubectl\nlogs\t%s\naudit log\t%s\n", c.Layout.Kubeconfig(), c.Layout.Bin(), c.Layout.Log(), c.Layout.AuditLog())
	aligned := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if _, err := io.WriteString(aligned, table.String()); err != nil {
		return err
	}
	if err := aligned.Flush(); err != nil {
		return err
	}
	if dead > 0 {
		return fmt.Errorf("%d daemons are not running: repair the cluster with `localkube up`", dead)
	}
	return nil
}

// statusOf prints one daemon's line and returns 1 if it should run and doesn't.
func (c Cluster) statusOf(out *strings.Builder, name string, off bool) int {
	record, err := c.daemons().Running(name)
	if err == nil && record != nil {
		fmt.Fprintf(out, "%s\trunning, pid %d\t%s\n", name, record.PID, record.Started.Format(time.TimeOnly))
		return 0
	}
	if off {
		fmt.Fprintf(out, "%s\tstopped with its node\t\n", name)
		return 0
	}
	fmt.Fprintf(out, "%s\tdead, see %s\t\n", name, c.logOf(name))
	return 1
}

func (c Cluster) nodeState(ctx context.Context, n topology.Node) string {
	if stopped(c.Layout.Node(n)) {
		return "stopped"
	}
	if n.Isolated() && network.IsCut(ctx, n) {
		return "cut off"
	}
	return "on"
}
