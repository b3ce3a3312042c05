// Command demo shows a newcomer what the operator does, on a real Kubernetes:
// `make demo`. It types what a person would type, and shows what comes of it: a
// cluster of three forms, takes writes, grows to five, loses a member and heals,
// shrinks to three, is backed up to S3, and no write is lost; then a majority of it is
// destroyed, and it is restored from its backup, with every key; then somebody deletes every
// key, and it is restored to the second before.
//
// With KUBECONFIG set it uses that cluster; else it brings one up on this machine
// and takes it down again. KEEP=1 leaves it up to play with. It fails if a step
// takes too long or a write is lost.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

const (
	// startTimeout bounds the start of Kubernetes, whose first build takes a quarter of an
	// hour on two cores.
	startTimeout = 40 * time.Minute
	// showTimeout bounds the show itself, which takes a minute or two.
	showTimeout = 10 * time.Minute
	// stopTimeout bounds taking it all down.
	stopTimeout = 2 * time.Minute
)

// needs are what its nodes have beside Kubernetes itself: the etcd of examples/cluster.yaml, and the
// S3 server. Nothing else is built.
var needs = []string{"etcd-3.6", "versitygw"}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	keep, began := os.Getenv("KEEP") != "", time.Now()

	say := newNarrator(os.Stdout)
	say.chapter("Starting Kubernetes")
	starting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	env, err := harness.Start(starting, harness.Options{Nodes: 1, Only: needs, Keep: keep, Out: os.Stdout})
	var s *stage
	if err == nil {
		s, err = newStage(ctx, env, say)
	}
	if err == nil {
		err = s.show(ctx)
	}
	if keep && env != nil {
		say.chapter("The cluster keeps running")
		say.line("export KUBECONFIG=%s PATH=%s:$PATH", env.Kubeconfig, env.Kubectl.Dir())
		say.line("kubectl get etcd")
		say.line("make clean   # removes it")
		return err
	}
	stopping, cancelStop := context.WithTimeout(context.Background(), stopTimeout)
	defer cancelStop()
	if env != nil {
		say.chapter("Cleaning up (KEEP=1 keeps the cluster running)")
	}
	if err = errors.Join(err, s.tidy(stopping), env.Stop(stopping)); err == nil {
		say.line("The demo took %s.", time.Since(began).Round(time.Second))
	}
	return err
}
