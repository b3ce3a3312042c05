// Package messagetest keeps every message that a package can produce in one golden file,
// testdata/messages.golden, so that they can be read from top to bottom, and a changed
// message shows as a diff. The package's own tests produce the messages:
//
//	var messages = messagetest.New("the planner of etcd-restore-operator", messagetest.Names("example"))
//
//	func TestMain(m *testing.M) { os.Exit(messages.Check(m.Run())) }
//
// and Note each of them. After an intended change: go test PACKAGE -update.
package messagetest

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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/shared/goldentest"
)

// golden is where the messages are kept, in the folder of the package under test.
var golden = filepath.Join("testdata", "messages.golden")

// Variable is a part of messages that differs from run to run, or from test to test.
type Variable struct {
	Matches *regexp.Regexp
	// As is the placeholder; it may refer to groups of Matches ($1).
	As string
}

// Names are the names of objects, and other whole words, that the tests use. Of two names
// of which one begins with the other, the longer one wins.
func Names(names ...string) Variable {
	names = slices.Clone(names)
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	for i := range names {
		names[i] = regexp.QuoteMeta(names[i])
	}
	return Variable{regexp.MustCompile(`\b(` + strings.Join(names, "|") + `)\b(, (` + strings.Join(names, "|") + `)\b)*`), "<name>"}
}

// common are the variables of all messages. A package's own come before them.
var common = []Variable{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?Z?`), "<time>"},
	{regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`), "<uid>"},
	{regexp.MustCompile(`\b([0-9a-f]{64}|[0-9a-f]{16})\b`), "<id>"},
	{regexp.MustCompile(`\b(127\.0\.0\.1|\[::1\]|localhost):\d+`), "<address>"},
	{regexp.MustCompile(`\bv?\d+\.\d+\.\d+\b`), "<version>"},
	{regexp.MustCompile(`\b\d+(\.\d+)?(ns|µs|ms|s|m|h)(\d+(\.\d+)?(s|m))*\b`), "<duration>"},
	{regexp.MustCompile(`\b\d+(\.\d+)? ?([KMGT]i?B?|bytes)\b`), "<size>"},
	{regexp.MustCompile(`\b[0-9]+\b`), "<n>"},
}

// Book collects the messages of one run of a package's tests.
type Book struct {
	title     string
	variables []Variable

	mutex  sync.Mutex
	shapes map[string]*entry
	// noted are the messages, by what says them, that are in shapes already: a simulation
	// says the same over and over.
	noted map[[2]string]bool
}

// entry is what is known of the messages of one shape.
type entry struct {
	// saidBy are the conditions, events and logs that say it: "Available=False NoQuorum".
	saidBy map[string]bool
	// sample is the shortest such message, whatever the order of the tests.
	sample string
}

// New is an empty book with a title ("the planner of ...").
func New(title string, variables ...Variable) *Book {
	return &Book{title: title, variables: append(slices.Clone(variables), common...), shapes: map[string]*entry{}, noted: map[[2]string]bool{}}
}

// Note adds a message, and what says it: a condition with its status and reason, or an event
// with its reason.
func (b *Book) Note(by, message string) {
	if message == "" {
		return
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.noted[[2]string{by, message}] {
		return
	}
	b.noted[[2]string{by, message}] = true
	key := b.Shape(message)
	e := b.shapes[key]
	if e == nil {
		e = &entry{saidBy: map[string]bool{}, sample: message}
		b.shapes[key] = e
	}
	e.saidBy[by] = true
	if len(message) < len(e.sample) || (len(message) == len(e.sample) && message < e.sample) {
		e.sample = message
	}
}

// NoteConditions adds what conditions say.
func (b *Book) NoteConditions(conditions []metav1.Condition) {
	for _, c := range conditions {
		b.Note(c.Type+"="+string(c.Status)+" "+c.Reason, c.Message)
	}
}

// Shape is a message with placeholders for its variables.
func (b *Book) Shape(message string) string {
	for _, v := range b.variables {
		message = v.Matches.ReplaceAllString(message, v.As)
	}
	return message
}

// Check ends TestMain: it compares the book with the golden file, or writes that, and returns
// the exit code. It does nothing if a test failed, or if flags select some of the tests or
// change how long they run: such a run does not produce every message.
func (b *Book) Check(code int) int {
	if code != 0 || isPartial() {
		return code
	}
	if err := goldentest.Check(golden, b.text()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// isPartial reports whether flags select some of the tests, or change them.
func isPartial() bool {
	partial := false
	flag.Visit(func(f *flag.Flag) {
		switch f.Name {
		case "test.run", "test.skip", "test.fuzz", "test.list", "test.bench", "test.short":
			partial = partial || (f.Value.String() != "" && f.Value.String() != "false")
		case "update":
		default:
			partial = partial || !strings.HasPrefix(f.Name, "test.")
		}
	})
	return partial
}

// text is the golden file: each shape, who says it, and a sample.
func (b *Book) text() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	var out strings.Builder
	fmt.Fprintf(&out, "# What %s says: each message, who says it with which reason,\n# and an example. Written by go test with -update.\n", b.title)
	for _, key := range slices.Sorted(maps.Keys(b.shapes)) {
		e := b.shapes[key]
		fmt.Fprintf(&out, "\n%s\n    %s\n", key, strings.Join(slices.Sorted(maps.Keys(e.saidBy)), ", "))
		if e.sample != key {
			fmt.Fprintf(&out, "    e.g. %s\n", strings.ReplaceAll(e.sample, "\n", "\\n"))
		}
	}
	return out.String()
}
