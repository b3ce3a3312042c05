package plan

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/messagetest"
)

// messages are the clauses of all that the tests make the planner say: see
// testdata/messages.golden. Members are called a, b, c in the tests, and "a" is a word as well.
var messages = messagetest.New("the planner of etcd-operator",
	messagetest.Variable{Matches: regexp.MustCompile(`\{"apiVersion".*\}`), As: "{...}"},
	messagetest.Variable{Matches: regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:]+Z`), As: "<time>"},
	messagetest.Variable{Matches: regexp.MustCompile(`\b[0-9a-f]{16}\b`), As: "<id>"},
	messagetest.Variable{Matches: regexp.MustCompile(`v?\d+\.\d+(\.\d+)*`), As: "<version>"},
	messagetest.Variable{Matches: regexp.MustCompile(`\b(\d+[hms])+\b`), As: "<duration>"},
	messagetest.Variable{Matches: regexp.MustCompile(`([mM]ember|Pod|Pods|seed|survivor|voter|learner|PVC|node|from) a\b`), As: "$1 <name>"},
	messagetest.Variable{Matches: regexp.MustCompile(`\bfrom <name> (survivor|snapshot|backup)`), As: "from a $1"},
	messagetest.Variable{Matches: regexp.MustCompile(`'s\b`), As: "'S"},
	messagetest.Variable{Matches: regexp.MustCompile(`\ba ([a-z]{2,})`), As: "A $1"},
	messagetest.Variable{Matches: regexp.MustCompile(` -n `), As: " -N "},
	messagetest.Variable{Matches: regexp.MustCompile(`\b(x-|y-|node-|uid-)?([a-z]|n\d)\b(, ([a-z]|n\d)\b)*`), As: "<name>"},
	messagetest.Variable{Matches: regexp.MustCompile(`^<name>: `), As: ""},
	messagetest.Variable{Matches: regexp.MustCompile(`\bA ([a-z]{2,})`), As: "a $1"},
	messagetest.Variable{Matches: regexp.MustCompile(` -N `), As: " -n "},
	messagetest.Variable{Matches: regexp.MustCompile(`'S`), As: "'s"},
)

func TestMain(m *testing.M) { os.Exit(messages.Check(m.Run())) }

// decided is Plan, for tests: it notes what is said.
func decided(o Observation) Decision {
	d := Plan(o)
	if e, told := EventOf(&d); told {
		note("Event "+e.Reason, e.Message)
	} else if d.Action != nil {
		note("Log "+d.Reason, d.Message)
	}
	for _, c := range d.Status.Conditions {
		note(c.Type+"="+string(c.Status)+" "+c.Reason, c.Message)
	}
	return d
}

// note adds a message clause by clause: many are part of several messages.
func note(by, message string) {
	for clause := range strings.SplitSeq(message, "; ") {
		messages.Note(by, clause)
	}
}
