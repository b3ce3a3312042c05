package build

import (
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agentpod"
)

// Names and places of the volumes with credentials.
const (
	volumeRoot = "restore-root"
	volumeTLS  = "restore-tls"

	rootMount = "/etc/etcd-restore/root"
	tlsMount  = "/etc/etcd-restore/tls"
)

// mountCredentials mounts the Secrets that an agent compares with the users of a snapshot.
// They are optional: only where authentication is enabled in the snapshot does one that is
// missing matter, and the agent then says so.
func mountCredentials(f *agentpod.Files, c plan.Credentials) *task.Credentials {
	out := &task.Credentials{CommonName: c.CommonName}
	if c.RootSecret != "" {
		f.Secret(volumeRoot, c.RootSecret, rootMount, true)
		out.Secret, out.Dir = c.RootSecret, rootMount
	}
	if c.TLSSecret != "" {
		f.Secret(volumeTLS, c.TLSSecret, tlsMount, true)
		out.TLSDir = tlsMount
	}
	return out
}
