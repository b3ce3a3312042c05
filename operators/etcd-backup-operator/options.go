package main

import (
	"flag"

	"github.com/etcd-operators/etcd-operators/shared/operator"
)

// options are the flags and the environment. Those of the archived operator keep
// their names, so that its Deployment needs only another image.
type options struct{ operator.Options }

// name is that of the program, of the Lease, of the field manager and of the event
// source.
const name = "etcd-backup-operator"

func parseOptions(fs *flag.FlagSet, args []string) (*options, error) {
	o := &options{operator.Options{Name: name, Kind: "EtcdBackup"}}
	o.Bind(fs)
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	return o, o.Check()
}
