// Command etcd-writer writes to etcd at a steady rate and remembers what was
// acknowledged; see package writer. It also empties a member's volume, which a
// test mounts into it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/writer"
)

const usage = `usage:
  etcd-writer write --endpoint=HOST:PORT [--rate=100] [--timeout=5s] [--listen=:8080]
  etcd-writer wipe DIR`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "etcd-writer:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) > 0 && args[0] == "write":
		return write(ctx, args[1:])
	case len(args) == 2 && args[0] == "wipe":
		return wipe(args[1])
	}
	return errors.New(usage)
}

func write(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("write", flag.ContinueOnError)
	var o writer.Options
	fs.StringVar(&o.Endpoint, "endpoint", "", "host:port of etcd")
	fs.IntVar(&o.Rate, "rate", 100, "writes per second")
	fs.DurationVar(&o.Timeout, "timeout", 5*time.Second, "how long one write may take")
	fs.StringVar(&o.Prefix, "prefix", "etcd-writer/", "in front of every key")
	listen := fs.String("listen", ":8080", "where to answer HTTP")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if o.Endpoint == "" || o.Rate < 1 {
		return errors.New(usage)
	}
	w, err := writer.New(o)
	if err != nil {
		return err
	}
	writing, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { w.Run(writing) })
	server := &http.Server{Addr: *listen, ReadHeaderTimeout: 5 * time.Second, Handler: w.Handler(func() { stop(); wg.Wait() })}
	// A test that ends has nothing more to ask.
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	stop()
	return nil
}

// wipe removes all that is in a folder, as a disk that was replaced is empty.
func wipe(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
		fmt.Println("removed", filepath.Join(dir, e.Name()))
	}
	return nil
}
