package objects

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// valueKey is where an object has its value: how often it was updated.
const valueKey = "value"

// Object is one as an API server has it.
type Object struct {
	UID types.UID
	// Version is its resource version.
	Version int64
	Value   int
}

// Content is all objects, by name.
type Content map[string]Object

// Diff names the first object that differs; empty if none does.
func (c Content) Diff(want Content) string {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		got, ok := c[name]
		switch {
		case !ok:
			return fmt.Sprintf("%s is missing, want %+v", name, want[name])
		case got != want[name]:
			return fmt.Sprintf("%s is %+v, want %+v", name, got, want[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if _, ok := want[name]; !ok {
			return fmt.Sprintf("%s is there, and should not be", name)
		}
	}
	return ""
}

// List reads all objects, by a consistent read, and the resource version of all.
func List(ctx context.Context, client typedcorev1.ConfigMapInterface) (Content, int64, error) {
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, 0, err
	}
	version, err := parseVersion(list.ResourceVersion)
	if err != nil {
		return nil, 0, err
	}
	all := Content{}
	for i := range list.Items {
		if all[list.Items[i].Name], err = read(&list.Items[i]); err != nil {
			return nil, 0, err
		}
	}
	return all, version, nil
}

// read is an object as it was answered.
func read(o *corev1.ConfigMap) (Object, error) {
	version, err := parseVersion(o.ResourceVersion)
	if err != nil {
		return Object{}, err
	}
	value, err := strconv.Atoi(o.Data[valueKey])
	if err != nil {
		return Object{}, fmt.Errorf("ConfigMap %s has the value %q: %w", o.Name, o.Data[valueKey], err)
	}
	return Object{UID: o.UID, Version: version, Value: value}, nil
}

// parseVersion reads a resource version. Those of an API server that keeps its objects in etcd are
// etcd's revisions, and grow with every write.
func parseVersion(text string) (int64, error) {
	version, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("resource version %q: %w", text, err)
	}
	return version, nil
}
