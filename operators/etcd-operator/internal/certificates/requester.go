package certificates

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

// certManager reads the Certificates of a cluster, and after them what was issued.
func (k *Keeper) certManager(ctx context.Context, in *input) error {
	in.requests = map[role]*unstructured.Unstructured{}
	for _, r := range issuedRoles {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(certificateKind)
		err := k.Live.Get(ctx, client.ObjectKey{Namespace: in.cluster.Namespace, Name: requestName(in.cluster, r)}, u)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			in.requests = nil
			if wrong := refusal(err); wrong != nil {
				in.hindered = append(in.hindered, *wrong)
				return nil
			}
			return fmt.Errorf("read Certificate %s: %w", requestName(in.cluster, r), err)
		default:
			in.requests[r] = u
		}
	}
	in.issued = map[role]*corev1.Secret{}
	for _, r := range issuedRoles {
		var err error
		if in.issued[r], err = k.secret(ctx, in.cluster.Namespace, issuedName(in.cluster, r)); err != nil {
			return err
		}
	}
	return nil
}

// request writes one Certificate, if it is still as it was read, and reports whether it
// did; or what stands in the way.
func (k *Keeper) request(ctx context.Context, q request) (bool, *problem) {
	var done bool
	var err error
	if q.from == nil {
		done, err = k.create(ctx, q.to)
	} else {
		done, err = k.change(ctx, q.from, q.to)
	}
	if err == nil {
		return done, nil
	}
	wrong := refusal(err)
	if wrong == nil {
		wrong = &problem{facts.CertificatesPending, fmt.Sprintf("cannot write Certificate %s: %s", q.to.GetName(), conditiontext.Clip(err.Error()))}
	}
	return false, wrong
}

// refusal is what somebody has to do so that there can be Certificates; nil if trying
// again may help.
func refusal(err error) *problem {
	var wrong problem
	switch {
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		wrong = missing("cert-manager is not installed (there is no kind Certificate in %s): install it", certificateKind.GroupVersion())
	case apierrors.IsForbidden(err):
		wrong = missing("the operator is not allowed to request certificates from cert-manager (%s): add the component deploy/components/cert-manager to its installation", conditiontext.Clip(err.Error()))
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		wrong = invalid("cert-manager rejects the Certificates that spec.TLS.certManager asks for (%s): correct it", conditiontext.Clip(err.Error()))
	default:
		return nil
	}
	return &wrong
}
