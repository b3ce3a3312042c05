package agent

import (
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/messagetest"
)

// messages has every failure that the tests make the agent report: see
// testdata/messages.golden.
var messages = messagetest.New("the agent of etcd-backup-operator", messagetest.Causes()...)

// noteFailure notes a failure by its reason, and what becomes of it.
func noteFailure(f *agent.Failure) {
	switch {
	case f == nil:
	case f.Permanent:
		messages.NoteShape(f.Reason+", permanent", f.Message)
	default:
		messages.NoteShape(f.Reason+", retried", f.Message)
	}
}
