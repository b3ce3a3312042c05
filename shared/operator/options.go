// Package operator holds what all operators do alike: their main programs ([Main]), with
// flags and environment; what they wait for before they start, which is their permissions
// and their kinds; how they elect a leader and answer probes; how they watch what another
// operator looks after ([Kind]); and how they report.
package operator

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Options are the flags and the environment that every operator has. Those of the
// archived operator keep their names, so that its Deployment needs only another image.
type Options struct {
	// Name is the operator's: of its program, its container, its Lease, its field
	// manager and the source of its events.
	Name string
	// Kind is what the operator looks after, such as EtcdCluster.
	Kind string

	// ListenAddr serves /metrics, /healthz and /readyz.
	ListenAddr string
	// ClusterWide operators reconcile the objects of all namespaces that are
	// annotated with that scope.
	ClusterWide bool
	// CreateCRD installs the definition of Kind at start.
	CreateCRD   bool
	LeaderElect bool
	// Workers is how many objects are reconciled at a time.
	Workers int
	// Image is the operator's own, which some Pods that it makes run. After Prepare it
	// is known.
	Image string
	// Creators are those of objects of Kind.
	Creators Creators
	// Version asks only for the version, and CheckOnly for what the operator would wait for.
	Version, CheckOnly bool

	// Namespace and Pod are the operator's own.
	Namespace, Pod string
}

// defaultWorkers is how many objects are reconciled at a time. A reconcile waits for
// the network, hardly ever for the processor.
const defaultWorkers = 16

// Bind reads the environment and registers the flags.
func (o *Options) Bind(fs *flag.FlagSet) {
	o.Namespace, o.Pod = os.Getenv("MY_POD_NAMESPACE"), os.Getenv("MY_POD_NAME")
	fs.StringVar(&o.ListenAddr, "listen-addr", "0.0.0.0:8080", "address that serves /metrics, /healthz and /readyz")
	fs.BoolVar(&o.ClusterWide, "cluster-wide", false, fmt.Sprintf(
		"reconcile every %s, of all namespaces, that is annotated %s=%s, instead of those of the operator's own namespace", o.Kind, v1beta2.AnnotationScope, v1beta2.ScopeClusterwide))
	fs.BoolVar(&o.CreateCRD, "create-crd", false, "install the CustomResourceDefinition at start; needs the rights to create and patch CustomResourceDefinitions")
	fs.BoolVar(&o.LeaderElect, "leader-elect", true, "enable leader election, so that one replica at a time reconciles")
	fs.IntVar(&o.Workers, "workers", defaultWorkers, fmt.Sprintf("maximum concurrent reconciles of %s", o.Kind))
	fs.StringVar(&o.Image, "image", os.Getenv("OPERATOR_IMAGE"),
		"image of this operator, for the Pods that it makes; default $OPERATOR_IMAGE, else that of the operator's own Pod")
	fs.BoolVar(&o.CheckOnly, "check", false, "check once that the operator has its permissions and that the kinds it needs are served, and exit with status 1 if not")
	fs.BoolVar(&o.Version, "version", false, "print the version and exit")
}

// Check says what is wrong with the options, once the flags are parsed.
func (o *Options) Check() error {
	switch {
	case o.Version:
		return nil
	case o.Namespace == "":
		return errors.New("MY_POD_NAMESPACE is not set: give the container the environment variable from fieldRef metadata.namespace")
	case o.Image == "" && o.Pod == "":
		return errors.New("neither --image nor MY_POD_NAME is set: give the container the environment variable MY_POD_NAME from fieldRef metadata.name")
	case o.Workers < 1:
		return errors.New("--workers is less than 1")
	}
	return nil
}
