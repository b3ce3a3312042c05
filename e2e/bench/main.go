// Command bench measures what users wait for, against the floor: the same etcd
// Pods started by hand, all at once, with addresses that are known beforehand.
// Floor and operator take turns in one run on one machine, so that their ratio
// means something where seconds don't. It prints a markdown table with the goal
// beside each figure.
//
//	make bench                            all of it
//	cd e2e && go run ./bench -quick       fewer rounds, and 20 clusters at most
//	cd e2e && go run ./bench -only heal   one part: ready, scale, heal, upgrade, many, backup, upload, seed, cut, archive, rebuild or restore
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/e2e/images"
)

const (
	// wholeTimeout bounds everything, a first build of Kubernetes included.
	wholeTimeout = 90 * time.Minute
	// waitTimeout bounds the wait for one figure.
	waitTimeout = 5 * time.Minute
	// stopTimeout bounds taking it all down.
	stopTimeout = 5 * time.Minute
)

// plan says how much is measured.
type plan struct {
	rounds   int
	clusters int
	only     string
	keep     bool
	window   time.Duration
}

func main() {
	if name := os.Getenv(uploaderVariable); name != "" {
		if err := uploadAs(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	p := plan{rounds: 5, clusters: 200, window: time.Minute}
	quick := flag.Bool("quick", false, "measure fewer rounds and at most 20 clusters")
	flag.IntVar(&p.rounds, "rounds", p.rounds, "measure each figure this many times; the median counts")
	flag.IntVar(&p.clusters, "clusters", p.clusters, "maximum number of clusters at once")
	flag.StringVar(&p.only, "only", "", "measure one part: "+strings.Join(partNames(), ", "))
	flag.BoolVar(&p.keep, "keep", os.Getenv("KEEP") != "", "leave localkube running at the end")
	flag.Usage = usage
	flag.Parse()
	if *quick {
		p.rounds, p.clusters, p.window = 3, 20, 30*time.Second
	}
	err := p.validate(flag.Args())
	if err == nil {
		err = run(p)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func usage() {
	fmt.Fprint(os.Stderr, "bench measures the operators against etcd Pods started by hand, and prints a markdown table.\n\nusage: go run ./bench [flags]\n")
	flag.PrintDefaults()
}

// validate returns an error for arguments, and for a part that does not exist.
func (p plan) validate(args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q: bench takes only flags, see -help", args[0])
	}
	if names := partNames(); p.only != "" && !slices.Contains(names, p.only) {
		return fmt.Errorf("unknown part %q in -only: use one of %s", p.only, strings.Join(names, ", "))
	}
	return nil
}

func run(p plan) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, wholeTimeout)
	defer cancel()
	var all table
	for _, part := range localParts {
		if !p.wants(part.name) {
			continue
		}
		root, err := images.Root()
		if err != nil {
			return err
		}
		if err := part.measure(ctx, &bench{root: root, plan: p, log: os.Stderr, table: &all}); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		if p.only != "" {
			fmt.Println(strings.TrimSpace(all.String()))
			return nil
		}
	}
	env, err := harness.Start(ctx, harness.Options{Nodes: 3, Keep: p.keep, Out: os.Stderr})
	if err == nil {
		err = measure(ctx, env, p, &all)
	}
	stopping, cancelStop := context.WithTimeout(context.Background(), stopTimeout)
	defer cancelStop()
	return errors.Join(err, env.Stop(stopping))
}

// part is what is measured together.
type part struct {
	name    string
	measure func(context.Context, *bench) error
}

// localParts need no Kubernetes, and are measured first.
var localParts = []part{
	{"backup", measureBackup},
	{"upload", measureUpload},
	{"seed", measureSeed},
	{"cut", measureCut},
	{"archive", measureArchive},
	{"rebuild", measureRebuild},
}

// parts are measured in this order, after those.
var parts = []part{
	{"ready", measureReady},
	{"scale", measureScale},
	{"heal", measureHeal},
	{"upgrade", measureUpgrade},
	{"many", measureMany},
	{"restore", measureRestore},
}

// partNames are the names of all parts, in the order in which they are measured.
func partNames() []string {
	var names []string
	for _, p := range slices.Concat(localParts, parts) {
		names = append(names, p.name)
	}
	return names
}

// wants tells whether a part is to be measured.
func (p plan) wants(part string) bool { return p.only == "" || p.only == part }

func measure(ctx context.Context, env *harness.Env, p plan, all *table) error {
	if err := env.Sweep(ctx); err != nil {
		return err
	}
	if err := env.InstallCRD(ctx); err != nil {
		return err
	}
	for _, part := range parts {
		if !p.wants(part.name) {
			continue
		}
		b := &bench{env: env, root: env.Root, plan: p, ns: "e2e-bench-" + part.name, log: os.Stderr, table: all}
		if err := b.inNamespace(ctx, part.measure); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	fmt.Println(strings.TrimSpace(all.String()))
	return nil
}

// bench is one part of the measurement, in a namespace with an operator of its
// own (but for those of localParts, which need no Kubernetes).
type bench struct {
	env *harness.Env
	// root is the repository's folder.
	root  string
	plan  plan
	ns    string
	view  *harness.View
	log   io.Writer
	table *table
}

func (b *bench) inNamespace(ctx context.Context, do func(context.Context, *bench) error) (err error) {
	if err := b.env.CreateNamespace(ctx, b.ns, "restricted"); err != nil {
		return err
	}
	defer func() {
		ending, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		log := filepath.Join(b.env.Root, "out", "e2e", "logs", b.ns+".log")
		err = errors.Join(err, b.env.SaveOperatorLog(ending, b.ns, log), b.env.DeleteNamespace(ending, b.ns), b.env.Sweep(ending))
	}()
	if b.view, err = b.env.Watch(ctx, b.ns); err != nil {
		return err
	}
	if err := b.env.Install(ctx, b.ns, harness.Install{}); err != nil {
		return err
	}
	if err := b.env.AwaitOperator(ctx, b.view, b.ns); err != nil {
		return err
	}
	return do(ctx, b)
}

func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.log, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

// until returns how long it took for the check to hold, from began on.
func (b *bench) until(ctx context.Context, c *harness.Cluster, began time.Time, what string, check harness.Check) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, waitTimeout, fmt.Errorf("not within %s", waitTimeout))
	defer cancel()
	if err := c.Await(ctx, what, check); err != nil {
		return 0, err
	}
	return time.Since(began), nil
}

// remove deletes a cluster and waits until nothing is left of it.
func (b *bench) remove(ctx context.Context, c *harness.Cluster) error {
	if err := c.Delete(ctx); err != nil {
		return err
	}
	_, err := b.until(ctx, c, time.Now(), "deletion", harness.Nothing)
	return err
}
