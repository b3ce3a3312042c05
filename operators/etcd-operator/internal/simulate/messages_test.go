package simulate

import (
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// voice checks that all that the planner says in runs is in its golden file, where it is read:
// phrase by phrase, since a run combines them as no table does.
type voice struct {
	known map[string]bool
	mutex sync.Mutex
	// heard are the messages that were checked.
	heard map[string]bool
	// unknown are the messages with a phrase that the file lacks, by that.
	unknown map[string]string
}

func newVoice(t *testing.T) *voice {
	t.Helper()
	golden, err := os.ReadFile("../plan/testdata/messages.golden")
	if err != nil {
		t.Fatal(err)
	}
	v := &voice{known: map[string]bool{"": true}, heard: map[string]bool{}, unknown: map[string]string{}}
	for _, p := range others {
		v.known[p] = true
	}
	for line := range strings.Lines(string(golden)) {
		for _, p := range phrases(strings.TrimPrefix(strings.TrimSpace(line), "e.g. ")) {
			v.known[p] = true
		}
	}
	return v
}

// of is a planner whose messages are checked.
func (v *voice) of(planner Planner) Planner {
	return func(o facts.Observation) plan.Decision {
		d := planner(o)
		v.mutex.Lock()
		defer v.mutex.Unlock()
		v.hear(d.Message)
		for i := range d.Status.Conditions {
			v.hear(d.Status.Conditions[i].Message)
		}
		return d
	}
}

func (v *voice) hear(message string) {
	if v.heard[message] {
		return
	}
	v.heard[message] = true
	for _, p := range phrases(message) {
		if !v.known[p] {
			v.unknown[p] = message
		}
	}
}

// others are the phrases of the model's Kubernetes, API server and observer, and those where the
// tables of package plan use a word as a name.
var others = []string{
	"not found", "such host", "node fits", "nodes have much", "failed container", "forbidden", "Service somebody else",
	"status the archived operator", "volumes earlier cluster exist", "the Secret the members gone", "the model says",
	"the does not answer", // the survivor, says the agent's container
	"storage class class has allowVolumeExpansion", "adopted PVCs the EtcdCluster with uid",
}

// roles and units are words that stand for one of many.
var rolesAndUnits = []string{"joiner", "returning", "learner", "voter", "leaving", "restarting", "defragmenting", "survivor", "seed", "KiB", "MiB", "GiB"}

// phrases are the parts of a message, without short words, names and numbers.
func phrases(message string) []string {
	var all, words []string
	ends := func() {
		all, words = append(all, strings.Join(words, " ")), nil
	}
	afterName := false
	for field := range strings.FieldsSeq(message) {
		word := strings.Trim(field, ",;:()")
		isName := strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'") != ""
		if field[0] == '(' || (afterName && !isName) {
			ends()
		}
		if !isName && len(word) > 2 && !slices.Contains(rolesAndUnits, word) {
			words = append(words, word)
		}
		last := field[len(field)-1]
		afterName = isName && last == ',' // a list of names is one
		if strings.IndexByte(",;:)", last) >= 0 && !afterName {
			ends()
		}
	}
	ends()
	return all
}

// check reports what was said, and is not in the golden file.
func (v *voice) check(t *testing.T, report func(format string, args ...any)) {
	t.Helper()
	t.Logf("%d messages", len(v.heard))
	for p, message := range v.unknown {
		report("no table of package plan has the planner say %q, as in: %s", p, message)
	}
}
