// Command etcd-restore-agent verifies a snapshot of etcd, or makes a member's data dir of
// it. etcd-restore-operator runs it in a Job, and in the seed's init container; see
// package agent.
//
// It is a program of its own, so that it takes little memory: nothing of Kubernetes is in
// it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/agent"
	shared "github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/version"
)

func main() {
	if version.Asked("etcd-restore-agent", os.Args[1:], os.Stdout) {
		return
	}
	if len(os.Args) == 3 && os.Args[1] == shared.Install {
		if err := runner.Install(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	code := agent.Main(ctx)
	stop()
	os.Exit(code)
}
