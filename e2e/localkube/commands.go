package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/image"
	builds "github.com/etcd-operators/etcd-operators/e2e/localkube/internal/build"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/cluster"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/topology"
)

func up(ctx context.Context, c cluster.Cluster, args []string) error {
	set := flags("up")
	nodes := set.Int("nodes", 1, "number of nodes")
	grace := set.Duration("node-monitor-grace-period", 0, "time without a heartbeat after which a node is NotReady")
	var options cluster.Options
	set.Func("only", "name of an extra to build and to give to nodes; repeat for more", appendTo(&options.Only))
	set.Func("image", "image tar to give to nodes; repeat for more", appendTo(&options.Images))
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("up takes no arguments, got %s", strings.Join(set.Args(), " "))
	}
	options.Nodes = *nodes
	if *grace > 0 {
		options.NodeMonitorGracePeriod = grace.Round(time.Second).String()
	}
	return c.Up(ctx, options)
}

func down(ctx context.Context, c cluster.Cluster, args []string) error {
	if err := noArguments("down", args); err != nil {
		return err
	}
	return c.Down(ctx)
}

func load(ctx context.Context, c cluster.Cluster, args []string) error {
	set := flags("load")
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() == 0 {
		return errors.New("no image given: run `localkube load IMAGE.tar...`")
	}
	return c.Load(ctx, set.Args())
}

func registry(ctx context.Context, c cluster.Cluster, args []string) error {
	set := flags("registry")
	if err := set.Parse(args); err != nil {
		return err
	}
	if n := set.NArg(); n < 1 || n > 2 {
		return errors.New("no registry given: run `localkube registry NAME [URL]`")
	}
	return c.Registry(ctx, set.Arg(0), set.Arg(1))
}

func kubeconfig(_ context.Context, c cluster.Cluster, args []string) error {
	if err := noArguments("kubeconfig", args); err != nil {
		return err
	}
	fmt.Println(c.Layout.Kubeconfig())
	return nil
}

func status(ctx context.Context, c cluster.Cluster, args []string) error {
	if err := noArguments("status", args); err != nil {
		return err
	}
	return c.Status(ctx, os.Stdout)
}

func build(ctx context.Context, c cluster.Cluster, args []string) error {
	set := flags("build")
	var only []string
	set.Func("only", "name of an extra to build; repeat for more", appendTo(&only))
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("build takes no arguments, got %s", strings.Join(set.Args(), " "))
	}
	return c.Build(ctx, only...)
}

// env prints what `eval "$(localkube env)"` sets: KUBEBUILDER_ASSETS (kube-apiserver and etcd, as controller-runtime's
// envtest finds them), ETCD_BINARIES (a folder with every release of etcd) and S3_SERVER_BINARY (the program versitygw).
func env(ctx context.Context, c cluster.Cluster, args []string) error {
	if err := noArguments("env", args); err != nil {
		return err
	}
	programs, err := c.Programs(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("export KUBEBUILDER_ASSETS=%q\nexport ETCD_BINARIES=%q\nexport S3_SERVER_BINARY=%q\n", programs.Kubernetes, programs.Etcd, programs.S3Server)
	return nil
}

func etcdVersions(_ context.Context, _ cluster.Cluster, args []string) error {
	if err := noArguments("etcd-versions", args); err != nil {
		return err
	}
	for _, version := range builds.EtcdVersions() {
		fmt.Println(version)
	}
	return nil
}

func node(ctx context.Context, c cluster.Cluster, args []string) error {
	if len(args) != 2 {
		return errors.New("no action or node given: run `localkube node stop|start|partition|heal N`")
	}
	actions := map[string]func(context.Context, topology.Node) error{
		"stop":      c.StopNode,
		"start":     c.StartNode,
		"partition": c.PartitionNode,
		"heal":      c.HealNode,
	}
	action, known := actions[args[0]]
	if !known {
		return fmt.Errorf("unknown node action %q: run `localkube node stop|start|partition|heal N`", args[0])
	}
	number, err := strconv.Atoi(args[1])
	if err != nil {
		return fmt.Errorf("invalid node number %q: use 1 to 3", args[1])
	}
	n, err := topology.ParseNumber(number)
	if err != nil {
		return err
	}
	return action(ctx, n)
}

func writeImage(ctx context.Context, _ cluster.Cluster, args []string) error {
	set := flags("image")
	ref := set.String("ref", "", "image name with tag")
	out := set.String("out", "", "output tar file")
	spec := image.Spec{Files: map[string]string{}}
	set.StringVar(&spec.User, "user", "", "user ID, or user and group ID (UID:GID)")
	set.Func("entrypoint", "argument of the entrypoint; repeat for more", appendTo(&spec.Entrypoint))
	set.Func("env", "KEY=value", appendTo(&spec.Env))
	set.Func("file", "SRC:DST", func(value string) error {
		src, dst, found := strings.Cut(value, ":")
		if !found || src == "" || dst == "" {
			return fmt.Errorf("want SRC:DST, got %q", value)
		}
		spec.Files[dst] = src
		return nil
	})
	if err := set.Parse(args); err != nil {
		return err
	}
	if *ref == "" || *out == "" || set.NArg() > 0 {
		return errors.New("image requires --ref and --out, and takes only flags: see `localkube help`")
	}
	return image.Write(ctx, *out, *ref, spec)
}

func appendTo(list *[]string) func(string) error {
	return func(value string) error {
		*list = append(*list, value)
		return nil
	}
}
