package operator

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// startDeadline bounds what is asked of the API server before the start.
const startDeadline = 30 * time.Second

// Program is what an operator says of itself; all else of its main program is [Main]'s.
type Program struct {
	// Name and Kind are those of [Options].
	Name, Kind string
	// Definition is the CustomResourceDefinition of Kind, for --create-crd.
	Definition []byte
	// QPS and Burst bound its requests to the API server.
	QPS   float32
	Burst int

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
	if p.Flags != nil {
		p.Flags(fs)
	}
	if err := fs.Parse(args); err != nil {
		return err
	}
	if o.Version {
		fmt.Println(p.Name, BuildVersion())
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
	config.QPS, config.Burst = p.QPS, p.Burst
	scheme, err := Scheme()
	if err != nil {
		return err
	}
	// A client without a cache, for what is asked once before the start.
	direct, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	if err := p.prepare(ctx, o, direct); err != nil {
		return err
	}
	mgr, err := o.Manager(config, scheme, p.Caches())
	if err != nil {
		return err
	}
	if err := p.SetUp(ctx, mgr, o); err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	ctrl.Log.Info("starting", "version", BuildVersion(), "namespace", o.Namespace, "clusterWide", o.ClusterWide, "image", o.Image)
	return mgr.Start(ctx)
}

func (p *Program) prepare(ctx context.Context, o *Options, c client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	if err := o.Prepare(ctx, c, p.Definition); err != nil || p.Learn == nil {
		return err
	}
	return p.Learn(ctx, c)
}
