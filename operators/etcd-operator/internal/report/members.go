package report

import (
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/metrics"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// Members is what metrics tell of the members that have answered.
func Members(obs *facts.Observation) []metrics.Member {
	var all []metrics.Member
	for i := range obs.Pods {
		p := &obs.Pods[i]
		a := &p.Answer
		if !a.Reached || a.ClusterID != obs.Cluster.ClusterID {
			continue
		}
		m := metrics.Member{Name: p.Name, Size: a.DBSize, InUse: a.DBSizeInUse, Quota: a.Quota}
		for _, alarm := range a.Alarms {
			if alarm.MemberID == a.MemberID {
				m.Alarms = append(m.Alarms, string(alarm.Kind))
			}
		}
		all = append(all, m)
	}
	return all
}
