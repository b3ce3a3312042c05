package messagetest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/goldentest"
)

var (
	verb = regexp.MustCompile(`%[-+# 0]*(\[\d+\])?[\d.]*[a-zA-Z%]`)
	// text is at least two words: what is shorter is rarely for people.
	text = regexp.MustCompile(`\pL\pP? \pL`)
	// logs are the methods of loggers.
	logs = []string{"Debug", "Info", "Warn", "Error"}
)

// Complete fails for each text in the sources of the package under test, and of those in its
// folder, that the golden file does not have: no test has produced the message that it is part
// of. Texts that begin with one of some words are none of messages, and nor are those of log
// lines.
func Complete(t *testing.T, but ...string) {
	t.Helper()
	if *goldentest.Update {
		return // it is written when all tests have run
	}
	golden, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	below, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	sources = append(sources, below...)
	isThere := func(part string) bool {
		// The variables of a golden file of shapes are replaced.
		return strings.Contains(string(golden), part) || strings.Contains(string(golden), New("").Shape(part))
	}
	files := token.NewFileSet()
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, literal := range literals(file) {
			for _, part := range parts(literal) {
				isNone := func(begin string) bool { return strings.HasPrefix(part, begin) }
				if !isThere(part) && !slices.ContainsFunc(but, isNone) {
					t.Errorf("%s: no test produces %q", files.Position(literal.Pos()), part)
				}
			}
		}
	}
}

// literals are the strings of a file, without its imports, tags and log lines.
func literals(file *ast.File) []*ast.BasicLit {
	var all []*ast.BasicLit
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.Field:
			return false
		case *ast.CallExpr:
			call, ok := n.Fun.(*ast.SelectorExpr)
			return !ok || !slices.Contains(logs, call.Sel.Name) || len(n.Args) == 0
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				all = append(all, n)
			}
		}
		return true
	})
	return all
}

// parts are the texts between the verbs of a format.
func parts(literal *ast.BasicLit) []string {
	value, err := strconv.Unquote(literal.Value)
	if err != nil {
		return nil // not reached: it has been parsed
	}
	return slices.DeleteFunc(verb.Split(value, -1), func(part string) bool { return !text.MatchString(part) })
}
