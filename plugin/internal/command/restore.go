package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/plugin/internal/kube"
	"github.com/etcd-operators/etcd-operators/plugin/internal/screen"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

func (a *App) verify() *cobra.Command {
	var o output
	var w waiting
	var entry, etcdVersion string
	var startEtcd, anyNode bool
	cmd := a.of("verify BACKUP", "Check a backup, without a restore",
		`Check a backup: an EtcdRestore with verifyOnly fetches it, and checks its digest, its data and
etcd's own hash. With --start-etcd it also rebuilds the database and starts etcd on it, on a node
that runs no member, so that it takes no disk from them; --any-node permits all nodes. No cluster
is touched.`,
		examples("verify hourly", "verify hourly --start-etcd", "verify hourly --start-etcd --any-node", "verify hourly -o json"), func(cmd *cobra.Command, args []string) error {
			f := o.format
			if startEtcd = startEtcd || etcdVersion != ""; anyNode && !startEtcd {
				return errors.New("--any-node must not be set without --start-etcd: without --start-etcd, the check can run on any node")
			}
			ctx := cmd.Context()
			access, err := a.Connect(false)
			if err != nil {
				return err
			}
			b, err := access.Backup(ctx, args[0])
			if err != nil {
				return err
			}
			if entry, err = chooseEntry(b, entry); err != nil {
				return err
			}
			name := shortened(b.Name+"-verify-") + a.Now().UTC().Format(nameStamp)
			r := &v1beta2.EtcdRestore{
				ObjectMeta: metav1.ObjectMeta{Namespace: access.Namespace, Name: name},
				Spec:       v1beta2.RestoreSpec{BackupRef: &v1beta2.BackupReference{Name: b.Name, Entry: entry}, VerifyOnly: true},
			}
			if startEtcd {
				r.Spec.StartEtcd = &v1beta2.StartEtcd{Version: etcdVersion}
			}
			if anyNode {
				r.Spec.Pod = &v1beta2.AgentPod{Affinity: &corev1.Affinity{}}
			}
			scoped(r, b)
			if err := create(ctx, access, "EtcdRestore", r); err != nil {
				return err
			}
			about := a.Out
			if f.IsData() {
				about = a.ErrOut
			}
			fmt.Fprintf(about, "EtcdRestore %s is created, which verifies.\n", name)
			w.unseen = unread("EtcdRestore", r, hasBegun(r))
			w.timedOut = fmt.Errorf("not done yet: the verification continues; run \"kubectl get etcdrs %s -n %s\" to see its progress", name, access.Namespace)
			waited := a.await(ctx, w, func(ctx context.Context) (string, bool, error) { return restoredBy(ctx, access, name, r) })
			if waited != nil && !f.IsData() {
				return waited
			}
			r.APIVersion, r.Kind, r.ManagedFields = v1beta2.GroupVersion.String(), "EtcdRestore", nil
			return errors.Join(waited, a.print(o, r, func(screen.Format) error { a.showVerified(r); return nil }))
		}, cobra.ExactArgs(1))
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.names(cmd.Context(), &v1beta2.EtcdBackupList{}), cobra.ShellCompDirectiveNoFileComp
	}
	o.addTo(cmd)
	w.addTo(cmd, transferWait)
	cmd.Flags().StringVar(&entry, "entry", "", "which backup of the EtcdBackup, as kubectl etcd backups shows it; default: the newest good one")
	cmd.Flags().BoolVar(&startEtcd, "start-etcd", false, "start etcd on the rebuilt database, and compare what it serves")
	cmd.Flags().BoolVar(&anyNode, "any-node", false, "permit also the nodes that run members, for --start-etcd")
	cmd.Flags().StringVar(&etcdVersion, "etcd-version", "", "the version of that etcd; default: that of the backup's source")
	complete(cmd, "entry", func(cmd *cobra.Command, args []string, _ string) []cobra.Completion {
		return a.entryNames(cmd, strings.Join(args, ""), "")
	})
	complete(cmd, "etcd-version", func(*cobra.Command, []string, string) []cobra.Completion { return slices.Clone(etcdversion.All()) })
	return cmd
}

// showVerified says what a verification has found, if it is done.
func (a *App) showVerified(r *v1beta2.EtcdRestore) {
	if s := r.Status.Snapshot; s != nil {
		fmt.Fprintf(a.Out, "Good: %d keys at revision %d, etcd %s, %s in %s; etcd's own hash: %s.\n", s.TotalKeys, s.Revision, s.EtcdVersion, screen.Bytes(s.Size), s.Location, cmp.Or(string(s.Hash), "unknown"))
	}
	if s := r.Status.Served; s != nil {
		fmt.Fprintf(a.Out, "etcd %s has served its %d keys.\n", s.EtcdVersion, s.TotalKeys)
	}
}

// maxName is the longest name of an EtcdRestore of ours, before the time: its Pods have the name
// in a label.
const maxName = 47

func shortened(name string) string {
	if len(name) <= maxName {
		return name
	}
	return name[:maxName]
}

// chooseEntry checks that an EtcdBackup has the entry, or, where none is named, a good one.
func chooseEntry(b *v1beta2.EtcdBackup, entry string) (string, error) {
	var good []string
	for _, r := range b.Status.History {
		if r.Succeeded {
			good = append(good, r.Name)
		}
	}
	switch {
	case entry != "" && !slices.Contains(good, entry):
		return "", fmt.Errorf("EtcdBackup %s has no stored backup %s: set --entry to one of %s", b.Name, entry, cmp.Or(strings.Join(good, ", "), "those that it will have made"))
	case len(good) == 0:
		return "", fmt.Errorf("EtcdBackup %s has not stored a backup yet: run \"%s backups\" to see why", b.Name, Name)
	}
	return entry, nil
}

// restoredBy tells how far an EtcdRestore is, and reads it into r.
func restoredBy(ctx context.Context, access *kube.Access, name string, r *v1beta2.EtcdRestore) (string, bool, error) {
	fresh, err := access.Restore(ctx, name)
	if err != nil {
		return "", false, err
	}
	*r = *fresh
	if r.Status.Phase == v1beta2.RestoreFailed {
		return "", false, fmt.Errorf("EtcdRestore %s has failed: %s", name, r.Status.Reason)
	}
	progress := strings.Join(strings.Fields(fmt.Sprintf("%s %s %s", r.Status.Phase, r.Status.Progress, completion(r.Status.Conditions))), " ")
	if len(r.Status.WaitingFor) > 0 {
		progress += "; waiting for " + strings.Join(r.Status.WaitingFor, ", ")
	}
	return progress, r.Status.Phase == v1beta2.RestoreComplete || r.Status.Phase == v1beta2.RestoreVerified, nil
}

// hasBegun reports whether an operator has looked at an EtcdRestore.
func hasBegun(r *v1beta2.EtcdRestore) func() bool {
	return func() bool { return r.Status.Phase != v1beta2.RestoreNone || len(r.Status.Conditions) > 0 }
}

// target are the flags that say what is restored.
type target struct {
	from, entry, into string
	time              moment
	revision          int64
	prefixes          []string
	template          template

	// isGone says that the EtcdCluster does not exist; created is the one that is described to be
	// created, nil if none is.
	isGone  bool
	created *v1beta2.EtcdCluster
}

func (a *App) restore() *cobra.Command {
	var w waiting
	var c confirmation
	t := target{time: moment{now: a.Now}}
	cmd := a.of("restore CLUSTER", "Restore a cluster from a backup, in place or as a new one",
		`Restore a cluster from a backup, by an EtcdRestore: in place, so that its data is replaced, or with
--into as a new cluster, while the other one stays as it is. The snapshot is checked and rebuilt before any member is stopped.
Where the EtcdCluster is gone, it is created: with the spec of a manifest (--template), or a minimal
one (--size and --version).`,
		examples("restore example", "restore example --into example-copy", "restore example --to-time 10m", "restore example --from hourly --to-revision 48210",
			"restore example --template example.yaml", "restore example --size 3 --version 3.6.16"),
		func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if t.template.file == fromStdin && !c.yes {
				return errors.New("--template - must be set together with --yes, because the manifest takes the place of your answers on standard input: add --yes")
			}
			switch {
			case t.revision != 0 && t.time.at != nil:
				return errors.New("--to-revision and --to-time must not be set together: set only one of them")
			case t.revision < 0 || t.template.size < 0:
				return errors.New("set --to-revision and --size to 1 or more")
			}
			if err := t.template.read(a.In); err != nil {
				return err
			}
			s, err := a.openToRestore(ctx, args[0], &t)
			if err != nil {
				return err
			}
			r, plan, err := a.restoreOf(ctx, s, t)
			if err != nil {
				return err
			}
			if err := a.confirm(c, "%s", plan); err != nil {
				return err
			}
			if err := create(ctx, s.Access, "EtcdRestore", r); err != nil {
				return err
			}
			name := r.Name
			fmt.Fprintf(a.Out, "EtcdRestore %s is created. To abort it before the hand-over: kubectl delete etcdrs %s -n %s\n", name, name, s.Namespace)
			w.unseen = unread("EtcdRestore", r, hasBegun(r))
			w.timedOut = fmt.Errorf("not done yet: the restore continues; run \"kubectl get etcdrs %s -n %s\" to see its progress", name, s.Namespace)
			if err := a.await(ctx, w, func(ctx context.Context) (string, bool, error) { return restoredBy(ctx, s.Access, name, r) }); err != nil || !w.wait {
				return err
			}
			fmt.Fprintf(a.Out, "EtcdCluster %s/%s is restored, and has all its members.\n", s.Namespace, cmp.Or(t.into, s.cluster.Name))
			if x := r.Status.Restored; x != nil {
				fmt.Fprintf(a.Out, "It has %d keys as they were at revision %d.\n", x.TotalKeys, x.Revision)
			}
			return nil
		}, cobra.ExactArgs(1))
	c.addTo(cmd)
	w.addTo(cmd, transferWait)
	f := cmd.Flags()
	f.StringVar(&t.from, "from", "", "the EtcdBackup; default: the one with the newest good backup of the cluster")
	f.StringVar(&t.entry, "entry", "", "which of its backups, as kubectl etcd backups shows it; default: the one that fits")
	f.Int64Var(&t.revision, "to-revision", 0, "restore every key as it was at this revision")
	f.Var(&t.time, "to-time", "restore every key as it was then: a time such as 2026-03-01T12:00:00Z, or how long ago, such as 10m; needs an archive")
	f.StringVar(&t.into, "into", "", "create a new EtcdCluster with this name, and do not change the other one")
	f.StringArrayVar(&t.prefixes, "prefix", nil, "restore only the keys under this prefix, to a new cluster; can be repeated")
	t.template.addTo(cmd)
	complete(cmd, "from", a.backupNames)
	complete(cmd, "entry", func(cmd *cobra.Command, args []string, _ string) []cobra.Completion {
		cluster := ""
		if t.from == "" {
			cluster = strings.Join(args, "")
		}
		return a.entryNames(cmd, t.from, cluster)
	})
	return cmd
}

// restoreOf is the EtcdRestore that the flags ask for, and what it will do.
func (a *App) restoreOf(ctx context.Context, s *scene, t target) (*v1beta2.EtcdRestore, string, error) {
	switch {
	case len(t.prefixes) > 0 && t.into == "" && !t.isGone:
		return nil, "", errors.New("--prefix restores to a new cluster only: set --into NAME")
	case t.into == s.cluster.Name && !t.isGone:
		return nil, "", fmt.Errorf("--into %s is the cluster itself: remove --into to restore it in place, or set another name", t.into)
	}
	at := t.time.at
	b, err := chooseBackup(ctx, s, t.from, at != nil)
	if err != nil {
		return nil, "", err
	}
	if t.entry, err = chooseEntry(b, t.entry); err != nil {
		return nil, "", err
	}
	if at != nil && b.Spec.Archive == nil && b.Status.Archive == nil {
		return nil, "", fmt.Errorf("EtcdBackup %s has no archive, which --to-time needs: set --to-revision, or spec.archive for the future", b.Name)
	}
	r := &v1beta2.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: shortened(s.cluster.Name+"-restore-") + a.Now().UTC().Format(nameStamp)},
		Spec: v1beta2.RestoreSpec{
			EtcdCluster: &v1beta2.ClusterReference{Name: s.cluster.Name}, Target: v1beta2.TargetInPlace,
			BackupRef: &v1beta2.BackupReference{Name: b.Name, Entry: t.entry}, Revision: t.revision, Time: at, Prefixes: t.prefixes,
		},
	}
	scoped(r, s.cluster)
	if t.isGone && t.template.isMinimal() {
		scoped(r, b) // nothing else tells which operators are meant
	}
	what := "the newest good backup of EtcdBackup " + b.Name
	if at != nil || t.revision != 0 {
		what = "the backup of EtcdBackup " + b.Name + " that holds it"
	}
	if t.entry != "" {
		what = "backup " + t.entry + " of EtcdBackup " + b.Name
	}
	switch {
	case at != nil:
		what += ", as of " + at.UTC().Format(time.RFC3339)
	case t.revision != 0:
		what += fmt.Sprintf(", as of revision %d", t.revision)
	}
	makesNew, warning := t.into != "" || t.isGone, ""
	if source := kube.Source(b); source != "" && source != s.cluster.Name {
		warning = fmt.Sprintf("EtcdBackup %s IS OF ANOTHER CLUSTER, EtcdCluster %s: ", b.Name, source)
		if makesNew {
			warning += fmt.Sprintf("it is not of %s.\n", s.cluster.Name)
		} else {
			warning += fmt.Sprintf("its keys replace those of EtcdCluster %s.\n", s.cluster.Name)
		}
	}
	if makesNew {
		r.Name, r.Spec.Target = cmp.Or(t.into, s.cluster.Name), v1beta2.TargetNew
		if err := errTaken(ctx, s, r.Name); err != nil {
			return nil, "", err
		}
		plan := warning + fmt.Sprintf("This creates EtcdCluster %s/%s from %s.", s.Namespace, r.Name, what)
		if !t.isGone {
			plan += fmt.Sprintf(" %s stays as it is.", s.title())
		}
		if t.created != nil {
			r.Spec.EtcdCluster, r.Spec.ClusterTemplate = nil, clusterTemplate(t.created)
			plan = strings.Join(append([]string{plan}, t.createdNotes(ctx, s, r.Name)...), "\n")
		}
		if len(t.prefixes) > 0 {
			plan += "\nOnly the keys under these prefixes are restored: " + strings.Join(t.prefixes, ", ")
		}
		return r, plan, nil
	}
	plan := warning + fmt.Sprintf("This replaces the data of %s by %s.\nALL THAT WAS WRITTEN SINCE IS LOST. Clients are disconnected while the members are stopped.", s.title(), what)
	if !s.cluster.Spec.Persistent() {
		r.Spec.AcceptDataLoss = true
		plan += "\nIts members have no volumes: a restore that fails after they are stopped cannot bring their data back (acceptDataLoss)."
	}
	return r, plan, nil
}

// moment is the value of the flag --to-time: a time, or a duration before now.
type moment struct {
	now func() time.Time
	at  *metav1.Time
}

// Set implements pflag.Value.
func (m *moment) Set(text string) error {
	if d, err := time.ParseDuration(text); err == nil {
		m.at = &metav1.Time{Time: m.now().Add(-d.Abs()).UTC().Truncate(time.Second)}
		return nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return errors.New("it is not a time: set a time such as 2026-03-01T12:00:00Z, or how long ago, such as 10m")
	}
	m.at = &metav1.Time{Time: at}
	return nil
}

// String implements pflag.Value.
func (m *moment) String() string {
	if m.at == nil {
		return ""
	}
	return m.at.UTC().Format(time.RFC3339)
}

// Type implements pflag.Value.
func (m *moment) Type() string { return "string" }

// chooseBackup is the EtcdBackup that is named, or the one whose newest good backup of the cluster
// is the newest, of those with an archive where one is needed.
func chooseBackup(ctx context.Context, s *scene, name string, archived bool) (*v1beta2.EtcdBackup, error) {
	if name != "" {
		return s.Backup(ctx, name)
	}
	backups, err := s.Backups(ctx, s.cluster.Name)
	if err != nil {
		return nil, err
	}
	var best *v1beta2.EtcdBackup
	var newest time.Time
	for i := range backups {
		if archived && backups[i].Spec.Archive == nil && backups[i].Status.Archive == nil {
			continue
		}
		if r := newestGood(&backups[i]); r != nil && r.CompletionTime.After(newest) {
			best, newest = &backups[i], r.CompletionTime.Time
		}
	}
	if best == nil {
		if archived {
			return nil, fmt.Errorf("no EtcdBackup of %s has an archive, which --to-time needs: set --to-revision, or spec.archive for the future", s.title())
		}
		return nil, fmt.Errorf("no EtcdBackup of %s has stored a good backup: set --from, or write an EtcdRestore that names the place", s.title())
	}
	return best, nil
}

// newestGood is the newest good backup of an EtcdBackup; nil if it remembers none.
func newestGood(b *v1beta2.EtcdBackup) *v1beta2.BackupRecord {
	var newest *v1beta2.BackupRecord
	for i := range b.Status.History {
		r := &b.Status.History[i]
		isGood := r.Succeeded && r.CompletionTime != nil && (r.Quorum == nil || *r.Quorum) && r.Unhealthy == ""
		if isGood && (newest == nil || r.CompletionTime.After(newest.CompletionTime.Time)) {
			newest = r
		}
	}
	return newest
}
