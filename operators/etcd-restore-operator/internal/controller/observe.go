package controller

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/build"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// observation is what plan may know, and where more is to be had.
type observation struct {
	plan.Observation
	// agents are the addresses of the Pods in which an agent runs.
	agents []string
	// members are the addresses of the Pods of old members that run.
	members []string
	// again is after how long time alone changes the observation; 0: never.
	again time.Duration
}

// observe gathers all that plan may know of one EtcdRestore.
func (r *Reconciler) observe(ctx context.Context, e *v1beta2.EtcdRestore) (*observation, error) {
	o := &observation{Observation: plan.Observation{
		Now:       r.Now(),
		Restore:   e.DeepCopy(),
		FreshName: member.Name(plan.ClusterName(e), member.Suffix(rand.Reader)),
	}}
	for _, part := range []func(context.Context, *v1beta2.EtcdRestore, *observation) error{r.references, r.others, r.job, r.pods, r.claims} {
		if err := part(ctx, e, o); err != nil {
			return nil, err
		}
	}
	if plan.AsksCreator(o.Observation) {
		o.Creator = r.Creators.Check(ctx, r.Live)
	}
	return o, nil
}

// reader says from where the cluster and what is its are read: what a cache does not show
// yet of a restore that is about to end would be forgotten for good.
func (r *Reconciler) reader(e *v1beta2.EtcdRestore) client.Reader {
	if e.DeletionTimestamp != nil || e.Status.Phase == v1beta2.RestoreHandedOff || e.Status.Phase == v1beta2.RestoreRollingBack {
		return r.Live
	}
	return r.Client
}

// references reads the objects that the EtcdRestore names.
func (r *Reconciler) references(ctx context.Context, e *v1beta2.EtcdRestore, o *observation) (err error) {
	if r.clusters.Served() {
		if o.Cluster, err = r.cluster(ctx, e); err != nil {
			return err
		}
		if o.Template, err = find(ctx, r, r.Client, e, plan.TemplateName(e), &v1beta2.EtcdCluster{}); err != nil {
			return err
		}
	}
	if r.backups.Served() {
		o.Backup, err = find(ctx, r, r.Client, e, plan.BackupName(e), &v1beta2.EtcdBackup{})
	}
	return err
}

// cluster reads the EtcdCluster that is restored. One of another uid than was recorded is
// read afresh.
func (r *Reconciler) cluster(ctx context.Context, e *v1beta2.EtcdRestore) (*v1beta2.EtcdCluster, error) {
	c, err := find(ctx, r, r.reader(e), e, plan.ClusterName(e), &v1beta2.EtcdCluster{})
	if err == nil && c != nil && e.Status.ClusterUID != "" && e.Status.ClusterUID != string(c.UID) {
		return find(ctx, r, r.Live, e, c.Name, &v1beta2.EtcdCluster{})
	}
	return c, err
}

// find reads an object of the EtcdRestore's namespace into one; nil if there is none,
// also at the API server itself.
func find[T any, P interface {
	*T
	client.Object
}](ctx context.Context, r *Reconciler, reader client.Reader, e *v1beta2.EtcdRestore, name string, into P) (P, error) {
	if name == "" {
		return nil, nil
	}
	key := client.ObjectKey{Namespace: e.Namespace, Name: name}
	err := reader.Get(ctx, key, into)
	if apierrors.IsNotFound(err) {
		err = r.Live.Get(ctx, key, into)
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %T %s: %w", into, name, err)
	}
	return into, nil
}

// others are the restores of the same EtcdCluster that are under way or wait, of those
// that this operator reconciles.
func (r *Reconciler) others(ctx context.Context, e *v1beta2.EtcdRestore, o *observation) error {
	var list v1beta2.EtcdRestoreList
	if err := r.Client.List(ctx, &list, client.InNamespace(e.Namespace), client.MatchingFields{clusterIndex: plan.ClusterName(e)}); err != nil {
		return fmt.Errorf("list EtcdRestores: %w", err)
	}
	slices.SortFunc(list.Items, older)
	for i := range list.Items {
		x := &list.Items[i]
		if x.UID == e.UID || ended(x) || !r.inScope(x) {
			continue
		}
		o.Others = append(o.Others, plan.Other{Name: x.Name, UID: string(x.UID), Before: older(*x, *e) < 0})
	}
	return nil
}

func older(a, b v1beta2.EtcdRestore) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID))
}

// ended reports whether nothing more is done for an EtcdRestore. The predecessor wrote no
// phase.
func ended(e *v1beta2.EtcdRestore) bool {
	s := &e.Status
	predecessors := s.Phase == v1beta2.RestoreNone && (s.Succeeded || s.Reason != "")
	return s.Phase == v1beta2.RestoreComplete || s.Phase == v1beta2.RestoreVerified || s.Phase == v1beta2.RestoreFailed || predecessors
}

// job reads the Job that verifies, with its Pods.
func (r *Reconciler) job(ctx context.Context, e *v1beta2.EtcdRestore, o *observation) error {
	j, err := find(ctx, r, r.Client, e, plan.JobName(e), &batchv1.Job{})
	if err != nil || j == nil || !metav1.IsControlledBy(j, e) {
		return err
	}
	if err := r.seeJob(ctx, r.Client, j, o); err != nil {
		return err
	}
	if (o.Job.Done && o.Job.Result == nil) || plan.Hangs(o.Job, o.Now) {
		// The cache of Pods might lag behind that of Jobs, and a lost node be back.
		return r.seeJob(ctx, r.Live, j, o)
	}
	return nil
}

// seeJob notes a Job with what its Pods tell, as a reader has them.
func (r *Reconciler) seeJob(ctx context.Context, reader client.Reader, j *batchv1.Job, o *observation) error {
	var list corev1.PodList
	if err := reader.List(ctx, &list, client.InNamespace(j.Namespace), client.MatchingLabels(build.Selector(o.Restore.Name))); err != nil {
		return fmt.Errorf("list Pods: %w", err)
	}
	pods := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return !metav1.IsControlledBy(&p, j) })
	o.noteAgents(pods)
	seen, again := build.ObserveJob(j, pods, o.Now)
	o.Job, o.again = &seen, sooner(o.again, again)
	return nil
}

// pods reads those of the cluster.
func (r *Reconciler) pods(ctx context.Context, e *v1beta2.EtcdRestore, o *observation) error {
	if o.Cluster == nil {
		return nil
	}
	pods, err := podsOf(ctx, r.reader(e), o.Cluster)
	if err != nil {
		return err
	}
	for i := range pods {
		seen, again := build.ObservePod(e, &pods[i], o.Now)
		askLauncher(ctx, &pods[i], &seen)
		o.Pods, o.again = append(o.Pods, seen), sooner(o.again, again)
		if seen.Seed {
			o.noteAgents(pods[i : i+1])
		} else if pods[i].Status.PodIP != "" && pods[i].DeletionTimestamp == nil {
			o.members = append(o.members, pods[i].Status.PodIP)
		}
	}
	return nil
}

// podsOf are the Pods of a cluster that it controls, by name.
func podsOf(ctx context.Context, reader client.Reader, c *v1beta2.EtcdCluster) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := reader.List(ctx, &list, client.InNamespace(c.Namespace), client.MatchingLabels(member.Selector(c.Name))); err != nil {
		return nil, fmt.Errorf("list Pods: %w", err)
	}
	pods := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return !metav1.IsControlledBy(&p, c) })
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return pods, nil
}

// claims reads the volumes of the cluster's members, and those that are retired.
func (r *Reconciler) claims(ctx context.Context, e *v1beta2.EtcdRestore, o *observation) error {
	if o.Cluster == nil {
		return nil
	}
	var list corev1.PersistentVolumeClaimList
	if err := r.reader(e).List(ctx, &list, client.InNamespace(e.Namespace), client.MatchingLabels{v1beta2.LabelApp: v1beta2.AppEtcd}); err != nil {
		return fmt.Errorf("list PersistentVolumeClaims: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.PersistentVolumeClaim) int { return cmp.Compare(a.Name, b.Name) })
	for i := range list.Items {
		claim := &list.Items[i]
		retired := claim.Labels[v1beta2.LabelRetiredBy] == string(e.UID)
		if !member.Owns(o.Cluster, claim) || claim.Labels[v1beta2.LabelCluster] != o.Cluster.Name && !retired {
			continue
		}
		o.Claims = append(o.Claims, plan.Claim{Name: claim.Name, UID: string(claim.UID), Retired: retired, Deleting: claim.DeletionTimestamp != nil})
	}
	return nil
}
