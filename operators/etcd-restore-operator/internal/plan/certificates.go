package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

// Trusts reports whether it is known which CAs the members of a cluster trust.
// Without TLS there are none to know. A seed that was made before would be another Pod
// than etcd-operator's, whose Secrets might not even be there.
func Trusts(c *v1beta2.EtcdCluster) bool {
	return !c.UsesTLS() || (c.Status.TLS != nil && c.Status.TLS.Trust != "")
}

// awaitCertificates waits, before a seed is made or a member is stopped, until a seed has the
// certificates that it needs to serve. Once a seed was begun, nothing is spared by that any
// more.
func awaitCertificates(v *view) *step {
	if v.last.SeedMember != "" {
		return nil
	}
	if s := v.awaitTrust(v1beta2.RestoreFencing); s != nil {
		return s
	}
	if v.badCertificates() != nil && !v.issuesCertificates() {
		return v.awaitServing(v1beta2.RestoreFencing, v1beta2.RestoreReasonCertificatesPending, "")
	}
	return nil
}

// awaitTrust waits until etcd-operator has told which CAs the members trust.
func (v *view) awaitTrust(phase v1beta2.RestorePhase) *step {
	if Trusts(v.Cluster) {
		return nil
	}
	return v.awaitServing(phase, v1beta2.RestoreReasonCertificatesPending, fmt.Sprintf(
		"waiting for the certificates of EtcdCluster %s, which its seed needs: etcd-operator sets status.tls.trust once they exist", v.name))
}

// awaitServing is awaitOperator where etcd-operator can do its part only with certificates
// that are right.
func (v *view) awaitServing(phase v1beta2.RestorePhase, reason, message string) *step {
	s, c := v.awaitOperator(phase, reason, message), v.badCertificates()
	if s.warn || c == nil {
		return s
	}
	return warn(phase, conditiontext.Reason(c.Reason, v1beta2.ConditionCertificatesReady), fmt.Sprintf(
		"certificates of EtcdCluster %s are not ready: %s; the restore continues once they are", v.name, conditiontext.Clip(c.Message)), s.waitingFor...)
}

// issuesCertificates reports whether etcd-operator has certificates issued, which no person has
// to do anything for.
func (v *view) issuesCertificates() bool {
	return v.Cluster.Status.TLS != nil && v.Cluster.Status.TLS.Pending
}

// badCertificates is the condition that says what is wrong with the cluster's
// certificates; nil if nothing is said to be.
func (v *view) badCertificates() *metav1.Condition {
	if !v.Cluster.UsesTLS() {
		return nil
	}
	c := meta.FindStatusCondition(v.Cluster.Status.Conditions, v1beta2.ConditionCertificatesReady)
	if c == nil || c.Status != metav1.ConditionFalse {
		return nil
	}
	return c
}
