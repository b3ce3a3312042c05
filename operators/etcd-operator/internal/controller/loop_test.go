package controller_test

import (
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/apiservertest"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/podtest"
)

// The whole loop on real etcds, which the real launcher starts: a cluster forms,
// heals, grows and shrinks.
func TestACluster(t *testing.T) {
	b := newBench(t)
	podtest.StartKubelet(t, b.client, b.namespace, version)
	c := b.create("x", 3)
	b.untilHealthy(c, 3)
	if s := &c.Status; s.Phase != v1beta2.PhaseRunning || s.ClusterID == "" || s.Bootstrap == nil || s.Leader == "" || s.CurrentVersion != version {
		t.Errorf("the status is %+v", s)
	}
}

var _ = apiservertest.Context
