package olm

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// descriptor tells a console what a field is, and how to show it.
type descriptor struct {
	Path        string   `json:"path"`
	DisplayName string   `json:"displayName"`
	Description string   `json:"description,omitempty"`
	Hints       []string `json:"x-descriptors,omitempty"`
}

// The hints that consoles know.
const (
	ui         = "urn:alm:descriptor:com.tectonic.ui:"
	kubernetes = "urn:alm:descriptor:io.kubernetes:"
	conditions = "urn:alm:descriptor:io.kubernetes.conditions"
	phase      = "urn:alm:descriptor:io.kubernetes.phase"
)

// descriptors are those of the fields of a struct of ours, and of those within: their names and
// types are the Go type's, and what they mean is what the definition says. A type of Kubernetes
// is one field, and so is the spec of an EtcdCluster within another kind.
func descriptors(t reflect.Type, schema *apiextensionsv1.JSONSchemaProps, prefix string, hints func(reflect.StructField, string, *apiextensionsv1.JSONSchemaProps) []string) ([]descriptor, error) {
	var all []descriptor
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && (name == "" || strings.Contains(options, "inline")) {
			within, err := descriptors(direct(field.Type), schema, prefix, hints)
			if err != nil {
				return nil, err
			}
			all = append(all, within...)
			continue
		}
		property, ok := schema.Properties[name]
		if !ok {
			return nil, fmt.Errorf("the definition has no field %s%s", prefix, name)
		}
		path := prefix + name
		all = append(all, descriptor{Path: path, DisplayName: displayName(name), Description: property.Description, Hints: hints(field, path, &property)})
		if inner := direct(field.Type); isOurs(inner) && len(property.Properties) > 0 {
			within, err := descriptors(inner, &property, path+".", hints)
			if err != nil {
				return nil, err
			}
			all = append(all, within...)
		}
	}
	return all, nil
}

// direct is the type that a pointer leads to.
func direct(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// isOurs says whether a type is a struct of our API with fields to descend to.
func isOurs(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.PkgPath() == reflect.TypeFor[v1beta2.EtcdCluster]().PkgPath() &&
		t != reflect.TypeFor[v1beta2.ClusterSpec]()
}

// displayName writes a field's name as words: persistentVolumeClaimSpec is "Persistent Volume
// Claim Spec", caSecret "CA Secret", and etcdVersion "etcd Version".
func displayName(name string) string {
	var words []string
	letters := []rune(name)
	start := 0
	for i := 1; i <= len(letters); i++ {
		atWord := i < len(letters) && unicode.IsUpper(letters[i]) &&
			(!unicode.IsUpper(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1]))
		if i < len(letters) && !atWord {
			continue
		}
		words, start = append(words, capital(string(letters[start:i]))), i
	}
	return strings.Join(words, " ")
}

// abbreviations are written in capitals.
var abbreviations = []string{"abs", "aws", "ca", "dns", "gcp", "gcs", "id", "kms", "oss", "pvc", "sha256", "tls", "ttl", "uid", "url"}

// capital writes a word as it begins a heading. etcd never has a capital letter.
func capital(word string) string {
	switch {
	case word == "etcd":
		return word
	case slices.Contains(abbreviations, strings.ToLower(word)):
		return strings.ToUpper(word)
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// named are fields whose value is the name of an object.
func named(name string) string {
	switch {
	case strings.HasSuffix(name, "Secret"):
		return kubernetes + "Secret"
	case name == "serviceAccountName":
		return kubernetes + "ServiceAccount"
	case name == "claimName":
		return kubernetes + "PersistentVolumeClaim"
	case name == "serviceName":
		return kubernetes + "Service"
	}
	return ""
}

// specHints are for a form: what kind of input a field takes.
func specHints(field reflect.StructField, path string, schema *apiextensionsv1.JSONSchemaProps) []string {
	t := direct(field.Type)
	reference := named(path[strings.LastIndex(path, ".")+1:])
	switch {
	case path == "size":
		return []string{ui + "podCount"}
	case t == reflect.TypeFor[corev1.ResourceRequirements]():
		return []string{ui + "resourceRequirements"}
	case t == reflect.TypeFor[corev1.PullPolicy]():
		return []string{ui + "imagePullPolicy"}
	case t.Kind() == reflect.Bool:
		return []string{ui + "booleanSwitch"}
	case schema.Type == "integer":
		return []string{ui + "number"}
	case len(schema.Enum) > 0:
		return choices(schema.Enum)
	case t.Kind() == reflect.String && reference != "":
		return []string{reference}
	case t.Kind() == reflect.String:
		return []string{ui + "text"}
	}
	return nil
}

// choices are the values of a list to choose from.
func choices(values []apiextensionsv1.JSON) []string {
	var all []string
	for _, v := range values {
		var value string
		if json.Unmarshal(v.Raw, &value) == nil && value != "" {
			all = append(all, ui+"select:"+value)
		}
	}
	return all
}

// statusHints are for a page: how a value is shown.
func statusHints(field reflect.StructField, path string, _ *apiextensionsv1.JSONSchemaProps) []string {
	t := direct(field.Type)
	switch {
	case t == reflect.TypeFor[[]metav1.Condition]():
		return []string{conditions}
	case t == reflect.TypeFor[v1beta2.MembersStatus]():
		return []string{ui + "podStatuses"}
	case path == "phase":
		return []string{phase}
	case path == "reason" || path == "Reason":
		return []string{phase + ":reason"}
	case t.Kind() == reflect.String && named(path) != "":
		return []string{named(path)}
	case t.Kind() == reflect.String:
		return []string{ui + "text"}
	}
	return nil
}
