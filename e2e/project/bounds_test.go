package project

import (
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// unbounded lists the strings of a spec for which the schema has no pattern. It maps the end of their path to
// the reason.
var unbounded = map[string]string{
	".affinity":                  "it is of Kubernetes' type, and the API server checks it in the Pod",
	".nodeSelector":              "it is of Kubernetes' type, and the API server checks it in the Pod",
	".tolerations":               "it is of Kubernetes' type, and the API server checks it in the Pod",
	".topologySpreadConstraints": "it is of Kubernetes' type, and the API server checks it in the Pod",
	".securityContext":           "it is of Kubernetes' type, and the API server checks it in the Pod",
	".imagePullSecrets":          "it is of Kubernetes' type, and the API server checks it in the Pod",
	".resources":                 "it is of Kubernetes' type, and the API server checks it in the Pod",
	".etcdEnv":                   "it is of Kubernetes' type, and only the Pod contains it: etcd accepts any value",
	".persistentVolumeClaimSpec": "it is of Kubernetes' type, and the API server checks it in the PVC",
	".pod.labels":                "the API server checks it in the Pod",
	".pod.annotations":           "an annotation has any text, such as JSON of many lines",
	".service.annotations":       "an annotation has any text, such as JSON of many lines",
	".metadata.labels":           "the API server checks it in the EtcdCluster",
	".metadata.annotations":      "an annotation has any text, such as JSON of many lines",
	".service.name":              "a rule of the EtcdCluster compares it with metadata.name",
	".service.selector":          "it must be empty",
	".tags":                      "requests to the store have it URL-encoded, and CEL's budget has no room for a pattern",
	".prefixes":                  "a key of etcd can contain any character, and the restore's task is JSON",
}

// TestTextsAreBounded: a string in a tenant's spec contains no line break and no other control character.
// Otherwise it could start a new line in a file that is generated from the spec.
func TestTextsAreBounded(t *testing.T) {
	used := map[string]bool{}
	for name, data := range projectFiles(t, "deploy/*/crd/etcd.*.yaml") {
		var crd map[string]any
		if err := yaml.Unmarshal(data, &crd); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, path := range unboundedTexts(specSchema(t, crd), "spec") {
			end := exception(path)
			if end == "" {
				t.Errorf("%s: %s takes a text with control characters: add a rule with a pattern, or name it in unbounded with the reason", name, path)
			}
			used[end] = true
		}
	}
	for end := range unbounded {
		if !used[end] {
			t.Errorf("unbounded names %s, which no text needs", end)
		}
	}
}

func exception(path string) string {
	for end := range unbounded {
		if _, rest, found := strings.Cut(path+".", end); found && strings.ContainsAny(rest[:1], ".[{") {
			return end
		}
	}
	return ""
}

func specSchema(t *testing.T, crd map[string]any) map[string]any {
	t.Helper()
	for _, key := range []string{"spec", "versions"} {
		if list, ok := crd[key].([]any); ok {
			crd, _ = list[0].(map[string]any)
			continue
		}
		crd, _ = crd[key].(map[string]any)
	}
	for _, key := range []string{"schema", "openAPIV3Schema", "properties", "spec"} {
		crd, _ = crd[key].(map[string]any)
	}
	if crd == nil {
		t.Fatal("the definition has no schema of a spec")
	}
	return crd
}

// unboundedTexts returns the paths of the strings in a schema that can contain a control character.
func unboundedTexts(schema map[string]any, path string) []string {
	var all []string
	properties, _ := schema["properties"].(map[string]any)
	for name, of := range properties {
		all = append(all, unboundedTexts(of.(map[string]any), path+"."+name)...)
	}
	if items, ok := schema["items"].(map[string]any); ok {
		all = append(all, unboundedTexts(items, path+"[]")...)
	}
	if values, ok := schema["additionalProperties"].(map[string]any); ok {
		all = append(all, unboundedTexts(values, path+"{}")...)
	}
	isText := schema["type"] == "string" || schema["x-kubernetes-int-or-string"] == true
	if isText && !isBounded(schema) {
		all = append(all, path)
	}
	return all
}

func isBounded(schema map[string]any) bool {
	if schema["enum"] != nil || schema["format"] == "date-time" {
		return true
	}
	if pattern, ok := schema["pattern"].(string); ok {
		return isPlain(pattern)
	}
	rules, _ := schema["x-kubernetes-validations"].([]any)
	for _, rule := range rules {
		if text, _ := rule.(map[string]any)["rule"].(string); boundsText(text) {
			return true
		}
	}
	return false
}

// matches finds the patterns in a CEL rule.
var matches = regexp.MustCompile(`(!?)\bself\.matches\('([^']*)'\)`)

// boundsText reports whether a rule lists the values, or matches them with patterns that exclude control
// characters.
func boundsText(rule string) bool {
	if strings.HasPrefix(rule, "self in [") || strings.Contains(rule, "isQuantity(self)") {
		return true
	}
	bounded := false
	for _, m := range matches.FindAllStringSubmatch(rule, -1) {
		if m[1] == "!" {
			continue
		}
		pattern, err := strconv.Unquote(`"` + m[2] + `"`)
		if err != nil || !isPlain(pattern) {
			return false
		}
		bounded = true
	}
	return bounded
}

// isPlain reports whether a pattern matches the whole string, and excludes control characters.
func isPlain(pattern string) bool {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil || !strings.HasPrefix(pattern, "^") || !strings.HasSuffix(pattern, "$") {
		return false
	}
	return hasNoControl(tree)
}

func hasNoControl(tree *syntax.Regexp) bool {
	switch tree.Op {
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return false
	case syntax.OpLiteral:
		for _, r := range tree.Rune {
			if isControl(r, r) {
				return false
			}
		}
	case syntax.OpCharClass:
		for i := 0; i < len(tree.Rune); i += 2 {
			if isControl(tree.Rune[i], tree.Rune[i+1]) {
				return false
			}
		}
	default: // matches no characters of its own
	}
	for _, sub := range tree.Sub {
		if !hasNoControl(sub) {
			return false
		}
	}
	return true
}

// isControl reports whether a range contains an ASCII control character.
func isControl(from, to rune) bool { return from < 0x20 || from <= 0x7f && to >= 0x7f }
