package olm

import (
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
	shared "github.com/etcd-operators/etcd-operators/shared/operator"
)

// TestMaturity: a bundle does not call a release immature that others rely on, nor a version before one mature.
func TestMaturity(t *testing.T) {
	for tag, want := range map[string]string{
		"dev": "alpha", "v0.1.0-alpha.1": "alpha", "v0.9.0-rc.1": "alpha",
		"v0.1.0": "beta", "v0.12.3": "beta", "v1.0.0-rc.1": "beta", "v10.1.0-beta.2": "beta",
		"v1.0.0": "stable", "v1.2.3": "stable", "v10.0.0": "stable",
	} {
		for _, o := range operators {
			if got := csvOf(t, &o, tag, time.Time{}).Spec.Maturity; got != want {
				t.Errorf("%s %s is %q, want %q", o.name, tag, got, want)
			}
		}
	}
}

// TestCreatedAt: a bundle tells when its release was made, and one of no release the same time always.
func TestCreatedAt(t *testing.T) {
	for _, o := range operators {
		at := time.Date(2027, 1, 2, 3, 4, 5, 0, time.FixedZone("east", 3600))
		if got, want := csvOf(t, &o, "v1.2.3", at).Metadata.Annotations["createdAt"], "2027-01-02T02:04:05Z"; got != want {
			t.Errorf("%s was created at %q, want %q", o.name, got, want)
		}
		if got, want := readCSV(t, o.name).Metadata.Annotations["createdAt"], "1970-01-01T00:00:00Z"; got != want {
			t.Errorf("the development bundle of %s was created at %q, want %q", o.name, got, want)
		}
	}
}

// csvOf is the ClusterServiceVersion of a version, by the tag of its image.
func csvOf(t *testing.T, o *operator, tag string, created time.Time) *csv {
	t.Helper()
	s, err := readSources(root, o)
	if err != nil {
		t.Fatal(err)
	}
	s.tag, s.created = tag, created
	c, err := clusterServiceVersion(o, s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestMaintainers: they are those of the chart of the same operator, with an address each.
func TestMaintainers(t *testing.T) {
	for _, o := range operators {
		text, err := os.ReadFile(filepath.Join(root, "charts", o.name, "Chart.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var about struct{ Maintainers []struct{ Name string } }
		if err := yaml.Unmarshal(text, &about); err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for _, m := range about.Maintainers {
			want = append(want, m.Name)
		}
		for _, m := range readCSV(t, o.name).Spec.Maintainers {
			got = append(got, m.Name)
			if address, err := mail.ParseAddress(m.Email); err != nil || address.Address != m.Email {
				t.Errorf("%s: the address of %s is %q: %v", o.name, m.Name, m.Email, err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
			t.Errorf("%s (-chart +bundle):\n%s", o.name, diff)
		}
	}
}

// TestInstallModes: a bundle supports the namespaces that its operator looks at when it is
// started as the bundle says, and no others.
func TestInstallModes(t *testing.T) {
	for _, o := range operators {
		c := readCSV(t, o.name)
		spec := c.Spec.Install.Spec.Deployments[0].Spec
		if diff := cmp.Diff(supported(t, o.name, spec), modes(c.Spec.InstallModes)); diff != "" {
			t.Errorf("%s (-operator +bundle):\n%s", o.name, diff)
		}
		all := kustomized(t, filepath.Join(o.name, "cluster-wide"))["Deployment/"+o.name]
		spec, _, err := unstructured.NestedMap(all.Object, "spec")
		if err != nil {
			t.Fatal(err)
		}
		args, err := arguments(spec)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(supported(t, o.name, spec), modes(installModes(args))); diff != "" {
			t.Errorf("%s, cluster-wide (-operator +generator):\n%s", o.name, diff)
		}
	}
}

// supported are the modes of an operator with this Deployment, by its own reading of its flags:
// it serves all namespaces, or its own.
func supported(t *testing.T, name string, spec map[string]any) []string {
	t.Helper()
	args, err := arguments(spec)
	if err != nil {
		t.Fatal(err)
	}
	flags, options := flag.NewFlagSet(name, flag.ContinueOnError), &shared.Options{Name: name}
	options.Bind(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	if options.ClusterWide {
		return []string{"AllNamespaces"}
	}
	found, err := containers(spec)
	if err != nil {
		t.Fatal(err)
	}
	env, _, err := unstructured.NestedSlice(found[0], "env")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range env {
		variable := unstructured.Unstructured{Object: e.(map[string]any)}
		from, _, err := unstructured.NestedString(variable.Object, "valueFrom", "fieldRef", "fieldPath")
		if err != nil {
			t.Fatal(err)
		}
		if variable.Object["name"] == "MY_POD_NAMESPACE" && from == "metadata.namespace" {
			return []string{"OwnNamespace"}
		}
	}
	t.Fatalf("%s is not told its own namespace", name)
	return nil
}

// modes are those that are supported. Each of the four is named once.
func modes(all []installMode) []string {
	var named, supported []string
	for _, m := range all {
		named = append(named, m.Type)
		if m.Supported {
			supported = append(supported, m.Type)
		}
	}
	slices.Sort(named)
	if want := []string{"AllNamespaces", "MultiNamespace", "OwnNamespace", "SingleNamespace"}; !slices.Equal(named, want) {
		return named
	}
	return supported
}

// TestMinKubeVersion: OLM refuses a Kubernetes that is older than docs/tasks/olm.md says.
func TestMinKubeVersion(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/tasks/olm.md"))
	if err != nil {
		t.Fatal(err)
	}
	oldest := regexp.MustCompile(`You need Kubernetes (\d+\.\d+) or later`).FindSubmatch(page)
	if oldest == nil {
		t.Fatal("docs/tasks/olm.md does not say which Kubernetes is needed")
	}
	for _, o := range operators {
		if got, want := readCSV(t, o.name).Spec.MinKubeVersion, string(oldest[1])+".0"; got != want {
			t.Errorf("%s: minKubeVersion is %q, want %q", o.name, got, want)
		}
	}
	for _, other := range []string{"", ">=1.30", ">=1.30.0", "1.30.0", "^1.30.0-0"} {
		c := chart{KubeVersion: other}
		if got, err := c.minKubeVersion(); err == nil {
			t.Errorf("kubeVersion %q is taken for %s", other, got)
		}
	}
}

// defaultOf finds the default of a flag of an operator in docs/reference/flags.md, which is made
// from what the operator prints.
func defaultOf(t *testing.T, operator, name string) (string, bool) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/reference/flags.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n## "+operator+"\n")
	if !ok {
		t.Fatalf("docs/reference/flags.md has no section %s", operator)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	found := regexp.MustCompile("(?m)^\\| `--" + name + "`[^|]*\\| `([^`]*)`").FindStringSubmatch(section)
	if found == nil {
		return "", false
	}
	return found[1], true
}

// image is what names an image: a host with a dot, and a path.
var image = regexp.MustCompile(`\b[a-z0-9-]+(?:\.[a-z0-9-]+)+/[a-z0-9._/-]+(?::[\w.-]+|@sha256:[0-9a-f]+)?`)

// TestRelatedImages: a mirror of the related images has all that the operator's Deployment and
// the defaults of its flags name, and nothing else.
func TestRelatedImages(t *testing.T) {
	for _, o := range operators {
		c := readCSV(t, o.name)
		text, err := json.Marshal(c.Spec.Install.Spec.Deployments)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, found := range image.FindAllString(string(text), -1) {
			if strings.HasPrefix(found, "ghcr.io/") || strings.HasPrefix(found, "quay.io/") {
				want = append(want, found)
			}
		}
		tagged := func(repository string) {
			for _, version := range etcdversion.All() {
				want = append(want, repository+":v"+version)
			}
		}
		if version, ok := defaultOf(t, o.name, "default-version"); ok {
			want = append(want, v1beta2.DefaultRepository+":v"+version)
			tagged(v1beta2.DefaultRepository)
		}
		if repository, ok := defaultOf(t, o.name, "etcd-repository"); ok {
			tagged(repository)
		}
		var got, names []string
		for _, i := range c.Spec.RelatedImages {
			got, names = append(got, i.Image), append(names, i.Name)
		}
		if diff := cmp.Diff(unique(want), unique(got)); diff != "" {
			t.Errorf("%s (-named +related):\n%s", o.name, diff)
		}
		if len(unique(names)) != len(names) || len(unique(got)) != len(got) {
			t.Errorf("%s: an image is related twice: %v", o.name, c.Spec.RelatedImages)
		}
		if c.Metadata.Annotations["containerImage"] != c.Spec.RelatedImages[0].Image || !strings.Contains(c.Spec.RelatedImages[0].Image, "/"+o.name+":") {
			t.Errorf("%s: containerImage is %s", o.name, c.Metadata.Annotations["containerImage"])
		}
	}
}

func unique(values []string) []string {
	sorted := slices.Sorted(slices.Values(values))
	return slices.Compact(sorted)
}

// TestDescriptors: the field of each descriptor is in the definition, which says the same of it,
// and each field that an example sets has a descriptor.
func TestDescriptors(t *testing.T) {
	for _, o := range operators {
		t.Run(o.name, func(t *testing.T) {
			c := readCSV(t, o.name)
			owned := c.Spec.Definitions.Owned[0]
			_, definition, err := readDefinition(root, &o)
			if err != nil {
				t.Fatal(err)
			}
			properties := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
			for part, all := range map[string][]descriptor{"spec": owned.SpecDescriptors, "status": owned.StatusDescriptors} {
				seen := map[string]bool{}
				for _, d := range all {
					schema := properties[part]
					for _, field := range strings.Split(d.Path, ".") {
						schema = schema.Properties[field]
					}
					if schema.Type == "" && !schema.XIntOrString || d.Description != schema.Description {
						t.Errorf("%s.%s is described as %q, and its definition says %q", part, d.Path, d.Description, schema.Description)
					}
					if seen[d.Path] || d.DisplayName == "" {
						t.Errorf("%s.%s has two descriptors, or no name", part, d.Path)
					}
					seen[d.Path] = true
				}
				for name := range properties[part].Properties {
					if !seen[name] {
						t.Errorf("%s.%s has no descriptor", part, name)
					}
				}
			}
			var examples []struct{ Spec map[string]any }
			if err := json.Unmarshal([]byte(c.Metadata.Annotations["alm-examples"]), &examples); err != nil {
				t.Fatal(err)
			}
			for _, e := range examples {
				checkDescribed(t, owned.SpecDescriptors, properties["spec"], e.Spec, "")
			}
		})
	}
}

// checkDescribed looks for a descriptor of each field that is set, down to the fields of a type
// of Kubernetes or of another kind.
func checkDescribed(t *testing.T, all []descriptor, schema apiextensionsv1.JSONSchemaProps, set map[string]any, prefix string) {
	t.Helper()
	for name, value := range set {
		path := prefix + name
		has := func(d descriptor) bool { return d.Path == path }
		within := func(d descriptor) bool { return strings.HasPrefix(d.Path, path+".") }
		if !slices.ContainsFunc(all, has) {
			t.Errorf("spec.%s of an example has no descriptor", path)
		}
		if object, ok := value.(map[string]any); ok && slices.ContainsFunc(all, within) {
			checkDescribed(t, all, schema.Properties[name], object, path+".")
		}
	}
}

// TestResources: what a bundle says that an operator makes is what its Roles let it create.
func TestResources(t *testing.T) {
	for name, want := range map[string][]string{
		"etcd-operator":         {"PersistentVolumeClaim", "Pod", "PodDisruptionBudget", "Secret", "Service"},
		"etcd-backup-operator":  {"EtcdRestore", "Job"},
		"etcd-restore-operator": {"EtcdCluster", "Job", "PersistentVolumeClaim", "Pod"},
	} {
		var got []string
		for _, r := range readCSV(t, name).Spec.Definitions.Owned[0].Resources {
			got = append(got, r.Kind)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestIcon: consoles take an SVG that is well formed and small.
func TestIcon(t *testing.T) {
	const most = 10 << 10
	for _, o := range operators {
		for _, i := range readCSV(t, o.name).Spec.Icon {
			text, err := base64.StdEncoding.DecodeString(i.Data)
			if err != nil || i.MediaType != "image/svg+xml" || len(text) > most {
				t.Errorf("%s: %d bytes of %s: %v", o.name, len(text), i.MediaType, err)
			}
			for decoder := xml.NewDecoder(strings.NewReader(string(text))); ; {
				if _, err := decoder.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("%s: %v", o.name, err)
				}
			}
		}
	}
}

// TestRequired: a package brings those without which its operator never gets ready.
func TestRequired(t *testing.T) {
	for name, want := range map[string][]string{"etcd-operator": nil, "etcd-backup-operator": nil, "etcd-restore-operator": {"EtcdCluster"}} {
		var got []string
		for _, d := range readCSV(t, name).Spec.Definitions.Required {
			got = append(got, d.Kind)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
