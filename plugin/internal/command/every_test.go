package command

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/plugin/internal/kube"
	"github.com/etcd-operators/etcd-operators/plugin/internal/tunnel"
)

// calls contains a valid call of every command. The tests in this file fail for a command without one.
var calls = map[string]string{
	"status": "example", "list": "", "members": "example", "top": "example", "check": "example", "events": "example",
	"logs": "example --pretty", "report": "example", "diagnose": "example", "restart": "example", "pause": "example",
	"replace": "example example-bbbbbbbbbb", "resume": "example", "recover": "example", "adopt-volumes": "example",
	"upgrade": "example 3.7.3", "certs status": "example", "certs renew": "example", "certs rotate-ca": "example",
	"move-leader": "example", "defrag": "example", "ctl": "example -- get x", "port-forward": "example", "connect": "example",
	"backup": "example", "backups": "", "verify": "hourly", "restore": "example", "snapshot": "example missing.db",
	"install": "", "version": "", "completion": "kubectl",
}

// everyCommand calls do for every command that can be run.
func everyCommand(t *testing.T, do func(c *cobra.Command, name string, args []string)) {
	t.Helper()
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if _, name, _ := strings.Cut(c.CommandPath(), Name+" "); c.Runnable() && c.HasParent() {
			args, ok := calls[name]
			if !ok {
				t.Errorf("%s has no call in the table calls: add one", c.CommandPath())
			}
			do(c, name, append(strings.Fields(name), strings.Fields(args)...))
		}
		for _, child := range c.Commands() {
			visit(child)
		}
	}
	visit(New(&App{}, nil))
}

// TestForeignTextIsEscaped: no command sends control characters in another user's text to the terminal.
func TestForeignTextIsEscaped(t *testing.T) {
	const planted = "\x1b[2J\u009b2J\u202e"
	c, b := aCluster("example"), aBackup("hourly", "example")
	for i := range c.Status.Conditions {
		c.Status.Conditions[i].Message += planted
	}
	for i := range c.Status.MemberDetails {
		c.Status.MemberDetails[i].Node = planted
	}
	c.Status.Alarms = []v1beta2.AlarmStatus{{Kind: "NOSPACE", Member: planted}}
	b.Status.History[1].Message, b.Status.History[1].Reason = planted, planted
	b.Status.Conditions = []metav1.Condition{{Type: "Complete", Status: "False", Reason: "StoreUnavailable", Message: planted}}
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "default", Name: "1"},
		InvolvedObject: corev1.ObjectReference{Kind: "EtcdCluster", Namespace: "default", Name: "example"},
		Type:           "Warning", Reason: "Failed", Message: planted, LastTimestamp: ago(0),
	}
	operator := anOperator("default", "etcd-operator-1")
	operator.Spec.Containers[0].Image = planted
	w := aWorld(t, append(podsOf(c), c, b, event, operator)...)
	w.forward = func(context.Context, string, int, int) (*tunnel.Port, error) { return nil, errors.New(planted) }
	t.Chdir(t.TempDir()) // a report is written there
	everyCommand(t, func(_ *cobra.Command, name string, args []string) {
		app := func(out io.Writer) *App {
			app := w.app(out)
			app.Logs = func(*kube.Access) (ReadLog, error) {
				return func(context.Context, string, string, *corev1.PodLogOptions) (io.ReadCloser, error) {
					return io.NopCloser(strings.NewReader(`{"level":"info","msg":"a \u001b[2J"}` + "\nraw " + planted + "\n")), nil
				}, nil
			}
			return app
		}
		if name == "install" {
			args = append(args, "--source", filepath.Join(t.TempDir(), planted))
		}
		out := &display{}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond) // no operator handles the request
		defer cancel()
		Run(ctx, app(out), nil, args)
		unreachable := app(out)
		unreachable.Connect = func(bool) (*kube.Access, error) { return nil, errors.New(planted) }
		Run(ctx, unreachable, nil, args)
		if got := out.String(); strings.ContainsAny(got, "\x1b\u009b\u202e") {
			t.Errorf("%s: it is not escaped: %q", name, got)
		} else if name != "completion" && !strings.Contains(got, `\u001b[2J`) {
			t.Errorf("%s: the test has planted nothing: %q", name, got)
		}
	})
}

// invalid maps each flag to a value that is refused for every cluster.
var invalid = map[string]string{
	"output": "table", "to-time": "yesterday", "to-revision": "-1", "size": "-3", "template": "missing.yaml", "version": "3.7.3",
	"endpoint": "etcd.example.com", "pvc": "claim", "operators": "consul", "timeout": "0s", "port": "70000", "tail": "-5", "since": "-1s",
	"depth": "0", "show": "0", "rate": "0", "page": "0", "limit": "-1", "for": "-1s",
}

// free lists flags that accept any text: names of objects and files, and values that only the API server or a
// store can check.
var free = []string{
	"file", "prefix", "owner", "from", "entry", "into", "like", "s3", "s3-secret", "s3-endpoint", "s3-region", "name", "etcd-version",
	"mount", "secret-for", "source", "ref", "registry", "tag",
}

// TestInvalidFlagsMakeNoRequest: an invalid value is refused before any request is made.
func TestInvalidFlagsMakeNoRequest(t *testing.T) {
	everyCommand(t, func(c *cobra.Command, name string, args []string) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			value, isKnown := invalid[f.Name]
			switch {
			case f.Value.Type() == "bool" || slices.Contains(free, f.Name):
				return
			case !isKnown:
				t.Errorf("%s --%s: add a refused value to the table invalid, or the flag to free", name, f.Name)
				return
			}
			requests := 0
			out := &display{}
			app := aWorld(t, aCluster("example")).app(out)
			app.Connect = func(bool) (*kube.Access, error) {
				requests++
				return nil, errors.New("a request is made")
			}
			line := append(strings.Fields(name), "--"+f.Name, value)
			if code := Run(t.Context(), app, nil, append(line, args[len(strings.Fields(name)):]...)); code != 1 || requests > 0 {
				t.Errorf("%s --%s %s: got exit code %d and %d requests, want 1 and none\n%s", name, f.Name, value, code, requests, out)
			}
		})
	})
}

// TestNoFlagShadowsKubectls: a flag of kubectl has the same meaning in every command, for example --as, the
// user to impersonate.
func TestNoFlagShadowsKubectls(t *testing.T) {
	root := New(&App{}, genericclioptions.NewConfigFlags(true))
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if root.PersistentFlags().Lookup(f.Name) != nil {
				t.Errorf("%s --%s has the name of a flag of kubectl", c.CommandPath(), f.Name)
			}
		})
		for _, child := range c.Commands() {
			visit(child)
		}
	}
	visit(root)
}
