package monitoring

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// columns is how wide Grafana's grid is, and height how high a panel is in its units.
const columns, height = 24, 8

// schemaVersion is that of Grafana 11; later ones migrate it when they load it.
const schemaVersion = 39

// kinds of panels, as Grafana calls them.
const (
	graph = "timeseries"
	stat  = "stat"
	table = "table"
)

// Dashboard is a Grafana dashboard.
type Dashboard struct {
	// UID is its name in addresses, and that of its file.
	UID, Title, Description string
	// Variables can be chosen above the panels.
	Variables []Variable
	Panels    []Panel
}

// Variable is what a reader of a dashboard chooses: the values that a label has.
type Variable struct {
	Name, Label, Metric, Of string
	// One permits only one value, without "all".
	One bool
}

// Panel is one picture.
type Panel struct {
	Title, Description string
	// Kind is graph, stat or table, Unit Grafana's name of a unit, Width at most columns.
	Kind, Unit string
	Width      int
	Queries    []Query
}

// Query asks Prometheus.
type Query struct {
	Expr string
	// Legend names a series by its labels, such as {{pod}}.
	Legend string
}

var source = map[string]any{"type": "prometheus", "uid": "${datasource}"}

// JSON is the dashboard as Grafana reads it.
func (d *Dashboard) JSON() (string, error) {
	text, err := json.MarshalIndent(map[string]any{
		"uid": d.UID, "title": d.Title, "description": d.Description, "tags": []string{"etcd"},
		"schemaVersion": schemaVersion, "editable": true, "refresh": "1m", "graphTooltip": 1,
		"time":       map[string]any{"from": "now-6h", "to": "now"},
		"templating": map[string]any{"list": d.variables()},
		"panels":     d.panels(),
		"links": []any{map[string]any{
			"title": "etcd", "type": "dashboards", "tags": []string{"etcd"}, "asDropdown": true, "includeVars": true, "keepTime": true,
		}},
	}, "", "  ")
	return string(text) + "\n", err
}

func (d *Dashboard) variables() []any {
	all := []any{map[string]any{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}}
	for _, v := range d.Variables {
		query := v.definition()
		all = append(all, map[string]any{
			"name": v.Name, "label": v.Label, "type": "query", "datasource": source, "definition": query,
			"query": map[string]any{"query": query, "refId": v.Name}, "refresh": 2, "sort": 1,
			"multi": !v.One, "includeAll": !v.One, "allValue": allValues,
		})
	}
	return all
}

// rateInterval is what Grafana puts in for $__rate_interval where Prometheus collects once a minute.
const rateInterval = "4m"

// Queries are those of the panels and variables, by panel and number or by variable, as Grafana asks
// them: with the value chosen of each variable that has one, and with all values of the others.
func (d *Dashboard) Queries(chosen func(variable string) string) map[string]string {
	grafana := []string{"$__rate_interval", rateInterval}
	for _, v := range d.Variables {
		value := allValues
		if v.One {
			value = chosen(v.Name)
		}
		grafana = append(grafana, "$"+v.Name, value)
	}
	fill := strings.NewReplacer(grafana...)
	all := map[string]string{}
	for _, v := range d.Variables {
		all[d.UID+": $"+v.Name] = fill.Replace("count by (" + v.Of + ") (" + v.Metric + ")")
	}
	for _, p := range d.Panels {
		for i, q := range p.Queries {
			all[fmt.Sprintf("%s: %s %d", d.UID, p.Title, i+1)] = fill.Replace(q.Expr)
		}
	}
	return all
}

// allValues is what Grafana puts in for all values of a variable.
const allValues = ".*"

func (v *Variable) definition() string { return "label_values(" + v.Metric + ", " + v.Of + ")" }

func (d *Dashboard) panels() []any {
	all := make([]any, 0, len(d.Panels))
	x, y := 0, 0
	for i, p := range d.Panels {
		if x+p.Width > columns {
			x, y = 0, y+height
		}
		all = append(all, p.json(i+1, x, y))
		x += p.Width
	}
	return all
}

func (p *Panel) json(id, x, y int) map[string]any {
	targets := make([]any, 0, len(p.Queries))
	for i, q := range p.Queries {
		target := map[string]any{"refId": string(rune('A' + i)), "datasource": source, "expr": q.Expr, "legendFormat": q.Legend}
		if p.Kind != graph {
			target["instant"] = true
		}
		if p.Kind == table {
			target["format"] = table
		}
		targets = append(targets, target)
	}
	panel := map[string]any{
		"id": id, "title": p.Title, "description": p.Description, "type": p.Kind, "datasource": source, "targets": targets,
		"gridPos":     map[string]any{"x": x, "y": y, "w": p.Width, "h": height},
		"fieldConfig": map[string]any{"defaults": map[string]any{"unit": p.Unit}, "overrides": []any{}},
	}
	if p.Kind == stat {
		panel["options"] = map[string]any{"textMode": "value_and_name"}
	}
	if p.Kind == table {
		panel["transformations"] = []any{map[string]any{
			"id": "organize", "options": map[string]any{"excludeByName": map[string]any{"Time": true}},
		}}
	}
	return panel
}

// Generate returns the text of each dashboard, by its path from the root. It needs nothing that is
// there.
func Generate(string) (map[string]string, error) {
	made := map[string]string{}
	for _, d := range Dashboards() {
		text, err := d.JSON()
		if err != nil {
			return nil, err
		}
		made[DashboardFile(d.UID)] = text
	}
	return made, nil
}

// DashboardFile is the file of a dashboard, from the root of the repository.
func DashboardFile(uid string) string { return path.Join(Folder, "dashboards", uid+".json") }
