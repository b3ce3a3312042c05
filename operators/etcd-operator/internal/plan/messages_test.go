package plan

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/messagetest"
)

// messages are what the tests make the planner say: see testdata/messages.golden.
var messages = messagetest.New("the planner of etcd-operator",
	messagetest.Variable{Matches: regexp.MustCompile(`\{"apiVersion".*\}`), As: "{...}"},
	messagetest.Variable{Matches: regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:]+Z`), As: "<time>"},
	messagetest.Variable{Matches: regexp.MustCompile(`\b\d+(\.\d+)? ([KMG]i)?B\b`), As: "<size>"},
	messagetest.Variable{Matches: regexp.MustCompile(`\b(\d+m)?\d+\.\d+s\b`), As: "<duration>"},
	messagetest.Variable{Matches: regexp.MustCompile(`v?\d+\.\d+(\.\d+)*(-[\w.]+)?`), As: "<version>"},
	messagetest.Variable{Matches: regexp.MustCompile(`\b((node|uid|claim)-)?example-[a-z0-9-]+(, ((node|uid|claim)-)?example-[a-z0-9-]+)*`), As: "<name>"},
)

func TestMain(m *testing.M) { os.Exit(messages.Check(m.Run())) }

// Whatever the planner can say is in the golden file, where it is read, but for what rules that
// come before keep it from saying.
func TestEveryTextIsInTheGoldenFile(t *testing.T) {
	messagetest.Complete(t, "an upgrade is in progress", " voters instead of ")
}

// decided is Plan, for tests: it notes what is said.
func decided(o Observation) Decision {
	if o.Cluster.Size > 0 { // the API server refuses others
		noteDecision(Plan(withLongNames(o)))
	}
	return Plan(o)
}

func noteDecision(d Decision) {
	e, told := EventOf(&d)
	switch {
	case told:
		note("Event "+e.Reason, e.Message)
	case d.Action != nil:
		note("Log "+d.Reason, d.Message)
	case d.Outcome.AwaitsUser() && d.Outcome != Rejected: // as the controller does
		note("Event "+d.Reason, d.Message)
	}
	for _, c := range d.Status.Conditions {
		note(c.Type+"="+string(c.Status)+" "+c.Reason, c.Message)
	}
}

// nextMember is where a list of members goes on in a message.
var nextMember = regexp.MustCompile(`; (example-[a-z0-9-]+: )`)

// note adds a message. What it says of several members it adds one by one: it would have a
// shape for each combination.
func note(by, message string) {
	for part := range strings.SplitSeq(nextMember.ReplaceAllString(message, "\x00$1"), "\x00") {
		messages.Note(by, part)
	}
}

// noteEvents notes what is told of a change, from before if that is not nil.
func noteEvents(before, after *world) {
	var was Decision
	if before != nil {
		was = Plan(withLongNames(before.seen()))
	}
	is := Plan(withLongNames(after.seen()))
	for _, e := range EventsBetween(&was.Status, &is.Status, &is) {
		note("Event "+e.Reason, e.Message)
	}
}
