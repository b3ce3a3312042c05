package messagetest

import (
	"os"
	"regexp"

	"github.com/etcd-operators/etcd-operators/shared/agent"
)

// Causes are the variables of what an agent reports: places, and what etcd, a store or the
// system said there, which differs from run to run.
func Causes() []Variable {
	return []Variable{
		{regexp.MustCompile(regexp.QuoteMeta(os.TempDir()) + `/[^\s:,;)"]+`), "<path>"},
		{regexp.MustCompile(`(no endpoint answers|no endpoint is usable|cannot connect with TLS|etcd's authentication rejects the (?:backup|snapshot request)) \(.*?\)(: |; |$)`), "$1 (<cause>)$2"},
		{regexp.MustCompile(`\([^()]*, (?:s3://\S+|bucket \S+): .*\)`), "(<request>: <cause>)"},
		{regexp.MustCompile(`[0-9a-f]{16}_[0-9a-f]{8}(_[0-9]{19}){2}(_[0-9a-f]{16}){2}\.seg`), "<segment>"},
		{regexp.MustCompile(`(s3|pvc)://[^\s,"]*[^\s,":;]`), "$1://<location>"},
		{regexp.MustCompile(`((?:pvc\.path|directory) )"[^"]*"`), `$1"<path>"`},
		{regexp.MustCompile(`"[0-9a-f]{32}"`), "<etag>"},
		{regexp.MustCompile(`(cannot be unpacked: ).*?: restore`), "${1}<cause>: restore"}, // where the damage lies
		{regexp.MustCompile(`, such as [^;\s]+;`), ", such as <path>;"},
		{regexp.MustCompile(`(correct pvc\.path|or make it larger|cannot read or write the volume|\(fsGroup[^)]*\)|the same version|EtcdCluster's operators|stopped sending its snapshot): [^;]*`), "$1: <cause>"},
	}
}

// NoteShape adds the shape of a message alone, of which every run has another sample.
func (b *Book) NoteShape(by, message string) { b.Note(by, b.Shape(message)) }

// NoteFailure adds the failure of an agent: its reason, whether it is retried, and the shape
// of its message. Nil is no failure.
func (b *Book) NoteFailure(f *agent.Failure) {
	switch {
	case f == nil:
	case f.Permanent:
		b.NoteShape(f.Reason+", permanent", f.Message)
	default:
		b.NoteShape(f.Reason+", retried", f.Message)
	}
}
