package manifests

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// invariantsPage has the table of the invariants.
const invariantsPage = "docs/design/invariants.md"

// tablePackages are the packages whose functions the table names, as package.function.
var tablePackages = map[string]string{
	"plan":        "operators/etcd-operator/internal/plan",
	"access":      "operators/etcd-operator/internal/plan/access",
	"bootstrap":   "operators/etcd-operator/internal/plan/bootstrap",
	"facts":       "operators/etcd-operator/internal/plan/facts",
	"fence":       "operators/etcd-operator/internal/plan/fence",
	"maintenance": "operators/etcd-operator/internal/plan/maintenance",
	"membership":  "operators/etcd-operator/internal/plan/membership",
	"recovery":    "operators/etcd-operator/internal/plan/recovery",
	"rollout":     "operators/etcd-operator/internal/plan/rollout",
	"step":        "operators/etcd-operator/internal/plan/step",
	"volumes":     "operators/etcd-operator/internal/plan/volumes",
	"act":         "operators/etcd-operator/internal/act",
	"observe":     "operators/etcd-operator/internal/observe",
	"controller":  "operators/etcd-operator/internal/controller",
	"simulate":    "operators/etcd-operator/internal/simulate",
	"etcdversion": "shared/etcdversion",
	"launcher":    "shared/launcher",
	"suite":       "e2e/suite",
}

// citation is how comments, tests' reasons and documents name an invariant. The store S3 is
// written alike: to take it for an invariant asks only for a row that there is.
var citation = regexp.MustCompile(`\bS[0-9]{1,2}\b`)

// invariant is a row of the table. Its functions are named package.function.
type invariant struct {
	id                   string
	rules, checks, tests []string
}

// function is what the sources have under a name.
type function struct {
	inTest bool
	// says are its string literals.
	says []string
}

// TestInvariants: each invariant that is cited has a row, and each row names rules, checks
// of the simulator that watch it, and tests, all of which are there.
func TestInvariants(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(repoRoot, invariantsPage))
	if err != nil {
		t.Fatal(err)
	}
	table := readInvariants(string(page))
	if len(table) < 13 {
		t.Errorf("%s has %d rows: too few", invariantsPage, len(table))
	}
	functions := map[string]function{}
	for name, folder := range tablePackages {
		maps.Copy(functions, readFunctions(t, name, folder))
	}
	for _, wrong := range invariantsWrong(table, readCitations(t), functions) {
		t.Error(wrong)
	}
}

// TestInvariantsWrong: each mistake in the table is found.
func TestInvariantsWrong(t *testing.T) {
	functions := map[string]function{
		"plan.promote":      {},
		"plan.TestPromote":  {inTest: true},
		"simulate.promote":  {says: []string{"S5"}},
		"simulate.TestRuns": {inTest: true, says: []string{"S5"}},
	}
	const good = "| S5 | A learner | why | `plan.promote` | `simulate.promote` | `plan.TestPromote` |\n"
	for name, row := range map[string]struct {
		page, want string
		cited      []string
	}{
		"nothing":                 {page: good, cited: []string{"S5"}},
		"no row":                  {page: good, cited: []string{"S5", "S6"}, want: "S6 is cited in a.go, and has no row"},
		"two rows":                {page: good + good, cited: []string{"S5"}, want: "S5 has two rows"},
		"nobody cites it":         {page: good, want: "S5 is cited nowhere"},
		"a cell is missing":       {page: "| S5 | A learner | why | `plan.promote` | `simulate.promote` |\n", cited: []string{"S5"}, want: "S5 names no tests"},
		"no check":                {page: strings.Replace(good, "`simulate.promote`", "none", 1), cited: []string{"S5"}, want: "S5 names no checks"},
		"a rule that is gone":     {page: strings.Replace(good, "plan.promote", "plan.promoted", 1), cited: []string{"S5"}, want: "S5: there is no plan.promoted"},
		"a test that is gone":     {page: strings.Replace(good, "TestPromote", "TestPromoted", 1), cited: []string{"S5"}, want: "S5: there is no plan.TestPromoted"},
		"a rule as a test":        {page: strings.Replace(good, "TestPromote", "promote", 1), cited: []string{"S5"}, want: "S5: plan.promote is no test"},
		"a test as a check":       {page: strings.Replace(good, "simulate.promote", "simulate.TestRuns", 1), cited: []string{"S5"}, want: "S5: simulate.TestRuns is a test"},
		"a check of the planner":  {page: strings.Replace(good, "simulate.promote", "plan.promote", 1), cited: []string{"S5"}, want: "S5: plan.promote does not report S5"},
		"a check of another rule": {page: strings.Replace(good, "S5", "S6", 1), cited: []string{"S6"}, want: "S6: simulate.promote does not report S6"},
	} {
		t.Run(name, func(t *testing.T) {
			cited := map[string]string{}
			for _, id := range row.cited {
				cited[id] = "a.go"
			}
			got := strings.Join(invariantsWrong(readInvariants(row.page), cited, functions), "; ")
			if got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// invariantsWrong is what is wrong with the table. cited has the file that cites an
// invariant.
func invariantsWrong(table []invariant, cited map[string]string, functions map[string]function) []string {
	var wrong []string
	rows := map[string]bool{}
	for _, row := range table {
		if rows[row.id] {
			wrong = append(wrong, row.id+" has two rows")
			continue
		}
		rows[row.id] = true
		if cited[row.id] == "" {
			wrong = append(wrong, row.id+" is cited nowhere")
		}
		wrong = append(wrong, row.wrong(functions)...)
	}
	for _, id := range slices.Sorted(maps.Keys(cited)) {
		if !rows[id] {
			wrong = append(wrong, fmt.Sprintf("%s is cited in %s, and has no row", id, cited[id]))
		}
	}
	return wrong
}

// wrong is what is wrong with a row.
func (row invariant) wrong(functions map[string]function) []string {
	var wrong []string
	for _, cell := range []struct {
		kind  string
		names []string
	}{{"rules", row.rules}, {"checks", row.checks}, {"tests", row.tests}} {
		if len(cell.names) == 0 {
			wrong = append(wrong, fmt.Sprintf("%s names no %s", row.id, cell.kind))
		}
		for _, name := range cell.names {
			f, there := functions[name]
			switch {
			case !there:
				wrong = append(wrong, fmt.Sprintf("%s: there is no %s", row.id, name))
			case cell.kind == "tests" && !f.inTest:
				wrong = append(wrong, fmt.Sprintf("%s: %s is no test", row.id, name))
			case cell.kind != "tests" && f.inTest:
				wrong = append(wrong, fmt.Sprintf("%s: %s is a test", row.id, name))
			case cell.kind == "checks" && !slices.Contains(f.says, row.id):
				wrong = append(wrong, fmt.Sprintf("%s: %s does not report %s", row.id, name, row.id))
			}
		}
	}
	return wrong
}

// readInvariants reads the rows of the table: id, what it says, why, rules, checks, tests.
func readInvariants(page string) []invariant {
	var table []invariant
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		id := strings.TrimSpace(cells[0])
		if !strings.HasPrefix(line, "|") || citation.FindString(id) != id || id == "" {
			continue
		}
		cells = append(cells, "", "", "", "", "")
		table = append(table, invariant{id: id, rules: quoted(cells[3]), checks: quoted(cells[4]), tests: quoted(cells[5])})
	}
	return table
}

// quoted are the words of a cell in back quotes.
func quoted(cell string) []string {
	var words []string
	for _, found := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
		words = append(words, found[1])
	}
	return words
}

// readFunctions reads the functions and methods of a package, and its tests.
func readFunctions(t *testing.T, name, folder string) map[string]function {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repoRoot, folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources in %s: %v", folder, err)
	}
	all := map[string]function{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		inTest := strings.HasSuffix(path, "_test.go")
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || inTest != strings.HasPrefix(f.Name.Name, "Test") {
				continue // tests' helpers prove nothing
			}
			key := name + "." + f.Name.Name
			said := append(all[key].says, literals(f)...) // several methods may have one name
			all[key] = function{inTest: inTest, says: said}
		}
	}
	return all
}

// literals are the strings in a function.
func literals(f *ast.FuncDecl) []string {
	var all []string
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil {
				all = append(all, s)
			}
		}
		return true
	})
	return all
}

// readCitations finds the invariants that are cited in comments and strings of the product's
// and its tests' Go code, and in documents, and a file of each.
func readCitations(t *testing.T) map[string]string {
	t.Helper()
	cited := map[string]string{}
	note := func(path, text string) {
		for _, id := range citation.FindAllString(text, -1) {
			cited[id] = strings.TrimPrefix(path, repoRoot+"/")
		}
	}
	files := 0
	for _, top := range []string{"README.md", "CONTRIBUTING.md", "docs", "e2e", "api", "shared", "operators"} {
		err := filepath.WalkDir(filepath.Join(repoRoot, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Base(path) == filepath.Base(invariantsPage) {
				return err
			}
			switch filepath.Ext(path) {
			case ".md":
				content, err := os.ReadFile(path)
				note(path, string(content))
				return err
			case ".go":
				files++
				content, err := os.ReadFile(path)
				note(path, prose(content))
				return err
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 300 {
		t.Errorf("citations were looked for in %d Go files: too few", files)
	}
	return cited
}

// prose is what comments and strings of Go code say: names such as S3Source are no citations.
func prose(source []byte) string {
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(source)), source, nil, scanner.ScanComments)
	var b strings.Builder
	for {
		_, tok, lit := s.Scan()
		if tok == token.EOF {
			return b.String()
		}
		if tok == token.COMMENT || tok == token.STRING {
			b.WriteString(lit + "\n")
		}
	}
}
