package charts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/etcd-operators/etcd-operators/shared/goldentest"
)

// another is, of each value, one that is not the default, or a function that returns it for a chart.
var another = map[string]any{
	"global.imageRegistry":       "mirror.example.com",
	"global.imagePullSecrets":    []any{map[string]any{"name": "everywhere"}},
	"global.clusterWide":         true,
	"clusterWide":                true,
	"replicas":                   3,
	"image.registry":             "registry.example.com",
	"image.repository":           "mirrored/operator",
	"image.tag":                  "v1.2.3",
	"image.digest":               "sha256:" + strings.Repeat("0123456789abcdef", 4),
	"image.pullPolicy":           "Always",
	"imagePullSecrets":           []any{map[string]any{"name": "registry"}},
	"crds.create":                false,
	"rbac.nodes":                 true,
	"rbac.certManager":           true,
	"serviceAccount.annotations": map[string]any{"example.com/role": "etcd"},
	"resources":                  map[string]any{"limits": map[string]any{"memory": "2Gi"}},
	"extraArgs":                  []any{"--workers=4"},
	"env":                        []any{map[string]any{"name": "GOGC", "value": "100"}, map[string]any{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}},
	"podAnnotations":             map[string]any{"example.com/team": "storage"},
	"podLabels":                  map[string]any{"team": "storage", "app.kubernetes.io/name": "ignored"},
	"priorityClassName":          "system-cluster-critical",
	"nodeSelector":               map[string]any{"kubernetes.io/arch": "amd64"},
	"tolerations":                []any{map[string]any{"key": "control-plane", "operator": "Exists"}},
	"affinity":                   map[string]any{"nodeAffinity": map[string]any{}},
	"networkPolicies.create":     true,
	"networkPolicies.namespaces": []any{"shop", "bank"},
	"podMonitor.create":          true,
	"podMonitor.labels":          map[string]any{"release": "prometheus"},
	"podMonitor.interval":        "30s",
	"podMonitor.members":         true,
	"podMonitor.namespaces":      []any{"shop", "bank"},
	"admission.allow":            []any{"pod.labels/team", "pod.annotations/example.com/scan=false"},
	"prometheusRule.create":      true,
	"prometheusRule.labels":      map[string]any{"release": "prometheus"},
	"prometheusRule.disabled":    func(chart string) any { return []any{downAlert[chart]} },
	"grafanaDashboards.create":   true,
	"grafanaDashboards.labels":   map[string]any{"dashboards": "all"},
	"podDisruptionBudget.create": nil, // the opposite of its default
}

// downAlert is, of each chart, the alert that its operator does not run.
var downAlert = map[string]string{original: "EtcdOperatorDown", "etcd-backup-operator": "EtcdBackupOperatorDown", "etcd-restore-operator": "EtcdRestoreOperatorDown"}

// needs are the values without which another has no effect.
var needs = map[string]map[string]any{
	"networkPolicies.namespaces": {"clusterWide": true, "networkPolicies": map[string]any{"create": true}},
	"podMonitor.labels":          {"podMonitor": map[string]any{"create": true}},
	"podMonitor.interval":        {"podMonitor": map[string]any{"create": true}},
	"podMonitor.namespaces":      {"podMonitor": map[string]any{"members": true}},
	"prometheusRule.labels":      {"prometheusRule": map[string]any{"create": true}},
	"prometheusRule.disabled":    {"prometheusRule": map[string]any{"create": true}},
	"grafanaDashboards.labels":   {"grafanaDashboards": map[string]any{"create": true}},
}

// TestEachValue shows in a golden file what each value changes. One without a row fails, and
// one that changes nothing.
func TestEachValue(t *testing.T) {
	for _, name := range Operators {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			for _, v := range valuesOf(t, name) {
				value, ok := another[v.Path]
				if !ok {
					t.Errorf("%s: the table has no row for it", v.Path)
				}
				if of, ok := value.(func(string) any); ok {
					value = of(name)
				}
				if value == nil {
					value = v.Default != "true"
				}
				needed := needs[v.Path]
				if v.Path != "crds.create" && v.Path != "admission.allow" { // the definition is large, and nothing else changes what is installed with it
					needed = with(t, needed, "crds.create", false)
				}
				before := flatten(t, objects(t, name, databases, needed))
				after := flatten(t, objects(t, name, databases, with(t, needed, v.Path, value)))
				changed := difference(before, after)
				if len(changed) == 0 {
					t.Errorf("%s changes nothing", v.Path)
				}
				changed = slices.DeleteFunc(changed, isMonitoring)
				text, err := json.Marshal(value)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&out, "%s: %s\n  %s\n\n", v.Path, text, strings.Join(changed, "\n  "))
			}
			goldentest.Compare(t, filepath.Join("testdata", name+".golden"), out.String())
		})
	}
}

// isMonitoring says whether a line adds a rule or a dashboard, which TestMonitoring compares.
func isMonitoring(line string) bool {
	return strings.HasPrefix(line, "+ ") && (strings.Contains(line, " spec.groups[") || strings.Contains(line, "-dashboard data."))
}

// TestSchemaRefuses: a value of the wrong type, and a name that is none.
func TestSchemaRefuses(t *testing.T) {
	for _, name := range Operators {
		for _, v := range valuesOf(t, name) {
			for what, values := range map[string]map[string]any{
				"of the wrong type": with(t, nil, v.Path, wrong(v)),
				"misspelled":        with(t, nil, v.Path+"s", wrong(v)),
			} {
				if strings.HasPrefix(v.Path, "global.") && what == "misspelled" {
					continue // other charts have values there
				}
				if _, err := render(load(t, name), databases, values); err == nil || !strings.Contains(err.Error(), "schema") {
					t.Errorf("%s: %s %s is not refused: %v", name, v.Path, what, err)
				}
			}
		}
	}
	for path, value := range map[string]any{
		"image.digest":     "0123456789abcdef",
		"image.pullPolicy": "Sometimes",
		"replicas":         -1,
		"env":              []any{map[string]any{"value": "nameless"}},
		"extraArgs":        []any{4},
	} {
		if _, err := render(load(t, original), databases, with(t, nil, path, value)); err == nil {
			t.Errorf("%s: %v is not refused", path, value)
		}
	}
}

// TestMemoryLimits: GOMEMLIMIT follows the container's limit, where the template can reckon with it.
func TestMemoryLimits(t *testing.T) {
	for limit, want := range map[string]string{"256Mi": "220MiB", "1Gi": "880MiB", "0.5Gi": "", "500M": ""} {
		deployment := objects(t, original, databases, with(t, nil, "resources.limits.memory", limit))[databases+"/Deployment/"+original]
		got := ""
		containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
		if err != nil {
			t.Fatal(err)
		}
		env, _, err := unstructured.NestedSlice(containers[0].(map[string]any), "env")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range env {
			if e := e.(map[string]any); e["name"] == "GOMEMLIMIT" {
				got = e["value"].(string)
			}
		}
		if got != want {
			t.Errorf("limit %s: GOMEMLIMIT %q, want %q", limit, got, want)
		}
	}
}

func valuesOf(t *testing.T, name string) []*Value {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "charts", name, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := Values(text)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// with is a copy of values that has one more.
func with(t *testing.T, values map[string]any, path string, value any) map[string]any {
	t.Helper()
	text, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if all == nil {
		all = map[string]any{}
	}
	inner := all
	fields := strings.Split(path, ".")
	for _, f := range fields[:len(fields)-1] {
		if inner[f] == nil {
			inner[f] = map[string]any{}
		}
		inner = inner[f].(map[string]any)
	}
	inner[fields[len(fields)-1]] = value
	return all
}

// wrong is a value of another type.
func wrong(v *Value) any {
	if v.typ() == "string" {
		return 7
	}
	return "seven"
}

// flatten turns objects into lines, one for each field, by object.
func flatten(t *testing.T, all map[string]*unstructured.Unstructured) map[string]map[string]bool {
	t.Helper()
	flat := map[string]map[string]bool{}
	for key, u := range all {
		flat[key] = map[string]bool{}
		lines(t, "", u.Object, flat[key])
	}
	return flat
}

func lines(t *testing.T, path string, value any, into map[string]bool) {
	t.Helper()
	switch v := value.(type) {
	case map[string]any:
		for k, inner := range v {
			lines(t, path+"."+k, inner, into)
		}
		if len(v) > 0 {
			return
		}
	case []any:
		for _, inner := range v {
			if m, ok := inner.(map[string]any); ok && m["name"] != nil {
				lines(t, fmt.Sprintf("%s[%v]", path, m["name"]), inner, into)
				continue
			}
			lines(t, path+"[]", inner, into)
		}
		if len(v) > 0 {
			return
		}
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	into[strings.TrimPrefix(path, ".")+" = "+string(text)] = true
}

// difference lists what was removed and added. An object that is gone is one line.
func difference(before, after map[string]map[string]bool) []string {
	var all []string
	for _, object := range slices.Sorted(maps.Keys(before)) {
		if after[object] == nil {
			all = append(all, "- "+object)
			continue
		}
		for _, line := range slices.Sorted(maps.Keys(before[object])) {
			if !after[object][line] {
				all = append(all, "- "+object+" "+line)
			}
		}
	}
	for _, object := range slices.Sorted(maps.Keys(after)) {
		for _, line := range slices.Sorted(maps.Keys(after[object])) {
			if !before[object][line] {
				all = append(all, "+ "+object+" "+line)
			}
		}
	}
	return all
}
