// Package command is the command line of kubectl etcd. Each command reads, or asks for a change
// by the custom resources; none bypasses the operators.
package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/plugin/internal/kube"
	"github.com/etcd-operators/etcd-operators/plugin/internal/screen"
	"github.com/etcd-operators/etcd-operators/plugin/internal/tunnel"
)

// Name is how users call the plugin.
const Name = "kubectl etcd"

// App is what all commands share. What reaches outside comes in here.
type App struct {
	genericiooptions.IOStreams
	// Version is that of the plugin.
	Version string
	// Connect reaches Kubernetes as the flags say; in all namespaces the namespace is empty.
	Connect func(allNamespaces bool) (*kube.Access, error)
	// Forward opens port-forwards.
	Forward func(*kube.Access) (tunnel.Forward, error)
	// Logs reads logs.
	Logs func(*kube.Access) (ReadLog, error)
	// Etcdctl runs etcdctl's own command line with these variables, and returns its exit code.
	Etcdctl func(ctx context.Context, args, env []string) (int, error)
	Now     func() time.Time
	// Poll is how often an object is read that is waited for: a second is short enough for a
	// person who watches, and a negligible load.
	Poll time.Duration
	// Grace is how long an operator that runs may take to begin what it was asked for.
	Grace time.Duration
	// Refresh is how often a screen that is watched is drawn again, as the flags -w say.
	Refresh time.Duration
	// Terminal says that Out is one, on which a screen can be drawn again.
	Terminal bool

	// raw is the writer that Out had before New wrapped it in an escaping one.
	raw io.Writer
}

// clearScreen clears a terminal and moves the cursor to the top.
const clearScreen = "\x1b[H\x1b[2J"

// clear clears the terminal. No other terminal command is ever sent.
func (a *App) clear() { fmt.Fprint(a.raw, clearScreen) }

// writer returns the writer for a value. YAML is written unescaped, because an escape would change the value
// that a program reads. For JSON, the escapes of the escaping writer are valid.
func (a *App) writer(f screen.Format) io.Writer {
	if f == screen.YAML {
		return a.raw
	}
	return a.Out
}

// groups are the headings of the help.
var groups = []*cobra.Group{
	{ID: "look", Title: "Look:"},
	{ID: "act", Title: "Act:"},
	{ID: "access", Title: "Access:"},
	{ID: "data", Title: "Data:"},
	{ID: "other", Title: "Other:"},
}

// Run runs a command line, shows its error, and returns the exit code.
func Run(ctx context.Context, a *App, flags *genericclioptions.ConfigFlags, args []string) int {
	root := New(a, flags)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var exit ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.Code
	}
	fmt.Fprintf(root.ErrOrStderr(), "error: %v\n", err)
	return 1
}

// New returns the root command. flags are kubectl's flags that select the API server. Commands write to
// escaping writers, because nearly all output contains text from elsewhere that a terminal could interpret.
func New(app *App, flags *genericclioptions.ConfigFlags) *cobra.Command {
	escaping := *app
	a := &escaping
	a.raw, a.Out, a.ErrOut = app.Out, screen.NewEscaper(app.Out), screen.NewEscaper(app.ErrOut)
	root := &cobra.Command{
		Use:   "kubectl-etcd",
		Short: "Look after etcd clusters of etcd-operator",
		Long: `Look after etcd clusters of etcd-operator: see how they are, ask the operators for changes,
back up and restore, and reach etcd from this machine.`,
		Example:       example("list", "status example", "diagnose example"),
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: Name},
		Version:       a.Version,
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n") // as the operators say it
	root.Flags().Bool("version", false, "show the version of the plugin alone")
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.ErrOut)
	if flags != nil {
		flags.AddFlags(root.PersistentFlags())
		root.PersistentFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = f.Name != "namespace" && f.Name != "context" && f.Name != "kubeconfig" })
		a.completeFlags(root, flags)
	}
	root.AddGroup(groups...)
	for _, c := range []struct {
		group    string
		commands []*cobra.Command
	}{
		{"look", []*cobra.Command{a.status(), a.list(), a.members(), a.top(), a.check(), a.events(), a.logs(), a.report(), a.diagnose()}},
		{"act", []*cobra.Command{a.restart(), a.replace(), a.pause(), a.resume(), a.recover(), a.adoptVolumes(), a.upgrade(), a.certs(), a.moveLeader(), a.defrag()}},
		{"access", []*cobra.Command{a.ctl(), a.portForward(), a.connect()}},
		{"data", []*cobra.Command{a.backup(), a.backups(), a.verify(), a.restore(), a.snapshot()}},
		{"other", []*cobra.Command{a.install(), a.version(), a.completion(root)}},
	} {
		for _, command := range c.commands {
			command.GroupID = c.group
			root.AddCommand(command)
		}
	}
	root.SetHelpCommandGroupID("other")
	return root
}

// example shows calls, indented as cobra wants them.
func example(calls ...string) string {
	for i, call := range calls {
		calls[i] = "  " + Name + " " + call
	}
	return strings.Join(calls, "\n")
}

// ErrNotConfirmed is returned when the user does not want what a command would do.
var ErrNotConfirmed = errors.New("not confirmed, so nothing was changed: answer y, or give --yes")

// confirmation is the flag --yes.
type confirmation struct{ yes bool }

func (c *confirmation) addTo(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&c.yes, "yes", "y", false, "do it without asking")
}

// confirm says what will be done, and asks.
func (a *App) confirm(c confirmation, format string, args ...any) error {
	fmt.Fprintf(a.ErrOut, format+"\n", args...)
	if c.yes {
		return nil
	}
	fmt.Fprint(a.ErrOut, "Continue? [y/N] ")
	answer, err := bufio.NewReader(a.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err != nil {
		fmt.Fprintln(a.ErrOut)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return ErrNotConfirmed
}

// output is the value of the flag -o. It is validated when it is parsed, before any request is made.
type output struct{ format screen.Format }

// Set implements pflag.Value.
func (o *output) Set(text string) (err error) {
	o.format, err = screen.ParseFormat(text)
	return err
}

// String implements pflag.Value.
func (o *output) String() string { return string(o.format) }

// Type implements pflag.Value.
func (o *output) Type() string { return "string" }

func (o *output) addTo(cmd *cobra.Command) {
	cmd.Flags().VarP(o, "output", "o", "output format: json, yaml or wide")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(completions(screen.Formats), cobra.ShellCompDirectiveNoFileComp))
}

func completions(values []string) []cobra.Completion { return values }

// unlessEnded is the error of a watch; nil if the user has ended it, which fails the request that is
// under way.
func unlessEnded(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return nil
	default:
		return err
	}
}

// isTransient reports whether an API server that could not be asked may answer in a moment: it
// restarts, has too much to do, or the connection broke.
func isTransient(err error) bool {
	var network net.Error
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError {
		return true // also what its etcd answers, which has no reason
	}
	return errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF) || apierrors.IsTooManyRequests(err)
}

// progress shows a line at most each second.
type progress struct {
	a    *App
	last time.Time
}

func (p *progress) show(format string, args ...any) {
	if now := p.a.Now(); now.Sub(p.last) >= time.Second {
		fmt.Fprintf(p.a.ErrOut, format+"\n", args...)
		p.last = now
	}
}

// scene is a cluster with what belongs to it.
type scene struct {
	*kube.Access
	cluster *v1beta2.EtcdCluster
}

// open reads the cluster of a command.
func (a *App) open(ctx context.Context, name string) (*scene, error) {
	access, err := a.Connect(false)
	if err != nil {
		return nil, err
	}
	cluster, err := access.Cluster(ctx, name)
	if err != nil {
		return nil, err
	}
	return &scene{Access: access, cluster: cluster}, nil
}

// running are the Pods that can be reached.
func running(pods []corev1.Pod) []corev1.Pod {
	var out []corev1.Pod
	for _, p := range pods {
		if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
			out = append(out, p)
		}
	}
	return out
}

// tunnel opens port-forwards to the cluster's members.
func (a *App) tunnel(ctx context.Context, s *scene) (*tunnel.Tunnel, error) {
	pods, err := s.Pods(ctx, s.cluster)
	if err != nil {
		return nil, err
	}
	return a.tunnelTo(ctx, s, running(pods))
}

// tunnelTo opens port-forwards to some Pods of the cluster.
func (a *App) tunnelTo(ctx context.Context, s *scene, pods []corev1.Pod) (*tunnel.Tunnel, error) {
	forward, err := a.Forward(s.Access)
	if err != nil {
		return nil, err
	}
	return tunnel.Open(ctx, s.Access, s.cluster, pods, forward)
}

// clusterNames completes the name of an EtcdCluster as the first argument.
func (a *App) clusterNames(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.names(cmd.Context(), &v1beta2.EtcdClusterList{}), cobra.ShellCompDirectiveNoFileComp
}

// names are those of the objects of a kind, for completion: what cannot be read is not offered.
func (a *App) names(ctx context.Context, list client.ObjectList) []cobra.Completion {
	access, err := a.Connect(false)
	if err != nil {
		return nil
	}
	var in []client.ListOption
	if _, isOfAll := list.(*corev1.NamespaceList); !isOfAll {
		in = append(in, client.InNamespace(access.Namespace))
	}
	if err := access.List(ctx, list, in...); err != nil {
		return nil
	}
	var names []cobra.Completion
	switch l := list.(type) {
	case *v1beta2.EtcdClusterList:
		for _, c := range l.Items {
			names = append(names, c.Name)
		}
	case *corev1.NamespaceList:
		for _, n := range l.Items {
			names = append(names, n.Name)
		}
	case *v1beta2.EtcdBackupList:
		for _, b := range l.Items {
			names = append(names, b.Name)
		}
	}
	return names
}

// of makes a command about one cluster.
func (a *App) of(use, short, long string, examples []string, run func(cmd *cobra.Command, args []string) error, args cobra.PositionalArgs) *cobra.Command {
	if long == "" {
		long = short + "."
	}
	return &cobra.Command{
		Use: use, Short: short, Long: long, Example: example(examples...), Args: args,
		DisableFlagsInUseLine: true, ValidArgsFunction: a.clusterNames, RunE: run,
	}
}

// examples lists the calls of a help text.
func examples(calls ...string) []string { return calls }

// ExitError ends the program with a code of its own: that of etcdctl, or of a check that found
// something. What is wrong has been shown.
type ExitError struct{ Code int }

func (e ExitError) Error() string { return fmt.Sprintf("exit code %d", e.Code) }
