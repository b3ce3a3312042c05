package messagetest

import (
	"go/parser"
	"go/token"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParts(t *testing.T) {
	const source = `package x

import "an import of nothing"

type t struct { f int "a tag of it" }

// a comment is none
const word, name = "Waiting", "spec.version"

func f() string {
	return Sprintf("waiting for %d of %-3s members: %q is not %.1f %% full; remove %[1]s from it", "a, b") + "; delete it"
}

func g() {
	log.Info("a line of a log", "reason", err.Error())
}
`
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range literals(file) {
		got = append(got, parts(l)...)
	}
	if diff := cmp.Diff([]string{"waiting for ", " is not ", " full; remove ", " from it", "a, b", "; delete it"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
