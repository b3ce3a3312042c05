// Package observe gathers all that the planner may know of one EtcdRestore: the EtcdRestore
// and those beside it, its Job, its EtcdCluster with the Pods and volumes of that, and what
// agents, launchers and members tell. It decides nothing.
package observe

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
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
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
	"github.com/etcd-operators/etcd-operators/shared/member"
	"github.com/etcd-operators/etcd-operators/shared/operator"
	"github.com/etcd-operators/etcd-operators/shared/sighting"
)

// ClusterIndex finds the EtcdRestores of an EtcdCluster.
const ClusterIndex = "cluster"

// endingPoll is how often a Pod is looked at that ends, and of which no watch tells.
const endingPoll = time.Second

// Observer makes Observations.
type Observer struct {
	// Client reads from caches, which have [ClusterIndex].
	Client client.Reader
	// Live reads from the API server itself.
	Live client.Reader
	// Clusters and Backups are EtcdClusters and EtcdBackups: where their operator is not
	// installed there is no such kind.
	Clusters, Backups *operator.Kind
	// ClusterWide operators reconcile the EtcdRestores that are annotated with that
	// scope, others those that are not.
	ClusterWide bool
	// Creators are those of EtcdRestores.
	Creators operator.Creators
	// Now is the clock.
	Now func() time.Time
	// Network reaches what runs in Pods; nil: the network there is.
	Network http.RoundTripper

	sightings sighting.Memory
}

// Forget drops what the Observer remembers of an EtcdRestore.
func (o *Observer) Forget(key client.ObjectKey) { o.sightings.Forget(key) }

// Observation is what plan may know, and where more is to be had.
type Observation struct {
	plan.Observation
	// agents are the addresses of the Pods in which an agent runs.
	agents []string
	// members are the addresses of the Pods of old members that run.
	members []string
	// network reaches them.
	network http.RoundTripper
	// look is this look at the EtcdRestore.
	look *sighting.Look
	// RequeueAfter is after how long time alone changes the observation; 0: never.
	RequeueAfter time.Duration
}

// Observe gathers all that plan may know of one EtcdRestore.
func (o *Observer) Observe(ctx context.Context, e *v1beta2.EtcdRestore) (*Observation, error) {
	obs := &Observation{network: o.Network, Observation: plan.Observation{
		Now:       o.Now(),
		Restore:   e.DeepCopy(),
		FreshName: member.Name(plan.ClusterName(e), member.Suffix(rand.Reader)),
	}}
	obs.look = o.sightings.Look(client.ObjectKeyFromObject(e), obs.Now)
	for _, part := range []func(context.Context, *v1beta2.EtcdRestore, *Observation) error{o.references, o.others, o.job, o.memberNodes, o.pods, o.claims} {
		if err := part(ctx, e, obs); err != nil {
			return nil, err
		}
	}
	obs.look.Keep()
	if plan.AsksCreator(obs.Observation) {
		obs.Creator = o.Creators.Check(ctx, o.Live)
	}
	return obs, nil
}

// reader says from where the cluster and what is its are read: what a cache does not show
// yet of a restore that is about to end would be forgotten for good.
func (o *Observer) reader(e *v1beta2.EtcdRestore) client.Reader {
	if e.DeletionTimestamp != nil || e.Status.Phase == v1beta2.RestoreHandedOff || e.Status.Phase == v1beta2.RestoreRollingBack {
		return o.Live
	}
	return o.Client
}

// references reads the objects that the EtcdRestore names.
func (o *Observer) references(ctx context.Context, e *v1beta2.EtcdRestore, obs *Observation) (err error) {
	if o.Clusters.Served() {
		if obs.Cluster, err = o.cluster(ctx, e); err != nil {
			return err
		}
		if obs.Template, err = find(ctx, o, o.Client, e, plan.TemplateName(e), &v1beta2.EtcdCluster{}); err != nil {
			return err
		}
	}
	if o.Backups.Served() {
		obs.Backup, err = find(ctx, o, o.Client, e, plan.BackupName(e), &v1beta2.EtcdBackup{})
	}
	return err
}

// cluster reads the EtcdCluster that is restored. One of another uid than was recorded is
// read afresh.
func (o *Observer) cluster(ctx context.Context, e *v1beta2.EtcdRestore) (*v1beta2.EtcdCluster, error) {
	c, err := find(ctx, o, o.reader(e), e, plan.ClusterName(e), &v1beta2.EtcdCluster{})
	if err == nil && c != nil && e.Status.ClusterUID != "" && e.Status.ClusterUID != string(c.UID) {
		return find(ctx, o, o.Live, e, c.Name, &v1beta2.EtcdCluster{})
	}
	return c, err
}

// find reads an object of the EtcdRestore's namespace into one; nil if there is none,
// also at the API server itself.
func find[T any, P interface {
	*T
	client.Object
}](ctx context.Context, o *Observer, reader client.Reader, e *v1beta2.EtcdRestore, name string, into P) (P, error) {
	if name == "" {
		return nil, nil
	}
	key := client.ObjectKey{Namespace: e.Namespace, Name: name}
	err := reader.Get(ctx, key, into)
	if apierrors.IsNotFound(err) {
		err = o.Live.Get(ctx, key, into)
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
func (o *Observer) others(ctx context.Context, e *v1beta2.EtcdRestore, obs *Observation) error {
	var list v1beta2.EtcdRestoreList
	if err := o.Client.List(ctx, &list, client.InNamespace(e.Namespace), client.MatchingFields{ClusterIndex: plan.ClusterName(e)}); err != nil {
		return fmt.Errorf("list EtcdRestores: %w", err)
	}
	slices.SortFunc(list.Items, older)
	for i := range list.Items {
		x := &list.Items[i]
		if x.UID == e.UID || Ended(x) || !operator.InScope(x, o.ClusterWide) {
			continue
		}
		obs.Others = append(obs.Others, plan.Other{Name: x.Name, UID: string(x.UID), Before: older(*x, *e) < 0})
	}
	return nil
}

func older(a, b v1beta2.EtcdRestore) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID))
}

// Ended reports whether nothing more is done for an EtcdRestore. The predecessor wrote no
// phase.
func Ended(e *v1beta2.EtcdRestore) bool {
	s := &e.Status
	predecessors := s.Phase == v1beta2.RestoreNone && (s.Succeeded || s.Reason != "")
	return s.Phase == v1beta2.RestoreComplete || s.Phase == v1beta2.RestoreVerified || s.Phase == v1beta2.RestoreFailed || predecessors
}

// job reads the Job that verifies, with its Pods.
func (o *Observer) job(ctx context.Context, e *v1beta2.EtcdRestore, obs *Observation) error {
	j, err := find(ctx, o, o.Client, e, plan.JobName(e), &batchv1.Job{})
	if err != nil || j == nil || !metav1.IsControlledBy(j, e) {
		return err
	}
	if err := o.seeJob(ctx, o.Client, j, obs); err != nil {
		return err
	}
	if (obs.Job.Done && obs.Job.Result == nil) || plan.Hangs(obs.Job, obs.Now) {
		// The cache of Pods might lag behind that of Jobs, and a lost node be back.
		return o.seeJob(ctx, o.Live, j, obs)
	}
	return nil
}

// seeJob notes a Job with what its Pods tell, as a reader has them.
func (o *Observer) seeJob(ctx context.Context, reader client.Reader, j *batchv1.Job, obs *Observation) error {
	var list corev1.PodList
	if err := reader.List(ctx, &list, client.InNamespace(j.Namespace), client.MatchingLabels(build.Selector(obs.Restore.Name))); err != nil {
		return fmt.Errorf("list Pods: %w", err)
	}
	pods := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return !metav1.IsControlledBy(&p, j) })
	obs.noteAgents(pods)
	seen, again := build.ObserveJob(j, pods, obs.look)
	obs.Job, obs.RequeueAfter = &seen, operator.Sooner(obs.RequeueAfter, again)
	return nil
}

// memberNodes notes where members run, if a Job is to keep off them.
func (o *Observer) memberNodes(ctx context.Context, e *v1beta2.EtcdRestore, obs *Observation) error {
	if obs.Job != nil || !plan.KeepsOffMembers(e) {
		return nil
	}
	var list corev1.PodList
	if err := o.Client.List(ctx, &list, client.MatchingLabels{v1beta2.LabelApp: v1beta2.AppEtcd}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the Pods of members: %w", err)
	}
	for i := range list.Items {
		if p := &list.Items[i]; p.Spec.NodeName != "" && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			obs.MemberNodes = append(obs.MemberNodes, p.Spec.NodeName)
		}
	}
	slices.Sort(obs.MemberNodes)
	obs.MemberNodes = slices.Compact(obs.MemberNodes)
	return nil
}

// pods reads those of the cluster.
func (o *Observer) pods(ctx context.Context, e *v1beta2.EtcdRestore, obs *Observation) error {
	if obs.Cluster == nil {
		return nil
	}
	pods, err := PodsOf(ctx, o.reader(e), obs.Cluster)
	if err == nil && obs.Cluster.Status.FencedBy == string(e.UID) {
		pods, err = o.addUnlabelled(ctx, obs, pods)
	}
	if err != nil {
		return err
	}
	for i := range pods {
		seen, again := build.ObservePod(e, &pods[i], obs.look)
		AskLauncher(ctx, o.Network, &pods[i], &seen)
		obs.Pods, obs.RequeueAfter = append(obs.Pods, seen), operator.Sooner(obs.RequeueAfter, again)
		if seen.Seed {
			obs.noteAgents(pods[i : i+1])
		} else if pods[i].Status.PodIP != "" && pods[i].DeletionTimestamp == nil {
			obs.members = append(obs.members, pods[i].Status.PodIP)
		}
	}
	return nil
}

// addUnlabelled adds the Pods that the list does not show. No watch tells of their end, either.
func (o *Observer) addUnlabelled(ctx context.Context, obs *Observation, pods []corev1.Pod) ([]corev1.Pod, error) {
	hidden, doubtful, err := OtherPods(ctx, o.Live, obs.Restore, obs.Cluster, pods)
	obs.Doubtful = append(obs.Doubtful, doubtful...)
	for i := range hidden {
		p := &hidden[i]
		if slices.ContainsFunc(pods, func(cached corev1.Pod) bool { return cached.Name == p.Name }) {
			continue // the cache lags behind
		}
		pods = append(pods, *p)
		if p.DeletionTimestamp != nil && !build.Stopped(p) {
			obs.RequeueAfter = operator.Sooner(obs.RequeueAfter, endingPoll)
		}
	}
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return pods, err
}

// PodsOf are the Pods of a cluster, by name.
func PodsOf(ctx context.Context, reader client.Reader, c *v1beta2.EtcdCluster) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := reader.List(ctx, &list, client.InNamespace(c.Namespace), client.MatchingLabels(member.Selector(c.Name))); err != nil {
		return nil, fmt.Errorf("list Pods: %w", err)
	}
	pods := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return !isClusters(&p, c) })
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return pods, nil
}

// isClusters reports whether a Pod is the EtcdCluster's: by its owner reference, or, if
// nobody controls it, by the uid in its label. From such a one somebody has removed the
// reference: it serves all the same, since the cluster's Services select by that label.
func isClusters(pod metav1.Object, c *v1beta2.EtcdCluster) bool {
	if metav1.GetControllerOf(pod) != nil {
		return metav1.IsControlledBy(pod, c)
	}
	return member.IsLabelled(c, pod)
}

// OtherPods are the Pods of a cluster that a list of its Pods has not shown: somebody has taken a
// label from them, or has created them since. They serve all the same, and nobody puts labels back
// while the cluster is fenced. doubtful are those that might be the cluster's.
func OtherPods(ctx context.Context, live client.Reader, e *v1beta2.EtcdRestore, c *v1beta2.EtcdCluster, listed []corev1.Pod) (pods []corev1.Pod, doubtful []plan.Doubtful, err error) {
	all, err := metadata(ctx, live, c.Namespace, "Pod")
	if err != nil {
		return nil, nil, err
	}
	for i := range all {
		o := &all[i]
		if !isClusters(o, c) && isInDoubt(e, c, o) {
			doubtful = append(doubtful, plan.Doubtful{Object: "Pod " + o.Name, Advice: conditiontext.InDoubt(o.Namespace, "Pod", o.Name, "EtcdCluster", c.Name, string(c.UID))})
		}
		if !isClusters(o, c) || slices.ContainsFunc(listed, func(p corev1.Pod) bool { return p.UID == o.UID }) {
			continue
		}
		var pod corev1.Pod
		err := live.Get(ctx, client.ObjectKeyFromObject(o), &pod)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, nil, fmt.Errorf("read Pod %s: %w", o.Name, err)
		}
		if err == nil {
			pods = append(pods, pod)
		}
	}
	return pods, doubtful, nil
}

// isInDoubt reports whether an object that is not known to be the cluster's might be: it has the name of a member or
// of the seed, and no other controller owns it.
func isInDoubt(e *v1beta2.EtcdRestore, c *v1beta2.EtcdCluster, o metav1.Object) bool {
	isNamed := o.GetName() == e.Status.SeedMember || member.IsListed(c, o.GetName())
	return isNamed && metav1.GetControllerOf(o) == nil
}

// metadata lists what the objects of a kind are called, and who has them, whatever their
// labels.
func metadata(ctx context.Context, live client.Reader, namespace, kind string) ([]metav1.PartialObjectMetadata, error) {
	list := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: kind + "List"}}
	if err := live.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the metadata of %ss: %w", kind, err)
	}
	return list.Items, nil
}

// claims reads the volumes of the cluster's members, and those that are retired.
func (o *Observer) claims(ctx context.Context, e *v1beta2.EtcdRestore, obs *Observation) error {
	if obs.Cluster == nil {
		return nil
	}
	var list corev1.PersistentVolumeClaimList
	if err := o.reader(e).List(ctx, &list, client.InNamespace(e.Namespace), client.MatchingLabels{v1beta2.LabelApp: v1beta2.AppEtcd}); err != nil {
		return fmt.Errorf("list PersistentVolumeClaims: %w", err)
	}
	for i := range list.Items {
		claim := &list.Items[i]
		retired := claim.Labels[v1beta2.LabelRetiredBy] == string(e.UID)
		if member.Owns(obs.Cluster, claim) && (claim.Labels[v1beta2.LabelCluster] == obs.Cluster.Name || retired) {
			obs.Claims = append(obs.Claims, claimOf(claim, retired))
		}
	}
	if err := o.unlabelledClaims(ctx, e, obs); err != nil {
		return err
	}
	slices.SortFunc(obs.Claims, func(a, b plan.Claim) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

// unlabelledClaims adds the volumes from which somebody has taken a label by which members'
// volumes are found, while the cluster is left to the restore, and of those that it has retired
// the ones that it is to delete or to give back.
func (o *Observer) unlabelledClaims(ctx context.Context, e *v1beta2.EtcdRestore, obs *Observation) error {
	fenced := obs.Cluster.Status.FencedBy == string(e.UID)
	if !fenced && e.Status.Phase != v1beta2.RestoreHandedOff {
		return nil
	}
	all, err := metadata(ctx, o.Live, e.Namespace, "PersistentVolumeClaim")
	if err != nil {
		return err
	}
	for i := range all {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: all[i].ObjectMeta}
		by, isRetired := claim.Labels[v1beta2.LabelRetiredBy]
		ours := by == string(e.UID)
		if fenced && !member.Owns(obs.Cluster, claim) && (isInDoubt(e, obs.Cluster, claim) && !isRetired || ours && metav1.GetControllerOf(claim) == nil) {
			obs.Doubtful = append(obs.Doubtful, plan.Doubtful{
				Retired: ours, Object: "PersistentVolumeClaim " + claim.Name, Advice: member.PVCInDoubt(claim.Namespace, claim.Name, obs.Cluster.Name, string(obs.Cluster.UID)),
			})
		}
		labelled := claim.Labels[v1beta2.LabelApp] == v1beta2.AppEtcd && (claim.Labels[v1beta2.LabelCluster] == obs.Cluster.Name || ours)
		cached := slices.ContainsFunc(obs.Claims, func(c plan.Claim) bool { return c.Name == claim.Name })
		if cached || labelled || !ours && (isRetired || !fenced) || !member.Owns(obs.Cluster, claim) {
			continue
		}
		obs.Claims = append(obs.Claims, claimOf(claim, ours))
	}
	return nil
}

func claimOf(claim *corev1.PersistentVolumeClaim, retired bool) plan.Claim {
	return plan.Claim{Name: claim.Name, UID: string(claim.UID), Retired: retired, Deleting: claim.DeletionTimestamp != nil}
}
