// Command cert-manager is cert-manager's controller with only what issues certificates by
// a CA that it keeps, in one namespace (the stock main pulls in every cloud SDK, for ACME). It
// takes the flags of the stock one, which may run in its place.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cert-manager/cert-manager/pkg/controller"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
)

// workers is how many objects each controller works on at a time, and minBackoff and
// maxBackoff bound the pause after a request that has failed: cert-manager's defaults.
const (
	workers                = 5
	minBackoff, maxBackoff = time.Hour, 32 * time.Hour
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "cert-manager:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("cert-manager", flag.ContinueOnError)
	namespace := flags.String("namespace", "", "the one namespace to look after")
	kubeconfig := flags.String("kubeconfig", "", "how to reach the API server; without it, as a Pod does")
	names := flags.String("controllers", "", "the controllers to run, with commas between")
	elect := flags.Bool("leader-elect", true, "must be false: there is one replica")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *namespace == "" || *names == "" || *elect || flags.NArg() > 0 {
		return errors.New("set --namespace and --controllers, and --leader-elect=false, and nothing else")
	}
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Namespace: *namespace, Kubeconfig: *kubeconfig,
		CertificateOptions: controller.CertificateOptions{
			CertificateRequestMinimumBackoffDuration: minBackoff, CertificateRequestMaximumBackoffDuration: maxBackoff,
		},
	})
	if err != nil {
		return err
	}
	all, err := build(factory, strings.Split(*names, ","))
	if err != nil {
		return err
	}
	shared, err := factory.Build()
	if err != nil {
		return err
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	return runAll(ctx, all)
}

// build makes the controllers, which name the informers that they need.
func build(factory *controller.ContextFactory, names []string) ([]controller.Interface, error) {
	var all []controller.Interface
	for _, name := range names {
		known, ok := controller.Known()[name]
		if !ok {
			return nil, fmt.Errorf("there is no controller %q", name)
		}
		one, err := known(factory)
		if err != nil {
			return nil, fmt.Errorf("controller %s: %w", name, err)
		}
		all = append(all, one)
	}
	return all, nil
}

// runAll runs them until ctx ends, or one of them fails.
func runAll(ctx context.Context, all []controller.Interface) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for _, one := range all {
		running.Go(func() {
			if err := one.Run(workers, ctx); err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
