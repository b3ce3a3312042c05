package operator

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Scheme knows the types of Kubernetes, and ours.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(clientgoscheme.AddToScheme(scheme), v1beta2.AddToScheme(scheme))
}

// Prepare does what must be done before the caches are set up, with a client that has
// none: it installs definition if that is asked for, and finds the operator's image.
func (o *Options) Prepare(ctx context.Context, c client.Client, definition []byte) (err error) {
	if o.CreateCRD {
		if err := o.install(ctx, c, definition); err != nil {
			return err
		}
	}
	if o.Image == "" {
		o.Image, err = o.ownImage(ctx, c)
	}
	return err
}

// install installs a CustomResourceDefinition, or brings it up to date.
func (o *Options) install(ctx context.Context, c client.Client, definition []byte) error {
	var u unstructured.Unstructured
	if err := yaml.Unmarshal(definition, &u.Object); err != nil {
		return fmt.Errorf("read the embedded CustomResourceDefinition: %w", err)
	}
	if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(&u), client.FieldOwner(o.Name), client.ForceOwnership); err != nil {
		return fmt.Errorf("install CustomResourceDefinition %s (without --create-crd somebody else installs it): %w", u.GetName(), err)
	}
	return nil
}

// ownImage is the image of the operator's own Pod, as the archived operator's
// Deployment leaves it to be found out.
func (o *Options) ownImage(ctx context.Context, c client.Client) (string, error) {
	var pod corev1.Pod
	if err := c.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Pod}, &pod); err != nil {
		return "", fmt.Errorf("read the operator's own Pod for its image (or set --image): %w", err)
	}
	for _, container := range pod.Spec.Containers {
		if container.Name == o.Name {
			return container.Image, nil
		}
	}
	return pod.Spec.Containers[0].Image, nil
}
