package plan

import (
	"cmp"
	"fmt"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// source is the etcd to back up.
type source struct {
	endpoints []string
	// secret has the client certificate; empty for none.
	secret string
	// auth has a user of etcd; empty for none.
	auth string
	// cluster is the EtcdCluster that the endpoints are of; empty for endpoints that the
	// user wrote. ownAuth is true if it names auth.
	cluster string
	ownAuth bool
	// wait is why there is no source yet; nil if there is.
	wait *step
}

// findSource follows spec.clusterRef. An EtcdCluster that is not there, or not ready,
// is waited for: it may be created after the EtcdBackup.
func findSource(o *Observation) source {
	spec := &o.Backup.Spec
	if spec.ClusterRef == nil {
		return source{endpoints: spec.EtcdEndpoints, secret: spec.ClientTLSSecret, auth: spec.AuthSecret}
	}
	name := spec.ClusterRef.Name
	if o.Cluster == nil {
		return source{wait: warn(v1beta2.BackupReasonClusterNotFound, fmt.Sprintf(
			"EtcdCluster %s does not exist in this namespace: create it, or correct spec.clusterRef.name; the backup then starts by itself", name))}
	}
	ready := o.Cluster.Status.Members.Ready
	if len(ready) == 0 && o.Cluster.Status.QuorumLostSince != nil {
		// Without a quorum none is ready, and the data of one that answers may be the last.
		ready = o.Cluster.Status.Members.Unready
	}
	if len(ready) == 0 {
		return source{wait: warn(v1beta2.BackupReasonClusterNotReady, fmt.Sprintf(
			"EtcdCluster %s has no ready member: see its conditions; the backup starts once it has one", name))}
	}
	s := source{cluster: name, secret: spec.ClientTLSSecret, auth: cmp.Or(spec.AuthSecret, o.Cluster.Spec.RootSecret())}
	s.ownAuth = s.auth != "" && s.auth == o.Cluster.Spec.RootSecret()
	if s.secret == "" && o.Cluster.ServerTLSSecret() != "" {
		s.secret = o.Cluster.OperatorTLSSecret()
	}
	for _, m := range ready {
		s.endpoints = append(s.endpoints, member.ClientURL(o.Cluster, m))
	}
	return s
}
