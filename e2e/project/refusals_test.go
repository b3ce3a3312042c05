package project

import (
	"errors"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// Whatever the schema of a custom resource says when it refuses something is a row of a test in
// the crdtest of an operator.
func TestEachRefusalIsTested(t *testing.T) {
	tested := constants(t, "operators/*/internal/crdtest/*_test.go")
	isTested := func(s string) bool {
		return slices.ContainsFunc(tested, func(c string) bool { return strings.Contains(c, s) })
	}
	missing := map[string]string{}
	for name, data := range projectFiles(t, "deploy/*/crd/etcd.*.yaml") {
		var crd map[string]any
		if err := yaml.Unmarshal(data, &crd); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, message := range refusals(crd) {
			if !isTested(message) {
				missing[message] = name
			}
		}
	}
	for message, name := range missing {
		t.Errorf("%s refuses with %q, which no test of a crdtest expects", name, message)
	}
}

// sentence is what an expression that makes a message has of it, between its other parts.
var sentence = regexp.MustCompile(`'( [a-z][^'|]{15,})'`)

// refusals are the messages of a schema's rules, of those that are made as they are said the parts
// that stay.
func refusals(schema any) []string {
	var all []string
	switch s := schema.(type) {
	case []any:
		for _, item := range s {
			all = append(all, refusals(item)...)
		}
	case map[string]any:
		for key, value := range s {
			all = append(all, refusals(value)...)
			rules, _ := value.([]any)
			for _, rule := range rules {
				r, _ := rule.(map[string]any)
				if message, ok := r["message"].(string); ok && key == "x-kubernetes-validations" {
					all = append(all, message)
				}
				made, _ := r["messageExpression"].(string)
				for _, part := range sentence.FindAllStringSubmatch(made, -1) {
					all = append(all, part[1])
				}
			}
		}
	}
	return all
}

// constants are the constant strings in the Go files that match a pattern, each with those that
// it is joined from.
func constants(t *testing.T, pattern string) []string {
	t.Helper()
	packages := map[string][]*ast.File{}
	set := token.NewFileSet()
	for name, data := range projectFiles(t, pattern) {
		file, err := parser.ParseFile(set, name, data, 0)
		if err != nil {
			t.Fatal(err)
		}
		folder := name[:strings.LastIndexByte(name, '/')]
		packages[folder] = append(packages[folder], file)
	}
	var all []string
	for folder, files := range packages {
		info := types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
		// What it imports is not looked at: only constants are asked for.
		config := types.Config{Error: func(error) {}, Importer: nobody{}}
		_, _ = config.Check(folder, set, files, &info)
		for _, tv := range info.Types {
			if tv.Value != nil && tv.Value.Kind() == constant.String {
				all = append(all, constant.StringVal(tv.Value))
			}
		}
	}
	return all
}

// nobody imports nothing.
type nobody struct{}

func (nobody) Import(string) (*types.Package, error) { return nil, errors.New("not imported") }
