package plan

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	// mostMethods is how many methods a type has at most, and mostLines how long a file is:
	// what is larger knows several things.
	mostMethods = 59
	mostLines   = 400
	// imported begins the import of a package of the planner.
	imported = "github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
)

// layers are the packages of the planner below this one, from the leaves up. A package imports
// those of the rows above its own, so that there is no group of rules which asks another one.
var layers = [][]string{
	{"quorum"},
	{"facts"},
	{"action"},
	{"step"},
	{"access", "bootstrap", "fence", "maintenance", "membership", "recovery", "rollout", "status", "volumes"},
}

// source is a file of the planner, without tests.
type source struct {
	// folder is its package; "." for this one.
	folder, name string
	*ast.File
}

func readSources(t *testing.T) []source {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	below, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var all []source
	for _, name := range append(names, below...) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text, []byte("\n")); n > mostLines {
			t.Errorf("%s has %d lines: more than %d", name, n, mostLines)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, source{filepath.Dir(name), name, file})
	}
	return all
}

// rankOf is the row of a package in layers; this one is above all.
func rankOf(folder string) int {
	i := slices.IndexFunc(layers, func(row []string) bool { return slices.Contains(row, folder) })
	if i < 0 && folder == "." {
		return len(layers)
	}
	return i
}

// TestLayers: packages import only those below, types and files stay small, and the list has
// each rule.
func TestLayers(t *testing.T) {
	methods := map[string]int{}
	listed := map[string]bool{}
	var rules []string
	for _, s := range readSources(t) {
		if rankOf(s.folder) < 0 {
			t.Errorf("package %s has no place in layers", s.folder)
		}
		for _, i := range s.Imports {
			path := strings.Trim(i.Path.Value, `"`)
			below, isOurs := strings.CutPrefix(path, imported+"/")
			if path == imported || (isOurs && rankOf(below) >= rankOf(s.folder)) {
				t.Errorf("%s imports %s, which is not below it", s.name, path)
			}
		}
		for _, d := range s.Decls {
			f, ok := d.(*ast.FuncDecl)
			switch {
			case ok && f.Recv != nil:
				methods[s.folder+"."+receiver(f)]++
			case ok && isRule(f):
				rules = append(rules, s.folder+"."+f.Name.Name)
			}
		}
		if s.name == "runbook.go" {
			ast.Inspect(s.File, func(n ast.Node) bool {
				if e, ok := n.(*ast.SelectorExpr); ok {
					if p, ok := e.X.(*ast.Ident); ok {
						listed[p.Name+"."+e.Sel.Name] = true
					}
				}
				return true
			})
		}
	}
	for name, n := range methods {
		if n > mostMethods {
			t.Errorf("%s has %d methods: more than %d", name, n, mostMethods)
		}
	}
	for _, name := range rules {
		if !listed[name] {
			t.Errorf("rule %s is not in the list", name)
		}
	}
	if len(rules) < 80 {
		t.Errorf("only %d rules are found", len(rules))
	}
}

// receiver is the name of a method's type.
func receiver(f *ast.FuncDecl) string {
	e := f.Recv.List[0].Type
	if p, ok := e.(*ast.StarExpr); ok {
		e = p.X
	}
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// isRule reports whether a function is a step.Rule of a group.
func isRule(f *ast.FuncDecl) bool {
	is := func(fields *ast.FieldList, pkg, name string) bool {
		if fields == nil || len(fields.List) != 1 || len(fields.List[0].Names) > 1 {
			return false
		}
		p, ok := fields.List[0].Type.(*ast.StarExpr)
		if !ok {
			return false
		}
		e, ok := p.X.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		from, ok := e.X.(*ast.Ident)
		return ok && from.Name == pkg && e.Sel.Name == name
	}
	return f.Name.IsExported() && is(f.Type.Params, "facts", "View") && is(f.Type.Results, "step", "Step")
}
