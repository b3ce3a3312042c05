package act

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// metadata updates the labels and annotations of the members' Pods to the spec, without a restart, and restores
// the labels of their PVCs. It reads a Pod or PVC again that has changed in between. It reports whether all
// Pods had their labels before, so that Services can select by them. If one object cannot be labelled, the
// others still are.
func (a *Actor) metadata(ctx context.Context, c *v1beta2.EtcdCluster) (labelled bool, err error) {
	var list corev1.PodList
	if err := a.Client.List(ctx, &list, client.InNamespace(c.Namespace), client.MatchingLabels(member.Selector(c.Name))); err != nil {
		return false, fmt.Errorf("list Pods: %w", err)
	}
	labelled = true
	var failed []error
	found := map[string]bool{}
	for i := range list.Items {
		p := &list.Items[i]
		found[p.Name] = true
		if !metav1.IsControlledBy(p, c) {
			continue
		}
		labelled = labelled && member.IsLabelled(c, p)
		failed = append(failed, a.labelPod(ctx, c, p))
	}
	failed = append(failed, a.podLabels(ctx, c, found), a.claimLabels(ctx, c, list.Items))
	return labelled, errors.Join(failed...)
}

// labelPod brings the labels and annotations of a Pod of the cluster to what they are to
// be, in one patch of the Pod as it was read. It writes nothing when they are so.
func (a *Actor) labelPod(ctx context.Context, c *v1beta2.EtcdCluster, p *corev1.Pod) error {
	// One that the archived operator made has none of our marks, and is not touched.
	if p.DeletionTimestamp != nil || p.Annotations[v1beta2.AnnotationTemplate] == "" {
		return nil
	}
	labels, annotations := member.Metadata(c, p)
	ops := slices.Concat(changed("/metadata/labels/", p.Labels, labels), changed("/metadata/annotations/", p.Annotations, annotations))
	if len(ops) == 0 {
		return nil
	}
	if p.Labels == nil { // a patch adds to what is there
		ops = append([]jsonpatch.Operation{op("add", "/metadata/labels", map[string]string{})}, ops...)
	}
	if err := a.unchanged(ctx, c, BeforeLabels); err != nil {
		return err
	}
	if err := a.patchPod(ctx, c, p.Name, as(LabelsAsRead, p), ops...); !errors.Is(err, ErrStale) {
		return err
	}
	return nil // it has changed, and is looked at again
}

// changed are the operations that make one set of labels or annotations of another, in
// the order of their names.
func changed(at string, from, to map[string]string) []jsonpatch.Operation {
	if maps.Equal(from, to) {
		return nil
	}
	var ops []jsonpatch.Operation
	path := func(key string) string {
		return at + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
	}
	for _, key := range slices.Sorted(maps.Keys(from)) {
		if _, ok := to[key]; !ok {
			ops = append(ops, op("remove", path(key), nil))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(to)) {
		if value, ok := from[key]; !ok || value != to[key] {
			ops = append(ops, op("add", path(key), to[key]))
		}
	}
	return ops
}
