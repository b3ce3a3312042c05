// Package observe gathers all that the planner may know of one EtcdBackup into one
// plan.Observation: the EtcdBackup, its Jobs and their Pods, its EtcdCluster, and those
// that say where their backups can be stored. It decides nothing.
package observe

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/job"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/shared/operator"
	"github.com/etcd-operators/etcd-operators/shared/sighting"
)

// Observer makes Observations.
type Observer struct {
	// Client reads from caches.
	Client client.Reader
	// Live reads from the API server itself.
	Live client.Reader
	// Clusters are EtcdClusters: on a Kubernetes without etcd-operator there is no such
	// kind.
	Clusters *operator.Kind
	// Restores are EtcdRestores: the same holds for etcd-restore-operator.
	Restores *operator.Kind
	// Creators are those of EtcdBackups.
	Creators *Creators
	// Image is the operator's own, which Jobs run.
	Image string
	// Network is how archivers are asked for their progress; nil: by the Pods' network.
	Network http.RoundTripper
	// Now is the clock.
	Now func() time.Time

	sightings sighting.Memory
}

// Observe gathers all that plan may know of one EtcdBackup. requeueAfter is after how long
// time alone changes the observation; 0: never.
func (o *Observer) Observe(ctx context.Context, b *v1beta2.EtcdBackup) (obs plan.Observation, requeueAfter time.Duration, err error) {
	obs = plan.Observation{Now: o.Now(), Backup: b.DeepCopy(), Image: o.Image}
	look := o.sightings.Look(client.ObjectKeyFromObject(b), obs.Now)
	if obs.Cluster, err = o.cluster(ctx, b); err != nil {
		return obs, 0, err
	}
	if obs.Restricted, err = o.restricted(ctx); err != nil {
		return obs, 0, err
	}
	jobs, doubtful, err := JobsOf(ctx, o.Client, o.Live, b)
	if err != nil {
		return obs, 0, err
	}
	obs.Doubtful = doubtful
	for i := range jobs {
		isRecorded := slices.ContainsFunc(b.Status.History, func(r v1beta2.BackupRecord) bool { return r.Name == jobs[i].Name })
		seen, wait, err := o.withPods(ctx, &jobs[i], isRecorded, look)
		if err != nil {
			return obs, 0, err
		}
		obs.Jobs, requeueAfter = append(obs.Jobs, seen), operator.Sooner(requeueAfter, wait)
	}
	if err := o.verifications(ctx, b, &obs); err != nil {
		return obs, 0, err
	}
	wait, err := o.archiver(ctx, b, look, &obs)
	if err != nil {
		return obs, 0, err
	}
	requeueAfter = operator.Sooner(requeueAfter, wait)
	if wait, err = o.copier(ctx, b, look, &obs); err != nil {
		return obs, 0, err
	}
	requeueAfter = operator.Sooner(requeueAfter, wait)
	if plan.AsksCreator(obs) {
		obs.Creator = o.Creators.Check(ctx, obs.Now)
	}
	look.Keep()
	return obs, requeueAfter, nil
}

// Forget drops what the Observer remembers of an EtcdBackup.
func (o *Observer) Forget(key client.ObjectKey) { o.sightings.Forget(key) }

// withPods observes a Job with its Pods. The cache is enough if the end of the Job is recorded, and while the Job runs
// or has reported a success. Otherwise the Pods are read from the API server: the cache might lag behind the Job, and a
// backup that is stored must not be recorded as failed.
func (o *Observer) withPods(ctx context.Context, j *batchv1.Job, isRecorded bool, look *sighting.Look) (seen plan.Job, requeueAfter time.Duration, err error) {
	for _, reader := range []client.Reader{o.Client, o.Live} {
		pods, err := podsOf(ctx, reader, j)
		if err != nil {
			return plan.Job{}, 0, err
		}
		seen, requeueAfter = job.Observe(j, pods, look)
		hasSucceeded := seen.Result != nil && seen.Result.Failure == nil
		if isRecorded || hasSucceeded || seen.Running && !plan.Hangs(&seen, look.Now) {
			break
		}
	}
	return seen, requeueAfter, nil
}

// cluster is the EtcdCluster that the backup refers to; nil if there is none.
func (o *Observer) cluster(ctx context.Context, b *v1beta2.EtcdBackup) (*v1beta2.EtcdCluster, error) {
	if b.Spec.ClusterRef == nil || !o.Clusters.Served() {
		return nil, nil
	}
	var c v1beta2.EtcdCluster
	key := client.ObjectKey{Namespace: b.Namespace, Name: b.Spec.ClusterRef.Name}
	if err := o.Client.Get(ctx, key, &c); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("read EtcdCluster %s: %w", key.Name, err)
	}
	return &c, nil
}

// restricted are the EtcdClusters, of all namespaces that the operator serves, that say where
// their backups can be stored.
func (o *Observer) restricted(ctx context.Context) ([]v1beta2.EtcdCluster, error) {
	if !o.Clusters.Served() {
		return nil, nil
	}
	var list v1beta2.EtcdClusterList
	if err := o.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list EtcdClusters: %w", err)
	}
	var all []v1beta2.EtcdCluster
	for i := range list.Items {
		if c := &list.Items[i]; len(c.Spec.AllowedStores()) > 0 {
			all = append(all, *c.DeepCopy())
		}
	}
	return all, nil
}
