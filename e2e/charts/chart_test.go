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
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// everything switches on each object that a chart has.
func everything(t *testing.T, name string) map[string]any {
	t.Helper()
	values := map[string]any{}
	for _, v := range valuesOf(t, name) {
		if v.typ() == "boolean" && v.Path != "clusterWide" {
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
	for _, name := range Operators {
		for _, folder := range []string{"files", "files/crd", "files/monitoring", "templates", "templates/tests"} {
			files, err := filepath.Glob(filepath.Join(root, "charts", name, folder, "*.*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				path, err := filepath.Rel(root, f)
				if err != nil {
					t.Fatal(err)
				}
				if _, ok := made[path]; !ok && (name != original || strings.HasPrefix(folder, "files")) {
					t.Errorf("%s is not generated any more: delete it", path)
				}
			}
		}
	}
}

// TestAnnotations: what Artifact Hub shows of a chart is true.
func TestAnnotations(t *testing.T) {
	c := apiservertest.Client(t)
	for _, name := range Operators {
		t.Run(name, func(t *testing.T) {
			all := objects(t, name, metav1.NamespaceDefault, nil)
			about := load(t, name).Metadata
			var kinds []struct{ Kind, Version, Name, DisplayName, Description string }
			unmarshal(t, about.Annotations["artifacthub.io/crds"], &kinds)
			for _, k := range kinds {
				definition := all["CustomResourceDefinition/"+k.Name]
				if definition == nil {
					t.Errorf("the chart has no CustomResourceDefinition %s", k.Name)
					continue
				}
				if kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind"); kind != k.Kind || k.Version != "v1beta2" {
					t.Errorf("%s is of kind %s", k.Name, kind)
				}
			}
			if len(kinds) != 1 {
				t.Errorf("%d kinds are shown", len(kinds))
			}
			var examples []map[string]any
			unmarshal(t, about.Annotations["artifacthub.io/crdsExamples"], &examples)
			for _, e := range examples {
				accept(t, c, &unstructured.Unstructured{Object: e})
			}
			if len(examples) == 0 {
				t.Error("no example is shown")
			}
			var images []struct{ Name, Image string }
			unmarshal(t, about.Annotations["artifacthub.io/images"], &images)
			var pods corev1.PodSpec
			deployment := all["default/Deployment/"+name]
			spec, _, err := unstructured.NestedMap(deployment.Object, "spec", "template", "spec")
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(spec)
			if err != nil {
				t.Fatal(err)
			}
			unmarshal(t, string(text), &pods)
			if len(images) != 1 || images[0].Image != pods.Containers[0].Image {
				t.Errorf("images %v are shown, and %s runs", images, pods.Containers[0].Image)
			}
			var changes []struct{ Kind, Description string }
			unmarshal(t, about.Annotations["artifacthub.io/changes"], &changes)
			for _, c := range changes {
				if !slices.Contains([]string{"added", "changed", "deprecated", "removed", "fixed", "security"}, c.Kind) {
					t.Errorf("%s is no kind of change", c.Kind)
				}
			}
		})
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
	for _, name := range append([]string{umbrella}, Operators...) {
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
			files, err := render(load(t, name), databases, map[string]any{"clusterWide": clusterWide})
			if err != nil {
				t.Fatal(err)
			}
			notes := files[name+"/templates/NOTES.txt"]
			if !strings.Contains(notes, want) || strings.Contains(notes, "no value") {
				t.Errorf("%s, clusterWide: %v:\n%s", name, clusterWide, notes)
			}
			_, example, ok := strings.Cut(notes, "<<EOF\n")
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
