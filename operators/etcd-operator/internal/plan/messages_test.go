package plan

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden file of messages")

// goldenMessages has the shape of every clause that the tests make the planner say, so
// that its whole voice can be read in one place, and a changed message shows as a diff.
var goldenMessages = filepath.Join("testdata", "messages.golden")

// messages are what was said in this run, by the shape of each clause.
var messages = struct {
	sync.Mutex
	clauses map[string]*clause
}{clauses: map[string]*clause{}}

// clause is a part of messages, up to a semicolon.
type clause struct {
	// saidBy are the conditions and events that say it: "Available=False NoQuorum".
	saidBy map[string]bool
	// sample is the shortest message with it, whatever the order of the tests.
	sample string
}

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

func note(by, message string) {
	messages.Lock()
	defer messages.Unlock()
	for _, part := range strings.Split(message, "; ") {
		key := shape(part)
		c := messages.clauses[key]
		if c == nil {
			c = &clause{saidBy: map[string]bool{}, sample: message}
			messages.clauses[key] = c
		}
		c.saidBy[by] = true
		if len(message) < len(c.sample) || (len(message) == len(c.sample) && message < c.sample) {
			c.sample = message
		}
	}
}

// What differs from sample to sample: ids, times, sizes, members and numbers. Members are
// called a, b, c in the tests, and "a" is a word as well.
var variable = []struct {
	matches *regexp.Regexp
	as      string
}{
	{regexp.MustCompile(`\{"apiVersion".*\}`), "{...}"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:]+Z`), "<time>"},
	{regexp.MustCompile(`\b[0-9a-f]{16}\b`), "<id>"},
	{regexp.MustCompile(`v?\d+\.\d+(\.\d+)*`), "<version>"},
	{regexp.MustCompile(`\b(\d+[hms])+\b`), "<duration>"},
	{regexp.MustCompile(`([mM]ember|Pod|Pods|seed|survivor|voter|learner|PVC|node|from) a\b`), "$1 <name>"},
	{regexp.MustCompile(`\bfrom <name> (survivor|snapshot|backup)`), "from a $1"},
	{regexp.MustCompile(`'s\b`), "'S"},
	{regexp.MustCompile(`\ba ([a-z]{2,})`), "A $1"},
	{regexp.MustCompile(` -n `), " -N "},
	{regexp.MustCompile(`\b(x-|y-|node-|uid-)?([a-z]|n\d)\b(, ([a-z]|n\d)\b)*`), "<name>"},
	{regexp.MustCompile(`^<name>: `), ""},
	{regexp.MustCompile(`\bA ([a-z]{2,})`), "a $1"},
	{regexp.MustCompile(` -N `), " -n "},
	{regexp.MustCompile(`'S`), "'s"},
	{regexp.MustCompile(`\b\d+([KMG]i)?\b`), "<n>"},
}

// shape is a clause with placeholders for what differs.
func shape(message string) string {
	for _, v := range variable {
		message = v.matches.ReplaceAllString(message, v.as)
	}
	return message
}

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	// A run of some tests only does not say everything.
	if run := flag.Lookup("test.run").Value.String(); code == 0 && run == "" && flag.Lookup("test.fuzz").Value.String() == "" {
		code = compareMessages()
	}
	os.Exit(code)
}

// compareMessages compares what was said with the golden file, or writes it.
func compareMessages() int {
	var b strings.Builder
	b.WriteString("# What the planner of etcd-operator says, clause by clause: who says it with which reason,\n# and a message with it. Written by: go test ./internal/plan -update\n")
	for _, key := range slices.Sorted(maps.Keys(messages.clauses)) {
		c := messages.clauses[key]
		fmt.Fprintf(&b, "\n%s\n    %s\n", key, strings.Join(slices.Sorted(maps.Keys(c.saidBy)), ", "))
		if c.sample != key {
			fmt.Fprintf(&b, "    e.g. %s\n", c.sample)
		}
	}
	if *update {
		if err := os.MkdirAll(filepath.Dir(goldenMessages), 0o755); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if err := os.WriteFile(goldenMessages, []byte(b.String()), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	want, err := os.ReadFile(goldenMessages)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); diff != "" {
		fmt.Fprintf(os.Stderr, "the planner says something else (-want +got); read it, and if it is meant, run go test ./internal/plan -update:\n%s\n", diff)
		return 1
	}
	return 0
}
