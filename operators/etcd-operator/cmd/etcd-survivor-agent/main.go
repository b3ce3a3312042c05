// Command etcd-survivor-agent makes a member's data dir of another member's snapshot.
// etcd-operator runs it in the init container of the seed of a cluster that begins anew
// with a survivor's data; see package agent.
//
// It is a program of its own, so that it takes little memory: nothing of Kubernetes is in
// it.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/survivor/agent"
	"github.com/etcd-operators/etcd-operators/shared/version"
)

func main() {
	if version.Asked("etcd-survivor-agent", os.Args[1:], os.Stdout) {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	code := agent.Main(ctx)
	stop()
	os.Exit(code)
}
