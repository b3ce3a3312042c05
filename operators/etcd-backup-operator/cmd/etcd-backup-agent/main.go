// Command etcd-backup-agent makes one backup: it carries a snapshot from etcd to its
// store. etcd-backup-operator runs it in a Job; see package agent.
//
// It is a program of its own, so that a backup takes little memory: nothing of
// Kubernetes is in it.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/agent"
	"github.com/etcd-operators/etcd-operators/shared/version"
)

func main() {
	if version.Asked("etcd-backup-agent", os.Args[1:], os.Stdout) {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	code := agent.Main(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
