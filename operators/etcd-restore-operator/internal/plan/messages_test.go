package plan

import (
	"os"
	"regexp"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/messagetest"
)

// messages are all that the tests make the planner say: testdata/messages.golden.
var messages = messagetest.New("the planner of etcd-restore-operator",
	// What repeats another message, and whatever it says.
	messagetest.Variable{Matches: regexp.MustCompile(`(last state: |^rolling back: [A-Za-z]+: ).*`), As: "$1<message>"},
	messagetest.Variable{Matches: regexp.MustCompile(`^rolling back: [A-Za-z]+`), As: "rolling back: <reason>"},
	messagetest.Variable{Matches: regexp.MustCompile(`\bJob [-a-z0-9]+`), As: "Job <name>"},
	messagetest.Variable{Matches: regexp.MustCompile(`_v\d+_\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d`), As: "_v<revision>_<time>"},
	// Names of objects, and lists of them: c, c-seed, c-12 on node n.
	messagetest.Variable{Matches: regexp.MustCompile(objects + `(, ` + objects + `)*( and \d+ more)?`), As: "<name>"},
	messagetest.Variable{Matches: regexp.MustCompile(`(EtcdBackup|EtcdCluster|seed) (a|b|t|other|settled)\b`), As: "$1 <name>"},
	messagetest.Variable{Matches: regexp.MustCompile(`(?i)(EtcdRestore) (first|second)\b`), As: "$1 <name>"},
	messagetest.Variable{Matches: regexp.MustCompile(`kubectl -<name> ns get etcdrs -<name>`), As: "kubectl -n ns get etcdrs -o"}, // they are no names
)

const objects = `\b([abcnorv](-[a-z0-9]+)+|[cnorv])\b( on node [a-z]+)?`

func TestMain(m *testing.M) { os.Exit(messages.Check(m.Run())) }

// Whatever the planner can say is in the golden file, where it is read.
func TestEveryTextIsInTheGoldenFile(t *testing.T) { messagetest.Complete(t) }

// noted is Plan, and notes what the Decision says.
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
	if f := d.Status.Failure; f != nil {
		messages.Note("status.failure "+f.Reason, f.Message)
	}
	for _, object := range d.Status.WaitingFor {
		messages.Note("status.waitingFor", object)
	}
	messages.NoteConditions(d.Status.Conditions)
	return d
}
