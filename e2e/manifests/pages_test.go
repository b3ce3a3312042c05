package manifests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// readmeWords is how long the README can be: two screens.
const readmeWords = 1200

func TestREADMEIsShort(t *testing.T) {
	if n := len(strings.Fields(page(t, "README.md"))); n > readmeWords {
		t.Errorf("the README has %d words, more than %d: move some to docs/", n, readmeWords)
	}
}

// Each runbook says what it means, whether data is at risk, what to do, and how one knows
// that it is over.
func TestRunbooksAnswerTheirQuestions(t *testing.T) {
	index := page(t, "docs/runbooks/_index.md")
	runbooks, err := filepath.Glob(filepath.Join(repoRoot, "docs/runbooks/[a-z]*.md"))
	if err != nil || len(runbooks) < 10 {
		t.Fatalf("%d runbooks: %v", len(runbooks), err)
	}
	for _, path := range runbooks {
		name := filepath.Base(path)
		text := page(t, "docs/runbooks/"+name)
		for _, section := range []string{"## What it means", "## Is data at risk?", "## Steps", "## It is over when"} {
			if !strings.Contains(text, "\n"+section+"\n") {
				t.Errorf("%s has no section %q", name, section)
			}
		}
		if !strings.Contains(index, "("+name+")") {
			t.Errorf("the index of the runbooks does not link %s", name)
		}
	}
}

// Each type of a condition is named by a page that users read.
func TestConditionsAreDocumented(t *testing.T) {
	var pages strings.Builder
	for _, folder := range []string{"docs/runbooks", "docs/tasks"} {
		err := filepath.WalkDir(filepath.Join(repoRoot, folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".md" {
				return err
			}
			text, err := os.ReadFile(path)
			pages.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	conditions := conditionTypes(t)
	if len(conditions) < 20 {
		t.Fatalf("the API has %d types of conditions: too few to be all", len(conditions))
	}
	for _, condition := range conditions {
		if !regexp.MustCompile("`" + condition + "\\b").MatchString(pages.String()) {
			t.Errorf("no page of docs/runbooks or docs/tasks names the condition %s", condition)
		}
	}
}

// conditionTypes are the values of the API's constants Condition….
func conditionTypes(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repoRoot, "api/v1beta2/*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Condition") {
				return true
			}
			literal, ok := spec.Values[0].(*ast.BasicLit)
			if !ok {
				return true
			}
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			types = append(types, value)
			return true
		})
	}
	return types
}

// page is the text of a page of the repository.
func page(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repoRoot, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
