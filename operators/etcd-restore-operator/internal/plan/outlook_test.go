package plan

import (
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Clients may know a new cluster's name from an earlier one: nothing is claimed of what
// they have seen.
func TestOutlookOfAReusedName(t *testing.T) {
	fresh := spec(func(s *v1beta2.RestoreSpec) {
		s.EtcdCluster, s.ClusterTemplate = nil, &v1beta2.ClusterTemplate{Spec: v1beta2.ClusterSpec{Size: 3, Version: "3.6.1"}}
	})
	o := observe(fenced, fresh, annotate(v1beta2.AnnotationRestoredBy, "uid"))
	message := ""
	for _, c := range noted(o).Status.Conditions {
		if c.Type == v1beta2.ConditionFenced {
			message = c.Message
		}
	}
	if strings.Contains(message, "no client has seen") || !strings.Contains(message, "restart clients that used an earlier cluster of this name") {
		t.Errorf("the condition says %q", message)
	}
}
