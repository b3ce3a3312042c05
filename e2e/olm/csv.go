package olm

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// csv is a ClusterServiceVersion, as far as ours use it.
type csv struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       csvSpec  `json:"spec"`
}

type metadata struct {
	Name string `json:"name"`
	// Namespace is a word that stands for any: OLM puts the object where it installs.
	Namespace   string            `json:"namespace"`
	Annotations map[string]string `json:"annotations"`
}

type csvSpec struct {
	DisplayName    string         `json:"displayName"`
	Description    string         `json:"description"`
	Version        string         `json:"version"`
	Maturity       string         `json:"maturity"`
	MinKubeVersion string         `json:"minKubeVersion"`
	Keywords       []string       `json:"keywords"`
	Maintainers    []maintainer   `json:"maintainers"`
	Provider       link           `json:"provider"`
	Links          []link         `json:"links"`
	Icon           []iconData     `json:"icon"`
	InstallModes   []installMode  `json:"installModes"`
	Install        install        `json:"install"`
	Definitions    definitions    `json:"customresourcedefinitions"`
	RelatedImages  []relatedImage `json:"relatedImages"`
}

type link struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

type maintainer struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

type iconData struct {
	Data      string `json:"base64data"`
	MediaType string `json:"mediatype"`
}

type installMode struct {
	Type      string `json:"type"`
	Supported bool   `json:"supported"`
}

type install struct {
	Strategy string      `json:"strategy"`
	Spec     installSpec `json:"spec"`
}

type installSpec struct {
	// Permissions become a Role, in the namespaces of the OperatorGroup.
	Permissions []permission `json:"permissions"`
	Deployments []deployment `json:"deployments"`
}

type permission struct {
	ServiceAccountName string              `json:"serviceAccountName"`
	Rules              []rbacv1.PolicyRule `json:"rules"`
}

type deployment struct {
	Name  string            `json:"name"`
	Label map[string]string `json:"label"`
	Spec  map[string]any    `json:"spec"`
}

type definitions struct {
	Owned    []ownedDefinition `json:"owned"`
	Required []definition      `json:"required,omitempty"`
}

type definition struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Kind        string `json:"kind"`
	DisplayName string `json:"displayName"`
	Description string `json:"description"`
}

type ownedDefinition struct {
	definition        `json:",inline"`
	Resources         []resource   `json:"resources"`
	SpecDescriptors   []descriptor `json:"specDescriptors"`
	StatusDescriptors []descriptor `json:"statusDescriptors"`
}

// resource is a kind that the operator makes for an object.
type resource struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Version string `json:"version"`
}

type relatedImage struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}

// skipRange is the annotation with the versions that OLM updates from to this one. A release takes the place of
// all earlier ones: it serves what any of them has stored, and has their definitions.
const skipRange = "olm.skipRange"

func clusterServiceVersion(o *operator, s *sources) (*csv, error) {
	examples, err := json.MarshalIndent(s.examples, "", "  ")
	if err != nil {
		return nil, err
	}
	oldest, err := s.chart.minKubeVersion()
	if err != nil {
		return nil, err
	}
	owned, err := o.owned(s)
	if err != nil {
		return nil, err
	}
	var required []definition
	for i := range s.needed {
		required = append(required, describe(&s.needed[i]))
	}
	labels, _, err := unstructured.NestedStringMap(s.deployment, "metadata", "labels")
	if err != nil {
		return nil, err
	}
	spec, _, err := unstructured.NestedMap(s.deployment, "spec")
	if err != nil {
		return nil, err
	}
	account, _, err := unstructured.NestedString(spec, "template", "spec", "serviceAccountName")
	if err != nil {
		return nil, err
	}
	var permissions []permission
	for _, role := range s.roles {
		permissions = append(permissions, permission{ServiceAccountName: account, Rules: role.Rules})
	}
	args, err := arguments(spec)
	if err != nil {
		return nil, err
	}
	images, err := o.images(spec)
	if err != nil {
		return nil, err
	}
	annotations := map[string]string{
		"alm-examples":   string(examples),
		"capabilities":   s.chart.Annotations["artifacthub.io/operatorCapabilities"],
		"categories":     "Database",
		"certified":      "false",
		"containerImage": images[0].Image,
		"createdAt":      s.created.UTC().Format(time.RFC3339),
		"description":    s.chart.Description,
		"repository":     repository,
		"support":        "etcd-operators",
	}
	if s.isRelease() {
		annotations[skipRange] = "<" + s.version()
	}
	return &csv{
		APIVersion: "operators.coreos.com/v1alpha1",
		Kind:       "ClusterServiceVersion",
		Metadata:   metadata{Name: o.name + ".v" + s.version(), Namespace: "placeholder", Annotations: annotations},
		Spec: csvSpec{
			DisplayName:    o.displayName,
			Description:    o.about + "\n\nIt serves the namespace that it is installed in. [Install with OLM](" + page + ") has the steps, the rights, and what OLM does not bring.\n",
			Version:        s.version(),
			Maturity:       maturity(s.version()),
			MinKubeVersion: oldest,
			Keywords:       s.chart.Keywords,
			Maintainers:    maintainers(&s.chart),
			Provider:       link{Name: "etcd-operators", URL: repository},
			Links:          []link{{Name: "Install with OLM", URL: page}, {Name: "Documentation", URL: repository + "/tree/main/docs"}, {Name: "Changes", URL: repository + "/blob/main/CHANGELOG.md"}},
			Icon:           []iconData{{Data: base64.StdEncoding.EncodeToString(s.icon), MediaType: "image/svg+xml"}},
			InstallModes:   installModes(args),
			Install:        install{Strategy: "deployment", Spec: installSpec{Permissions: permissions, Deployments: []deployment{{Name: o.name, Label: labels, Spec: spec}}}},
			Definitions:    definitions{Owned: []ownedDefinition{*owned}, Required: required},
			RelatedImages:  images,
		},
	}, nil
}

// maintainerAddress is in GitHub's form for who gives no address. It takes no mail:
// SECURITY.md says how to reach the maintainers.
const maintainerAddress = "etcd-operators@users.noreply.github.com"

// maintainers are those of the chart. Catalogs want an address of each.
func maintainers(c *chart) []maintainer {
	var all []maintainer
	for _, m := range c.Maintainers {
		all = append(all, maintainer{Name: m.Name, Email: cmp.Or(m.Email, maintainerAddress)})
	}
	return all
}

// installModes are those that an operator with these arguments supports: it serves the one
// namespace that it runs in, or with --cluster-wide all of them. It cannot be told of others.
func installModes(args []string) []installMode {
	all := slices.Contains(args, "--cluster-wide")
	return []installMode{
		{Type: "OwnNamespace", Supported: !all},
		{Type: "SingleNamespace", Supported: false},
		{Type: "MultiNamespace", Supported: false},
		{Type: "AllNamespaces", Supported: all},
	}
}

// containers are those of a Deployment's spec.
func containers(spec map[string]any) ([]map[string]any, error) {
	found, _, err := unstructured.NestedSlice(spec, "template", "spec", "containers")
	if err != nil {
		return nil, err
	}
	var all []map[string]any
	for _, c := range found {
		all = append(all, c.(map[string]any))
	}
	return all, nil
}

// arguments are those of all containers.
func arguments(spec map[string]any) ([]string, error) {
	found, err := containers(spec)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, c := range found {
		args, _, err := unstructured.NestedStringSlice(c, "args")
		if err != nil {
			return nil, err
		}
		all = append(all, args...)
	}
	return all, nil
}

// images are all that a cluster without access to the internet needs a copy of: the
// operator's, which its Pods also run, and those of the etcd versions that it runs.
func (o *operator) images(spec map[string]any) ([]relatedImage, error) {
	found, err := containers(spec)
	if err != nil {
		return nil, err
	}
	var all []relatedImage
	for _, c := range found {
		image, _, err := unstructured.NestedString(c, "image")
		if err != nil {
			return nil, err
		}
		all = append(all, relatedImage{Name: fmt.Sprint(c["name"]), Image: image})
	}
	if !o.runsEtcd {
		return all, nil
	}
	for i, version := range etcdversion.All() {
		all = append(all, relatedImage{Name: "etcd-" + etcdversion.Minors()[i], Image: v1beta2.DefaultRepository + ":v" + version})
	}
	return all, nil
}

// describe says of a definition what it says itself.
func describe(d *apiextensionsv1.CustomResourceDefinition) definition {
	return definition{
		Name: d.Name, Version: d.Spec.Versions[0].Name, Kind: d.Spec.Names.Kind,
		DisplayName: d.Spec.Names.Kind, Description: d.Spec.Versions[0].Schema.OpenAPIV3Schema.Description,
	}
}

func (o *operator) owned(s *sources) (*ownedDefinition, error) {
	resources, err := created(s.roles)
	if err != nil {
		return nil, err
	}
	object, properties := reflect.TypeOf(o.object), s.definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
	owned := &ownedDefinition{definition: describe(&s.definition), Resources: resources}
	for _, part := range []struct {
		field string
		into  *[]descriptor
		hints func(reflect.StructField, string, *apiextensionsv1.JSONSchemaProps) []string
	}{{"Spec", &owned.SpecDescriptors, specHints}, {"Status", &owned.StatusDescriptors, statusHints}} {
		field, _ := object.FieldByName(part.field)
		root := properties[strings.ToLower(part.field)]
		if *part.into, err = descriptors(field.Type, &root, "", part.hints); err != nil {
			return nil, err
		}
	}
	return owned, nil
}

// notOfObject are resources that an operator makes for itself or for its readers.
var notOfObject = []string{"events", "leases"}

// created are the kinds that these Roles permit to create, beside events and the Lease.
func created(roles []rbacv1.Role) ([]resource, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := v1beta2.AddToScheme(scheme); err != nil {
		return nil, err
	}
	var all []resource
	for _, role := range roles {
		for _, rule := range role.Rules {
			if !slices.Contains(rule.Verbs, "create") {
				continue
			}
			for _, group := range rule.APIGroups {
				for _, plural := range rule.Resources {
					if slices.Contains(notOfObject, plural) {
						continue
					}
					kind, err := kindOf(scheme, group, plural)
					if err != nil {
						return nil, err
					}
					all = append(all, resource{Kind: kind.Kind, Version: kind.Version})
				}
			}
		}
	}
	return all, nil
}

// kindOf is the kind of a resource, in the version that is preferred.
func kindOf(scheme *runtime.Scheme, group, plural string) (schema.GroupVersionKind, error) {
	for _, version := range scheme.PrioritizedVersionsForGroup(group) {
		for kind := range scheme.KnownTypes(version) {
			if resource, _ := meta.UnsafeGuessKindToResource(version.WithKind(kind)); resource.Resource == plural {
				return version.WithKind(kind), nil
			}
		}
	}
	return schema.GroupVersionKind{}, fmt.Errorf("%s.%s is of no known kind", plural, group)
}
