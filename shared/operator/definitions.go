package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Dependency is a kind that an operator needs.
type Dependency struct {
	// Definition is its CustomResourceDefinition, as package crd has it.
	Definition []byte
	// Operator is the one that looks after it; deploy/<Operator>/crd installs it.
	Operator string
}

// check says that the kind is not served, and how to install it. (Each account can ask
// what is served; to read definitions takes a right.)
func (d *Dependency) check(ctx context.Context, served discovery.ServerResourcesInterfaceWithContext) error {
	var definition metav1.PartialObjectMetadata
	if err := yaml.Unmarshal(d.Definition, &definition); err != nil {
		return fmt.Errorf("read the embedded CustomResourceDefinition: %w", err)
	}
	resources, err := served.ServerResourcesForGroupVersionWithContext(ctx, v1beta2.GroupVersion.String())
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("ask whether %s are served: %w", definition.Name, err)
	}
	plural, _, _ := strings.Cut(definition.Name, ".")
	isIt := func(r metav1.APIResource) bool { return r.Name == plural }
	if err == nil && slices.ContainsFunc(resources.APIResources, isIt) {
		return nil
	}
	return fmt.Errorf("waiting for CustomResourceDefinition %s; apply deploy/%s/crd", definition.Name, d.Operator)
}
