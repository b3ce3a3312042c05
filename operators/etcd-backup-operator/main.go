// Command etcd-backup-operator backs etcd clusters up: it reconciles EtcdBackup
// objects, and runs a Job for each backup. See package plan for what it does when.
//
// The Job runs etcd-backup-agent, which is in the same image.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/etcd-operators/etcd-operators/shared/operator"
)

func main() {
	if err := run(ctrl.SetupSignalHandler(), os.Args[1:]); err != nil {
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
