package main

import (
	"flag"

	"github.com/etcd-operators/etcd-operators/shared/operator"
)

// options are the flags and the environment. Those of the archived operator keep
// their names, so that its Deployment needs only another image.
type options struct {
	operator.Options
	defaultVersion string
}

// name is that of the program, of the Lease, of the field manager and of the event
// source.
const name = "etcd-operator"

// defaultVersion is the etcd version of clusters that name none: the newest patch
// of the minor that has been out for a year. An operator that comes with another
// never moves a cluster that exists.
const defaultVersion = "3.6.16"

func parseOptions(fs *flag.FlagSet, args []string) (*options, error) {
	o := &options{Options: operator.Options{Name: name, Kind: "EtcdCluster"}}
	o.Bind(fs)
	fs.StringVar(&o.defaultVersion, "default-version", defaultVersion, "etcd version of a new cluster whose spec names none")
	fs.Int("chaos-level", -1, "accepted for the archived operator's manifests, and unused")
	fs.Duration("gc-interval", 0, "accepted for the archived operator's manifests, and unused")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	return o, o.Check()
}
