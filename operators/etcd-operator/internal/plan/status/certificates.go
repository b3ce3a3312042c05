package status

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// certificates is the condition of those that the spec asks for; nil if it asks for none.
func certificates(v *facts.View) *metav1.Condition {
	const kind = v1beta2.ConditionCertificatesReady
	t := &v.Cluster.TLS
	var c metav1.Condition
	switch {
	case !t.Wanted:
		return nil
	case t.Problem != "":
		c = condition(v, kind, false, string(t.Problem), t.Message)
	case t.IsPending():
		c = condition(v, kind, false, v1beta2.ClusterReasonCertificatesPending, "checking certificates")
	case t.Rotation != "":
		c = condition(v, kind, true, string(t.Rotation), rotationStory(v))
	default:
		c = condition(v, kind, true, v1beta2.ClusterReasonCertificatesValid, "all certificates are valid")
	}
	return &c
}

// rotationStory says how far the replacement of a CA is.
func rotationStory(v *facts.View) string {
	switch v.Cluster.TLS.Rotation {
	case v1beta2.CATrustingBoth:
		return "CA rotation: " + trusting(v) + " trust both CAs; members restart one at a time"
	case v1beta2.CAReissuing:
		return "CA rotation: all certificates are signed by the new CA; the old CA is trusted until clients have loaded theirs"
	case v1beta2.CADroppingOld:
		return "CA rotation: " + trusting(v) + " trust only the new CA; members restart one at a time"
	}
	return "CA rotation is in progress"
}

// trusting counts the Pods that were made for the CAs of today.
func trusting(v *facts.View) string {
	n := 0
	for i := range v.Pods {
		if p := &v.Pods[i]; !v.HasOldTemplate(p) && v.Cluster.RecordedTrust() == v.Cluster.TLS.Trust {
			n++
		}
	}
	return fmt.Sprintf("%d of %d Pods", n, len(v.Pods))
}
