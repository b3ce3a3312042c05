package charts

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// everything switches on each object that a chart has.
func everything(t *testing.T, name string) map[string]any {
	t.Helper()
	values := map[string]any{}
	for _, v := range valuesOf(t, name) {
		if v.typ() == "boolean" && !strings.HasSuffix(v.Path, "clusterWide") {
			values = with(t, values, v.Path, true)
		}
	}
	return values
}

func TestGenerated(t *testing.T) {
	made, err := Generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range made {
		got, err := os.ReadFile(filepath.Join(root, path))
		if err != nil || !bytes.Equal(got, []byte(want)) {
			t.Errorf("%s is not what is generated: run \"make generate\" (%v)", path, err)
		}
	}
}

// TestAnnotations: what Artifact Hub shows of a chart is true, and all of it. A release adds the
// changes.
func TestAnnotations(t *testing.T) {
	c := apiservertest.Client(t)
	for _, name := range append([]string{Umbrella}, Operators...) {
		t.Run(name, func(t *testing.T) {
			shown := load(t, name).Metadata.Annotations
			definitions, images := map[string]string{}, map[string]string{}
			for _, u := range objects(t, name, metav1.NamespaceDefault, nil) {
				switch u.GetKind() {
				case "CustomResourceDefinition":
					kind, _, err := unstructured.NestedString(u.Object, "spec", "names", "kind")
					if err != nil {
						t.Fatal(err)
					}
					definitions[u.GetName()] = kind + " v1beta2"
				case "Deployment":
					var d appsv1.Deployment
					if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &d); err != nil {
						t.Fatal(err)
					}
					images[d.Name] = d.Spec.Template.Spec.Containers[0].Image
				}
			}
			var shownKinds []struct{ Kind, Version, Name, DisplayName, Description string }
			unmarshal(t, shown["artifacthub.io/crds"], &shownKinds)
			got := map[string]string{}
			for _, k := range shownKinds {
				got[k.Name] = k.Kind + " " + k.Version
				if k.DisplayName != k.Kind || k.Description == "" {
					t.Errorf("%s is shown as %q, which is described as %q", k.Kind, k.DisplayName, k.Description)
				}
			}
			if diff := cmp.Diff(definitions, got); diff != "" {
				t.Errorf("definitions (-chart +annotation):\n%s", diff)
			}
			var examples []map[string]any
			unmarshal(t, shown["artifacthub.io/crdsExamples"], &examples)
			var kinds []string
			for _, e := range examples {
				u := &unstructured.Unstructured{Object: e}
				kinds = append(kinds, u.GetKind()+" "+u.GroupVersionKind().Version)
				accept(t, c, u)
			}
			if diff := cmp.Diff(slices.Sorted(maps.Values(definitions)), slices.Sorted(slices.Values(kinds))); diff != "" {
				t.Errorf("examples, one of each kind (-chart +annotation):\n%s", diff)
			}
			var shownImages []struct{ Name, Image string }
			unmarshal(t, shown["artifacthub.io/images"], &shownImages)
			got = map[string]string{}
			for _, i := range shownImages {
				got[i.Name] = i.Image
			}
			if diff := cmp.Diff(images, got); diff != "" {
				t.Errorf("images (-chart +annotation):\n%s", diff)
			}
			if changes := shown["artifacthub.io/changes"]; changes != "" {
				t.Errorf("these changes are of no release, which takes them from CHANGELOG.md:\n%s", changes)
			}
		})
	}
}

// TestLinks: what a chart shows of the repository is there.
func TestLinks(t *testing.T) {
	for _, name := range append([]string{Umbrella}, Operators...) {
		about := load(t, name).Metadata
		if len(about.Maintainers) != 1 {
			t.Fatalf("%s has %d maintainers", name, len(about.Maintainers))
		}
		for link, of := range map[string]string{
			about.Icon:               "https://raw.githubusercontent.com/etcd-operators/etcd-operators/main/",
			about.Maintainers[0].URL: "https://github.com/etcd-operators/etcd-operators/blob/main/",
		} {
			file, ok := strings.CutPrefix(link, of)
			if _, err := os.Stat(filepath.Join(root, file)); !ok || err != nil {
				t.Errorf("%s leads to %q: %v", name, link, err)
			}
		}
	}
}

func unmarshal(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
}

// TestAccepted: a real API server takes every object of every chart, and of deploy/monitoring, those
// of the Prometheus operator's kinds included.
func TestAccepted(t *testing.T) {
	installMonitoringKinds(t)
	c := apiservertest.Client(t)
	for _, u := range kustomized(t, filepath.Join(root, "deploy/monitoring")) {
		accept(t, c, u)
	}
	for _, name := range Operators {
		for _, clusterWide := range []bool{false, true} {
			values := with(t, everything(t, name), "clusterWide", clusterWide)
			values = with(t, values, "networkPolicies.namespaces", []any{metav1.NamespaceDefault})
			values = with(t, values, "podMonitor.interval", "30s")
			if name == Operators[0] {
				values = with(t, values, "podMonitor.namespaces", []any{metav1.NamespaceDefault})
			}
			for _, u := range objects(t, name, metav1.NamespaceDefault, values) {
				accept(t, c, u)
			}
		}
	}
}

func accept(t *testing.T, c client.Client, u *unstructured.Unstructured) {
	t.Helper()
	if isNamespaced, err := c.IsObjectNamespaced(u); err != nil {
		t.Errorf("%s: %v", key(u), err)
	} else if isNamespaced {
		u.SetNamespace(metav1.NamespaceDefault)
	}
	err := c.Create(apiservertest.Context(t), u, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Errorf("%s: %v", key(u), err)
	}
}

// maxSecret is how large a Secret can be, in which Helm stores a release.
const maxSecret = 1 << 20

// TestReleaseFits: Helm stores the chart and what it rendered, compressed, in one Secret.
func TestReleaseFits(t *testing.T) {
	for _, name := range append([]string{Umbrella}, Operators...) {
		c := load(t, name)
		files, err := render(c, databases, everything(t, name))
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(map[string]any{"chart": c, "manifest": strings.Join(slices.Sorted(maps.Values(files)), "\n")})
		if err != nil {
			t.Fatal(err)
		}
		var compressed bytes.Buffer
		w := gzip.NewWriter(&compressed)
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		size := base64.StdEncoding.EncodedLen(compressed.Len())
		t.Logf("%s: %d KiB", name, size>>10)
		if size > maxSecret*3/4 {
			t.Errorf("a release of %s takes %d KiB of the %d KiB that a Secret can hold", name, size>>10, maxSecret>>10)
		}
	}
}

// TestNotes: they name what the release serves, and no template is left in them.
func TestNotes(t *testing.T) {
	for _, name := range Operators {
		for clusterWide, want := range map[bool]string{false: "It serves namespace databases", true: "It serves all namespaces"} {
			text := notes(t, name, map[string]any{"clusterWide": clusterWide})
			if !strings.Contains(text, want) || strings.Contains(text, "no value") {
				t.Errorf("%s, clusterWide: %v:\n%s", name, clusterWide, text)
			}
			_, example, ok := strings.Cut(text, "<<EOF\n")
			if name != original {
				if ok {
					t.Errorf("%s tells to create a cluster", name)
				}
				continue
			}
			example, _, _ = strings.Cut(example, "EOF")
			var u unstructured.Unstructured
			unmarshal(t, example, &u.Object)
			accept(t, apiservertest.Client(t), &u)
			if diff := cmp.Diff(clusterWide, u.GetAnnotations() != nil); diff != "" {
				t.Errorf("the annotation of the first cluster: %s", diff)
			}
		}
	}
}

// TestNotesOnMetrics: they say which alert fires, where alerts are installed and nothing of the chart
// collects the operator's metrics.
func TestNotesOnMetrics(t *testing.T) {
	for name, c := range map[string]struct {
		rules, monitor, want bool
	}{
		"nothing":               {},
		"metrics":               {monitor: true},
		"alerts and metrics":    {rules: true, monitor: true},
		"alerts, and no metric": {rules: true, want: true},
	} {
		all := map[string]any{}
		for _, operator := range Operators {
			all[operator] = with(t, with(t, nil, "prometheusRule.create", c.rules), "podMonitor.create", c.monitor)
		}
		for _, operator := range Operators {
			alone := notes(t, operator, all[operator].(map[string]any))
			for monitor, text := range map[string]string{"podMonitor.create": alone, operator + ".podMonitor.create": notes(t, Umbrella, all)} {
				sentence := "\n\n" + downAlert[operator] + " fires unless your Prometheus collects the metrics of " + operator + ":\nset " + monitor + ", or"
				if got := strings.Contains(text, sentence); got != c.want {
					t.Errorf("%s: told of %s: %v, want %v\n%s", name, downAlert[operator], got, c.want, text)
				}
			}
		}
	}
	if text := notes(t, Umbrella, map[string]any{"operators": map[string]any{original: false}, original: with(t, nil, "prometheusRule.create", true)}); strings.Contains(text, downAlert[original]) {
		t.Errorf("told of an operator that is not installed:\n%s", text)
	}
}

// notes are what helm tells after an installation.
func notes(t *testing.T, name string, values map[string]any) string {
	t.Helper()
	files, err := render(load(t, name), databases, values)
	if err != nil {
		t.Fatal(err)
	}
	return files[name+"/templates/NOTES.txt"]
}
