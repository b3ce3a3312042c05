// Package monitoring reads the alerts that deploy/monitoring ships, and makes its Grafana
// dashboards. Its tests run promtool on each alert, and look for each metric that a rule or a
// dashboard asks for at the operators and at real etcd.
package monitoring

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Folder is where the alerts and dashboards are, from the root of the repository.
const Folder = "deploy/monitoring"

// Rule is an alert.
type Rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// Group is a group of alerts, which Prometheus evaluates one after the other.
type Group struct {
	Name  string `json:"name"`
	Rules []Rule `json:"rules"`
}

// Groups are what a file of rules has for a Prometheus without the Prometheus operator.
type Groups struct {
	Groups []Group `json:"groups"`
}

// ReadRules returns the alerts of each PrometheusRule, by the name of the operator that it is for.
func ReadRules(root string) (map[string]Groups, error) {
	const suffix = "-rules.yaml"
	files, err := filepath.Glob(filepath.Join(root, Folder, "*"+suffix))
	if err != nil {
		return nil, err
	}
	all := map[string]Groups{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var object struct {
			APIVersion string         `json:"apiVersion"`
			Kind       string         `json:"kind"`
			Metadata   map[string]any `json:"metadata"`
			Spec       Groups         `json:"spec"`
		}
		if err := yaml.UnmarshalStrict(text, &object); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if object.Kind != "PrometheusRule" {
			return nil, fmt.Errorf("%s: kind %s, want PrometheusRule", file, object.Kind)
		}
		all[strings.TrimSuffix(filepath.Base(file), suffix)] = object.Spec
	}
	return all, nil
}

// Alerts are all alerts, by name.
func Alerts(root string) (map[string]Rule, error) {
	rules, err := ReadRules(root)
	all := map[string]Rule{}
	for _, groups := range rules {
		for _, group := range groups.Groups {
			for _, rule := range group.Rules {
				if _, twice := all[rule.Alert]; twice {
					return nil, fmt.Errorf("there are two alerts %s", rule.Alert)
				}
				all[rule.Alert] = rule
			}
		}
	}
	return all, err
}

// RuleFile is the text of a file of rules, as Prometheus itself reads it, with all alerts.
func RuleFile(root string) ([]byte, error) {
	all, err := ReadRules(root)
	if err != nil {
		return nil, err
	}
	var together Groups
	for _, groups := range all {
		together.Groups = append(together.Groups, groups.Groups...)
	}
	slices.SortFunc(together.Groups, func(a, b Group) int { return strings.Compare(a.Name, b.Name) })
	return yaml.Marshal(together)
}

var (
	quoted     = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	selector   = regexp.MustCompile(`([a-zA-Z_][\w]*)\s*\{([^}]*)\}`)
	inBraces   = regexp.MustCompile(`\{[^}]*\}`)
	inBrackets = regexp.MustCompile(`\[[^\]]*\]`)
	labelList  = regexp.MustCompile(`\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)`)
	called     = regexp.MustCompile(`\b[a-z_]\w*\s*\(`)
	number     = regexp.MustCompile(`\b\d[\w.]*`)
	word       = regexp.MustCompile(`[a-zA-Z_]\w*`)
	matcher    = regexp.MustCompile(`([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)`)
	comparison = regexp.MustCompile(`\s(?:==|!=|<=|>=|<|>)\s`)
	threshold  = regexp.MustCompile(`\s*(?:==|!=|<=|>=|<|>)\s*\d[\d.]*(?:\s*\*\s*\d[\d.]*)*`)
)

// operators are the words of PromQL between its operands.
var operators = []string{"and", "or", "unless", "bool", "offset", "inf", "nan", "group_left", "group_right"}

// Metrics returns the names of the metrics that a query asks for.
func Metrics(query string) []string {
	for _, cut := range []*regexp.Regexp{quoted, inBraces, inBrackets, number} {
		query = cut.ReplaceAllString(query, " ")
	}
	// A function's name goes, and a list of labels with its parentheses.
	query = called.ReplaceAllString(labelList.ReplaceAllString(query, " "), "(")
	var names []string
	for _, name := range word.FindAllString(query, -1) {
		if !slices.Contains(operators, strings.ToLower(name)) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Matched returns the labels by which a query selects series of each metric.
func Matched(query string) map[string][]string {
	all := map[string][]string{}
	for _, found := range selector.FindAllStringSubmatch(quoted.ReplaceAllString(query, `""`), -1) {
		for _, label := range matcher.FindAllStringSubmatch(found[2], -1) {
			all[found[1]] = append(all[found[1]], label[1])
		}
	}
	return all
}

// Observed is a query without its thresholds: what an alert looks at, whether all is well or not. Where it compares
// two things, both are looked at.
func Observed(query string) string {
	return comparison.ReplaceAllString(threshold.ReplaceAllString(query, ""), "${0}bool ")
}
