package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
)

// series is a metric.
type series struct {
	name, help, typ string
	labels          []string
}

// parseMetrics returns the metrics that a package makes, in the order of its sources: those of
// prometheus.New…(prometheus.…Opts{…}, labels), of prometheus.NewDesc(name, help, labels, …), and of functions in the
// same file, or in the folders of helpers, that call them with names of their own.
func parseMetrics(folder string, helpersIn ...string) ([]series, error) {
	files, _, err := parseFolder(folder)
	if err != nil {
		return nil, err
	}
	shared := map[string]helper{}
	for _, folder := range helpersIn {
		files, _, err := parseFolder(folder)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			maps.Copy(shared, metricHelpers(file))
		}
	}
	var all []series
	for _, file := range files {
		helpers := maps.Clone(shared)
		maps.Copy(helpers, metricHelpers(file))
		ast.Inspect(file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			if s, ok := optsSeries(call); ok {
				all = append(all, s)
				return true
			}
			common, isHelper := helpers[calledName(call)]
			name, ok := evaluate(call.Args[0], nil)
			if !ok || len(call.Args) < 2 || !isHelper && calledName(call) != "NewDesc" {
				return true
			}
			help, _ := evaluate(call.Args[1], nil)
			labels := slices.Clone(common.labels)
			for _, arg := range call.Args[2:] {
				labels = append(labels, stringsIn(arg)...)
			}
			all = append(all, series{name: name, help: help, typ: cmp.Or(common.typ, typeByName(name)), labels: labels})
			return true
		})
	}
	for _, s := range all {
		if s.name == "" || s.help == "" {
			return nil, fmt.Errorf("a metric in %s has no literal name or help: %+v", folder, s)
		}
	}
	return all, nil
}

// helper is a function that makes a metric from a name that it is given: with labels that it
// always adds, and of a type, if its name does not tell.
type helper struct {
	labels []string
	typ    string
}

// metricHelpers are the helpers in a file, by name.
func metricHelpers(file *ast.File) map[string]helper {
	helpers := map[string]helper{}
	note := func(name string, body ast.Node) {
		ast.Inspect(body, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			switch {
			case !ok || len(call.Args) == 0:
			case calledName(call) == "NewDesc" && len(call.Args) > 2:
				if _, isName := call.Args[0].(*ast.Ident); isName {
					helpers[name] = helper{labels: stringsIn(call.Args[2])}
				}
			default:
				if s, ok := optsSeries(call); ok && s.name == "" {
					helpers[name] = helper{labels: s.labels, typ: s.typ}
				}
			}
			return true
		})
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil && n.Name.Name != "New" {
				note(n.Name.Name, n.Body)
			}
		case *ast.AssignStmt:
			if name, ok := n.Lhs[0].(*ast.Ident); ok {
				if function, ok := n.Rhs[0].(*ast.FuncLit); ok {
					note(name.Name, function.Body)
				}
			}
		}
		return true
	})
	return helpers
}

// optsSeries is the metric of a call such as prometheus.NewCounterVec(prometheus.CounterOpts{…}, labels).
func optsSeries(call *ast.CallExpr) (series, bool) {
	literal, ok := call.Args[0].(*ast.CompositeLit)
	if !ok {
		return series{}, false
	}
	opts, ok := literal.Type.(*ast.SelectorExpr)
	if !ok || !strings.HasSuffix(opts.Sel.Name, "Opts") {
		return series{}, false
	}
	s := series{typ: strings.ToLower(strings.TrimSuffix(opts.Sel.Name, "Opts"))}
	for _, element := range literal.Elts {
		field, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		switch text, _ := evaluate(field.Value, nil); fmt.Sprint(field.Key) {
		case "Name":
			s.name = text
		case "Help":
			s.help = text
		}
	}
	for _, arg := range call.Args[1:] {
		s.labels = append(s.labels, stringsIn(arg)...)
	}
	return s, true
}

// calledName is the name of the function that is called, without its package.
func calledName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// stringsIn are the string literals in an expression.
func stringsIn(expr ast.Expr) []string {
	var found []string
	ast.Inspect(expr, func(node ast.Node) bool {
		if literal, ok := node.(*ast.BasicLit); ok {
			if text, ok := evaluate(literal, nil); ok {
				found = append(found, text)
			}
		}
		return true
	})
	return found
}

// typeByName is the type that the name of a metric promises.
func typeByName(name string) string {
	if strings.HasSuffix(name, "_total") {
		return "counter"
	}
	return "gauge"
}

func writeMetrics(w *strings.Builder, operator string, all []series) {
	fmt.Fprintf(w, "\n## %s\n", operator)
	rows := make([][]string, 0, len(all))
	for _, s := range all {
		labels := ""
		if len(s.labels) > 0 {
			labels = "`" + strings.Join(s.labels, "`, `") + "`"
		}
		rows = append(rows, []string{"`" + s.name + "`", s.typ, labels, s.help})
	}
	table(w, []string{"Name", "Type", "Labels", "Meaning"}, rows)
}
