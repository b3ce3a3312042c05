package v1beta2

import "time"

// MakesCluster says whether the restore makes an EtcdCluster of its own name, rather
// than restoring one that is there.
func (r *EtcdRestore) MakesCluster() bool {
	return r.Spec.ClusterTemplate != nil || r.Spec.Target == TargetNew
}

// ClusterName is the name of the EtcdCluster that is restored or made, or "" if the spec
// names none.
func (r *EtcdRestore) ClusterName() string {
	if r.MakesCluster() {
		return r.Name
	}
	if r.Spec.EtcdCluster == nil {
		return ""
	}
	return r.Spec.EtcdCluster.Name
}

// Timeout is how long the restore may take until the hand-over, or 0 for as long as it
// takes.
func (s *RestoreSpec) Timeout() time.Duration {
	return seconds(s.TimeoutInSecond)
}
