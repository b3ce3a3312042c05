package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/operator-framework/api/pkg/manifests"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// validateExamples returns what an API server would say about the examples in the annotation
// alm-examples, with the definitions of the bundle. operator-framework looks no deeper than the
// names of the fields in spec.
func validateExamples(bundle *manifests.Bundle) ([]string, error) {
	var examples []unstructured.Unstructured
	if err := json.Unmarshal([]byte(bundle.CSV.Annotations["alm-examples"]), &examples); err != nil {
		return nil, fmt.Errorf("read alm-examples: %w", err)
	}
	var problems []string
	schemas := map[string]*schema{}
	for _, example := range examples {
		kind := example.GroupVersionKind().String()
		if _, ok := schemas[kind]; !ok {
			var err error
			if schemas[kind], err = newSchema(definitionOf(bundle, example)); err != nil {
				return nil, fmt.Errorf("schema of %s: %w", kind, err)
			}
		}
		if schemas[kind] == nil {
			problems = append(problems, fmt.Sprintf("example %s is of kind %s, which the bundle does not define", example.GetName(), kind))
			continue
		}
		for _, err := range schemas[kind].validate(example.Object) {
			problems = append(problems, fmt.Sprintf("example %s %s: %v", example.GetKind(), example.GetName(), err))
		}
	}
	return problems, nil
}

// definitionOf is the schema that the bundle has for an object, or nil.
func definitionOf(bundle *manifests.Bundle, object unstructured.Unstructured) *apiextensionsv1.CustomResourceValidation {
	kind := object.GroupVersionKind()
	for _, definition := range bundle.V1CRDs {
		if definition.Spec.Group != kind.Group || definition.Spec.Names.Kind != kind.Kind {
			continue
		}
		for _, version := range definition.Spec.Versions {
			if version.Name == kind.Version {
				return version.Schema
			}
		}
	}
	return nil
}

// schema is all that an API server makes of the schema of a kind.
type schema struct {
	structural *structuralschema.Structural
	fields     validation.SchemaValidator
	rules      *cel.Validator
}

// newSchema is nil for no definition.
func newSchema(definition *apiextensionsv1.CustomResourceValidation) (*schema, error) {
	if definition == nil {
		return nil, nil
	}
	var internal apiextensions.CustomResourceValidation
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(definition, &internal, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	fields, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	return &schema{structural: structural, fields: fields, rules: cel.NewValidator(structural, true, celconfig.PerCallLimit)}, err
}

// validate does what an API server does with a new object: it looks for unknown fields, fills in
// defaults, and applies the schema and its CEL rules.
func (s *schema) validate(object map[string]any) field.ErrorList {
	var errs field.ErrorList
	for _, path := range pruning.PruneWithOptions(object, s.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		errs = append(errs, field.Invalid(field.NewPath(path), "", "unknown field"))
	}
	defaulting.Default(object, s.structural)
	errs = append(errs, validation.ValidateCustomResource(nil, object, s.fields)...)
	broken, _ := s.rules.Validate(context.Background(), nil, s.structural, object, nil, celconfig.RuntimeCELCostBudget)
	return append(errs, broken...)
}
