package suite

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

const (
	// startTimeout bounds the start of Kubernetes, whose first build takes ten
	// minutes on two cores.
	startTimeout = 40 * time.Minute
	// stopTimeout bounds taking it down.
	stopTimeout = 2 * time.Minute
	// atATime is how many tests run side by side. Two keep two cores busy, and more of them
	// make each other's members miss heartbeats.
	atATime = "2"
)

// env is the Kubernetes that all tests share.
var env *harness.Env

var keep = flag.Bool("keep", os.Getenv("KEEP") != "", "leave localkube running at the end, and the namespaces of tests that failed")

func TestMain(m *testing.M) {
	flag.Parse()
	code := 1
	if err := func() error {
		if err := start(); err != nil {
			return err
		}
		if err := flag.Set("test.parallel", atATime); err != nil {
			return err
		}
		ran := m.Run()
		if err := compareRights(ran == 0); err != nil {
			return err
		}
		code = ran
		return nil
	}(); err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := env.Stop(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		code = 1
	}
	os.Exit(code)
}

func start() (err error) {
	// A second Ctrl-C ends the program, wherever it is.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if env, err = harness.Start(ctx, harness.Options{Nodes: 3, Keep: *keep, Out: os.Stderr}); err != nil {
		return err
	}
	if err := env.Sweep(ctx); err != nil {
		return err
	}
	return env.InstallCRD(ctx)
}
