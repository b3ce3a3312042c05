package member

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// keys are the labels and annotations of a Pod that the user has asked for.
type keys struct {
	Labels      []string `json:"labels,omitempty"`
	Annotations []string `json:"annotations,omitempty"`
}

// userKeys is the value of v1beta2.AnnotationKeys.
func userKeys(policy *v1beta2.PodPolicy) string {
	annotations := slices.DeleteFunc(slices.Sorted(maps.Keys(policy.Annotations)), reservedAnnotation)
	data, err := json.Marshal(keys{slices.Sorted(maps.Keys(policy.Labels)), annotations})
	if err != nil {
		panic(err) // strings have a form in JSON
	}
	return string(data)
}

// Metadata is what a member's Pod, as it is, is to have as labels and annotations: those
// of the spec of today in place of those that it got from the spec before. What others
// have put there stays, and what the operator has put there too.
func Metadata(c *v1beta2.EtcdCluster, pod *corev1.Pod) (labels, annotations map[string]string) {
	policy := c.Spec.Pod
	if policy == nil {
		policy = &v1beta2.PodPolicy{}
	}
	var before keys
	if text := pod.Annotations[v1beta2.AnnotationKeys]; text != "" && json.Unmarshal([]byte(text), &before) != nil {
		before = keys{} // it has none from us, as far as is known
	}
	labels, annotations = maps.Clone(pod.Labels), maps.Clone(pod.Annotations)
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	wanted := podLabels(c, pod.Name, pod.Labels[v1beta2.LabelRole])
	for _, key := range before.Labels {
		if _, ok := wanted[key]; !ok {
			delete(labels, key)
		}
	}
	maps.Copy(labels, wanted)
	for _, key := range slices.DeleteFunc(before.Annotations, reservedAnnotation) {
		if _, ok := policy.Annotations[key]; !ok {
			delete(annotations, key)
		}
	}
	for key, value := range policy.Annotations {
		if !reservedAnnotation(key) {
			annotations[key] = value
		}
	}
	if len(policy.Labels)+len(policy.Annotations) > 0 || pod.Annotations[v1beta2.AnnotationKeys] != "" {
		annotations[v1beta2.AnnotationKeys] = userKeys(policy)
	}
	return labels, annotations
}

// reservedAnnotation reports whether an annotation is the operator's. Admission refuses
// it in spec.pod.annotations.
func reservedAnnotation(key string) bool {
	return key == AnnotationVersion || strings.HasPrefix(key, v1beta2.GroupName+"/")
}
