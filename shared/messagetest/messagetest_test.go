package messagetest

import (
	"strings"
	"testing"
)

func TestShape(t *testing.T) {
	b := New("a test", Names("example", "example-seed"))
	for message, want := range map[string]string{
		"waiting for Pods example-seed, example":           "waiting for Pods <name>",
		"the examples are no name":                         "the examples are no name",
		"started 2026-01-02T03:04:05Z, retry in 1m30s":     "started <time>, retry in <duration>",
		"member 00000000000000c1 runs v3.6.1":              "member <id> runs <version>",
		"3 of 5 members need 10Gi, 512 bytes or 1.5 GiB":   "<n> of <n> members need <size>, <size> or <size>",
		"uid 01234567-89ab-cdef-0123-456789abcdef":         "uid <uid>",
		"dial tcp 127.0.0.1:2379: connection refused":      "dial tcp <address>: connection refused",
		"no etcd 3.4: set spec.version to a version 3.5.x": "no etcd <n>.<n>: set spec.version to a version <n>.<n>.x",
	} {
		if got := b.Shape(message); got != want {
			t.Errorf("shape of %q:\n got %s\nwant %s", message, got, want)
		}
	}
}

// TestBook checks that the order of the tests does not change the file.
func TestBook(t *testing.T) {
	said := []struct{ by, message string }{
		{"Ready=False Waiting", "waiting for 10 members"},
		{"Event Waiting", "waiting for 2 members"},
		{"Event Waiting", "waiting for 3 members"},
		{"Ready=True Done", "done"},
		{"Ready=True Silent", ""},
	}
	forth, back := New("a test"), New("a test")
	for i := range said {
		forth.Note(said[i].by, said[i].message)
		last := said[len(said)-1-i]
		back.Note(last.by, last.message)
	}
	want := "\ndone\n    Ready=True Done\n\nwaiting for <n> members\n    Event Waiting, Ready=False Waiting\n    e.g. waiting for 2 members\n"
	if got := forth.text(); got != back.text() || !strings.HasSuffix(got, want) {
		t.Errorf("one order:\n%s\nthe other:\n%s\nwant at the end:\n%s", got, back.text(), want)
	}
}
