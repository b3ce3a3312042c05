// Package charts makes what is generated of the Helm charts: the files of deploy/ that they
// share with kustomize, the templates that the operators' charts have in common, and from the
// comments of values.yaml the schema and the README. Its tests compare what helm and kustomize
// render, and look at what each value does.
package charts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// original is the chart whose templates the other operators' charts share.
const original = "etcd-operator"

// Operators have a chart each.
var Operators = []string{original, "etcd-backup-operator", "etcd-restore-operator"}

// DigestAnnotation is the annotation of a chart that names the digest of its image: that of the tag
// which is the chart's appVersion. A release sets it.
const DigestAnnotation = "etcd.database.coreos.com/image-digest"

// development is the version of the charts in a checkout.
const development = "0.0.0-dev"

// Umbrella is the chart that depends on all of them.
const Umbrella = "etcd-operators"

// shared are the folders of deploy/ whose files a chart has, and whether all have them.
var shared = map[string]bool{
	"base": true, "crd": true, "components/network-policies": true,
	"components/nodes": false, "components/cert-manager": false,
}

// Generate returns the text of each generated file, by its path from the root.
func Generate(root string) (map[string]string, error) {
	made := map[string]string{}
	for _, chart := range Operators {
		if err := copyFiles(root, chart, made); err != nil {
			return nil, err
		}
		if err := describe(root, chart, made); err != nil {
			return nil, err
		}
	}
	return made, describe(root, Umbrella, made)
}

// monitoring are the files of deploy/monitoring that a chart has, beside its operator's rules.
var monitoring = map[string][]string{
	original:               {"pod-monitors.yaml", "dashboards/etcd-fleet.json", "dashboards/etcd-cluster.json"},
	"etcd-backup-operator": {"dashboards/etcd-backups.json"},
}

// copyFiles takes over what a chart shares with deploy/, and with the original chart.
func copyFiles(root, chart string, made map[string]string) error {
	for folder, all := range shared {
		if !all && chart != original {
			continue
		}
		from, to := filepath.Join("deploy", folder), filepath.Join("charts", chart, "files")
		switch folder {
		case "base":
			from = filepath.Join("deploy", chart, folder)
		case "crd":
			from, to = filepath.Join("deploy", chart, folder), filepath.Join(to, folder)
		}
		if err := take(root, from, to, made, "*.yaml"); err != nil {
			return err
		}
	}
	for _, file := range append([]string{chart + "-rules.yaml"}, monitoring[chart]...) {
		if err := take(root, "deploy/monitoring", filepath.Join("charts", chart, "files/monitoring"), made, file); err != nil {
			return err
		}
	}
	if chart == original {
		return nil
	}
	for _, pattern := range []string{"*", "tests/*"} {
		folder := filepath.Join("templates", filepath.Dir(pattern))
		if err := take(root, filepath.Join("charts", original, folder), filepath.Join("charts", chart, folder), made, filepath.Base(pattern)); err != nil {
			return err
		}
	}
	return nil
}

// skipped are files of deploy/ that a chart says in its own way.
var skipped = map[string]bool{"kustomization.yaml": true, "service-account.yaml": true, "disruption-budget.yaml": true}

// take copies the files of a folder.
func take(root, from, to string, made map[string]string, pattern string) error {
	files, err := filepath.Glob(filepath.Join(root, from, pattern))
	if err != nil {
		return err
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.IsDir() || skipped[filepath.Base(file)] && pattern == "*.yaml" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		made[filepath.Join(to, filepath.Base(file))] = string(text)
	}
	return nil
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
