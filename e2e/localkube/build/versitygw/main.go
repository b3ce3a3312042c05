// Command versitygw is the S3 server of that name with only its store of files (the stock main has the SDKs of
// other stores and its own tests in it, half as much again to compile). It takes the flags of the stock one, which
// may run in its place.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

// The stock main's defaults of what has no flag here.
const (
	maxConnections, maxRequests = 250_000, 100_000
	maxParts                    = 10_000
	concurrency                 = 5000
	copyThreshold               = 5 << 30 // bytes
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "versitygw:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	config := &embedgw.Config{
		MaxConnections: maxConnections, MaxRequests: maxRequests, AdminMaxConnections: maxConnections, AdminMaxRequests: maxRequests,
		MultipartMaxParts: maxParts,
	}
	flags := flag.NewFlagSet("versitygw", flag.ContinueOnError)
	port := flags.String("port", ":7070", "the address to serve at")
	flags.StringVar(&config.Region, "region", "us-east-1", "the region that clients must name")
	flags.StringVar(&config.RootUserAccess, "access", "", "the access key")
	flags.StringVar(&config.RootUserSecret, "secret", "", "the secret key")
	flags.StringVar(&config.VirtualDomain, "virtual-domain", "", "the domain below which each bucket is a host")
	flags.StringVar(&config.CertFile, "cert", "", "the certificate's file, for TLS")
	flags.StringVar(&config.KeyFile, "key", "", "the file of the certificate's key")
	flags.StringVar(&config.HealthPath, "health", "", "the path that says that it serves")
	flags.BoolVar(&config.KeepAlive, "keep-alive", false, "keep connections open")
	flags.BoolVar(&config.Quiet, "quiet", false, "do not log each request")
	if err := flags.Parse(args); err != nil {
		return err
	}
	config.Ports = []string{*port}

	if flags.Arg(0) != "posix" {
		return errors.New("give the store: posix --sidecar=METADATA FOLDER")
	}
	store := flag.NewFlagSet("posix", flag.ContinueOnError)
	sidecar := store.String("sidecar", "", "the folder of the objects' metadata")
	if err := store.Parse(flags.Args()[1:]); err != nil {
		return err
	}
	if *sidecar == "" || store.NArg() != 1 {
		return errors.New("give the folders of the metadata and of the buckets: posix --sidecar=METADATA FOLDER")
	}
	metadata, err := meta.NewSideCar(*sidecar)
	if err != nil {
		return err
	}
	backend, err := posix.New(store.Arg(0), metadata, posix.PosixOpts{SideCarDir: *sidecar, Concurrency: concurrency, CopyObjectThreshold: copyThreshold})
	if err != nil {
		return err
	}
	return embedgw.RunVersityGW(ctx, backend, config)
}
