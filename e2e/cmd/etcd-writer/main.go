// Command etcd-writer is what the tests run in Pods. It writes to etcd at a steady rate
// and remembers what was acknowledged (see package writer); it keeps a copy of what etcd
// holds (package mirror); it finds out which clients etcd accepts (package tlsprobe); it
// inspects stored backups (package snapshotcheck); it stalls transfers (package stallproxy);
// and it empties a member's volume, which a test mounts into it.
package main

import (
	"context"
	"crypto/rand"
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

	"github.com/etcd-operators/etcd-operators/e2e/clienttls"
	"github.com/etcd-operators/etcd-operators/e2e/mirror"
	"github.com/etcd-operators/etcd-operators/e2e/snapshotcheck"
	"github.com/etcd-operators/etcd-operators/e2e/stallproxy"
	"github.com/etcd-operators/etcd-operators/e2e/tlsprobe"
	"github.com/etcd-operators/etcd-operators/e2e/writer"
)

const usage = `usage:
  etcd-writer write --endpoint=HOST:PORT [--rate=100] [--size=BYTES] [--count=N] [--prefix=P] [--tls=DIR] [--timeout=5s]
  etcd-writer mirror --endpoint=HOST:PORT [--tls=DIR]
  etcd-writer tls-probe [--tls=DIR]
  etcd-writer inspect [--s3=URL] [--volume=DIR] [--work=DIR]   with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY
  etcd-writer stall-proxy --to=HOST:PORT --from=ADDRESS
  etcd-writer wipe DIR
  etcd-writer spoil PATTERN
All but the last two answer HTTP at --listen, :8080 unless set`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "etcd-writer:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	commands := map[string]func(context.Context, *flag.FlagSet, []string) error{
		"write": write, "mirror": copyOf, "tls-probe": probeTLS, "inspect": inspect, "stall-proxy": stall, "wipe": wipe, "spoil": spoil,
	}
	if len(args) == 0 || commands[args[0]] == nil {
		return errors.New(usage)
	}
	return commands[args[0]](ctx, flag.NewFlagSet(args[0], flag.ContinueOnError), args[1:])
}

func write(ctx context.Context, fs *flag.FlagSet, args []string) error {
	var o writer.Options
	fs.StringVar(&o.Endpoint, "endpoint", "", "host:port of etcd")
	fs.IntVar(&o.Rate, "rate", 100, "writes per second")
	fs.IntVar(&o.Size, "size", 0, "bytes of every value; 0: as many as its number takes")
	fs.IntVar(&o.Count, "count", 0, "how many writes; 0: no end of them")
	fs.DurationVar(&o.Timeout, "timeout", 5*time.Second, "how long one write may take")
	tlsDir := tlsFlag(fs)
	fs.StringVar(&o.Prefix, "prefix", writer.DefaultPrefix, "in front of every key")
	listen := listenFlag(fs)
	if err := fs.Parse(args); err != nil {
		return err
	}
	if o.Endpoint == "" || o.Rate < 1 {
		return errors.New(usage)
	}
	var err error
	if o.TLS, err = clienttls.Config(*tlsDir); err != nil {
		return err
	}
	w, err := writer.New(o)
	if err != nil {
		return err
	}
	writing, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { w.Run(writing) })
	return serve(ctx, *listen, w.Handler(func() { stop(); wg.Wait() }))
}

func copyOf(ctx context.Context, fs *flag.FlagSet, args []string) error {
	endpoint := fs.String("endpoint", "", "host:port of etcd")
	tlsDir := tlsFlag(fs)
	listen := listenFlag(fs)
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *endpoint == "" {
		return errors.New(usage)
	}
	config, err := clienttls.Config(*tlsDir)
	if err != nil {
		return err
	}
	m, err := mirror.New(*endpoint, config)
	if err != nil {
		return err
	}
	go m.Run(ctx)
	return serve(ctx, *listen, m.Handler())
}

// probeTLS finds out which clients servers accept.
func probeTLS(ctx context.Context, fs *flag.FlagSet, args []string) error {
	root := fs.String("tls", "", "folder with a folder for each certificate")
	listen := listenFlag(fs)
	if err := fs.Parse(args); err != nil {
		return err
	}
	return serve(ctx, *listen, tlsprobe.Handler(*root))
}

func inspect(ctx context.Context, fs *flag.FlagSet, args []string) error {
	o := snapshotcheck.Options{AccessKey: os.Getenv("AWS_ACCESS_KEY_ID"), SecretKey: os.Getenv("AWS_SECRET_ACCESS_KEY")}
	fs.StringVar(&o.Endpoint, "s3", "", "URL of an S3 store")
	fs.StringVar(&o.Region, "region", "us-east-1", "the store's")
	fs.StringVar(&o.Volume, "volume", "", "folder of a volume")
	fs.StringVar(&o.Work, "work", os.TempDir(), "folder for what is unpacked")
	listen := listenFlag(fs)
	if err := fs.Parse(args); err != nil {
		return err
	}
	if o.Endpoint == "" && o.Volume == "" {
		return errors.New(usage)
	}
	return serve(ctx, *listen, snapshotcheck.New(o).Handler())
}

func stall(ctx context.Context, fs *flag.FlagSet, args []string) error {
	to := fs.String("to", "", "host:port to pass on to")
	from := fs.String("from", "", "where to take connections")
	listen := listenFlag(fs)
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *to == "" || *from == "" {
		return errors.New(usage)
	}
	p := stallproxy.New(*to)
	ctx, stop := context.WithCancel(ctx)
	passing := make(chan error, 1)
	go func() { passing <- serve(ctx, *from, p) }()
	err := serve(ctx, *listen, p.Handler())
	stop()
	return errors.Join(err, <-passing)
}

// wipe removes all that is in a folder, as a disk that was replaced is empty.
func wipe(_ context.Context, _ *flag.FlagSet, args []string) error {
	if len(args) != 1 {
		return errors.New(usage)
	}
	entries, err := os.ReadDir(args[0])
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(args[0], e.Name())); err != nil {
			return err
		}
		fmt.Println("removed", filepath.Join(args[0], e.Name()))
	}
	return nil
}

// spoilt is how many bytes of a file are written over.
const spoilt = 64 << 10

// spoil writes random bytes over the beginning of the files that match a pattern, as a
// disk does that breaks.
func spoil(_ context.Context, _ *flag.FlagSet, args []string) error {
	if len(args) != 1 {
		return errors.New(usage)
	}
	files, err := filepath.Glob(args[0])
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("there is no %s", args[0])
	}
	garbage := make([]byte, spoilt)
	for _, name := range files {
		if _, err := rand.Read(garbage); err != nil {
			return err
		}
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteAt(garbage, 0)
		if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
			return err
		}
		fmt.Println("spoilt", name)
	}
	return nil
}

func tlsFlag(fs *flag.FlagSet) *string {
	return fs.String("tls", "", "folder with tls.crt, tls.key and ca.crt, which are read at each connection")
}

func listenFlag(fs *flag.FlagSet) *string {
	return fs.String("listen", ":8080", "where to answer HTTP")
}

// serve answers HTTP until ctx ends: a test that ends has nothing more to ask.
func serve(ctx context.Context, listen string, handler http.Handler) error {
	server := &http.Server{Addr: listen, ReadHeaderTimeout: 5 * time.Second, Handler: handler}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
