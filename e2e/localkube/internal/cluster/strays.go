package cluster

import (
	"context"
	"syscall"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/daemon"
)

// programs are all that localkube starts, and what these start outside of containers.
var programs = []string{
	"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy",
	"containerd", "containerd-shim-runc-v2", "runc", "ctr", "nsenter",
}

// killStrays ends processes of ours without a record: containers' shims, and daemons of a run that was interrupted
// between a start and its record.
func killStrays(ctx context.Context, folders ...string) error {
	const rounds = 5 // what is killed may have been starting another
	for range rounds {
		strays, err := daemon.Strays(programs, folders)
		if err != nil || len(strays) == 0 {
			return err
		}
		for _, id := range strays {
			if err := daemon.End(ctx, id, syscall.SIGKILL); err != nil {
				return err
			}
		}
	}
	return nil
}
