// Command kubectl-etcd is the kubectl plugin "kubectl etcd": it looks after the clusters of
// etcd-operator.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"go.etcd.io/etcd/etcdctl/v3/ctlv3"
	"golang.org/x/term"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-operators/etcd-operators/plugin/internal/command"
	"github.com/etcd-operators/etcd-operators/plugin/internal/kube"
	"github.com/etcd-operators/etcd-operators/plugin/internal/tunnel"
	"github.com/etcd-operators/etcd-operators/shared/version"
)

// asEtcdctl as the first argument makes this program etcdctl. It runs as a process of its own,
// since it ends by os.Exit wherever it fails, and port-forwards would not be closed.
const asEtcdctl = "__etcdctl"

func main() {
	if len(os.Args) > 1 && os.Args[1] == asEtcdctl {
		os.Args = append([]string{"etcdctl"}, os.Args[2:]...)
		// Commands have their whole names, by which the plugin tells them apart.
		cobra.EnablePrefixMatching = false
		ctlv3.MustStart()
		return
	}
	// etcdctl's package turns this on: "kubectl etcd re" would be some command that begins so.
	cobra.EnablePrefixMatching = false
	// A port-forward that ends with its connection is no error for the user.
	ctrllog.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil
	os.Exit(run())
}

// untilSignal returns a context that ends when the program receives a signal to terminate. Closing the terminal
// sends SIGHUP. Without a handler, temporary files would remain, and one of them contains a client's key.
func untilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
}

func run() int {
	ctx, stop := untilSignal(context.Background())
	defer stop()
	flags := genericclioptions.NewConfigFlags(true)
	app := &command.App{
		IOStreams: genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
		Version:   version.Number(),
		Connect: func(allNamespaces bool) (*kube.Access, error) {
			config, err := flags.ToRESTConfig()
			if err != nil {
				return nil, fmt.Errorf("read the kubeconfig: %w", err)
			}
			namespace, _, err := flags.ToRawKubeConfigLoader().Namespace()
			if err != nil {
				return nil, fmt.Errorf("read the kubeconfig: %w", err)
			}
			if allNamespaces {
				namespace = ""
			}
			return kube.New(config, namespace)
		},
		Forward: func(a *kube.Access) (tunnel.Forward, error) { return tunnel.ByAPIServer(a.Config, a.Namespace) },
		Logs:    command.LogsOf,
		Etcdctl: etcdctl,
		Now:     time.Now,
		Poll:    time.Second,
		Grace:   15 * time.Second,
		Refresh: 2 * time.Second,

		Terminal: term.IsTerminal(int(os.Stdout.Fd())),
	}
	return command.Run(ctx, app, flags, os.Args[1:])
}

// isConnection reports whether a variable tells etcdctl where etcd is, or who asks.
func isConnection(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return slices.Contains([]string{
		"ETCDCTL_ENDPOINTS", "ETCDCTL_CERT", "ETCDCTL_KEY", "ETCDCTL_CACERT", "ETCDCTL_USER", "ETCDCTL_PASSWORD", "ETCDCTL_AUTH_JWT_TOKEN",
		"ETCDCTL_DISCOVERY_SRV", "ETCDCTL_DISCOVERY_SRV_NAME", "ETCDCTL_INSECURE_SKIP_TLS_VERIFY",
	}, name)
}

// etcdctl runs etcdctl, which is part of this program, with these variables.
func etcdctl(ctx context.Context, args, env []string) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, self, append([]string{asEtcdctl}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// What reaches another cluster, such as its certificate, is not this one's.
	cmd.Env = append(slices.DeleteFunc(os.Environ(), isConnection), env...)
	// Ctrl-C reaches it by the terminal, too: it ends by itself.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}
