package olm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	yamlstream "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// sources are what a bundle is made of.
type sources struct {
	// deployment is the operator's, as kustomize renders it for one namespace, and tag that
	// of its image.
	deployment map[string]any
	tag        string
	roles      []rbacv1.Role
	// disruptionBudget is nil for an operator of one replica.
	disruptionBudget map[string]any
	definition       apiextensionsv1.CustomResourceDefinition
	definitionText   string
	// needed are the definitions that other packages have.
	needed   []apiextensionsv1.CustomResourceDefinition
	examples []map[string]any
	chart    chart
	icon     []byte
	// created is when the release was made.
	created time.Time
	// scorecardImage runs operator-framework's checks in a cluster.
	scorecardImage string
}

// chart is what the Helm chart of an operator says about it.
type chart struct {
	Description string            `json:"description"`
	KubeVersion string            `json:"kubeVersion"`
	Keywords    []string          `json:"keywords"`
	Annotations map[string]string `json:"annotations"`
	Maintainers []maintainer      `json:"maintainers"`
}

// version is that of the bundle: the tag of the image if that is a release, as in the charts.
func (s *sources) version() string {
	if s.isRelease() {
		return strings.TrimPrefix(s.tag, "v")
	}
	return "0.0.0-" + s.tag
}

func (s *sources) isRelease() bool { return strings.HasPrefix(s.tag, "v") }

func readSources(root string, o *operator) (*sources, error) {
	s := &sources{}
	var err error
	if s.definitionText, s.definition, err = readDefinition(root, o); err != nil {
		return nil, err
	}
	for _, name := range o.needs {
		i := slices.IndexFunc(operators, func(other operator) bool { return other.name == name })
		_, definition, err := readDefinition(root, &operators[i])
		if err != nil {
			return nil, err
		}
		s.needed = append(s.needed, definition)
	}
	if err := s.readBase(root, o); err != nil {
		return nil, err
	}
	if s.examples, err = readExamples(root, o); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(root, "charts", o.name, "Chart.yaml"))
	if err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(text, &s.chart); err != nil {
		return nil, fmt.Errorf("read its Chart.yaml: %w", err)
	}
	if s.icon, err = os.ReadFile(filepath.Join(root, icon)); err != nil {
		return nil, err
	}
	s.scorecardImage, err = scorecardImage(root)
	return s, err
}

// definitionFile is the file of deploy/*/crd with the definition of a type.
func definitionFile(object any) string {
	return fmt.Sprintf("%s_%ss.yaml", v1beta2.GroupVersion.Group, strings.ToLower(reflect.TypeOf(object).Name()))
}

func readDefinition(root string, o *operator) (string, apiextensionsv1.CustomResourceDefinition, error) {
	var definition apiextensionsv1.CustomResourceDefinition
	text, err := os.ReadFile(filepath.Join(root, "deploy", o.name, "crd", definitionFile(o.object)))
	if err != nil {
		return "", definition, err
	}
	return string(text), definition, yaml.UnmarshalStrict(text, &definition)
}

// kustomization is what the base of an operator changes in its files.
type kustomization struct {
	Resources []string `json:"resources"`
	Labels    []struct {
		Pairs            map[string]string `json:"pairs"`
		IncludeTemplates bool              `json:"includeTemplates"`
	} `json:"labels"`
	Images []struct {
		Name   string `json:"name"`
		NewTag string `json:"newTag"`
		Digest string `json:"digest"`
	} `json:"images"`
}

// readBase renders deploy/<operator>/base as far as a bundle needs it. A test compares the
// result with kustomize's.
func (s *sources) readBase(root string, o *operator) error {
	dir := filepath.Join(root, "deploy", o.name, "base")
	text, err := os.ReadFile(filepath.Join(dir, "kustomization.yaml"))
	if err != nil {
		return err
	}
	var k kustomization
	if err := yaml.Unmarshal(text, &k); err != nil {
		return fmt.Errorf("read its kustomization: %w", err)
	}
	if len(k.Labels) != 1 || !k.Labels[0].IncludeTemplates || len(k.Images) != 1 {
		return errors.New("deploy/*/base/kustomization.yaml has other labels or images than this generator knows")
	}
	s.tag = k.Images[0].NewTag
	tagAndDigest := s.tag
	if digest := k.Images[0].Digest; digest != "" { // in a release
		tagAndDigest += "@" + digest
	}
	for _, file := range k.Resources {
		objects, err := readObjects(filepath.Join(dir, file))
		if err != nil {
			return err
		}
		for _, u := range objects {
			label(u.Object, k.Labels[0].Pairs, "metadata")
			switch u.GetKind() {
			case "Deployment":
				label(u.Object, k.Labels[0].Pairs, "spec", "template", "metadata")
				if err := setTag(u.Object, k.Images[0].Name, tagAndDigest); err != nil {
					return err
				}
				s.deployment = u.Object
			case "PodDisruptionBudget":
				s.disruptionBudget = u.Object
			case "Role":
				var role rbacv1.Role
				if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, &role, true); err != nil {
					return err
				}
				s.roles = append(s.roles, role)
			}
		}
	}
	if s.deployment == nil || len(s.roles) == 0 {
		return fmt.Errorf("%s has no Deployment, or no Role", dir)
	}
	return nil
}

// label adds labels to the metadata at a path.
func label(object map[string]any, pairs map[string]string, at ...string) {
	labels, _, _ := unstructured.NestedStringMap(object, append(at, "labels")...)
	if labels == nil {
		labels = map[string]string{}
	}
	for key, value := range pairs {
		labels[key] = value
	}
	// It fails only where the path leads through something else than an object.
	_ = unstructured.SetNestedStringMap(object, labels, append(at, "labels")...)
}

// setTag gives the image its tag, with a digest if it has one, wherever the Deployment names it.
func setTag(deployment map[string]any, image, tag string) error {
	fields := []string{"spec", "template", "spec", "containers"}
	containers, _, err := unstructured.NestedSlice(deployment, fields...)
	if err != nil {
		return err
	}
	for _, c := range containers {
		container := c.(map[string]any)
		if container["image"] == image {
			container["image"] = image + ":" + tag
		}
	}
	return unstructured.SetNestedSlice(deployment, containers, fields...)
}

// readObjects reads the objects of a file.
func readObjects(file string) ([]unstructured.Unstructured, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all []unstructured.Unstructured
	documents := yamlstream.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var u unstructured.Unstructured
		switch err := documents.Decode(&u.Object); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("read %s: %w", file, err)
		case len(u.Object) > 0:
			all = append(all, u)
		}
	}
}

// readExamples are the objects of the operator's kind in examples/: the simplest first, as
// consoles offer it, and then by their files' names.
func readExamples(root string, o *operator) ([]map[string]any, error) {
	files, err := filepath.Glob(filepath.Join(root, "examples", "*.yaml"))
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(files, func(a, b string) int {
		switch o.example {
		case filepath.Base(a):
			return -1
		case filepath.Base(b):
			return 1
		}
		return strings.Compare(a, b)
	})
	var all []map[string]any
	for _, file := range files {
		objects, err := readObjects(file)
		if err != nil {
			return nil, err
		}
		for _, u := range objects {
			if u.GetKind() == o.kind {
				all = append(all, u.Object)
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("examples/ has no %s", o.kind)
	}
	return all, nil
}

var kubeVersion = regexp.MustCompile(`^>=(\d+\.\d+\.\d+)-0$`)

// minKubeVersion is the oldest Kubernetes that the operator runs on.
func (c *chart) minKubeVersion() (string, error) {
	found := kubeVersion.FindStringSubmatch(c.KubeVersion)
	if found == nil {
		return "", fmt.Errorf("kubeVersion %q of its chart is not of the form >=X.Y.Z-0", c.KubeVersion)
	}
	return found[1], nil
}
