package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/plugin/internal/kube"
	"github.com/etcd-operators/etcd-operators/plugin/internal/tunnel"
	"github.com/etcd-operators/etcd-operators/shared/goldentest"
)

// now is the time of all screens.
var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

// world is a Kubernetes in which a command runs.
type world struct {
	t *testing.T
	client.Client
	// answers is what the user types.
	answers string
	forward tunnel.Forward
	etcdctl func(args, env []string) int
	// then is what the operators make of a change, after it is written.
	then func(o client.Object)
	// get fails instead of reading, if it returns an error.
	get func() error
	// list is the same of lists; those of all namespaces have none.
	list func(list client.ObjectList, namespace string) error
	// evict fails instead of evicting a Pod, if it returns an error.
	evict func() error
	// terminal says that the command writes to one.
	terminal bool
	// gone is what the operators do when an object was deleted, or a Pod evicted.
	gone func(o client.Object)
	// grace is how long operators may take to act; 0 for longer than a test takes.
	grace time.Duration
	// ctx ends a command; nil for that of the test.
	ctx context.Context
}

func aWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	w := &world{t: t, forward: func(context.Context, string, int, int) (*tunnel.Port, error) {
		return nil, errors.New("there is no port-forward in this test")
	}}
	changed := func(ctx context.Context, c client.WithWatch, o client.Object, err error) error {
		if err == nil && w.then != nil {
			fresh := o.DeepCopyObject().(client.Object)
			if err := c.Get(ctx, client.ObjectKeyFromObject(o), fresh); err != nil {
				return err
			}
			w.then(fresh)
			if err := c.Update(ctx, fresh); err != nil {
				return err
			}
		}
		return err
	}
	w.Client = fake.NewClientBuilder().WithScheme(kube.Scheme()).WithObjects(append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})...).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return changed(ctx, c, o, c.Patch(ctx, o, p, opts...))
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			o.SetCreationTimestamp(metav1.NewTime(now))
			return changed(ctx, c, o, c.Create(ctx, o, opts...))
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if w.get != nil {
				if err := w.get(); err != nil {
					return err
				}
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if w.list != nil {
				if err := w.list(list, (&client.ListOptions{}).ApplyOptions(opts).Namespace); err != nil {
					return err
				}
			}
			return c.List(ctx, list, opts...)
		},
		SubResourceCreate: func(ctx context.Context, c client.Client, name string, o, sub client.Object, opts ...client.SubResourceCreateOption) error {
			if w.evict != nil {
				if err := w.evict(); err != nil {
					return err
				}
			}
			err := c.SubResource(name).Create(ctx, o, sub, opts...)
			if err == nil && w.gone != nil {
				w.gone(o)
			}
			return err
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			err := c.Delete(ctx, o, opts...)
			if err == nil && w.gone != nil {
				w.gone(o)
			}
			return err
		},
	}).Build()
	return w
}

// app is the plugin in this world.
func (w *world) app(out io.Writer) *App {
	return &App{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(w.answers), Out: out, ErrOut: out},
		Version:   "v1.2.3",
		Connect: func(all bool) (*kube.Access, error) {
			namespace := "default"
			if all {
				namespace = ""
			}
			return &kube.Access{Client: w.Client, Namespace: namespace}, nil
		},
		Forward: func(*kube.Access) (tunnel.Forward, error) { return w.forward, nil },
		Logs:    func(*kube.Access) (ReadLog, error) { return logOf, nil },
		Etcdctl: func(_ context.Context, args, env []string) (int, error) { return w.etcdctl(args, env), nil },
		Now:     func() time.Time { return now },
		Poll:    time.Millisecond,
		Grace:   cmp.Or(w.grace, time.Minute),
		Refresh: time.Millisecond,

		Terminal: w.terminal,
	}
}

// run runs a command line, and returns what it shows on both outputs, and how it ends.
func (w *world) run(line string, more ...string) string {
	w.t.Helper()
	out := &bytes.Buffer{}
	app := w.app(out)
	root := New(app, nil)
	root.SetArgs(append(strings.Fields(line), more...))
	parent := w.ctx
	if parent == nil {
		parent = w.t.Context()
	}
	ctx, cancel := context.WithTimeout(parent, time.Minute)
	defer cancel()
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(root.ErrOrStderr(), "error: %v\n", err)
	}
	return fmt.Sprintf("$ %s %s\n%s", Name, strings.Join(append([]string{line}, more...), " "), out)
}

// golden compares screens with a file.
func golden(t *testing.T, name string, screens ...string) {
	t.Helper()
	goldentest.Compare(t, "testdata/"+name+".golden", strings.Join(screens, "\n"))
}

// aCluster is a healthy cluster of three.
func aCluster(name string) *v1beta2.EtcdCluster {
	c := &v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), Generation: 1, CreationTimestamp: ago(50 * time.Hour)},
		Spec:       v1beta2.ClusterSpec{Size: 3, Version: "3.6.16"},
		Status: v1beta2.ClusterStatus{
			Phase: v1beta2.PhaseRunning, ObservedGeneration: 1, Size: 3, ReadyMembers: "3/3", CurrentVersion: "3.6.16",
			ClusterID: "8a3fc1e07b2d4c55", Leader: name + "-aaaaaaaaaa", Bootstrap: &v1beta2.BootstrapStatus{Member: name + "-aaaaaaaaaa"},
		},
	}
	for i, suffix := range []string{"aaaaaaaaaa", "bbbbbbbbbb", "cccccccccc"} {
		c.Status.MemberDetails = append(c.Status.MemberDetails, v1beta2.MemberDetail{
			Name: name + "-" + suffix, ID: fmt.Sprintf("%016x", i+10), Role: v1beta2.MemberVoter, Version: "3.6.16", Node: fmt.Sprintf("node-%d", i+1),
		})
	}
	says(c, "Available", "True", "Serving", "3 voters serve reads and writes; 1 of them can fail")
	says(c, "Progressing", "False", "UpToDate", "3 of 3 members are healthy")
	says(c, "Degraded", "False", "AllHealthy", "all voters are healthy")
	says(c, "Upgrading", "False", "AtVersion", "the version is 3.6.16")
	says(c, "Paused", "False", "NotPaused", "reconciliation is not paused")
	return c
}

// says sets a condition of a cluster.
func says(c *v1beta2.EtcdCluster, kind, status, reason, message string) {
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
		Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: message, LastTransitionTime: ago(time.Hour), ObservedGeneration: c.Generation,
	})
}

// podsOf are the Pods of a cluster's members.
func podsOf(c *v1beta2.EtcdCluster) []client.Object {
	var pods []client.Object
	for _, m := range c.Status.MemberDetails {
		pods = append(pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: c.Namespace, Name: m.Name, UID: types.UID("pod-" + m.Name), CreationTimestamp: ago(50 * time.Hour),
				Labels: map[string]string{v1beta2.LabelCluster: c.Name, v1beta2.LabelOwner: string(c.UID), v1beta2.LabelRole: v1beta2.RoleVoter},
			},
			Spec: corev1.PodSpec{NodeName: m.Node, Containers: []corev1.Container{{Name: "etcd", Image: "quay.io/coreos/etcd:v" + m.Version}}},
			Status: corev1.PodStatus{
				Phase:      corev1.PodRunning,
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			},
		})
	}
	return pods
}

// aBackup is an EtcdBackup of a cluster that is made each hour.
func aBackup(name, cluster string) *v1beta2.EtcdBackup {
	quorum, done := true, ago(40*time.Minute)
	next := metav1.NewTime(now.Add(20 * time.Minute))
	recovery := ago(8 * time.Second)
	return &v1beta2.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, CreationTimestamp: ago(24 * time.Hour)},
		Spec: v1beta2.BackupSpec{
			ClusterRef: &v1beta2.ClusterReference{Name: cluster}, StorageType: v1beta2.StorageS3,
			S3:           &v1beta2.S3Source{Path: "mybucket/" + cluster + "/etcd.backup", AWSSecret: "aws"},
			BackupPolicy: &v1beta2.BackupPolicy{Schedule: "20 * * * *"},
		},
		Status: v1beta2.BackupStatus{
			Phase: v1beta2.BackupScheduled, Succeeded: true, NextScheduleTime: &next,
			Archive: &v1beta2.ArchiveStatus{Phase: v1beta2.ArchiveRunning, RecoveryTime: &recovery, Revision: 1290, OldestRevision: 900},
			History: []v1beta2.BackupRecord{
				{
					Name: name + "-2", CompletionTime: &done, Succeeded: true, Location: "s3://mybucket/" + cluster + "/etcd.backup_v1200_2026-01-01-11:20:00",
					Size: 20 << 20, Revision: 1200, OldestRevision: 900, EtcdVersion: "3.6.16", Quorum: &quorum,
					Verification: &v1beta2.VerificationRecord{Name: name + "-v2", Backup: name + "-2", Succeeded: true, CompletionTime: ago(30 * time.Minute)},
				},
				{Name: name + "-1", CompletionTime: &metav1.Time{Time: now.Add(-100 * time.Minute)}, Reason: "StoreUnavailable", Message: "the store does not answer"},
			},
		},
	}
}

// backedUp notes the newest backup in the cluster's status.
func backedUp(c *v1beta2.EtcdCluster, b *v1beta2.EtcdBackup) {
	r := b.Status.History[0]
	c.Status.Backup = &v1beta2.ClusterBackupStatus{Newest: &v1beta2.ClusterBackupRecord{
		Backup: b.Name, Location: r.Location, CompletionTime: *r.CompletionTime, Size: r.Size, Revision: r.Revision, ClusterID: c.Status.ClusterID,
	}}
}

// Every command has a help text with an example, which begins with the command itself.
func TestEachCommandHasAnExample(t *testing.T) {
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Runnable() && c.Name() != "help" {
			if !strings.Contains(c.Example, Name+" "+strings.TrimPrefix(c.CommandPath(), Name+" ")) {
				t.Errorf("%s has no example of itself: %q", c.CommandPath(), c.Example)
			}
			if c.Short == "" || c.Long == "" || strings.HasSuffix(c.Short, ".") || !strings.HasSuffix(c.Long, ".") {
				t.Errorf("%s: short %q has no full stop, long %q has one", c.CommandPath(), c.Short, c.Long)
			}
		}
		for _, child := range c.Commands() {
			visit(child)
		}
	}
	visit(New(&App{}, nil))
}

func TestHelp(t *testing.T) {
	golden(t, "help", aWorld(t).run("--help"), aWorld(t).run("status --help"))
}

func nowOf() time.Time { return now }
