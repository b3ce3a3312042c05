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
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/act"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/report"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

// The indexes of EtcdRestores, beside [observe.ClusterIndex].
const (
	// templateIndex finds those that make one like an EtcdCluster.
	templateIndex = "template"
	// backupIndex finds those that refer to an EtcdBackup.
	backupIndex = "spec.backupRef.name"
)

// SetupWithManager registers the watches. workers is how many restores are reconciled
// at a time; none waits for a restore to end.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, workers int) error {
	for name, of := range map[string]func(*v1beta2.EtcdRestore) string{observe.ClusterIndex: plan.ClusterName, templateIndex: plan.TemplateName, backupIndex: plan.BackupName} {
		if err := mgr.GetFieldIndexer().IndexField(ctx, &v1beta2.EtcdRestore{}, name, by(of)); err != nil {
			return err
		}
	}
	r.assemble()
	c, err := ctrl.NewControllerManagedBy(mgr).
		For(&v1beta2.EtcdRestore{}).
		Owns(&batchv1.Job{}).
		Watches(&v1beta2.EtcdRestore{}, handler.EnqueueRequestsFromMapFunc(r.besides)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.ofPod)).
		Watches(&corev1.PersistentVolumeClaim{}, handler.EnqueueRequestsFromMapFunc(r.ofOwned)).
		WithOptions(operator.ControllerOptions(workers)).
		Build(r)
	if err != nil {
		return err
	}
	if err := r.clusters.Watch(mgr, c, &v1beta2.EtcdCluster{}, r.ofCluster); err != nil {
		return err
	}
	return r.backups.Watch(mgr, c, &v1beta2.EtcdBackup{}, r.ofBackup)
}

// SetUpAlone readies a Reconciler that watches nothing: it is called for what has changed.
// EtcdClusters and EtcdBackups are served.
func (r *Reconciler) SetUpAlone() {
	r.assemble()
	r.clusters.Found()
	r.backups.Found()
}

func (r *Reconciler) assemble() {
	r.observer = observe.Observer{Client: r.Client, Live: r.Live, Clusters: &r.clusters, Backups: &r.backups, ClusterWide: r.ClusterWide, Creators: r.Creators, Now: r.Now, Network: r.Network}
	r.actor = act.Actor{Client: r.Client, Live: r.Live, Metrics: r.Metrics, Images: r.Images, Network: r.Network}
	r.reporter = report.Reporter{Events: r.Events}
}

// by makes an index of a name.
func by(of func(*v1beta2.EtcdRestore) string) client.IndexerFunc {
	return func(o client.Object) []string {
		if name := of(o.(*v1beta2.EtcdRestore)); name != "" {
			return []string{name}
		}
		return nil
	}
}

// besides maps an EtcdRestore to the others of its EtcdCluster, which may wait for it.
func (r *Reconciler) besides(ctx context.Context, o client.Object) []reconcile.Request {
	e := o.(*v1beta2.EtcdRestore)
	var others []reconcile.Request
	for _, request := range r.restores(ctx, e.Namespace, observe.ClusterIndex, plan.ClusterName(e)) {
		if request.Name != e.Name {
			others = append(others, request)
		}
	}
	return others
}

// ofPod maps the Pod of a Job to the EtcdRestore that its annotation names, and that of a
// member to the EtcdRestores of its cluster.
func (r *Reconciler) ofPod(ctx context.Context, pod client.Object) []reconcile.Request {
	name := pod.GetAnnotations()[v1beta2.AnnotationRestore]
	if name == "" || pod.GetLabels()[v1beta2.LabelApp] != v1beta2.AppEtcdRestore {
		return r.ofOwned(ctx, pod)
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: pod.GetNamespace(), Name: name}}}
}

// ofOwned maps an object of an EtcdCluster, by its owner, to the EtcdRestores of that: a
// retired volume has no label etcd_cluster. One that is not deleted with its EtcdCluster
// has no owner, and is an instance of it all the same.
func (r *Reconciler) ofOwned(ctx context.Context, o client.Object) []reconcile.Request {
	for _, owner := range o.GetOwnerReferences() {
		if owner.Kind == "EtcdCluster" {
			return r.restores(ctx, o.GetNamespace(), observe.ClusterIndex, owner.Name)
		}
	}
	if o.GetLabels()[v1beta2.LabelOwner] != "" {
		return r.restores(ctx, o.GetNamespace(), observe.ClusterIndex, o.GetLabels()[v1beta2.LabelInstance])
	}
	return nil
}

// ofCluster maps an EtcdCluster to the EtcdRestores of it, and to those that make one
// like it.
func (r *Reconciler) ofCluster(ctx context.Context, c client.Object) []reconcile.Request {
	return append(r.restores(ctx, c.GetNamespace(), observe.ClusterIndex, c.GetName()), r.restores(ctx, c.GetNamespace(), templateIndex, c.GetName())...)
}

// ofBackup maps an EtcdBackup to the EtcdRestores that refer to it.
func (r *Reconciler) ofBackup(ctx context.Context, b client.Object) []reconcile.Request {
	return r.restores(ctx, b.GetNamespace(), backupIndex, b.GetName())
}

// restores are those that an index finds, but for those that are over: nothing changes
// for them any more.
func (r *Reconciler) restores(ctx context.Context, namespace, index, value string) []reconcile.Request {
	var list v1beta2.EtcdRestoreList
	if err := r.Client.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{index: value}); err != nil {
		log.FromContext(ctx).Error(err, "list EtcdRestores", index, value)
		return nil
	}
	var all []reconcile.Request
	for i := range list.Items {
		e := &list.Items[i]
		if !observe.Ended(e) || len(e.Finalizers) > 0 {
			all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e)})
		}
	}
	return all
}
