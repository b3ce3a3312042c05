package controller

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/act"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/backedup"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/report"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

const (
	// clusterIndex finds the EtcdBackups that refer to an EtcdCluster.
	clusterIndex = "spec.clusterRef.name"
	// clusterIDIndex finds those that have stored a snapshot of a cluster's id.
	clusterIDIndex = "status.history.clusterID"
)

// SetupWithManager registers the watches. workers is how many backups are reconciled
// at a time; none waits for a backup to end.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, workers int) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1beta2.EtcdBackup{}, clusterIndex, byCluster); err != nil {
		return err
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1beta2.EtcdBackup{}, clusterIDIndex, byClusterID); err != nil {
		return err
	}
	if err := r.assemble(mgr); err != nil {
		return err
	}
	c, err := ctrl.NewControllerManagedBy(mgr).
		For(&v1beta2.EtcdBackup{}).
		Owns(&batchv1.Job{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(ofMarked)).
		WithOptions(operator.ControllerOptions(workers)).
		Build(r)
	if err != nil {
		return err
	}
	r.backedUp.Reconciler = r
	if err := r.backedUp.setUp(mgr, workers); err != nil {
		return err
	}
	// It is served once etcd-operator is installed. Backups of endpoints need none.
	if err := r.clusters.Watch(mgr, c, &v1beta2.EtcdCluster{}, r.ofCluster); err != nil {
		return err
	}
	// And so are EtcdRestores, with etcd-restore-operator: the others verify nothing.
	return r.restores.Watch(mgr, c, &v1beta2.EtcdRestore{}, ofMarked)
}

// assemble makes what a reconcile consists of.
func (r *Reconciler) assemble(mgr ctrl.Manager) error {
	live, err := act.LiveReader(mgr)
	if err != nil {
		return err
	}
	creators := &observe.Creators{Policy: r.Creators, Live: live}
	r.observer = observe.Observer{Client: r.Client, Live: live, Clusters: &r.clusters, Restores: &r.restores, Creators: creators, Image: r.Image, Network: r.Network, Now: r.Now}
	r.actor = act.Actor{Client: r.Client, Live: live, Creators: creators, Metrics: r.Metrics, Image: r.Image, BeforeDeletion: r.backedUp.updateBeforeDeletion}
	r.reporter = report.Reporter{Events: r.Events, Metrics: r.Metrics}
	return nil
}

// ofMarked maps the Pod of a Job, and an EtcdRestore, to the EtcdBackup that its annotation names.
func ofMarked(_ context.Context, o client.Object) []reconcile.Request {
	name := o.GetAnnotations()[v1beta2.AnnotationBackup]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: name}}}
}

func byCluster(o client.Object) []string {
	if ref := o.(*v1beta2.EtcdBackup).Spec.ClusterRef; ref != nil {
		return []string{ref.Name}
	}
	return nil
}

func byClusterID(o client.Object) []string { return backedup.ClusterIDs(o.(*v1beta2.EtcdBackup)) }

// ofCluster maps an EtcdCluster to the EtcdBackups that refer to it.
func (r *Reconciler) ofCluster(ctx context.Context, c client.Object) []reconcile.Request {
	var list v1beta2.EtcdBackupList
	if err := r.Client.List(ctx, &list, client.InNamespace(c.GetNamespace()), client.MatchingFields{clusterIndex: c.GetName()}); err != nil {
		log.FromContext(ctx).Error(err, "cannot list the EtcdBackups of an EtcdCluster", "cluster", c.GetName())
		return nil
	}
	var all []reconcile.Request
	for i := range list.Items {
		all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return all
}
