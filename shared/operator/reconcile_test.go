package operator

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

func TestResult(t *testing.T) {
	stale := errors.New("stale")
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "x", errors.New("changed"))
	for name, tc := range map[string]struct {
		err   error
		after time.Duration
		fails bool
	}{
		"done":       {nil, time.Minute, false},
		"stale":      {fmt.Errorf("%w: x", stale), staleDelay, false},
		"a conflict": {fmt.Errorf("write: %w", conflict), staleDelay, false},
		"an error":   {errors.New("down"), 0, true},
	} {
		got, err := Result(t.Context(), time.Minute, tc.err, stale)
		if got.RequeueAfter != tc.after || (err != nil) != tc.fails {
			t.Errorf("%s: after %s, %v; want %s, failed %t", name, got.RequeueAfter, err, tc.after, tc.fails)
		}
	}
}

func TestInScope(t *testing.T) {
	one, wide := &corev1.Pod{}, &corev1.Pod{}
	wide.Annotations = map[string]string{v1beta2.AnnotationScope: v1beta2.ScopeClusterwide}
	if !InScope(one, false) || InScope(one, true) || InScope(wide, false) || !InScope(wide, true) {
		t.Error("an object has not exactly one operator")
	}
}

func TestSooner(t *testing.T) {
	for _, tc := range [][3]time.Duration{{0, 0, 0}, {0, 2, 2}, {2, 0, 2}, {1, 2, 1}, {2, 1, 1}} {
		if got := Sooner(tc[0], tc[1]); got != tc[2] {
			t.Errorf("of %d and %d: %d, want %d", tc[0], tc[1], got, tc[2])
		}
	}
}
