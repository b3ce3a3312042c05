package v1beta2_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	reasonName = regexp.MustCompile(`^(?:(?:Cluster|Backup|Restore)?Reason[A-Z]|Result[A-Z]|CA[A-Z][a-z])`)
	// advice is how the part of a comment begins that says what a user does: with a verb, or
	// with a condition before it, or with "Nothing to do" where the operator does it.
	advice = regexp.MustCompile(`(?:^|[.:;] |, (?:and |or |then )?)(?:[Ii]f [^.;]*, |[Tt]hen |[Ff]irst |[Oo]therwise )?` +
		`(?i:nothing (?:need be |to )do|nothing to do|` +
		`adopt|allow|apply|back up|bring|check|choose|compact|copy|correct|create|delete|do not|edit|find|fix|follow|free|give|grant|install|` +
		`leave out|let|lift|look|lower|make|name|raise|read|remove|repair|replace|report|restart|restore|run|see|set|start|take|upgrade|use|wait|write)\b`)
	blanks = regexp.MustCompile(`\s+`)
)

// Whoever looks a reason or a phase up wants to know what to do. Its own comment says that, or that of
// its group if it is the same for all.
func TestReasonsSayWhatToDo(t *testing.T) {
	reasons := 0
	for _, group := range constants(t) {
		for _, spec := range group.Specs {
			reason, ok := spec.(*ast.ValueSpec)
			if !ok {
				continue
			}
			typ, _ := reason.Type.(*ast.Ident)
			isPhase := typ != nil && strings.HasSuffix(typ.Name, "Phase")
			if !isPhase && !reasonName.MatchString(reason.Names[0].Name) {
				continue
			}
			reasons++
			name := reason.Names[0].Name
			meaning, isNamed := strings.CutPrefix(blanks.ReplaceAllString(reason.Doc.Text(), " "), name)
			if !isNamed {
				t.Errorf("%s: the comment does not begin with the name", name)
			}
			if !advice.MatchString(meaning) && !strings.Contains(blanks.ReplaceAllString(group.Doc.Text(), " "), "Nothing to do") {
				t.Errorf("%s: neither its comment nor that of its group says what to do: %s", name, meaning)
			}
		}
	}
	if reasons == 0 {
		t.Error("there are no reasons")
	}
}

// constants are the declarations of constants of the package.
func constants(t *testing.T) []*ast.GenDecl {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var all []*ast.GenDecl
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if group, ok := decl.(*ast.GenDecl); ok && group.Tok == token.CONST {
				all = append(all, group)
			}
		}
	}
	return all
}
