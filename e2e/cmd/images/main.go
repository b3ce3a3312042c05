// Command images builds our container images into out/images, without a container
// engine: `make images`.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/images"
)

// timeout bounds a first build, with empty caches.
const timeout = 30 * time.Minute

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	root, err := images.Root()
	if err != nil {
		return err
	}
	all, err := images.Build(ctx, root, os.Stdout)
	if err != nil {
		return err
	}
	for _, img := range all {
		state := "is up to date"
		if img.Changed {
			state = "is new"
		}
		fmt.Printf("%s %s: %s\n", img.Ref, state, img.Tar)
	}
	return nil
}
