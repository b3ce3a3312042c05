package agent

import (
	"testing"

	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/messagetest"
)

// messages has all that the tests make the agent report: see testdata/messages.golden.
var messages = messagetest.New("the agent of etcd-backup-operator", messagetest.Causes()...)

// Whatever the agent can report is in the golden file, where it is read.
func TestEveryTextIsInTheGoldenFile(t *testing.T) {
	messagetest.Complete(t,
		// What others say.
		"etcdserver: no leader", "user name is empty", "auth token", "authentication handshake failed",
		"error reading server preface", "connection error: desc", "remote error",
		// Causes of contexts, which are told in other words.
		"the backup timed out", "the member stalled",
		" answered in place of", // of a hash, which is only logged
		" bytes early")          // the number before it is a variable, with the unit
}

// note adds all that a result tells people.
func note(r task.Result) {
	messages.NoteFailure(r.Failure)
	messages.NoteShape("status.snapshot.unhealthy", r.Unhealthy)
	messages.NoteShape("status.history[].message", r.RetentionError)
	for _, n := range r.Notes {
		messages.NoteShape("Warning "+n.Reason, n.Message)
	}
}
