// Package task is the seam between etcd-operator and the agent that it runs in the seed's
// Pod of a cluster that begins anew with a survivor's data: the operator passes a [Task] in
// the environment of an init container, and the agent writes a [Result] as the container's
// termination message. Neither knows more of the other.
package task

import (
	"time"

	"github.com/etcd-operators/etcd-operators/shared/agent"
)

// Env is the environment variable of the agent's container that holds the Task, as JSON.
const Env = "ETCD_SURVIVOR_TASK"

// Task is what the agent does: it makes the data dir of a seed from a survivor's snapshot.
type Task struct {
	// Survivor is the name of the member that is asked, and URL where it serves clients.
	Survivor string `json:"survivor"`
	URL      string `json:"url"`
	// TLSDir is the folder where the operators' TLS Secret is mounted, with which the
	// survivor is asked; empty: it serves clients in the clear.
	TLSDir string `json:"tlsDir,omitempty"`
	// ClusterID and MemberID are what it must be, 16 hexadecimal digits each, and
	// Committed is raft's index of which it must know that it is committed.
	ClusterID string `json:"clusterID"`
	MemberID  string `json:"memberID"`
	Committed uint64 `json:"committed"`
	// Name and PeerURL are the seed's, and Token is its initial cluster token, which is
	// also the permit that it needs.
	Name    string `json:"name"`
	PeerURL string `json:"peerURL"`
	Token   string `json:"token"`
	// DataDir is etcd's data dir; all else that is written is beside it, on the same
	// volume. PermitFile is where the Pod's annotation survivor-permit is seen.
	DataDir    string `json:"dataDir"`
	PermitFile string `json:"permitFile"`
	// Revision is where the cluster begins; what is older counts as compacted.
	Revision int64 `json:"revision"`
}

// Result is what became of a Task. The agent writes it to its termination message as
// JSON, in at most agent.MaxMessage bytes.
type Result struct {
	// Size is that of the snapshot in bytes, and Revision the last one in it.
	Size     int64 `json:"size,omitempty"`
	Revision int64 `json:"revision,omitempty"`
	// Already says that the data dir had been made before, or that it is no longer permitted, and
	// that nothing was done.
	Already bool `json:"already,omitempty"`
	// Started and Finished bound the agent's work.
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	// Failure is nil if the task was done.
	Failure *agent.Failure `json:"failure,omitempty"`
}
