package harness

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/go-logr/logr"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/gobuild"
	"github.com/etcd-operators/etcd-operators/e2e/images"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/image"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/rootcheck"
	"github.com/etcd-operators/etcd-operators/e2e/previous"
)

// Options say which Kubernetes is wanted.
type Options struct {
	// Nodes is how many nodes it needs at least; used for localkube only.
	Nodes int
	// Only are the extras of localkube that are wanted, such as "etcd-3.6"; none: all.
	Only []string
	// Keep leaves localkube running at the end.
	Keep bool
	// Out gets one line per step, and localkube's own progress.
	Out io.Writer
}

// Env is a Kubernetes to try things on, with our images on its nodes.
type Env struct {
	// Root is the repository's folder.
	Root       string
	Kubeconfig string
	Config     *rest.Config
	Client     client.WithWatch
	Clientset  kubernetes.Interface
	Kubectl    Kubectl
	// Local is nil on a cluster that KUBECONFIG names.
	Local *Localkube

	scheme *runtime.Scheme
	out    io.Writer
	keep   bool
	// since is when the cluster was given to us; what is older in its audit log is not
	// ours.
	since   time.Time
	retired retirements
	// installing is held by one installation at a time: they share what belongs to no
	// namespace, such as a ClusterRole, which two can't create.
	installing sync.Mutex
}

// apiQPS lifts client-go's limit of 5 requests a second.
const apiQPS = 500

// loadVariable is the environment variable with the command that gives an image
// tar, which is appended to it, to the cluster of KUBECONFIG: for example
// "kind load image-archive". Without it the images must be there already.
const loadVariable = "LOAD_IMAGE"

// Start returns the cluster that KUBECONFIG names or, without one, brings up
// localkube, which only root can. It builds our images and gives them to the nodes.
func Start(ctx context.Context, o Options) (*Env, error) {
	if err := rootcheck.Check(); err != nil {
		return nil, err
	}
	ctrl.SetLogger(logr.Discard())
	root, err := images.Root()
	if err != nil {
		return nil, err
	}
	e := &Env{Root: root, out: o.Out, keep: o.Keep, scheme: runtime.NewScheme(), since: time.Now()}
	local, err := newLocalkube(ctx, root, o.Out)
	if err != nil {
		return nil, err
	}
	if e.Kubeconfig, err = local.kubeconfig(ctx); err != nil {
		return nil, err
	}
	if theirs := os.Getenv("KUBECONFIG"); theirs != "" && theirs != e.Kubeconfig {
		return e.onTheirs(ctx, theirs)
	}
	built, err := buildAll(ctx, root, local, o)
	if err != nil {
		return nil, err
	}
	if err := local.up(ctx, o, tarsOf(built)); err != nil {
		return nil, err
	}
	e.Local, e.Kubectl = local, Kubectl{program: filepath.Join(filepath.Dir(e.Kubeconfig), "bin", "kubectl"), kubeconfig: e.Kubeconfig}
	return e, e.connect()
}

// onTheirs uses the user's cluster.
func (e *Env) onTheirs(ctx context.Context, kubeconfig string) (*Env, error) {
	e.Kubeconfig, e.Kubectl = kubeconfig, Kubectl{program: "kubectl", kubeconfig: kubeconfig}
	built, err := images.Build(ctx, e.Root, e.out)
	if err != nil {
		return nil, err
	}
	if err := e.connect(); err != nil {
		return e, err
	}
	return e, e.give(ctx, built)
}

// buildAll builds our images beside what localkube needs. Only one of the two shows how far it is, on
// one terminal: localkube, which takes far longer, unless all of that is there.
func buildAll(ctx context.Context, root string, local *Localkube, o Options) (built []images.Image, err error) {
	group, ctx := errgroup.WithContext(ctx)
	ended := make(chan struct{})
	group.Go(func() error {
		defer close(ended)
		return local.build(ctx, o.Only)
	})
	group.Go(func() (err error) {
		out := o.Out
		select {
		case <-ended:
		case <-time.After(gobuild.Patience):
			out = nil
		}
		built, err = images.Build(ctx, root, out)
		return err
	})
	err = group.Wait()
	return built, err
}

func (e *Env) connect() (err error) {
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1beta2.AddToScheme} {
		if err := add(e.scheme); err != nil {
			return err
		}
	}
	if e.Config, err = clientcmd.BuildConfigFromFlags("", e.Kubeconfig); err != nil {
		return fmt.Errorf("read %s: %w", e.Kubeconfig, err)
	}
	e.Config.QPS, e.Config.Burst = apiQPS, apiQPS
	// What the API server warns of is the operator's matter, not the terminal's.
	e.Config.WarningHandler = rest.NoWarnings{}
	if e.Client, err = client.NewWithWatch(e.Config, client.Options{Scheme: e.scheme}); err != nil {
		return fmt.Errorf("connect to the cluster of %s: %w", e.Kubeconfig, err)
	}
	e.Clientset, err = kubernetes.NewForConfig(e.Config)
	return err
}

// LoadRelease builds the images of an earlier release, and gives them to the nodes.
func (e *Env) LoadRelease(ctx context.Context, r *previous.Release) error {
	built, err := r.Images(ctx)
	if err != nil {
		return err
	}
	return e.give(ctx, built)
}

func tarsOf(built []images.Image) []string {
	var tars []string
	for _, img := range built {
		tars = append(tars, img.Tar)
	}
	return tars
}

// give gives images to the nodes.
func (e *Env) give(ctx context.Context, built []images.Image) error {
	tars := tarsOf(built)
	if e.Local != nil {
		return e.Local.load(ctx, tars)
	}
	command := strings.Fields(os.Getenv(loadVariable))
	if len(command) == 0 {
		fmt.Fprintf(e.out, "%s is not set: the images of %s are taken to be on the nodes of KUBECONFIG's cluster\n", loadVariable, filepath.Dir(tars[0]))
		return nil
	}
	for _, tar := range tars {
		if _, err := run(ctx, e.Root, nil, append(command, tar)...); err != nil {
			return err
		}
	}
	return nil
}

// kubectlImage is the one of examples/backup-cronjob.yaml.
const kubectlImage = "registry.k8s.io/kubectl:v1.37.2"

// LoadKubectlImage gives localkube, which has no registry, the image with kubectl that
// the examples use, made of its own kubectl. Other clusters pull it.
func (e *Env) LoadKubectlImage(ctx context.Context) error {
	if e.Local == nil {
		return nil
	}
	tar := filepath.Join(e.Root, "out", "images", "kubectl.tar")
	spec := image.Spec{Files: map[string]string{"/bin/kubectl": e.Kubectl.program}, User: "65532:65532"}
	if err := image.Write(ctx, tar, kubectlImage, spec); err != nil {
		return err
	}
	return e.Local.load(ctx, []string{tar})
}

// Stop takes localkube down, if Start brought it up and it is not to be kept. It
// does nothing to a cluster that it found.
func (e *Env) Stop(ctx context.Context) error {
	if e == nil || e.Local == nil || e.keep || e.Local.found {
		return nil
	}
	return e.Local.down(ctx)
}

// StaysUp tells whether Stop leaves the cluster as it is.
func (e *Env) StaysUp() bool { return e.Local == nil || e.keep || e.Local.found }
