package monitoring

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// The dashboards are what "make generate" makes, and each panel says what it shows.
func TestDashboards(t *testing.T) {
	var made []string
	for _, d := range Dashboards() {
		want, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		file := DashboardFile(d.UID)
		made = append(made, filepath.Join(root, file))
		if got, err := os.ReadFile(filepath.Join(root, file)); err != nil || string(got) != want {
			t.Errorf("%s is not what is generated: run \"make generate\" (%v)", file, err)
		}
		var titles []string
		for _, p := range d.Panels {
			if slices.Contains(titles, p.Title) || p.Description == "" || p.Width < 1 || p.Width > columns || len(p.Queries) == 0 {
				t.Errorf("%s: panel %s has no title of its own, no description, no query, or a wrong width", d.UID, p.Title)
			}
			titles = append(titles, p.Title)
		}
	}
	files, err := filepath.Glob(filepath.Join(root, Folder, "dashboards", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !slices.Contains(made, file) {
			t.Errorf("%s is not generated any more: delete it", file)
		}
	}
}

// some is the value of each variable.
func some(string) string { return "some" }

// Prometheus reads each query of the dashboards, after Grafana has put in its variables.
func TestDashboardQueriesAreValid(t *testing.T) {
	type recorded struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	var rules []recorded
	for _, d := range Dashboards() {
		for where, expr := range d.Queries(some) {
			if strings.Contains(expr, "$") {
				t.Errorf("%s: no variable of the dashboard is meant by %s", where, expr)
			}
			rules = append(rules, recorded{fmt.Sprintf("query_%d", len(rules)), expr})
		}
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboards", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := promtool(t, "check", "rules", "--lint=all", "--lint-fatal", write(t, "queries.yaml", text)); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

var (
	grouped  = regexp.MustCompile(`\bby \(([^)]*)\)`)
	inLegend = regexp.MustCompile(`\{\{(\w+)\}\}`)
)

// A legend names only labels that the series of its query have: Grafana shows nothing for others.
func TestLegendsNameLabels(t *testing.T) {
	for _, d := range Dashboards() {
		for _, p := range d.Panels {
			for _, q := range p.Queries {
				by := grouped.FindStringSubmatch(q.Expr)
				for _, label := range inLegend.FindAllStringSubmatch(q.Legend, -1) {
					if by != nil && !slices.Contains(strings.Split(by[1], ", "), label[1]) || by == nil && !slices.Contains(targetLabels, label[1]) {
						t.Errorf("%s, panel %s: the legend %q names the label %s, which %s does not have", d.UID, p.Title, q.Legend, label[1], q.Expr)
					}
				}
			}
		}
	}
}

// TestWhatIsWrong: the dashboard shows a condition as wrong unless it is known to be good. It shows a condition
// that it does not know with each status.
func TestWhatIsWrong(t *testing.T) {
	expr := ""
	d := fleet()
	for where, query := range d.Queries(some) {
		if strings.Contains(where, "What is wrong") {
			expr = query
		}
	}
	if expr == "" {
		t.Fatal("the panel has no query")
	}
	test := played{Name: "what is wrong", Interval: "1m", Expressions: []expected{{Expr: expr, EvalTime: "1m"}}}
	for _, c := range []struct {
		condition, status string
		isShown           bool
	}{
		{"Available", "True", false}, {"Available", "False", true}, {"Available", "Unknown", true},
		{"Degraded", "False", false}, {"Degraded", "True", true}, {"Degraded", "Unknown", true},
		{"StorageResizing", "True", false}, {"Progressing", "True", false}, {"Scaling", "False", false},
		{"Frobnicated", "True", true}, {"Frobnicated", "False", true}, {"Frobnicated", "Unknown", true},
	} {
		labels := fmt.Sprintf(`{condition="%s",name="%[1]s-%[2]s",namespace="some",reason="R",status="%[2]s"}`, c.condition, c.status)
		test.InputSeries = append(test.InputSeries, input{"etcd_operator_cluster_condition" + labels, "1x5"})
		if c.isShown {
			test.Expressions[0].Samples = append(test.Expressions[0].Samples, sample{labels, 1})
		}
	}
	play(t, write(t, "rules.yaml", []byte("groups: []\n")), "1m", test)
}
