// Package observe gathers all that the planner may know of one EtcdCluster into
// one plan.Observation: what Kubernetes knows, from the caches, and what each
// member says of itself, asked in parallel under one deadline.
//
// It decides nothing. A member that does not answer is data, not an error; only a
// cache that can't be read is one.
package observe

import (
	"context"
	"crypto/rand"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// Asker asks members, each for itself; etcdclient.Client is one.
type Asker interface {
	Ask(ctx context.Context, endpoints []etcdclient.Endpoint) map[string]etcdclient.Answer
	TryWrite(ctx context.Context, e etcdclient.Endpoint) error
}

// Observer makes Observations.
type Observer struct {
	// Reader reads from caches of Pods, PersistentVolumeClaims, Services,
	// PodDisruptionBudgets and EndpointSlices.
	Reader client.Reader
	// Nodes reads Nodes from a cache; nil where the operator cannot.
	Nodes client.Reader
	// Classes reads StorageClasses from a cache; nil where the operator cannot.
	Classes client.Reader
	// Live reads EtcdBackups from the API server, while a majority is lost.
	Live client.Reader
	// Etcd asks the members.
	Etcd Asker
	// DefaultVersion is what a cluster runs whose spec names no version.
	DefaultVersion string
}

// Observe gathers the Observation of one EtcdCluster with these certificates. It returns
// an error only if a cache cannot be read.
func (o *Observer) Observe(ctx context.Context, c *v1beta2.EtcdCluster, certificates facts.TLS) (facts.Observation, error) {
	obs := facts.Observation{Cluster: o.cluster(c), FreshToken: member.Suffix(rand.Reader)}
	obs.Cluster.TLS = certificates
	for range v1beta2.MaxSize + 1 {
		obs.FreshNames = append(obs.FreshNames, member.Name(c.Name, member.Suffix(rand.Reader)))
	}
	if err := o.conflicts(ctx, c, &obs); err != nil {
		return obs, err
	}
	if err := o.claims(ctx, c, &obs); err != nil {
		return obs, err
	}
	pods, err := o.pods(ctx, c, &obs)
	if err != nil {
		return obs, err
	}
	obs.Cluster.Existed = existed(c, withoutSeeds(c, &obs, pods))
	if asks(&obs.Cluster) {
		o.ask(ctx, c, pods, &obs)
	}
	obs.Now = time.Now()
	return obs, nil
}

// Fence reads the marks that a restore and this operator leave for each other on an
// EtcdCluster.
func Fence(c *v1beta2.EtcdCluster) facts.Fence {
	f := facts.Fence{
		Mark:   c.Annotations[v1beta2.AnnotationFence],
		Seeded: c.Annotations[v1beta2.AnnotationSeeded],
		Lifted: c.Annotations[v1beta2.AnnotationFenceLifted],
		By:     c.Status.FencedBy,
	}
	if a := c.Status.AdoptedSeed; a != nil {
		f.Adopted = *a
	}
	return f
}
