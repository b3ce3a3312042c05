package main

import (
	"errors"
	"flag"
	"os"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// options are the flags and the environment. Those of the archived operator keep
// their names, so that its Deployment needs only another image.
type options struct {
	// listenAddr serves /metrics, /healthz and /readyz.
	listenAddr     string
	clusterWide    bool
	createCRD      bool
	leaderElect    bool
	workers        int
	launcherImage  string
	defaultVersion string
	version        bool

	// namespace and pod are the operator's own.
	namespace, pod string
}

// defaultVersion is the etcd version of clusters that name none: the newest patch
// of the minor that has been out for a year. An operator that comes with another
// never moves a cluster that exists.
const defaultVersion = "3.6.16"

// defaultWorkers is how many clusters are reconciled at a time. A reconcile waits
// for the network, hardly ever for the processor.
const defaultWorkers = 16

func parseOptions(fs *flag.FlagSet, args []string) (*options, error) {
	o := &options{namespace: os.Getenv("MY_POD_NAMESPACE"), pod: os.Getenv("MY_POD_NAME")}
	fs.StringVar(&o.listenAddr, "listen-addr", "0.0.0.0:8080", "address that serves /metrics, /healthz and /readyz")
	fs.BoolVar(&o.clusterWide, "cluster-wide", false,
		"look after the EtcdClusters of all namespaces that are annotated "+v1beta2.AnnotationScope+"="+v1beta2.ScopeClusterwide+", not after those of the operator's own namespace")
	fs.BoolVar(&o.createCRD, "create-crd", false, "install the CustomResourceDefinition at start; needs the rights to")
	fs.BoolVar(&o.leaderElect, "leader-elect", true, "of several replicas, let one at a time work")
	fs.IntVar(&o.workers, "workers", defaultWorkers, "how many clusters are looked after at a time")
	fs.StringVar(&o.launcherImage, "image", os.Getenv("OPERATOR_IMAGE"),
		"image of this operator, from which members get their launcher; default $OPERATOR_IMAGE, else that of the operator's own Pod")
	fs.StringVar(&o.defaultVersion, "default-version", defaultVersion, "etcd version of a new cluster whose spec names none")
	fs.BoolVar(&o.version, "version", false, "print the version and exit")
	fs.Int("chaos-level", -1, "accepted for the archived operator's manifests, and unused")
	fs.Duration("gc-interval", 0, "accepted for the archived operator's manifests, and unused")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case o.version:
		return o, nil
	case o.namespace == "":
		return nil, errors.New("MY_POD_NAMESPACE is not set: give the container the environment variable from fieldRef metadata.namespace")
	case o.launcherImage == "" && o.pod == "":
		return nil, errors.New("neither --image nor MY_POD_NAME is set: give the container the environment variable MY_POD_NAME from fieldRef metadata.name")
	case o.workers < 1:
		return nil, errors.New("--workers is less than 1")
	}
	return o, nil
}
