// Package charts writes the schema and the README of each Helm chart from the comments in its values.yaml. What the
// charts share with deploy/, and the templates that they share with each other, are symbolic links. The tests of the
// package compare what helm and kustomize render, and show what each value changes.
package charts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// Operators have a chart each.
var Operators = []string{"etcd-operator", "etcd-backup-operator", "etcd-restore-operator"}

// DigestAnnotation is the annotation of a chart that names the digest of its image: that of the tag
// which is the chart's appVersion. A release sets it.
const DigestAnnotation = "etcd.database.coreos.com/image-digest"

// development is the version of the charts in a checkout.
const development = "0.0.0-dev"

// Umbrella is the chart that depends on all of them.
const Umbrella = "etcd-operators"

// Generate returns the text of each generated file, by its path from the root.
func Generate(root string) (map[string]string, error) {
	made := map[string]string{}
	for _, chart := range append([]string{Umbrella}, Operators...) {
		if err := describe(root, chart, made); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// describe makes the schema and the README of a chart.
func describe(root, chart string, made map[string]string) error {
	dir := filepath.Join("charts", chart)
	text, err := os.ReadFile(filepath.Join(root, dir, "values.yaml"))
	if err != nil {
		return err
	}
	values, err := parseValues(text)
	if err != nil {
		return fmt.Errorf("%s/values.yaml: %w", dir, err)
	}
	text, err = os.ReadFile(filepath.Join(root, dir, "Chart.yaml"))
	if err != nil {
		return err
	}
	var about struct{ Name, Description, Version string }
	if err := yaml.Unmarshal(text, &about); err != nil {
		return fmt.Errorf("%s/Chart.yaml: %w", dir, err)
	}
	schema := values.schema()
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(schema); err != nil {
		return err
	}
	made[filepath.Join(dir, "values.schema.json")] = out.String()
	made[filepath.Join(dir, "README.md")] = readme(about.Name, about.Description, about.Version, values)
	return nil
}
