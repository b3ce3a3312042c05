package charts

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/etcd-operators/etcd-operators/e2e/docs"
)

// TestUmbrella: it installs what the charts of the operators install, with the values that it
// has for each.
func TestUmbrella(t *testing.T) {
	for name, c := range map[string]struct {
		values map[string]any
		of     map[string]map[string]any
	}{
		"all": {of: map[string]map[string]any{Operators[0]: nil, Operators[1]: nil, Operators[2]: nil}},
		"without backups and restores": {
			values: map[string]any{"operators": map[string]any{Operators[1]: false, Operators[2]: false}},
			of:     map[string]map[string]any{Operators[0]: nil},
		},
		"backups alone, with values": {
			values: map[string]any{"operators": map[string]any{Operators[0]: false, Operators[2]: false}, Operators[1]: map[string]any{"replicas": 2}},
			of:     map[string]map[string]any{Operators[1]: {"replicas": 2}},
		},
		"a registry for all": {
			values: map[string]any{"operators": map[string]any{Operators[1]: false}, "global": map[string]any{"imageRegistry": "mirror.example.com"}},
			of: map[string]map[string]any{
				Operators[0]: {"global": map[string]any{"imageRegistry": "mirror.example.com"}},
				Operators[2]: {"image": map[string]any{"registry": "mirror.example.com"}},
			},
		},
		"pull secrets for all": {
			values: map[string]any{"operators": map[string]any{Operators[1]: false, Operators[2]: false}, "global": map[string]any{"imagePullSecrets": []any{map[string]any{"name": "registry"}}}},
			of:     map[string]map[string]any{Operators[0]: {"imagePullSecrets": []any{map[string]any{"name": "registry"}}}},
		},
		"etcd-operator and restores, cluster-wide": {
			values: map[string]any{"operators": map[string]any{Operators[1]: false}, Operators[0]: map[string]any{"clusterWide": true}, Operators[2]: map[string]any{"clusterWide": true}},
			of:     map[string]map[string]any{Operators[0]: {"clusterWide": true}, Operators[2]: {"clusterWide": true}},
		},
		"all, for all namespaces": {
			values: map[string]any{"global": map[string]any{"clusterWide": true}},
			of:     map[string]map[string]any{Operators[0]: {"clusterWide": true}, Operators[1]: {"clusterWide": true}, Operators[2]: {"clusterWide": true}},
		},
		"one for all namespaces, beside one for its own": {
			values: map[string]any{"operators": map[string]any{Operators[2]: false}, Operators[0]: map[string]any{"clusterWide": true}, "global": map[string]any{"clusterWide": false}},
			of:     map[string]map[string]any{Operators[0]: {"clusterWide": true}, Operators[1]: nil},
		},
		"all namespaces, twice": {
			values: map[string]any{"operators": map[string]any{Operators[0]: false, Operators[1]: false}, Operators[2]: map[string]any{"clusterWide": true}, "global": map[string]any{"clusterWide": true}},
			of:     map[string]map[string]any{Operators[2]: {"clusterWide": true}},
		},
		"all namespaces, with what follows from it": {
			values: map[string]any{
				"operators": map[string]any{Operators[1]: false, Operators[2]: false}, "global": map[string]any{"clusterWide": true},
				Operators[0]: map[string]any{"networkPolicies": map[string]any{"create": true, "namespaces": []any{"shop"}}, "podMonitor": map[string]any{"members": true, "namespaces": []any{"shop"}}},
			},
			of: map[string]map[string]any{Operators[0]: {
				"clusterWide": true, "networkPolicies": map[string]any{"create": true, "namespaces": []any{"shop"}}, "podMonitor": map[string]any{"members": true, "namespaces": []any{"shop"}},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := map[string]*unstructured.Unstructured{}
			for operator, values := range c.of {
				maps.Copy(want, objects(t, operator, databases, values))
			}
			got := objects(t, Umbrella, databases, c.values)
			if diff := difference(flatten(t, want), flatten(t, got)); len(diff) > 0 {
				t.Errorf("-charts of the operators +umbrella: %s", cmp.Diff(nil, diff))
			}
		})
	}
}

// TestUmbrellaAsDocumented: the values that the page on installation shows are those of all operators.
func TestUmbrellaAsDocumented(t *testing.T) {
	values := map[string]any{}
	unmarshal(t, shown(t, "# values.yaml of "+Umbrella+"\n"), &values)
	want := map[string]*unstructured.Unstructured{}
	for _, operator := range Operators {
		own := with(t, values[operator].(map[string]any), "global", values["global"])
		maps.Copy(want, objects(t, operator, databases, own))
		for _, key := range []string{databases + "/PodMonitor/", databases + "/PrometheusRule/", "ClusterRole/"} {
			if want[key+operator] == nil {
				t.Errorf("there is no %s%s", key, operator)
			}
		}
	}
	if diff := difference(flatten(t, want), flatten(t, objects(t, Umbrella, databases, values))); len(diff) > 0 {
		t.Errorf("-charts of the operators +umbrella: %s", cmp.Diff(nil, diff))
	}
}

// shown is the block of a page that begins so.
func shown(t *testing.T, begin string) string {
	t.Helper()
	pages, err := docs.Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		for _, block := range page.Blocks {
			if strings.HasPrefix(block.Text, begin) {
				return block.Text
			}
		}
	}
	t.Fatalf("no page shows %q", begin)
	return ""
}

// TestWithoutDefinitions: crds.create=false leaves out the definitions, and the rules of admission that
// belong to them, all of which Helm keeps in an upgrade that has them no more. It leaves out nothing else.
func TestWithoutDefinitions(t *testing.T) {
	all := map[string]any{}
	for _, operator := range Operators {
		all[operator] = with(t, nil, "crds.create", false)
	}
	for _, name := range append([]string{Umbrella}, Operators...) {
		values := with(t, nil, "crds.create", false)
		if name == Umbrella {
			values = all
		}
		want := objects(t, name, databases, nil)
		maps.DeleteFunc(want, func(_ string, u *unstructured.Unstructured) bool {
			return u.GetAnnotations()["helm.sh/resource-policy"] == "keep"
		})
		got := objects(t, name, databases, values)
		if diff := difference(flatten(t, want), flatten(t, got)); len(diff) > 0 {
			t.Errorf("%s (-what Helm does not keep +without definitions): %s", name, cmp.Diff(nil, diff))
		}
		for key := range got {
			if strings.Contains(key, "CustomResourceDefinition/") || strings.Contains(key, "ValidatingAdmission") {
				t.Errorf("%s has %s without the definitions", name, key)
			}
		}
	}
}

// TestUmbrellaDependsOnThese: its requirements name the charts beside it, as they are.
func TestUmbrellaDependsOnThese(t *testing.T) {
	var got, want []string
	for _, d := range load(t, Umbrella).Metadata.Dependencies {
		got = append(got, d.Name+" "+d.Version+" "+d.Repository+" "+d.Condition)
	}
	values := map[string]bool{}
	for _, v := range valuesOf(t, Umbrella) {
		values[v.Path] = true
	}
	for _, operator := range Operators {
		want = append(want, operator+" "+load(t, operator).Metadata.Version+" file://../"+operator+" operators."+operator)
		for _, path := range []string{operator, "operators." + operator} {
			if !values[path] {
				t.Errorf("there is no value %s", path)
			}
			delete(values, path)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	delete(values, "global.imageRegistry")
	delete(values, "global.imagePullSecrets")
	delete(values, "global.clusterWide")
	for path := range values {
		t.Errorf("%s: TestUmbrella has no row for it", path)
	}
}

// TestUmbrellaRefuses: a misspelled value, at the top and of one operator.
func TestUmbrellaRefuses(t *testing.T) {
	for name, values := range map[string]map[string]any{
		"at the top":         {"operator": map[string]any{"etcd-operator": false}},
		"which operators":    {"operators": map[string]any{"backup": false}},
		"of an operator":     {Operators[0]: map[string]any{"replica": 3}},
		"of the wrong type":  {Operators[0]: map[string]any{"replicas": "three"}},
		"scope at the top":   {"clusterWide": true},
		"scope as a word":    {"global": map[string]any{"clusterWide": "yes"}},
		"whether to install": {"operators": map[string]any{"etcd-operator": "yes"}},
	} {
		if _, err := render(load(t, Umbrella), databases, values); err == nil {
			t.Errorf("%s: %v is not refused", name, values)
		}
	}
}
