package operator

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/etcd-operators/etcd-operators/shared/version"
)

// startDeadline bounds each try of what is asked of the API server before the start.
const startDeadline = 30 * time.Second

// Program is what an operator says of itself; all else of its main program is [Main]'s.
type Program struct {
	// Name and Kind are those of [Options].
	Name, Kind string
	// Definition is the CustomResourceDefinition of Kind.
	Definition []byte
	// QPS and Burst bound its requests to the API server.
	QPS   float32
	Burst int

	// Optional names resources of its Role that it works without, such as secrets.
	Optional []string
	// Related are kinds of other operators that it needs beside its own.
	Related []Dependency

	// CreatorPolicy is the ValidatingAdmissionPolicy that checks the rights of those who
	// create objects of Kind; empty: they need no check. CreatorsCan is the sentence on what
	// they can do without it.
	CreatorPolicy, CreatorsCan string

	// Flags registers flags of its own; nil: there are none.
	Flags func(*flag.FlagSet)
	// Learn asks what must be known before the caches are set up, with a client that
	// has none; nil: nothing.
	Learn func(context.Context, client.Client) error
	// Caches say what is kept in memory.
	Caches func() cache.Options
	// SetUp adds the controllers.
	SetUp func(context.Context, ctrl.Manager, *Options) error
}

// Main runs an operator until it is told to end, and then ends the process.
func Main(p *Program) {
	if err := p.run(ctrl.SetupSignalHandler(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, p.Name+":", err)
		os.Exit(1)
	}
}

func (p *Program) run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet(p.Name, flag.ExitOnError)
	logs := zap.Options{}
	logs.BindFlags(fs)
	o := &Options{Name: p.Name, Kind: p.Kind}
	o.Bind(fs)
	if p.CreatorPolicy != "" {
		o.Creators.Policy = p.CreatorPolicy
		o.Creators.bind(fs, p.CreatorsCan)
	}
	if p.Flags != nil {
		p.Flags(fs)
	}
	if err := fs.Parse(args); err != nil {
		return err
	}
	if o.Version {
		fmt.Println(p.Name, version.Number())
		return nil
	}
	if err := o.Check(); err != nil {
		return err
	}
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&logs)))
	return p.start(ctx, o)
}

// start runs the operator until ctx ends.
func (p *Program) start(ctx context.Context, o *Options) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the API server: %w", err)
	}
	if o.CheckOnly {
		return p.check(ctx, config, o)
	}
	return p.serve(ctx, config, o)
}

// serve answers probes from the start, waits for what is in the way, and then works.
func (p *Program) serve(ctx context.Context, config *rest.Config, o *Options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ready := newReadiness()
	web, err := metricsserver.NewServer(metricsserver.Options{BindAddress: o.ListenAddr, ExtraHandlers: ready.handlers()}, config, nil)
	if err != nil {
		return fmt.Errorf("set up --listen-addr=%s: %w", o.ListenAddr, err)
	}
	if web != nil { // --listen-addr=0: nobody asks
		go func() {
			if err := web.Start(ctx); err != nil {
				cancel(fmt.Errorf("serve --listen-addr=%s: %w", o.ListenAddr, err))
			}
		}()
	}
	err = p.work(ctx, config, o, ready)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // it was told to end before it could begin
	}
	return err
}

// connect returns clients without a cache, for what is asked before the start.
func connect(config *rest.Config, scheme *runtime.Scheme) (client.Client, discovery.ServerResourcesInterfaceWithContext, error) {
	direct, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, nil, fmt.Errorf("connect to the API server: %w", err)
	}
	served, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to the API server: %w", err)
	}
	return direct, served, nil
}

// check asks once for what work waits for, and returns all that is missing.
func (p *Program) check(ctx context.Context, config *rest.Config, o *Options) error {
	scheme, err := Scheme()
	if err != nil {
		return err
	}
	direct, served, err := connect(config, scheme)
	if err != nil {
		return err
	}
	needed, err := o.rights(p.Optional)
	if err != nil {
		return err
	}
	return bounded(ctx, func(ctx context.Context) error {
		missing := []error{needed.check(ctx, direct)}
		for _, kind := range append([]Dependency{{Operator: p.Name, Definition: p.Definition}}, p.Related...) {
			missing = append(missing, kind.check(ctx, served))
		}
		return errors.Join(missing...)
	})
}

// work waits for what the operator needs, and then runs it until ctx ends.
func (p *Program) work(ctx context.Context, config *rest.Config, o *Options, ready *readiness) error {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = p.QPS, p.Burst
	scheme, err := Scheme()
	if err != nil {
		return err
	}
	direct, served, err := connect(config, scheme)
	if err != nil {
		return err
	}
	needed, err := o.rights(p.Optional)
	if err != nil {
		return err
	}
	if err := o.await(ctx, direct, ready, waitStart, func(ctx context.Context) error {
		return p.prepare(ctx, o, direct, served, &needed)
	}); err != nil {
		return err
	}
	ready.set(waitStart, "the operator is starting")
	caches := p.Caches()
	askAgain := p.askAgain(o, direct, ready)
	caches.DefaultWatchErrorHandler = func(ctx context.Context, r *toolscache.Reflector, err error) {
		toolscache.DefaultWatchErrorHandler(ctx, r, err)
		askAgain(ctx, err)
	}
	mgr, err := o.manager(config, scheme, caches, ready)
	if err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	if err := p.SetUp(ctx, mgr, o); err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	if err := mgr.Add(&besides{func(ctx context.Context) error { return p.awaitRelated(ctx, o, direct, served, ready) }}); err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	ctrl.Log.Info("starting", "version", version.Number(), "namespace", o.Namespace, "clusterWide", o.ClusterWide, "image", o.Image)
	return mgr.Start(ctx)
}

// prepare does what must be done before the caches are set up. What it returns is in the
// way, and it may be called again.
func (p *Program) prepare(ctx context.Context, o *Options, c client.Client, served discovery.ServerResourcesInterfaceWithContext, needed *rights) error {
	if err := needed.check(ctx, c); err != nil {
		return err
	}
	if err := o.Prepare(ctx, c, p.Definition); err != nil {
		return err
	}
	if err := (&Dependency{Operator: p.Name, Definition: p.Definition}).check(ctx, served); err != nil {
		return err
	}
	if p.Learn == nil {
		return nil
	}
	return p.Learn(ctx, c)
}

// awaitRelated makes the operator ready once the kinds are served that others reconcile.
// It works meanwhile, and says in the status of its own objects what it can't do.
func (p *Program) awaitRelated(ctx context.Context, o *Options, c client.Client, served discovery.ServerResourcesInterfaceWithContext, ready *readiness) error {
	look := func(ctx context.Context) error {
		for _, d := range p.Related {
			if err := d.check(ctx, served); err != nil {
				return err
			}
		}
		return nil
	}
	if len(p.Related) > 0 {
		ready.set(waitRelated, "the operator is starting")
	}
	ready.clear(waitStart)
	_ = o.await(ctx, c, ready, waitRelated, look) // it fails when the operator ends
	return nil
}

// askAgain asks for the permissions again when a watch is forbidden: they were taken away
// while the operator ran.
func (p *Program) askAgain(o *Options, c client.Client, ready *readiness) func(context.Context, error) {
	var asks atomic.Bool
	return func(ctx context.Context, err error) {
		if !apierrors.IsForbidden(err) || !asks.CompareAndSwap(false, true) {
			return
		}
		go func() {
			defer asks.Store(false)
			_ = o.await(ctx, c, ready, waitRights, func(ctx context.Context) error { // it fails when the operator ends
				needed, err := o.rights(p.Optional)
				if err != nil {
					return err
				}
				return needed.check(ctx, c)
			})
		}()
	}
}

// besides runs whether this replica leads or not.
type besides struct{ run func(context.Context) error }

// Start implements manager.Runnable.
func (b *besides) Start(ctx context.Context) error { return b.run(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (b *besides) NeedLeaderElection() bool { return false }
