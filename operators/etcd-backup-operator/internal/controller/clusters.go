package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/act"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/backedup"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/report"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

const (
	// fieldOwner owns what this operator applies to the status of EtcdClusters: the field
	// backup, and the condition BackedUp.
	fieldOwner = client.FieldOwner("etcd-backup-operator")
	// rewriteAfter is how long to wait before the same is applied again. An etcd-operator
	// or a definition of EtcdClusters that is older than this operator drops what it does
	// not know with each of its own writes.
	rewriteAfter = 10 * time.Minute
)

// clusters reports in the status of each EtcdCluster on its backups, whichever EtcdBackups
// make them. The status remembers what EtcdBackups that are gone have reported, also across
// a restart of this operator.
type clusters struct {
	*Reconciler
	kind operator.Kind

	mu      sync.Mutex
	applied map[client.ObjectKey]appliedStatus
}

// appliedStatus is what was applied last, and when.
type appliedStatus struct {
	content string
	at      time.Time
}

// setUp registers the watches. EtcdClusters are watched once etcd-operator is installed.
func (r *clusters) setUp(mgr ctrl.Manager, workers int) error {
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named("etcdcluster-backups").
		Watches(&v1beta2.EtcdBackup{}, handler.EnqueueRequestsFromMapFunc(r.ofBackup)).
		WithOptions(operator.ControllerOptions(workers)).
		Build(r)
	if err != nil {
		return err
	}
	return r.kind.Watch(mgr, c, &v1beta2.EtcdCluster{}, func(_ context.Context, o client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(o)}}
	})
}

// ofBackup maps an EtcdBackup to the clusters that it is of.
func (r *clusters) ofBackup(ctx context.Context, o client.Object) []reconcile.Request {
	keys, err := r.keysOf(ctx, o.(*v1beta2.EtcdBackup))
	if err != nil {
		log.FromContext(ctx).Error(err, "cannot find the EtcdClusters of an EtcdBackup", "backup", o.GetName())
	}
	var all []reconcile.Request
	for _, key := range keys {
		all = append(all, reconcile.Request{NamespacedName: key})
	}
	return all
}

// keysOf are the clusters that an EtcdBackup is of: the one that it names, or those whose
// snapshots it has stored.
func (r *clusters) keysOf(ctx context.Context, b *v1beta2.EtcdBackup) ([]client.ObjectKey, error) {
	if !r.kind.Served() {
		return nil, nil
	}
	if ref := b.Spec.ClusterRef; ref != nil {
		return []client.ObjectKey{{Namespace: b.Namespace, Name: ref.Name}}, nil
	}
	ids := backedup.ClusterIDs(b)
	if len(ids) == 0 {
		return nil, nil
	}
	var list v1beta2.EtcdClusterList
	if err := r.Client.List(ctx, &list, client.InNamespace(b.Namespace)); err != nil {
		return nil, fmt.Errorf("list EtcdClusters: %w", err)
	}
	var keys []client.ObjectKey
	for i := range list.Items {
		if slices.Contains(ids, list.Items[i].Status.ClusterID) {
			keys = append(keys, client.ObjectKeyFromObject(&list.Items[i]))
		}
	}
	return keys, nil
}

// Reconcile reports on the backups of one EtcdCluster in its status.
func (r *clusters) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	requeueAfter, err := r.updateCluster(ctx, req.NamespacedName)
	return operator.Result(ctx, requeueAfter, err, act.ErrStale)
}

// updateCluster applies the state of a cluster's backups to its status, if it has changed.
// requeueAfter is after how long to look again; 0: when something changes.
func (r *clusters) updateCluster(ctx context.Context, key client.ObjectKey) (requeueAfter time.Duration, err error) {
	if !r.kind.Served() {
		return 0, nil
	}
	var c v1beta2.EtcdCluster
	if err := r.Client.Get(ctx, key, &c); err != nil {
		if !apierrors.IsNotFound(err) {
			return 0, fmt.Errorf("read EtcdCluster: %w", err)
		}
		r.forget(key)
		return 0, nil
	}
	if c.DeletionTimestamp != nil {
		return 0, nil
	}
	backups, err := r.backupsOf(ctx, &c)
	if err != nil {
		return 0, err
	}
	now := r.Now()
	v := backedup.Judge(now, &c, backups)
	r.Metrics.Clusters.Observe(key, v.Status, v.Condition, c.Spec.BackupMaxAge())
	before := meta.FindStatusCondition(c.Status.Conditions, v1beta2.ConditionBackedUp)
	wanted := dated(before, v.Condition, now)
	content, same, err := compare(&c, before, v.Status, wanted)
	if err != nil || same {
		return min(v.RequeueAfter, longest), err
	}
	if wait := r.toWait(key, content, now); wait > 0 {
		return operator.Sooner(wait, min(v.RequeueAfter, longest)), nil
	}
	if err := r.apply(ctx, &c, v.Status, wanted); err != nil {
		return 0, err
	}
	r.remember(key, content, now)
	// Whether it is news: a warning is told once.
	if v.TooOld && (before == nil || before.Reason != wanted.Reason) {
		operator.Tell(ctx, r.Events, &c, true, wanted.Reason, report.ActionBackup, wanted.Message)
	}
	return min(v.RequeueAfter, longest), nil
}

// backupsOf are the EtcdBackups that name a cluster or have stored a snapshot of its id; one
// that does both is there once.
func (r *clusters) backupsOf(ctx context.Context, c *v1beta2.EtcdCluster) ([]v1beta2.EtcdBackup, error) {
	var named, stored v1beta2.EtcdBackupList
	if err := r.Client.List(ctx, &named, client.InNamespace(c.Namespace), client.MatchingFields{clusterIndex: c.Name}); err != nil {
		return nil, fmt.Errorf("list EtcdBackups by cluster: %w", err)
	}
	if c.Status.ClusterID == "" {
		return named.Items, nil
	}
	if err := r.Client.List(ctx, &stored, client.InNamespace(c.Namespace), client.MatchingFields{clusterIDIndex: c.Status.ClusterID}); err != nil {
		return nil, fmt.Errorf("list EtcdBackups by cluster id: %w", err)
	}
	byEndpoints := slices.DeleteFunc(stored.Items, func(b v1beta2.EtcdBackup) bool { return b.Spec.ClusterRef != nil })
	return append(named.Items, byEndpoints...), nil
}

// longest is how long to wait at most when a moment is waited for: see package plan.
const longest = time.Hour

// dated is a condition with the time since when its status holds.
func dated(before, next *metav1.Condition, now time.Time) *metav1.Condition {
	if next == nil {
		return nil
	}
	c := next.DeepCopy()
	c.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
	if before != nil && before.Status == c.Status {
		c.LastTransitionTime = before.LastTransitionTime
	}
	return c
}

// part is the part of a status that this operator applies.
type part struct {
	Backup     *v1beta2.ClusterBackupStatus `json:"backup,omitempty"`
	Conditions []metav1.Condition           `json:"conditions,omitempty"`
}

func newPart(status *v1beta2.ClusterBackupStatus, c *metav1.Condition) part {
	t := part{Backup: status}
	if c != nil {
		t.Conditions = []metav1.Condition{*c}
	}
	return t
}

func undated(c *metav1.Condition) *metav1.Condition {
	if c == nil {
		return nil
	}
	c = c.DeepCopy()
	c.LastTransitionTime = metav1.Time{}
	return c
}

// compare reports whether the status of a cluster is as wanted. content is what is wanted,
// without its time.
func compare(c *v1beta2.EtcdCluster, before *metav1.Condition, status *v1beta2.ClusterBackupStatus, wanted *metav1.Condition) (content string, same bool, err error) {
	next := newPart(status, wanted)
	text, err := json.Marshal(newPart(status, undated(wanted)))
	if err != nil {
		return "", false, fmt.Errorf("encode the backup status: %w", err)
	}
	same, err = operator.EqualStatus(newPart(c.Status.Backup, before), next)
	return string(text), same, err
}

// apply writes this operator's part of the status, and only if the EtcdCluster is still as
// it was read: neither a cache that lags nor a second operator brings back what is older.
func (r *clusters) apply(ctx context.Context, c *v1beta2.EtcdCluster, status *v1beta2.ClusterBackupStatus, wanted *metav1.Condition) error {
	text, err := json.Marshal(newPart(status, wanted))
	if err != nil {
		return fmt.Errorf("encode the backup status: %w", err)
	}
	fields := map[string]any{}
	if err := json.Unmarshal(text, &fields); err != nil {
		return fmt.Errorf("encode the backup status: %w", err)
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1beta2.GroupVersion.String(), "kind": "EtcdCluster",
		"metadata": map[string]any{"name": c.Name, "namespace": c.Namespace, "uid": string(c.UID), "resourceVersion": c.ResourceVersion},
		"status":   fields,
	}}
	if err := r.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), fieldOwner, client.ForceOwnership); err != nil {
		return fmt.Errorf("apply the condition %s to EtcdCluster %s: %w", v1beta2.ConditionBackedUp, c.Name, err)
	}
	return nil
}

// toWait is how long to wait before the same content is applied again; 0 if it may be now.
func (r *clusters) toWait(key client.ObjectKey, content string, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, ok := r.applied[key]
	if !ok || last.content != content {
		return 0
	}
	return max(0, last.at.Add(rewriteAfter).Sub(now))
}

func (r *clusters) remember(key client.ObjectKey, content string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.applied == nil {
		r.applied = map[client.ObjectKey]appliedStatus{}
	}
	r.applied[key] = appliedStatus{content: content, at: now}
}

func (r *clusters) forget(key client.ObjectKey) {
	r.Metrics.Clusters.Forget(key)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.applied, key)
}

// updateBeforeDeletion updates the clusters of an EtcdBackup before it is deleted. A cluster
// that rejects the update does not hold up the deletion; errors that can pass do.
func (r *clusters) updateBeforeDeletion(ctx context.Context, b *v1beta2.EtcdBackup) error {
	keys, err := r.keysOf(ctx, b)
	if err != nil {
		return err
	}
	for _, key := range keys {
		_, err := r.updateCluster(ctx, key)
		if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
			log.FromContext(ctx).Error(err, "cannot record an EtcdBackup in the status of its EtcdCluster; deleting it anyway", "cluster", key.Name)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}
