package backedup

import (
	"os"
	"regexp"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/messagetest"
)

// messages has every message of the condition BackedUp: see testdata/messages.golden.
var messages = messagetest.New("the condition BackedUp",
	messagetest.Variable{Matches: regexp.MustCompile(`s3://b/\d+`), As: "<location>"},
	messagetest.Variable{Matches: regexp.MustCompile(`EtcdBackup (x|y|z|gone)\b`), As: "EtcdBackup <name>"},
)

func TestMain(m *testing.M) { os.Exit(messages.Check(m.Run())) }
