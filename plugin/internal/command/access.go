package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/plugin/internal/kube"
	"github.com/etcd-operators/etcd-operators/plugin/internal/tunnel"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

func (a *App) ctl() *cobra.Command {
	return a.of("ctl CLUSTER -- ARGS", "Run etcdctl against a cluster, from this machine",
		`Run etcdctl against a cluster, from this machine, through port-forwards, with the certificate and the
user that the EtcdCluster names. etcdctl is part of this program. What would bypass the operator
is refused: adding and removing members, etcd's downgrade, and, unless the cluster is paused or has an
alarm, defrag and move-leader.`,
		examples("ctl example -- get --prefix app/", "ctl example -- endpoint status -w table"),
		func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, err := a.open(ctx, args[0])
			if err != nil {
				return err
			}
			if err := refuse(s.cluster, args[1:]); err != nil {
				return err
			}
			t, err := a.tunnel(ctx, s)
			if err != nil {
				return err
			}
			defer t.Close()
			env, done, err := etcdctlEnv(t)
			if err != nil {
				return err
			}
			defer done()
			ctx, end := t.While(ctx)
			defer end()
			code, err := a.Etcdctl(ctx, args[1:], env)
			switch cause := context.Cause(ctx); {
			case errors.Is(cause, tunnel.ErrGone):
				return cause
			case err == nil && code != 0:
				return ExitError{Code: code}
			}
			return err
		}, cobra.MinimumNArgs(2))
}

// booleans are etcdctl's global flags that take no value.
var booleans = []string{"--debug", "--hex", "--insecure-transport", "--insecure-discovery", "--insecure-skip-tls-verify", "-h", "--help"}

// words are the first n arguments that are neither flags nor their values, as cobra tells them
// apart when it looks for a command (stripFlags in its command.go).
func words(args []string, n int) []string {
	var out []string
	for i := 0; i < len(args) && len(out) < n; i++ {
		arg := args[i]
		takesNext := strings.HasPrefix(arg, "--") || len(arg) == 2 // -wjson has its value in itself
		switch {
		case arg == "--":
			return out
		case arg == "":
		case !strings.HasPrefix(arg, "-"):
			out = append(out, arg)
		case takesNext && !strings.Contains(arg, "=") && !slices.Contains(booleans, arg):
			i++
		}
	}
	return out
}

// refuse says why etcdctl is not run with these arguments: what the operator does is the
// operator's. Members that it does not manage can be removed: it asks for that itself.
func refuse(c *v1beta2.EtcdCluster, args []string) error {
	called := words(args, 3)
	if len(called) == 0 {
		return nil
	}
	verb, target := "", ""
	if len(called) > 1 {
		verb = called[1]
	}
	if len(called) > 2 {
		target = called[2]
	}
	switch {
	case called[0] == "endpoint" && slices.ContainsFunc(args, func(arg string) bool { return arg == "--cluster" || arg == "--cluster=true" }):
		return errors.New("etcdctl endpoint --cluster does not work here, because it uses the members' names inside Kubernetes: remove --cluster, since all members are queried without it")
	case called[0] == "member" && (verb == "add" || verb == "promote"):
		return fmt.Errorf("etcdctl member %s is not allowed, because the operator adds members: run \"kubectl scale etcd %s --replicas=N\" instead", verb, c.Name)
	case called[0] == "member" && (verb == "remove" || verb == "update"):
		isUnmanaged := slices.ContainsFunc(c.Status.MemberDetails, func(m v1beta2.MemberDetail) bool { return m.Unmanaged && m.ID == target })
		if isUnmanaged && meta.IsStatusConditionTrue(c.Status.Conditions, v1beta2.ConditionUnmanagedMembers) {
			return nil
		}
		return fmt.Errorf("etcdctl member %s is not allowed, because the operator replaces lost members: run \"kubectl scale etcd %s --replicas=N\" for fewer members", verb, c.Name)
	case (called[0] == "defrag" || called[0] == "move-leader") && !c.Spec.Paused && len(c.Status.Alarms) == 0:
		return fmt.Errorf("etcdctl %s is not allowed, because the operator does this when all members are healthy: run \"%s %s %s\" instead. To do it yourself, run \"%s pause %s\" first",
			called[0], Name, called[0], c.Name, Name, c.Name)
	case called[0] == "downgrade" && (verb == "enable" || verb == "cancel"):
		return fmt.Errorf("etcdctl downgrade %s is not allowed, because the operator changes versions: run \"%s upgrade %s VERSION\" instead", verb, Name, c.Name)
	}
	return nil
}

// etcdctlEnv are the variables by which etcdctl reaches the members. Certificates are in files
// that only this user can read, until done.
func etcdctlEnv(t *tunnel.Tunnel) (env []string, done func(), err error) {
	scheme, done := "http", func() {}
	if t.Identity.TLS != nil {
		scheme = "https"
		dir, err := os.MkdirTemp("", "kubectl-etcd-*")
		if err != nil {
			return nil, nil, err
		}
		done = func() { os.RemoveAll(dir) }
		cert, key, ca := etcdclient.TLSKeys(t.Identity.Files)
		for variable, name := range map[string]string{"ETCDCTL_CERT": cert, "ETCDCTL_KEY": key, "ETCDCTL_CACERT": ca} {
			content, ok := t.Identity.Files[name]
			if !ok {
				continue
			}
			file := filepath.Join(dir, name)
			if err := os.WriteFile(file, content, 0o600); err != nil {
				done()
				return nil, nil, err
			}
			env = append(env, variable+"="+file)
		}
	}
	var endpoints []string
	for _, m := range t.Members {
		// The members' certificates are for localhost, too.
		endpoints = append(endpoints, scheme+"://"+net.JoinHostPort("localhost", strconv.Itoa(m.Port)))
	}
	env = append(env, "ETCDCTL_ENDPOINTS="+strings.Join(endpoints, ","))
	if user := t.Identity.Credentials; user.Password != "" {
		env = append(env, "ETCDCTL_USER="+user.Username, "ETCDCTL_PASSWORD="+user.Password)
	}
	slices.Sort(env)
	return env, done, nil
}

func (a *App) portForward() *cobra.Command {
	var port int
	cmd := a.of("port-forward CLUSTER [MEMBER]", "Forward a local port to a member",
		`Forward a port of this machine to a member's client port, until Ctrl-C: to the member that is named,
or to one that serves, and to another one when that is lost.`,
		examples("port-forward example", "port-forward example --port 12379"), func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if port < 0 || port > math.MaxUint16 {
				return fmt.Errorf("--port %d is not a port: set a number from 1 to %d, or 0 for a free port", port, math.MaxUint16)
			}
			begun, shown := false, ""
			for pause := a.Poll; ; {
				forwarded, pod, err := a.forwardTo(ctx, args, &port)
				switch {
				case err != nil && (!begun || apierrors.IsNotFound(err) || errors.Is(err, errNoMember)):
					return err
				case err != nil:
					pause = min(2*pause, 10*a.Poll)
					if shown != err.Error() {
						shown = err.Error()
						fmt.Fprintf(a.ErrOut, "Waiting for a member: %s\n", shown)
					}
				default:
					begun, shown, pause = true, "", a.Poll
					select {
					case <-ctx.Done():
						forwarded.Stop()
						return nil
					case <-forwarded.Lost:
						fmt.Fprintf(a.ErrOut, "The port-forward to member %s is lost.\n", pod)
					}
				}
				select {
				case <-ctx.Done():
					return nil
				case <-time.After(pause):
				}
			}
		}, cobra.RangeArgs(1, 2))
	cmd.ValidArgsFunction = a.memberNames
	cmd.Flags().IntVar(&port, "port", member.ClientPort, "the local port; 0: any that is free")
	return cmd
}

// forwardTo forwards a local port, which it notes, to a member, and says so.
func (a *App) forwardTo(ctx context.Context, args []string, port *int) (forwarded *tunnel.Port, pod string, err error) {
	s, err := a.open(ctx, args[0])
	if err != nil {
		return nil, "", err
	}
	if pod, err = a.choosePod(ctx, s, strings.Join(args[1:], "")); err != nil {
		return nil, "", err
	}
	forward, err := a.Forward(s.Access)
	if err != nil {
		return nil, "", err
	}
	if forwarded, err = forward(ctx, pod, *port, member.ClientPort); err != nil {
		return nil, "", err
	}
	*port = forwarded.Local
	scheme := "http"
	if s.cluster.ServerTLSSecret() != "" {
		scheme = "https"
	}
	fmt.Fprintf(a.Out, "%s://localhost:%d leads to member %s. Press Ctrl-C to stop.\n", scheme, *port, pod)
	return forwarded, pod, nil
}

// errNoMember means that the cluster does not have the member: it was replaced, or never existed.
var errNoMember = errors.New("does not exist")

// choosePod is the Pod to forward to: the one that is named, or a voter that is ready.
func (a *App) choosePod(ctx context.Context, s *scene, named string) (string, error) {
	pods, err := s.Pods(ctx, s.cluster)
	if err != nil {
		return "", err
	}
	chosen := ""
	for _, p := range running(pods) {
		if p.Name == named {
			return named, nil
		}
		if p.Labels[v1beta2.LabelRole] == v1beta2.RoleVoter && kube.IsReady(&p) {
			chosen = cmp.Or(chosen, p.Name)
		}
	}
	switch {
	case named != "" && !slices.Contains(s.memberNames(), named):
		return "", fmt.Errorf("member %s %w: the members of %s are %s", named, errNoMember, s.title(), strings.Join(s.memberNames(), ", "))
	case named != "":
		return "", fmt.Errorf("the Pod of member %s is not running: run \"%s members %s\" to see why", named, Name, s.cluster.Name)
	case chosen == "":
		return "", fmt.Errorf("no voter's Pod is ready: run \"%s status %s\" to see why", Name, s.cluster.Name)
	}
	return chosen, nil
}
