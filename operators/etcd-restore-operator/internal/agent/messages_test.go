package agent

import (
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/messagetest"
)

// messages has every failure that the tests make the agent report: see
// testdata/messages.golden.
var messages = messagetest.New("the agent of etcd-restore-operator", messagetest.Causes()...)

// Whatever the agent can report is in the golden file, where it is read.
func TestEveryTextIsInTheGoldenFile(t *testing.T) {
	messagetest.Complete(t,
		"the task's time is up",     // which is told in other words
		"encode what is prepared: ", // which cannot fail
		// A cut takes these away.
		"the database is still at revision ", ", and not at ",
	)
}
