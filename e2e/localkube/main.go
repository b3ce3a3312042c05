// Command localkube brings up a real Kubernetes on this machine, without a container engine, a registry or a download
// of anything but Go modules and Debian packages. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/cluster"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/progress"
)

const usage = `localkube runs a real Kubernetes on this machine. It must run as root.

  localkube up [--nodes N] [--node-monitor-grace-period 16s] [--only NAME]... [--image IMAGE.tar]...
                                 start or repair the cluster, or add nodes (1 to 3); NAME is etcd-3.6
                                 or the like, versitygw or cert-manager: what nodes have, all if not given
  localkube down                 stop the cluster and remove it from the machine
  localkube load IMAGE.tar...    load images into every node, including nodes added later
  localkube registry NAME [URL]  let nodes find the registry NAME at URL; without one: where its name says
  localkube kubeconfig           print the kubeconfig's path
  localkube status               print the state of the cluster and its nodes
  localkube node stop N          stop node N as a machine failure does (N is 2 or 3)
  localkube node start N         start node N again
  localkube node partition N     isolate node N from the other nodes and the API server
  localkube node heal N          reconnect node N
  localkube build [--only NAME]...
                                 build programs and images (up does this as well)
  localkube env                  build, and print the environment variables that tests need
  localkube etcd-versions        list the etcd versions whose images nodes have
  localkube image --ref REF --out TAR [--user UID] [--entrypoint /x]... [--env K=V]... [--file SRC:DST]...
                                 write a container image (requires neither root nor a cluster)
`

// wholeTimeout bounds any command, builds included: a first build takes some 10 minutes on 2 cores.
const wholeTimeout = 2 * time.Hour

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancelTimeout := context.WithTimeout(ctx, wholeTimeout)
	err := run(ctx, os.Args[1:])
	cancelTimeout()
	cancel()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "localkube:", err)
		os.Exit(1)
	}
}

// commands maps a command's name to what runs it with the arguments behind the name.
var commands = map[string]func(ctx context.Context, c cluster.Cluster, args []string) error{
	"up":            up,
	"down":          down,
	"load":          load,
	"registry":      registry,
	"kubeconfig":    kubeconfig,
	"status":        status,
	"node":          node,
	"build":         build,
	"env":           env,
	"etcd-versions": etcdVersions,
	"image":         writeImage,
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 || slices.Contains([]string{"help", "-h", "--help"}, args[0]) {
		fmt.Print(usage)
		return nil
	}
	command, known := commands[args[0]]
	if !known {
		return fmt.Errorf("unknown command %q: see `localkube help`", args[0])
	}
	return command(ctx, cluster.New(progress.New(os.Stderr)), args[1:])
}

// flags returns a set whose errors and usage come out once, and whose help is the program's.
func flags(name string) *flag.FlagSet {
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	set.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	return set
}

// noArguments parses what may only be --help.
func noArguments(name string, args []string) error {
	set := flags(name)
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("%s takes no arguments, got %s", name, strings.Join(set.Args(), " "))
	}
	return nil
}
