package command

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/plugin/internal/kube"
	"github.com/etcd-operators/etcd-operators/plugin/internal/runbook"
	"github.com/etcd-operators/etcd-operators/plugin/internal/screen"
	"github.com/etcd-operators/etcd-operators/plugin/internal/tunnel"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// askTimeout bounds the questions to etcd for one screen.
const askTimeout = 20 * time.Second

func (a *App) list() *cobra.Command {
	var o output
	var all bool
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the clusters", Args: cobra.NoArgs, DisableFlagsInUseLine: true,
		Long:    "List the clusters: how many members serve, whether they can be written to, and what the operator is doing.",
		Example: example("list", "list -A -o wide"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			access, err := a.Connect(all)
			if err != nil {
				return err
			}
			clusters := &v1beta2.EtcdClusterList{}
			if err := access.List(cmd.Context(), clusters, client.InNamespace(access.Namespace)); err != nil {
				if meta.IsNoMatchError(err) {
					return fmt.Errorf("the API server has no kind EtcdCluster: run \"%s install\" to install the operators", Name)
				}
				return fmt.Errorf("list EtcdClusters: %w", err)
			}
			return a.print(o, clusters, func(f screen.Format) error {
				if len(clusters.Items) == 0 {
					where := "in namespace " + access.Namespace
					if all {
						where = "in any namespace"
					}
					fmt.Fprintf(a.ErrOut, "There is no EtcdCluster %s.\n", where)
					return nil
				}
				return screen.ClusterTable(clusters.Items, all, a.Now()).Print(a.Out, f)
			})
		},
	}
	o.addTo(cmd)
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "of all namespaces")
	return cmd
}

// print writes a value in the format of -o, or shows it.
func (a *App) print(o output, value any, show func(screen.Format) error) error {
	if list, ok := value.(*v1beta2.EtcdClusterList); ok {
		list.APIVersion, list.Kind = v1beta2.GroupVersion.String(), "EtcdClusterList"
		for i := range list.Items {
			list.Items[i].APIVersion, list.Items[i].Kind = v1beta2.GroupVersion.String(), "EtcdCluster"
			list.Items[i].ManagedFields = nil
		}
	}
	return screen.Print(a.writer(o.format), o.format, value, func() error { return show(o.format) })
}

func (a *App) members() *cobra.Command {
	var o output
	var etcd asking
	cmd := a.of("members CLUSTER", "List the members of a cluster",
		"List the members of a cluster, with what each one says of itself: its role, revision, raft lag and database.",
		examples("members example", "members example -o wide", "members example --ask-etcd=false"),
		func(cmd *cobra.Command, args []string) error {
			s, err := a.open(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			seen, err := a.see(cmd.Context(), s, etcd)
			if err != nil {
				return err
			}
			members := screen.Members(s.cluster, seen.Pods, seen.Answers)
			return a.print(o, members, func(f screen.Format) error {
				if seen.NotAsked != "" {
					fmt.Fprintf(a.ErrOut, "etcd was not asked: %s\n", seen.NotAsked)
				}
				return screen.MemberTable(members).Print(a.Out, f)
			})
		}, cobra.ExactArgs(1))
	o.addTo(cmd)
	etcd.addTo(cmd)
	return cmd
}

// asking is the flag that says whether etcd itself is asked.
type asking struct {
	ask bool
	// kept are port-forwards for the next time; nil: it is asked once.
	kept *kept
}

func (e *asking) addTo(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&e.ask, "ask-etcd", true, "ask the members themselves, through port-forwards; needs the right to read the Secrets that the EtcdCluster names")
}

// see reads all that belongs to a cluster. Where etcd cannot be asked, it says why.
func (a *App) see(ctx context.Context, s *scene, etcd asking) (screen.Seen, error) {
	seen := screen.Seen{Seen: runbook.Seen{Cluster: s.cluster, Now: a.Now()}}
	var err error
	seen.Pods, err = s.Pods(ctx, s.cluster)
	if seen.PodsNotListed, err = unlisted(err); err != nil {
		return seen, err
	}
	seen.Backups, err = s.Backups(ctx, s.cluster.Name)
	if seen.BackupsNotListed, err = unlisted(err); err != nil {
		return seen, err
	}
	seen.Restores, err = s.Restores(ctx, s.cluster.Name)
	if seen.RestoresNotListed, err = unlisted(err); err != nil {
		return seen, err
	}
	seen.Operators = operators(ctx, s.Access)
	switch {
	case seen.PodsNotListed != "":
		seen.NotAsked = seen.PodsNotListed
	case !etcd.ask:
		seen.NotAsked = "--ask-etcd=false"
	case len(running(seen.Pods)) == 0:
		seen.NotAsked = "no Pod of a member runs"
	default:
		if seen.Answers, err = a.ask(ctx, s, running(seen.Pods), etcd.kept); err != nil {
			seen.NotAsked = err.Error()
		}
	}
	return seen, nil
}

// unlisted says why there is no list of objects, if the others can be shown all the same: the user has
// no right to it, or the API server does not know the kind.
func unlisted(err error) (why string, failure error) {
	if apierrors.IsForbidden(err) || meta.IsNoMatchError(err) {
		return err.Error(), nil
	}
	return "", err
}

// ask asks each member what it knows.
func (a *App) ask(ctx context.Context, s *scene, pods []corev1.Pod, k *kept) (map[string]etcdclient.Answer, error) {
	if k == nil {
		k = &kept{}
		defer k.close()
	}
	if err := k.lead(ctx, a, s, pods); err != nil {
		return nil, err
	}
	answers := k.Ask(k.Context(ctx), askTimeout)
	for name, err := range k.Failed {
		answers[name] = etcdclient.Answer{Trouble: err.Error()}
	}
	for i := range pods {
		// Before etcd 3.6 members do not tell their quota.
		if answer := answers[pods[i].Name]; answer.Reached && answer.Quota == 0 {
			answer.Quota = member.Quota(&pods[i])
			answers[pods[i].Name] = answer
		}
	}
	k.whole = !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return !answers[p.Name].Reached })
	return answers, nil
}

// kept are port-forwards to the Pods of a cluster. They are used again while these run, and answer.
type kept struct {
	*tunnel.Tunnel
	to    []types.UID
	whole bool
}

// lead opens them, unless they lead to these Pods.
func (k *kept) lead(ctx context.Context, a *App, s *scene, pods []corev1.Pod) (err error) {
	var to []types.UID
	for i := range pods {
		to = append(to, pods[i].UID)
	}
	slices.Sort(to)
	if k.whole && slices.Equal(k.to, to) {
		return nil
	}
	k.close()
	k.Tunnel, err = a.tunnelTo(ctx, s, pods)
	k.to = to
	return err
}

func (k *kept) close() {
	if k.Tunnel != nil {
		k.Close()
	}
	k.Tunnel, k.whole = nil, false
}

// operators are the Pods of the operators that serve the namespace: those in it, and those for all
// namespaces. Who has no right to list Pods in all namespaces sees those that run where deploy/ puts
// them; none where they cannot be listed.
func operators(ctx context.Context, access *kube.Access) []corev1.Pod {
	found, err := operatorsIn(ctx, access, metav1.NamespaceAll)
	if err != nil {
		found, _ = operatorsIn(ctx, access, access.Namespace)
		if access.Namespace != clusterWideNamespace {
			more, _ := operatorsIn(ctx, access, clusterWideNamespace)
			found = append(found, more...)
		}
	}
	return slices.DeleteFunc(found, func(p corev1.Pod) bool { return p.Namespace != access.Namespace && !isClusterWide(&p) })
}

// clusterWideNamespace is where deploy/ installs the operators for all namespaces.
const clusterWideNamespace = "etcd-operators"

// operatorNames are the values of the label app.kubernetes.io/name of the operators' Pods.
var operatorNames = []string{"etcd-operator", "etcd-backup-operator", "etcd-restore-operator"}

func operatorsIn(ctx context.Context, access *kube.Access, namespace string) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	err := access.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/part-of": "etcd-operators"})
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return !slices.Contains(operatorNames, p.Labels[v1beta2.LabelName]) }), err
}

// isClusterWide reports whether an operator's Pod serves all namespaces. The last flag counts.
func isClusterWide(p *corev1.Pod) bool {
	is := false
	for _, c := range p.Spec.Containers {
		for _, arg := range c.Args {
			name, value, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
			if name == "cluster-wide" {
				on, err := strconv.ParseBool(value)
				is = !hasValue || err == nil && on
			}
		}
	}
	return is
}

func (a *App) status() *cobra.Command {
	var o output
	var etcd asking
	var watch bool
	cmd := a.of("status CLUSTER", "Show how a cluster is, on one screen",
		`Show how a cluster is, on one screen: whether it serves, what the operator is doing and why, what
you should do, its members with roles, versions, revision, raft lag and database, alarms,
certificates, backups and their recovery point.`,
		examples("status example", "status example -w", "status example -o yaml"),
		func(cmd *cobra.Command, args []string) error {
			f := o.format
			etcd.kept = &kept{}
			defer etcd.kept.close()
			ctx := cmd.Context()
			first := true
			draw := func() error {
				s, err := a.open(ctx, args[0])
				if err != nil {
					return err
				}
				seen, err := a.see(ctx, s, etcd)
				if err != nil {
					return err
				}
				status := screen.StatusOf(seen)
				show := func() error { return status.Print(a.Out, f) }
				if !watch {
					return screen.Print(a.writer(f), f, status, show)
				}
				switch {
				case f.IsData():
				case a.Terminal:
					a.clear()
				case !first:
					fmt.Fprintln(a.Out)
				}
				first = false
				return screen.PrintNext(a.writer(f), f, status, show)
			}
			if !watch {
				return draw()
			}
			for {
				if err := draw(); err != nil {
					if first || !isTransient(err) {
						return unlessEnded(ctx, err)
					}
					a.tellNoAnswer(ctx, err)
				}
				select {
				case <-ctx.Done():
					return nil
				case <-time.After(a.Refresh):
				}
			}
		}, cobra.ExactArgs(1))
	o.addTo(cmd)
	etcd.addTo(cmd)
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "show it again every 2s")
	return cmd
}

func (a *App) events() *cobra.Command {
	var o output
	var watch bool
	cmd := a.of("events CLUSTER", "List the events of a cluster, its Pods, volumes, backups and restores",
		"List the events of a cluster, its Pods, volumes, backups and restores, the newest last. Kubernetes keeps events for an hour.",
		examples("events example", "events example -w"),
		func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			f := o.format
			s, err := a.open(ctx, args[0])
			if err != nil {
				return err
			}
			events, missing, err := eventsOf(ctx, s)
			if err != nil {
				return err
			}
			for _, why := range missing {
				fmt.Fprintf(a.ErrOut, "Not all events are shown: %s\n", why)
			}
			if watch && f.IsData() {
				err = a.showEach(f, events)
			} else {
				err = a.print(o, events, func(f screen.Format) error {
					if len(events) == 0 {
						fmt.Fprintf(a.ErrOut, "There are no events about %s.\n", args[0])
						return nil
					}
					return screen.EventTable(events, a.Now()).Print(a.Out, f)
				})
			}
			if err != nil || !watch {
				return err
			}
			return a.watchEvents(ctx, s, f, events)
		}, cobra.ExactArgs(1))
	o.addTo(cmd)
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "go on with new events")
	return cmd
}

// watchEvents shows events that were not shown yet.
func (a *App) watchEvents(ctx context.Context, s *scene, f screen.Format, shown []corev1.Event) error {
	key := func(e corev1.Event) string { return fmt.Sprint(e.UID, e.Name, screen.EventTime(e)) }
	for {
		known := map[string]bool{}
		for _, e := range shown {
			known[key(e)] = true
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(a.Refresh):
		}
		events, _, err := eventsOf(ctx, s)
		switch {
		case isTransient(err):
			a.tellNoAnswer(ctx, err)
			continue
		case err != nil:
			return unlessEnded(ctx, err)
		}
		shown = slices.Clone(events)
		if err := a.showEach(f, slices.DeleteFunc(events, func(e corev1.Event) bool { return known[key(e)] })); err != nil {
			return err
		}
	}
}

// showEach shows events as they come: a line for each, or a document.
func (a *App) showEach(f screen.Format, events []corev1.Event) error {
	for _, e := range events {
		e.APIVersion, e.Kind = "v1", "Event"
		if err := screen.PrintNext(a.writer(f), f, e, func() error {
			_, err := fmt.Fprintf(a.Out, "%s  %-7s  %s  %s/%s  %s\n", screen.EventTime(e).UTC().Format(time.RFC3339), e.Type, e.Reason, strings.ToLower(e.InvolvedObject.Kind), e.InvolvedObject.Name, e.Message)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// eventsOf returns the events about a cluster and its objects, the newest last. missing has the reasons why
// events of backups or restores are missing, for example no right to list them.
func eventsOf(ctx context.Context, s *scene) (events []corev1.Event, missing []string, err error) {
	about := map[string]bool{"EtcdCluster/" + s.cluster.Name: true, "PodDisruptionBudget/" + s.cluster.Name: true, "Service/" + member.ClientServiceName(s.cluster.Name): true}
	backups, err := s.Backups(ctx, s.cluster.Name)
	note := func(err error) error {
		why, failure := unlisted(err)
		if why != "" && !meta.IsNoMatchError(err) {
			missing = append(missing, why)
		}
		return failure
	}
	if err := note(err); err != nil {
		return nil, nil, err
	}
	var agents []string // whose Jobs and their Pods are looked for
	for _, b := range backups {
		about["EtcdBackup/"+b.Name], agents = true, append(agents, b.Name)
	}
	restores, err := s.Restores(ctx, s.cluster.Name)
	if err := note(err); err != nil {
		return nil, nil, err
	}
	for _, r := range restores {
		about["EtcdRestore/"+r.Name], agents = true, append(agents, r.Name)
	}
	list := &corev1.EventList{}
	if err := s.List(ctx, list, client.InNamespace(s.Namespace)); err != nil {
		return nil, nil, fmt.Errorf("list events: %w", err)
	}
	for i := range list.Items {
		list.Items[i].ManagedFields = nil
	}
	events = slices.DeleteFunc(list.Items, func(e corev1.Event) bool {
		o := e.InvolvedObject
		isMember := (o.Kind == "Pod" || o.Kind == "PersistentVolumeClaim") && member.IsName(s.cluster.Name, o.Name)
		isAgent := (o.Kind == "Pod" || o.Kind == "Job") && slices.ContainsFunc(agents, func(name string) bool { return isAgentOf(name, o.Name) })
		return !about[o.Kind+"/"+o.Name] && !isMember && !isAgent
	})
	slices.SortStableFunc(events, func(x, y corev1.Event) int { return screen.EventTime(x).Compare(screen.EventTime(y)) })
	return events, missing, nil
}

// maxJobName is the longest name of a Job: its Pods carry it in a label.
const maxJobName = 63

// agentSuffix is what the names of Jobs have behind that of their EtcdBackup or EtcdRestore, and the names
// of their Pods.
// The whole is at most maxJobName characters long, without dots.
var agentSuffix = regexp.MustCompile(`^-[a-z0-9]{10}(-[a-z0-9]{5})?$`)

// isAgentOf reports whether a Job or Pod is called like one of an EtcdBackup or EtcdRestore. It may be
// gone, and its events tell why.
func isAgentOf(name, agent string) bool {
	name = strings.ReplaceAll(name, ".", "-")
	if longest := maxJobName - len("-thlyqfs33b"); len(name) > longest {
		name = strings.TrimRight(name[:longest], "-")
	}
	suffix, ok := strings.CutPrefix(agent, name)
	return ok && agentSuffix.MatchString(suffix)
}
