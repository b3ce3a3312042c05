package plan

import (
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

// adoptionNews is what etcd-operator says of a seed that is handed over to it, in its own
// words, such as why it is not adopted yet; empty if it says nothing.
func (v *view) adoptionNews() string {
	if !v.offered {
		return ""
	}
	c := meta.FindStatusCondition(v.Cluster.Status.Conditions, v1beta2.ConditionProgressing)
	if c == nil || c.Message == "" {
		return ""
	}
	return "; etcd-operator says: " + conditiontext.Clip(c.Message)
}
