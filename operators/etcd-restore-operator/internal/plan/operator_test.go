package plan

import (
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// The advice installs an operator that reconciles this EtcdCluster.
func TestInstallAdvice(t *testing.T) {
	for name, row := range map[string]struct {
		namespace string
		cluster   change
		want      string
	}{
		"default":      {"default", func(*scene) {}, "(kubectl apply -k deploy/etcd-operator)"},
		"another":      {"ns", func(*scene) {}, "(apply an overlay of deploy/etcd-operator with namespace: ns)"},
		"cluster-wide": {"ns", annotate(v1beta2.AnnotationScope, v1beta2.ScopeClusterwide), "(kubectl apply -k deploy/etcd-operator/cluster-wide)"},
	} {
		o := observe(row.cluster)
		o.Restore.Namespace = row.namespace
		for _, phase := range []v1beta2.ClusterPhase{v1beta2.PhaseNone, v1beta2.PhaseRunning} { // the latter by the archived operator
			o.Cluster.Status = v1beta2.ClusterStatus{Phase: phase}
			if _, got := newView(o).whoIsMissing(); !strings.Contains(got, row.want) {
				t.Errorf("%s: %q is not said: %s", name, row.want, got)
			}
		}
	}
}
