package plan

import (
	"os"
	"regexp"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/messagetest"
)

// messages has every message that the tests and the simulation make the planner produce:
// see testdata/messages.golden.
var messages = messagetest.New("the planner of etcd-backup-operator",
	messagetest.Variable{Matches: regexp.MustCompile(`(, backup of \S+ is running in Job [^\s,]+)+`), As: ", ..."},
	messagetest.Variable{Matches: regexp.MustCompile(`\b(example|b)-[a-z2-7]{10}\b`), As: "<job>"},
)

func TestMain(m *testing.M) { os.Exit(messages.Check(m.Run())) }

// noted is Plan, for tests: it notes the messages of the Decision.
func noted(o Observation) Decision {
	d := Plan(o)
	if d.Action != nil {
		messages.Note("Event "+d.Reason, d.Message)
	}
	for _, e := range d.Events {
		kind := "Event "
		if e.Warning {
			kind = "Warning "
		}
		messages.Note(kind+e.Reason, e.Message)
	}
	messages.NoteConditions(d.Status.Conditions)
	return d
}

// Whatever the planner can say is in the golden file, where it is read.
func TestEveryTextIsInTheGoldenFile(t *testing.T) { messagetest.Complete(t) }
