package launcher

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"syscall"
)

const usage = `usage:
  etcd-launcher install DEST
      copy this program to DEST
  etcd-launcher run --data-dir=DIR --permit-file=FILE --used-file=FILE
      --listen=ADDR --name=NAME --peer-url=URL
       [--cluster-uid=UID] [--former-cluster-uid=UID]... [--pod-uid-file=FILE]
       [--new-member] [--check-compactions] [--check-at-start]
       [--longest-wait=DURATION]
       [--restore=NAMESPACE/NAME --restore-uid=UID --restore-permit-file=FILE]
       -- etcd FLAGS...
      start etcd on the write-ahead log in DIR, or wait for a start permit
      without one
  etcd-launcher --version
      print the version
`

// Exit codes of [Main], those of sysexits.h. etcd itself ends with 1 or 2, also for what is
// wrong with its data: an error of the launcher is never taken for that.
const (
	exitOK    = 0
	exitUsage = 64
	exitError = 70
)

// Main is the program etcd-launcher; args are without its name. It returns the
// process's exit code, unless it has become etcd.
func Main(args []string, stderr io.Writer) int {
	// First of all: as process 1 of a container it gets no signal that it has
	// not asked for.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()

	err := run(ctx, args, slog.New(slog.NewJSONHandler(stderr, nil)))
	if err == nil {
		return exitOK
	}
	code, hint := exitError, ""
	var bad usageError
	if errors.As(err, &bad) {
		code, hint = exitUsage, usage
	}
	_, _ = fmt.Fprintf(stderr, "etcd-launcher: %v\n%s", err, hint) // nowhere else to complain
	return code
}

// usageError is a command line that cannot be understood.
type usageError struct{ error }

func run(ctx context.Context, args []string, log *slog.Logger) error {
	if len(args) == 0 {
		return usageError{errors.New("no command")}
	}
	switch args[0] {
	case "install":
		if len(args) != 2 {
			return usageError{errors.New("install wants one path")}
		}
		return Install(args[1])
	case "run":
		o, err := ParseRun(args[1:])
		if err != nil {
			return usageError{err}
		}
		o.Log = log
		return Run(ctx, o)
	default:
		return usageError{fmt.Errorf("unknown command %q", args[0])}
	}
}

// ParseRun reads the arguments of the command run, without its name.
func ParseRun(args []string) (Options, error) {
	var o Options
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.DataDir, "data-dir", "", "etcd's data dir")
	fs.StringVar(&o.PermitFile, "permit-file", "", "downward API file of the annotation "+StartPermitAnnotation)
	fs.StringVar(&o.UsedFile, "used-file", "", "where the last attempt used is recorded")
	fs.StringVar(&o.Listen, "listen", "", "address to answer probes on until etcd does")
	fs.StringVar(&o.Member.Name, "name", "", "etcd's --name")
	fs.StringVar(&o.Member.PeerURL, "peer-url", "", "etcd's --initial-advertise-peer-urls")
	fs.StringVar(&o.ClusterUID, "cluster-uid", "", "uid of the EtcdCluster")
	fs.Func("former-cluster-uid", "uid of an EtcdCluster whose volumes this one has adopted; may be repeated", func(uid string) error {
		o.FormerClusterUIDs = append(o.FormerClusterUIDs, uid)
		return nil
	})
	fs.BoolVar(&o.NewMember, "new-member", false, "the member has not run before this Pod: refuse data that nothing marks as its own")
	fs.StringVar(&o.PodUIDFile, "pod-uid-file", "", "downward API file of the Pod's uid")
	fs.BoolVar(&o.Checks.Compactions, "check-compactions", false, "have etcd compare what members have compacted, by whatever name its version knows the setting")
	fs.BoolVar(&o.Checks.AtStart, "check-at-start", false, "have etcd compare its data with that of others before it serves")
	fs.DurationVar(&o.LongestWait, "longest-wait", longestWait, "after how long to leave the start of etcd to another launcher, in the container started anew; 0: never")
	var r Restore
	fs.StringVar(&r.Name, "restore", "", "namespace/name of the EtcdRestore that has prepared the data")
	fs.StringVar(&r.UID, "restore-uid", "", "its uid")
	fs.StringVar(&r.PermitFile, "restore-permit-file", "", "downward API file of the annotation restore-permit")
	if err := fs.Parse(args); err != nil {
		return Options{}, err
	}
	o.Command = fs.Args()
	if r != (Restore{}) {
		o.Restore = &r
	}
	return o, o.validate()
}
