package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/plugin/internal/kube"
	"github.com/etcd-operators/etcd-operators/plugin/internal/screen"
)

// place are the flags that say where a backup is stored.
type place struct {
	like, s3, secret, endpoint, region, pvc string
	pathStyle                               bool
}

func (p *place) addTo(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.like, "like", "", "store it where this EtcdBackup does, and with its credentials; default: the cluster's only EtcdBackup")
	f.StringVar(&p.s3, "s3", "", "store it in S3, as BUCKET/KEY")
	f.StringVar(&p.secret, "s3-secret", "", "the Secret with the key credentials, for --s3")
	f.StringVar(&p.endpoint, "s3-endpoint", "", "the URL of the store, for --s3; default: AWS")
	f.StringVar(&p.region, "s3-region", "", "the region of the bucket, for --s3")
	f.BoolVar(&p.pathStyle, "s3-path-style", false, "put the bucket into the path of the URL, for --s3")
	f.StringVar(&p.pvc, "pvc", "", "store it on a volume, as CLAIM/PATH")
}

// check returns an error if flags contradict each other or have an invalid value.
func (p *place) check() error {
	if p.s3 != "" && p.pvc != "" || p.like != "" && (p.s3 != "" || p.pvc != "") {
		return errors.New("--like, --s3 and --pvc must not be set together: set only one of them")
	}
	if claim, path, _ := strings.Cut(p.pvc, "/"); p.pvc != "" && (claim == "" || path == "") {
		return fmt.Errorf("--pvc %s must have the form CLAIM/PATH, such as backups/etcd.db", p.pvc)
	}
	return nil
}

// spec is that of the backup of a cluster, called name.
func (p *place) spec(ctx context.Context, s *scene, name string) (*v1beta2.BackupSpec, error) {
	spec := &v1beta2.BackupSpec{}
	switch {
	case p.s3 == "" && p.pvc == "":
		return p.specLike(ctx, s, name)
	case p.s3 != "":
		spec.StorageType = v1beta2.StorageS3
		spec.S3 = &v1beta2.S3Source{Path: p.s3, AWSSecret: p.secret, Endpoint: p.endpoint, Region: p.region, ForcePathStyle: p.pathStyle}
	default:
		claim, path, _ := strings.Cut(p.pvc, "/")
		spec.StorageType, spec.PVC = v1beta2.StoragePVC, &v1beta2.PVCSource{ClaimName: claim, Path: path}
	}
	return spec, nil
}

// specLike takes the store of an EtcdBackup that exists, under a path of its own.
func (p *place) specLike(ctx context.Context, s *scene, name string) (*v1beta2.BackupSpec, error) {
	backups, err := s.Backups(ctx, s.cluster.Name)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, b := range backups {
		names = append(names, b.Name)
	}
	var like *v1beta2.EtcdBackup
	repeated := slices.DeleteFunc(slices.Clone(backups), func(b v1beta2.EtcdBackup) bool { return !b.Spec.Repeated() })
	switch {
	case p.like != "":
		if like, err = s.Backup(ctx, p.like); err != nil {
			return nil, err
		}
	case len(backups) == 0:
		return nil, fmt.Errorf("%s has no EtcdBackup whose store could be used: set --s3 BUCKET/KEY, --pvc CLAIM/PATH or --like BACKUP, or create an EtcdBackup for another store", s.title())
	case len(backups) == 1:
		like = &backups[0]
	case len(repeated) == 1:
		like = &repeated[0]
	default:
		return nil, fmt.Errorf("%s has %d EtcdBackups: set --like to one of %s", s.title(), len(names), strings.Join(names, ", "))
	}
	from := like.Spec.DeepCopy()
	spec := &v1beta2.BackupSpec{
		StorageType: from.StorageType, S3: from.S3, PVC: from.PVC, ABS: from.ABS, GCS: from.GCS, OSS: from.OSS,
		ClientTLSSecret: from.ClientTLSSecret, AuthSecret: from.AuthSecret, Compression: from.Compression, RecordHash: from.RecordHash, Pod: from.Pod,
	}
	// A name of its own beside the others: it is neither theirs to delete, nor replaces one.
	for _, path := range paths(spec) {
		*path += "-" + name
	}
	return spec, nil
}

// paths are where a spec stores a backup: one of them, if it is valid.
func paths(spec *v1beta2.BackupSpec) []*string {
	var all []*string
	if spec.S3 != nil {
		all = append(all, &spec.S3.Path)
	}
	if spec.OSS != nil {
		all = append(all, &spec.OSS.Path)
	}
	if spec.ABS != nil {
		all = append(all, &spec.ABS.Path)
	}
	if spec.GCS != nil {
		all = append(all, &spec.GCS.Path)
	}
	if spec.PVC != nil {
		all = append(all, &spec.PVC.Path)
	}
	return all
}

func (a *App) backup() *cobra.Command {
	var w waiting
	var to place
	var name string
	cmd := a.of("backup CLUSTER", "Back a cluster up, once",
		`Back a cluster up, once, by an EtcdBackup: beside the backups that an EtcdBackup of the cluster
makes already, or where the flags say. An existing object is never replaced.`,
		examples("backup example", "backup example --s3 mybucket/example/before-upgrade --s3-secret aws", "backup example --pvc backups/example.db"),
		func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if err := to.check(); err != nil {
				return err
			}
			s, err := a.open(ctx, args[0])
			if err != nil {
				return err
			}
			name := cmp.Or(name, s.cluster.Name+"-"+a.Now().UTC().Format(nameStamp))
			spec, err := to.spec(ctx, s, name)
			if err != nil {
				return err
			}
			never := false
			spec.ClusterRef, spec.Overwrite = &v1beta2.ClusterReference{Name: s.cluster.Name}, &never
			b := &v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}, Spec: *spec}
			scoped(b, s.cluster)
			if err := create(ctx, s.Access, "EtcdBackup", b); err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "EtcdBackup %s is created.\n", name)
			w.unseen = unread("EtcdBackup", b, func() bool { return b.Status.Phase != v1beta2.BackupNone || len(b.Status.Conditions) > 0 })
			w.timedOut = fmt.Errorf("not done yet: the backup continues; run \"kubectl get etcdbk %s -n %s\" to see its progress", name, s.Namespace)
			if err := a.await(ctx, w, func(ctx context.Context) (string, bool, error) { return backedUpBy(ctx, s.Access, name, b) }); err != nil || !w.wait {
				return err
			}
			if stored := b.Status.Snapshot; stored != nil {
				fmt.Fprintf(a.Out, "Stored revision %d in %s: %s.\n", stored.Revision, stored.Location, screen.Bytes(stored.Size))
			}
			if c := meta.FindStatusCondition(b.Status.Conditions, v1beta2.ConditionQuorum); c != nil && c.Status == metav1.ConditionFalse {
				return errors.New(c.Message)
			}
			return nil
		}, cobra.ExactArgs(1))
	to.addTo(cmd)
	w.addTo(cmd, transferWait)
	cmd.Flags().StringVar(&name, "name", "", "the name of the EtcdBackup; default: the cluster's, and the time")
	complete(cmd, "like", a.backupNames)
	return cmd
}

// backedUpBy tells how far an EtcdBackup is, and reads it into b.
func backedUpBy(ctx context.Context, access *kube.Access, name string, b *v1beta2.EtcdBackup) (string, bool, error) {
	fresh, err := access.Backup(ctx, name)
	if err != nil {
		return "", false, err
	}
	*b = *fresh
	if b.Status.Phase == v1beta2.BackupFailed {
		why := b.Status.Reason
		if f := b.Status.Failure; f != nil {
			why = f.Reason + ": " + f.Message
		}
		return "", false, fmt.Errorf("EtcdBackup %s has failed: %s", name, why)
	}
	return completion(b.Status.Conditions), b.Status.Phase == v1beta2.BackupSucceeded, nil
}

func (a *App) backups() *cobra.Command {
	var o output
	cmd := a.of("backups [CLUSTER]", "List the backups of a cluster, or of the namespace",
		"List the backups that EtcdBackups have made, the newest first. Each can be restored by its entry. An\nEtcdBackup remembers its last ten.",
		examples("backups example", "backups -o wide"), func(cmd *cobra.Command, args []string) error {
			access, err := a.Connect(false)
			if err != nil {
				return err
			}
			backups, err := access.Backups(cmd.Context(), strings.Join(args, ""))
			if err != nil {
				return err
			}
			entries := screen.BackupEntries(backups, kube.Source)
			return a.print(o, entries, func(f screen.Format) error {
				if len(entries) == 0 {
					fmt.Fprintln(a.ErrOut, "There are no backups.")
					return nil
				}
				return screen.BackupTable(entries, a.Now()).Print(a.Out, f)
			})
		}, cobra.MaximumNArgs(1))
	o.addTo(cmd)
	return cmd
}
