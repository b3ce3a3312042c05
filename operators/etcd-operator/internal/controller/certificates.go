package controller

import (
	"context"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/certificates"
)

// keepCertificates brings a cluster's certificates to what they are to be, and tells what
// was done.
func (r *Reconciler) keepCertificates(ctx context.Context, c *v1beta2.EtcdCluster) (certificates.State, error) {
	state, err := r.Certificates.Keep(ctx, c)
	if err != nil {
		return state, err
	}
	r.reporter().TellKept(ctx, c, state.Told)
	return state, nil
}
