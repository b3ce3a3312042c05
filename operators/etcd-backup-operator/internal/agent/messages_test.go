package agent

import (
	"github.com/etcd-operators/etcd-operators/shared/messagetest"
)

// messages has every failure that the tests make the agent report: see
// testdata/messages.golden.
var messages = messagetest.New("the agent of etcd-backup-operator", messagetest.Causes()...)
