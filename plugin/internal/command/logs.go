package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/plugin/internal/etcdlog"
	"github.com/etcd-operators/etcd-operators/plugin/internal/kube"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// ReadLog opens the log of a container.
type ReadLog func(ctx context.Context, namespace, pod string, options *corev1.PodLogOptions) (io.ReadCloser, error)

// maxLine is the longest line of a log that is shown: etcd logs slow requests with their keys.
const maxLine = 1 << 20

func (a *App) logs() *cobra.Command {
	var follow, pretty, previous, operator bool
	var tail int64
	var since time.Duration
	cmd := a.of("logs CLUSTER [MEMBER...]", "Show etcd's log of all members, or the operators'",
		`Show etcd's log of all members, or of those that are named, each line with its member. With --operator
it shows the log of the operators that serve the namespace. With -f it goes on with containers that
restart and with new Pods, until it is ended.`,
		examples("logs example --pretty", "logs example example-bbbbbbbbbb -f --tail 20", "logs example --operator --since 1h"),
		func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if tail < -1 || since < 0 {
				return errors.New("set --tail to -1 or more, and --since to a time that is not negative")
			}
			s, err := a.open(ctx, args[0])
			if err != nil {
				return err
			}
			pods, err := a.logPods(ctx, s, args[1:], operator)
			if err != nil {
				return err
			}
			read, err := a.Logs(s.Access)
			if err != nil {
				return err
			}
			options := corev1.PodLogOptions{Follow: follow, Previous: previous}
			if tail >= 0 {
				options.TailLines = &tail
			}
			if since > 0 {
				seconds := int64(since.Seconds())
				options.SinceSeconds = &seconds
			}
			l := &logLines{a: a, read: read, pretty: pretty, isNamed: len(pods) > 1 || follow && len(args) != 2}
			if !follow || previous {
				return l.showAll(ctx, pods, options)
			}
			f := &following{logLines: l, options: options, list: func(ctx context.Context) ([]corev1.Pod, error) {
				return a.podsToFollow(ctx, s, args[1:], operator)
			}}
			return f.follow(ctx)
		}, cobra.MinimumNArgs(1))
	cmd.ValidArgsFunction = a.memberNames
	f := cmd.Flags()
	f.BoolVarP(&follow, "follow", "f", false, "go on with new lines")
	f.BoolVar(&pretty, "pretty", false, "show the lines for people, rather than as JSON")
	f.BoolVarP(&previous, "previous", "p", false, "of the container before its last restart")
	f.BoolVar(&operator, "operator", false, "of the operators, rather than of etcd")
	f.Int64Var(&tail, "tail", -1, "how many of the last lines of each; -1: all")
	f.DurationVar(&since, "since", 0, "only lines that are not older, such as 10m")
	return cmd
}

// logPods are the Pods whose logs are shown.
func (a *App) logPods(ctx context.Context, s *scene, named []string, ofOperators bool) ([]corev1.Pod, error) {
	if ofOperators {
		pods := operators(ctx, s.Access)
		if len(pods) == 0 {
			return nil, fmt.Errorf("no operator's Pod was found: neither in namespace %s, nor one with --cluster-wide in another namespace where you can list Pods", s.Namespace)
		}
		return pods, nil
	}
	pods, err := s.Pods(ctx, s.cluster)
	if err != nil {
		return nil, err
	}
	for _, name := range named {
		if !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.Name == name }) {
			return nil, fmt.Errorf("%s has no Pod %s: run \"%s members %s\" to see its members", s.title(), name, Name, s.cluster.Name)
		}
	}
	if len(named) > 0 {
		pods = slices.DeleteFunc(pods, func(p corev1.Pod) bool { return !slices.Contains(named, p.Name) })
	}
	if len(pods) == 0 {
		return nil, fmt.Errorf("%s has no Pods", s.title())
	}
	return pods, nil
}

// podsToFollow are the Pods of now whose logs are followed. It fails when the cluster is gone.
func (a *App) podsToFollow(ctx context.Context, s *scene, named []string, ofOperators bool) ([]corev1.Pod, error) {
	if ofOperators {
		return operators(ctx, s.Access), nil
	}
	if err := s.refresh(ctx); err != nil {
		return nil, err
	}
	pods, err := s.Pods(ctx, s.cluster)
	if len(named) > 0 {
		pods = slices.DeleteFunc(pods, func(p corev1.Pod) bool { return !slices.Contains(named, p.Name) })
	}
	return pods, err
}

// logLines shows logs, line by line.
type logLines struct {
	a      *App
	read   ReadLog
	pretty bool
	// isNamed says that each line begins with its Pod.
	isNamed bool
	mu      sync.Mutex // of the output
}

// ownContainers lists the containers of members, operators and agents whose logs are shown. A mesh can add
// containers to Pods, even as the first one.
var ownContainers = append([]string{member.ContainerEtcd, "survivor", "save", "verify", "restore"}, operatorNames...)

// mainContainer returns the name of the container of a Pod whose log is shown.
func mainContainer(p *corev1.Pod) string {
	containers := p.Spec.Containers
	if i := slices.IndexFunc(containers, func(c corev1.Container) bool { return slices.Contains(ownContainers, c.Name) }); i >= 0 {
		return containers[i].Name
	}
	if len(containers) > 0 {
		return containers[0].Name
	}
	return ""
}

// showAll shows the logs of Pods, one after the other.
func (l *logLines) showAll(ctx context.Context, pods []corev1.Pod, options corev1.PodLogOptions) error {
	var failures []error
	for i := range pods {
		_, err := l.show(ctx, &pods[i], options, time.Time{})
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// show shows the log of a Pod until it ends. With timestamps, which are not shown, it passes over the
// lines up to the time last, and returns that of the last line.
func (l *logLines) show(ctx context.Context, p *corev1.Pod, options corev1.PodLogOptions, last time.Time) (time.Time, error) {
	options.Container = mainContainer(p)
	stream, err := l.read(ctx, p.Namespace, p.Name, &options)
	if err != nil {
		return last, fmt.Errorf("read the log of Pod %s: %w", p.Name, err)
	}
	defer stream.Close()
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		line := lines.Text()
		if options.Timestamps {
			stamp, rest, _ := strings.Cut(line, " ")
			at, err := time.Parse(time.RFC3339Nano, stamp)
			if err == nil && !at.After(last) {
				continue
			}
			if err == nil {
				line, last = rest, at
			}
		}
		if l.pretty {
			line = etcdlog.Pretty(line)
		}
		if l.isNamed {
			line = p.Name + "  " + line
		}
		l.mu.Lock()
		fmt.Fprintln(l.a.Out, line)
		l.mu.Unlock()
	}
	if err := lines.Err(); err != nil && ctx.Err() == nil {
		return last, fmt.Errorf("read the log of Pod %s: %w", p.Name, err)
	}
	return last, nil
}

// LogsOf reads logs through the API server.
func LogsOf(access *kube.Access) (ReadLog, error) {
	clients, err := access.Clients()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, namespace, pod string, options *corev1.PodLogOptions) (io.ReadCloser, error) {
		return clients.CoreV1().Pods(namespace).GetLogs(pod, options).Stream(ctx)
	}, nil
}
