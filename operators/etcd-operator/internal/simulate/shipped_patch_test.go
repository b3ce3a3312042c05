package simulate

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// TestPatched: an object after a patch is what writing it out, changing that and reading it back
// makes of it, whether the patch is of metadata alone or not.
func TestPatched(t *testing.T) {
	before := func() *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "c-a", Labels: map[string]string{"a/b": "1", "c": "2"}, Annotations: map[string]string{"x/y~z": "4"}, ResourceVersion: "7", CreationTimestamp: metav1.Now().Rfc3339Copy()},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "etcd", Image: "one"}}},
		}
	}
	for name, row := range map[string]struct {
		patch  client.Patch
		fails  bool
		reason string
	}{
		"labels": {
			patch:  client.RawPatch(types.JSONPatchType, []byte(`[{"op":"test","path":"/metadata/resourceVersion","value":"7"},{"op":"remove","path":"/metadata/labels/a~1b"},{"op":"add","path":"/metadata/labels/d","value":"3"}]`)),
			reason: "metadata alone",
		},
		"annotations": {
			patch:  client.RawPatch(types.JSONPatchType, []byte(`[{"op":"test","path":"/metadata/annotations/x~1y~0z","value":"4"},{"op":"replace","path":"/metadata/annotations/x~1y~0z","value":"5"}]`)),
			reason: "metadata alone, and a key that is escaped",
		},
		"the last annotation": {
			patch:  client.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"/metadata/annotations/x~1y~0z"}]`)),
			reason: "none is left",
		},
		"all labels": {
			patch:  client.RawPatch(types.JSONPatchType, []byte(`[{"op":"add","path":"/metadata/labels","value":{"d":"3"}}]`)),
			reason: "metadata, but no label",
		},
		"image": {
			patch:  client.RawPatch(types.JSONPatchType, []byte(`[{"op":"add","path":"/metadata/labels/d","value":"3"},{"op":"replace","path":"/spec/containers/0/image","value":"two"}]`)),
			reason: "metadata and the spec",
		},
		"a test fails":    {patch: client.RawPatch(types.JSONPatchType, []byte(`[{"op":"test","path":"/metadata/resourceVersion","value":"8"}]`)), fails: true, reason: "it was not read as it is"},
		"nothing there":   {patch: client.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"/metadata/labels/no"}]`)), fails: true, reason: "the API server refuses that"},
		"no patch":        {patch: client.RawPatch(types.JSONPatchType, []byte(`{}`)), fails: true, reason: "it cannot be read"},
		"merged labels":   {patch: client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"c":null,"d":"3"}}}`)), reason: "metadata alone"},
		"merged spec":     {patch: client.RawPatch(types.MergePatchType, []byte(`{"spec":{"nodeName":"n1"}}`)), reason: "the spec alone"},
		"merged, of both": {patch: client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"d":"3"}},"spec":{"nodeName":"n1"}}`)), reason: "metadata and the spec"},
	} {
		t.Run(name, func(t *testing.T) {
			from := before()
			var got, want corev1.Pod
			err := patched(from, row.patch, &got)
			if diff := cmp.Diff(before(), from); diff != "" {
				t.Errorf("the object before was changed in place:\n%s", diff)
			}
			if (err != nil) != row.fails {
				t.Fatalf("got error %v (%s)", err, row.reason)
			}
			if err != nil {
				return
			}
			data, _ := row.patch.Data(from)
			if err := throughJSON(from, func(b []byte) ([]byte, error) { return applyPatch(b, row.patch.Type(), data) }, &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" || cmp.Equal(before(), &got) {
				t.Errorf("%s: got a difference, or no change:\n%s", row.reason, diff)
			}
		})
	}
}

// TestInWholeSeconds: all times in a status are as JSON would give them back.
func TestInWholeSeconds(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC))
	st := &v1beta2.ClusterStatus{QuorumLostSince: &at, Conditions: []metav1.Condition{{Type: "Ready", LastTransitionTime: at}}, Maintenance: &v1beta2.MaintenanceStatus{LastRepairTime: at.DeepCopy()}}
	var want v1beta2.ClusterStatus
	if err := throughJSON(st, func(b []byte) ([]byte, error) { return b, nil }, &want); err != nil {
		t.Fatal(err)
	}
	inWholeSeconds(reflect.ValueOf(st))
	if diff := cmp.Diff(&want, st); diff != "" {
		t.Error(diff)
	}
	if st.QuorumLostSince.Nanosecond() != 0 {
		t.Error("a time has kept its nanoseconds")
	}
}
