package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// constant is a string constant of the API.
type constant struct {
	// name is its identifier, typ that of its type; "" if it is a plain string.
	name, typ string
	value     string
	// doc says what it means, group what the constants that it is declared with are.
	doc, group string
	// file is where it is declared, such as etcdcluster_status.go.
	file string
}

// kinds of custom resources, by the beginning of the names of the files that declare their constants.
var kinds = []struct{ name, prefix string }{
	{"EtcdCluster", "etcdcluster"}, {"EtcdBackup", "etcdbackup"}, {"EtcdRestore", "etcdrestore"}, {"All kinds", ""},
}

// kindOf is the name in kinds that a constant belongs to.
func (c *constant) kindOf() string {
	for _, kind := range kinds {
		if strings.HasPrefix(c.file, kind.prefix) {
			return kind.name
		}
	}
	return ""
}

// parseConstants returns the exported string constants of a package, in the order of files and lines.
func parseConstants(folder string) ([]*constant, error) {
	files, fset, err := parseFolder(folder)
	if err != nil {
		return nil, err
	}
	var all []*constant
	values := map[string]ast.Expr{}
	for _, file := range files {
		for _, decl := range file.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				continue
			}
			for _, spec := range group.Specs {
				spec := spec.(*ast.ValueSpec)
				if len(spec.Names) != 1 || len(spec.Values) != 1 {
					continue // none of ours
				}
				values[spec.Names[0].Name] = spec.Values[0]
				c := &constant{name: spec.Names[0].Name, doc: spec.Doc.Text(), file: filepath.Base(fset.Position(spec.Pos()).Filename)}
				if group.Lparen.IsValid() {
					c.group = group.Doc.Text()
				} else {
					c.doc = group.Doc.Text()
				}
				if previous := len(all) - 1; c.doc == "" && previous >= 0 && strings.Contains(all[previous].doc, c.name) {
					c.doc = all[previous].doc // one comment for several
				}
				if typ, ok := spec.Type.(*ast.Ident); ok {
					c.typ = typ.Name
				}
				all = append(all, c)
			}
		}
	}
	all = slices.DeleteFunc(all, func(c *constant) bool {
		value, ok := evaluate(values[c.name], values)
		c.value = value
		return !ok || !ast.IsExported(c.name)
	})
	explain(all)
	return all, nil
}

// parseFolder parses the package in a folder without its tests, in the order of the files' names.
func parseFolder(folder string) ([]*ast.File, *token.FileSet, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, nil, err
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, filepath.Join(folder, name), nil, parser.ParseComments)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		return nil, nil, fmt.Errorf("there is no Go file in %s", folder)
	}
	return files, fset, nil
}

// evaluate is the text of an expression of string literals and other constants; false if it is none.
func evaluate(expr ast.Expr, values map[string]ast.Expr) (string, bool) {
	switch e := expr.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.Ident:
		return evaluate(values[e.Name], values)
	case *ast.ParenExpr:
		return evaluate(e.X, values)
	case *ast.BinaryExpr:
		left, ok := evaluate(e.X, values)
		right, ok2 := evaluate(e.Y, values)
		return left + right, ok && ok2 && e.Op == token.ADD
	}
	return "", false
}

var (
	identifier = regexp.MustCompile(`\b(?:v1beta2\.)?[A-Z][A-Za-z]*[a-z][A-Za-z]*\b`)
	// opening is how a comment begins: the constant's name, then "is", ":" or the like.
	opening = regexp.MustCompile(`^[A-Za-z0-9]+(?: is | are |: )`)
	// written are words that begin with a small letter everywhere: names of programs and of fields.
	written = regexp.MustCompile(`^(?:etcd|kubectl|[a-z0-9]+\.[a-z]|[a-z]+[A-Z])`)
	blanks  = regexp.MustCompile(`\s+`)
)

// explain makes the comments readable for those who do not see the Go code: on one line, without the constant's own
// name, with the values of other constants instead of their names.
func explain(all []*constant) {
	values := map[string]string{}
	for _, c := range all {
		values[c.name] = c.value
	}
	for _, c := range all {
		c.doc, c.group = readable(c.doc, c.name, values), readable(c.group, "", values)
	}
}

func readable(comment, name string, values map[string]string) string {
	text := blanks.ReplaceAllString(strings.TrimSpace(comment), " ")
	if name != "" && strings.HasPrefix(text, name) && !strings.HasPrefix(text, name+",") {
		text = opening.ReplaceAllString(text, "")
		text = strings.TrimPrefix(text, name+" ")
	}
	text = strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(text)
	text = identifier.ReplaceAllStringFunc(text, func(word string) string {
		if value := values[strings.TrimPrefix(word, "v1beta2.")]; value != "" {
			return "`" + value + "`"
		}
		return word
	})
	if text != "" && !written.MatchString(text) {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return text
}

// rowsOf are rows of value and meaning, of the constants that match.
func rowsOf(all []*constant, matches func(*constant) bool) [][]string {
	var rows [][]string
	for _, c := range all {
		if matches(c) && c.value != "" {
			rows = append(rows, []string{"`" + c.value + "`", c.doc})
		}
	}
	return rows
}

var (
	conditionName = regexp.MustCompile(`^(?:Cluster|Backup|Restore)?Condition[A-Z]`)
	reasonName    = regexp.MustCompile(`^(?:Cluster|Backup|Restore)?(?:Reason|Event)[A-Z]`)
	resultType    = regexp.MustCompile(`(?:Reason|Result)$`)
	// eventGroup is how the comment above reasons says that they are of events, eventsOnly that they are of no condition.
	eventGroup = regexp.MustCompile(`(?i)\bevents?\b`)
	eventsOnly = regexp.MustCompile(`(?i)^(?:the )?reasons of (?:the |normal |warning )*events\b`)
)

func isReason(c *constant) bool {
	return reasonName.MatchString(c.name) || resultType.MatchString(c.typ)
}

func isEventOnly(c *constant) bool {
	return strings.Contains(c.name, "Event") && reasonName.MatchString(c.name) || eventsOnly.MatchString(c.group)
}

// isEvent reports whether events have a reason, also those of conditions.
func isEvent(c *constant) bool {
	return isReason(c) && (isEventOnly(c) || eventGroup.MatchString(c.group))
}

// writeGroups writes a table of each group of the constants that match, below what the group is.
func writeGroups(w *strings.Builder, all []*constant, matches func(*constant) bool) {
	var groups []string
	for _, c := range all {
		if matches(c) && !slices.Contains(groups, c.group) {
			groups = append(groups, c.group)
		}
	}
	slices.SortStableFunc(groups, func(a, b string) int { return cmp.Compare(min(len(b), 1), min(len(a), 1)) }) // the nameless one last
	for _, group := range groups {
		rows := rowsOf(all, func(c *constant) bool { return matches(c) && c.group == group })
		if group != "" && len(rows) > 0 {
			fmt.Fprintf(w, "\n%s\n", group)
		}
		table(w, []string{"Value", "Meaning"}, rows)
	}
}

func conditionsPage(all []*constant) string {
	var w strings.Builder
	w.WriteString(page("Conditions and reasons", 2, "the constants in api/v1beta2",
		"Conditions, their reasons and the phases in `status`. "+
			"`kubectl describe` shows them, and `kubectl wait --for=condition=Available etcdcluster/example` waits for one: "+
			"here until the first member serves. To wait for three of three members, use `--for=jsonpath='{.status.ready}'=3/3`."))
	for _, kind := range kinds {
		var section strings.Builder
		for _, part := range []struct {
			title string
			is    func(*constant) bool
		}{
			{"conditions", func(c *constant) bool { return conditionName.MatchString(c.name) && c.typ == "" }},
			{"reasons", func(c *constant) bool { return isReason(c) && !isEventOnly(c) }},
			{"phases", func(c *constant) bool { return strings.HasSuffix(c.typ, "Phase") }},
		} {
			var tables strings.Builder
			writeGroups(&tables, all, func(c *constant) bool { return c.kindOf() == kind.name && part.is(c) })
			if tables.Len() > 0 {
				fmt.Fprintf(&section, "\n### %s %s\n%s", kind.name, part.title, tables.String())
			}
		}
		if section.Len() > 0 {
			fmt.Fprintf(&w, "\n## %s\n%s", kind.name, section.String())
		}
	}
	return w.String()
}

func eventsPage(all []*constant) string {
	var w strings.Builder
	w.WriteString(page("Events", 3, "the constants in api/v1beta2",
		"An operator writes an event for each action that it takes, and a warning for each problem that it finds. "+
			"Its reason is one of these; [conditions](conditions.md) have most of them, too. "+
			"`kubectl events --for etcdcluster/example` shows the events of the last hour."))
	for _, kind := range kinds {
		var tables strings.Builder
		writeGroups(&tables, all, func(c *constant) bool {
			return c.kindOf() == kind.name && isEvent(c)
		})
		if tables.Len() > 0 {
			fmt.Fprintf(&w, "\n## %s\n%s", kind.name, tables.String())
		}
	}
	return w.String()
}

func labelsPage(all []*constant) string {
	var w strings.Builder
	w.WriteString(page("Labels and annotations", 5, "the constants in api/v1beta2",
		"Labels, annotations and finalizers on the custom resources and on what the operators make for them."))
	values := map[string]bool{}
	for _, part := range []struct{ title, prefix string }{
		{"Labels", "Label"}, {"Annotations", "Annotation"}, {"Finalizers", "Finalizer"},
	} {
		fmt.Fprintf(&w, "\n## %s\n", part.title)
		rows := rowsOf(all, func(c *constant) bool {
			values[c.name] = values[c.name] || c.file != "labels.go" || strings.HasPrefix(c.name, part.prefix)
			return strings.HasPrefix(c.name, part.prefix)
		})
		table(&w, []string{"Key", "Meaning"}, rows)
	}
	w.WriteString("\n## Values\n")
	table(&w, []string{"Value", "Meaning"}, rowsOf(all, func(c *constant) bool { return !values[c.name] }))
	return w.String()
}
