package certificates

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// certManagerGroup is cert-manager's API group.
const certManagerGroup = "cert-manager.io"

// certificateKind is that of cert-manager's requests for certificates.
var certificateKind = schema.GroupVersionKind{Group: certManagerGroup, Version: "v1", Kind: "Certificate"}

// requestName is the name of the Certificate of a role, and issuedName that of the Secret
// that cert-manager writes for it.
func requestName(c *v1beta2.EtcdCluster, r role) string { return c.Name + "-" + string(r) }
func issuedName(c *v1beta2.EtcdCluster, r role) string {
	return c.Name + "-" + string(r) + "-issued-tls"
}

// wantedRequest is the spec of the Certificate of a role. cert-manager renews at two
// thirds of the duration unless told otherwise.
func wantedRequest(c *v1beta2.EtcdCluster, r role) map[string]any {
	issuer := c.Spec.TLS.CertManager.IssuerRef
	names, addresses := namesOf(c, r)
	allowed := []any{"digital signature"}
	if r == peer || r == server {
		allowed = append(allowed, "server auth")
	}
	labels := map[string]any{}
	for k, v := range member.Secret(c, "").Labels {
		labels[k] = v
	}
	spec := map[string]any{
		"secretName": issuedName(c, r),
		"commonName": subject(c, r), // empty is none
		"duration":   c.Spec.Issued().Lifetime().String(),
		"usages":     append(allowed, "client auth"),
		"privateKey": map[string]any{"algorithm": "ECDSA", "size": int64(256), "rotationPolicy": "Always"},
		"issuerRef": map[string]any{
			"name": issuer.Name, "kind": cmp.Or(issuer.Kind, "Issuer"), "group": cmp.Or(issuer.Group, certManagerGroup),
		},
		"secretTemplate": map[string]any{"labels": labels},
	}
	if len(names) > 0 {
		all := make([]any, len(names))
		for i := range names {
			all[i] = names[i]
		}
		spec["dnsNames"] = all
	}
	if len(addresses) > 0 {
		all := make([]any, len(addresses))
		for i := range addresses {
			all[i] = addresses[i].String()
		}
		spec["ipAddresses"] = all
	}
	return spec
}

// request is one Certificate to create (from is nil) or to change, as it was read.
type request struct {
	role     role
	from, to *unstructured.Unstructured
	told     Event
}

// request is the write that makes the Certificate of a role what it is to be; nil if it
// is that. What others have added to it is theirs.
func (in *input) request(r role) *request {
	wanted := wantedRequest(in.cluster, r)
	from := in.requests[r]
	if from == nil {
		like := member.Secret(in.cluster, requestName(in.cluster, r))
		to := &unstructured.Unstructured{Object: map[string]any{"spec": wanted}}
		to.SetGroupVersionKind(certificateKind)
		to.SetName(like.Name)
		to.SetNamespace(like.Namespace)
		to.SetLabels(like.Labels)
		to.SetOwnerReferences(like.OwnerReferences)
		return &request{role: r, to: to, told: Event{Reason: v1beta2.ClusterReasonCertificateIssued, Message: fmt.Sprintf("asked cert-manager for Certificate %s", like.Name)}}
	}
	to := from.DeepCopy()
	spec, _, _ := unstructured.NestedMap(to.Object, "spec")
	if spec == nil {
		spec = map[string]any{}
	}
	changed := false
	for k, v := range wanted {
		if !equality.Semantic.DeepEqual(spec[k], v) {
			spec[k], changed = v, true
		}
	}
	if !changed {
		return nil
	}
	to.Object["spec"] = spec
	return &request{role: r, from: from, to: to, told: Event{Reason: v1beta2.ClusterReasonCertificateIssued, Message: fmt.Sprintf("asked cert-manager for Certificate %s again", to.GetName())}}
}

// answer is what cert-manager says of a Certificate that it has not issued.
func (in *input) answer(r role) string {
	const silence = "no status yet"
	from := in.requests[r]
	if from == nil {
		return silence
	}
	conditions, _, _ := unstructured.NestedSlice(from.Object, "status", "conditions")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if condition["type"] != "Ready" || condition["status"] == string(metav1.ConditionTrue) {
			continue
		}
		if message, _ := condition["message"].(string); message != "" {
			return conditiontext.Clip(message)
		}
	}
	return silence
}
