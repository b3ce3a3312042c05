package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/plugin/internal/bugreport"
	"github.com/etcd-operators/etcd-operators/plugin/internal/screen"
	"github.com/etcd-operators/etcd-operators/shared/agentpod"
)

// reportLines is how much of each log is in a report: hours of a member that is well, and the
// minutes before a failure.
const reportLines = 5000

// reportBytes bounds one log in a report, and reportTimeout the time for those of one Pod.
const (
	reportBytes   = 20 << 20
	reportTimeout = 2 * time.Minute
)

func (a *App) report() *cobra.Command {
	var file string
	var etcd asking
	cmd := a.of("report CLUSTER", "Pack information about a cluster into a file for a bug report",
		`Pack information about a cluster into a tar.gz for a bug report: the output of other commands, the
custom resources, Pods, volumes, Services and events, and the logs of etcd and of the operators. The
file contains no Secret and no value of etcd. It contains the texts of fields, flags and variables only
if they are on a list of known texts. Keys in PEM format, users and passwords in URLs, and texts that
look like tokens are removed. Log lines of slow requests contain names of keys in etcd: read the file
before you send it.`,
		examples("report example", "report example --file /tmp/example.tar.gz"), func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, err := a.open(ctx, args[0])
			if err != nil {
				return err
			}
			folder := "etcd-report-" + s.cluster.Name + "-" + a.Now().UTC().Format(nameStamp)
			if file == "" {
				file = folder + ".tar.gz"
			}
			out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return err
			}
			isWhole := false
			defer func() {
				out.Close()
				if !isWhole {
					os.Remove(file)
				}
			}()
			archive := bugreport.New(out, folder, a.Now())
			missing := a.fill(ctx, s, archive, etcd)
			if err := errors.Join(archive.Add("missing.txt", []byte(strings.Join(missing, "\n")+"\n")), archive.Close(), out.Close()); err != nil {
				return fmt.Errorf("write %s: %w", file, err)
			}
			isWhole = true
			fmt.Fprintf(a.Out, "Wrote %s. Look through it before you send it.\n", file)
			for _, m := range missing {
				fmt.Fprintf(a.ErrOut, "Not in it: %s\n", m)
			}
			return nil
		}, cobra.ExactArgs(1))
	etcd.addTo(cmd)
	cmd.Flags().StringVar(&file, "file", "", "where it is written; default: etcd-report-CLUSTER-TIME.tar.gz")
	return cmd
}

// fill adds all that can be read, and says what could not.
func (a *App) fill(ctx context.Context, s *scene, archive *bugreport.Archive, etcd asking) (missing []string) {
	note := func(what string, err error) {
		if err != nil {
			missing = append(missing, what+": "+err.Error())
		}
	}
	seen, err := a.see(ctx, s, etcd)
	note("what belongs to the cluster", err)
	for _, why := range []string{seen.BackupsNotListed, seen.RestoresNotListed} {
		if why != "" {
			missing = append(missing, why)
		}
	}
	status := &bytes.Buffer{}
	note("the status", screen.StatusOf(seen).Print(status, screen.Wide))
	note("the status", archive.Add("status.txt", status.Bytes()))
	note("the version", archive.Add("version.txt", []byte("kubectl etcd "+a.Version+"\n")))
	note("the EtcdCluster", archive.AddObject("etcdcluster.yaml", s.cluster))
	for i := range seen.Backups {
		note("an EtcdBackup", archive.AddObject("etcdbackups/"+seen.Backups[i].Name+".yaml", &seen.Backups[i]))
	}
	for i := range seen.Restores {
		note("an EtcdRestore", archive.AddObject("etcdrestores/"+seen.Restores[i].Name+".yaml", &seen.Restores[i]))
	}
	of := client.MatchingLabels{v1beta2.LabelCluster: s.cluster.Name}
	for folder, list := range map[string]client.ObjectList{
		"pods": &corev1.PodList{}, "persistentvolumeclaims": &corev1.PersistentVolumeClaimList{}, "services": &corev1.ServiceList{},
		"poddisruptionbudgets": &policyv1.PodDisruptionBudgetList{}, "endpointslices": &discoveryv1.EndpointSliceList{},
	} {
		note(folder, addAll(ctx, s, archive, folder, list, of))
	}
	agents := a.agents(ctx, s, archive, seen, note)
	for i := range seen.Operators {
		note("an operator's Pod", archive.AddObject("operators/"+seen.Operators[i].Name+".yaml", &seen.Operators[i]))
	}
	events, _, err := eventsOf(ctx, s) // missing events were reported above
	note("events", err)
	text := &bytes.Buffer{}
	note("events", screen.EventTable(events, a.Now()).Print(text, screen.Wide))
	note("events", archive.Add("events.txt", text.Bytes()))
	read, err := a.Logs(s.Access)
	if err != nil {
		note("logs", err)
		return missing
	}
	addLogsOf := func(folder string, pods []corev1.Pod) {
		for i := range pods {
			what := "the log of " + pods[i].Name
			fmt.Fprintf(a.ErrOut, "reading %s\n", what)
			note(what, addLogs(ctx, read, archive, folder, &pods[i]))
		}
	}
	addLogsOf("logs/", seen.Pods)
	addLogsOf("logs/", agents)
	addLogsOf("operators/", seen.Operators)
	return missing
}

// agents adds the Jobs that back up and restore the cluster, and their Pods, which it returns.
func (a *App) agents(ctx context.Context, s *scene, archive *bugreport.Archive, seen screen.Seen, note func(string, error)) []corev1.Pod {
	var all []corev1.Pod
	add := func(kind, label, name string) {
		of := client.MatchingLabels{label: agentpod.LabelValue(name)}
		note("the Jobs of "+kind+" "+name, addAll(ctx, s, archive, "jobs", &batchv1.JobList{}, of))
		pods := &corev1.PodList{}
		note("the Pods of "+kind+" "+name, addAll(ctx, s, archive, "pods", pods, of))
		all = append(all, pods.Items...)
	}
	for _, b := range seen.Backups {
		add("EtcdBackup", v1beta2.LabelBackup, b.Name)
	}
	for _, r := range seen.Restores {
		add("EtcdRestore", v1beta2.LabelRestore, r.Name)
	}
	return all
}

// addAll adds the objects of a kind that are the cluster's.
func addAll(ctx context.Context, s *scene, archive *bugreport.Archive, folder string, list client.ObjectList, of client.MatchingLabels) error {
	if err := s.List(ctx, list, client.InNamespace(s.Namespace), of); err != nil {
		return err
	}
	return meta.EachListItem(list, func(o runtime.Object) error {
		return archive.AddObject(folder+"/"+o.(client.Object).GetName()+".yaml", o)
	})
}

// addLogs adds the log of a Pod's container, and of the one before its last restart.
func addLogs(ctx context.Context, read ReadLog, archive *bugreport.Archive, folder string, p *corev1.Pod) error {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	lines := int64(reportLines)
	restarted := false
	container := mainContainer(p)
	for _, status := range p.Status.ContainerStatuses {
		restarted = restarted || status.Name == container && status.RestartCount > 0
	}
	for _, previous := range []bool{false, true} {
		if previous && !restarted {
			continue
		}
		stream, err := read(ctx, p.Namespace, p.Name, &corev1.PodLogOptions{Container: container, TailLines: &lines, Previous: previous})
		if err != nil {
			return err
		}
		data, err := io.ReadAll(io.LimitReader(stream, reportBytes))
		stream.Close()
		if err != nil {
			return err
		}
		name := p.Name + ".log"
		if previous {
			name = p.Name + ".previous.log"
		}
		if err := archive.Add(folder+name, data); err != nil {
			return err
		}
	}
	return nil
}
