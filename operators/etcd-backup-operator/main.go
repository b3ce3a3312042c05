// Command etcd-backup-operator backs etcd clusters up: it reconciles EtcdBackup
// objects, and runs a Job for each backup. See package plan for what it does when.
//
// The Job runs this same program with the argument save, which carries the snapshot
// from etcd to its store. See package agent.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/agent"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

// save is the argument by which the program is the agent of one backup.
const save = "save"

func main() {
	ctx := ctrl.SetupSignalHandler()
	if len(os.Args) > 1 && os.Args[1] == save {
		os.Exit(agent.Main(ctx, os.Args[2:]))
	}
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "etcd-backup-operator:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet(name, flag.ExitOnError)
	zapOptions := zap.Options{}
	zapOptions.BindFlags(fs)
	o, err := parseOptions(fs, args)
	if err != nil {
		return err
	}
	if o.Version {
		fmt.Println(name, operator.BuildVersion())
		return nil
	}
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&zapOptions)))
	return o.start(ctx)
}
