package operator

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

func TestDated(t *testing.T) {
	long := metav1.NewTime(time.Unix(1000, 0))
	before := []metav1.Condition{
		{Type: "Kept", Status: metav1.ConditionTrue, Reason: "A", LastTransitionTime: long},
		{Type: "Turned", Status: metav1.ConditionTrue, Reason: "A", LastTransitionTime: long},
		{Type: "Dropped", Status: metav1.ConditionTrue, Reason: "A", LastTransitionTime: long},
	}
	got := Dated(before, []metav1.Condition{
		{Type: "Kept", Status: metav1.ConditionTrue, Reason: "B"},
		{Type: "Turned", Status: metav1.ConditionFalse, Reason: "A"},
		{Type: "New", Status: metav1.ConditionTrue, Reason: "A"},
	})
	var types []string
	for _, c := range got {
		types = append(types, c.Type)
		if old := c.LastTransitionTime.Equal(&long); old != (c.Type == "Kept") {
			t.Errorf("%s is of %s", c.Type, c.LastTransitionTime)
		}
	}
	if diff := cmp.Diff([]string{"Kept", "Turned", "New"}, types); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestEqualStatus(t *testing.T) {
	second := metav1.NewTime(time.Unix(1000, 0))
	later := metav1.NewTime(time.Unix(1000, 5e8))
	cases := map[string]struct {
		a, b v1beta2.RestoreStatus
		want bool
	}{
		"within a second": {v1beta2.RestoreStatus{StartTime: &second}, v1beta2.RestoreStatus{StartTime: &later}, true},
		"nothing, empty":  {v1beta2.RestoreStatus{}, v1beta2.RestoreStatus{WaitingFor: []string{}}, true},
		"another":         {v1beta2.RestoreStatus{}, v1beta2.RestoreStatus{Reason: "x"}, false},
	}
	for label, tc := range cases {
		if got, err := EqualStatus(&tc.a, &tc.b); err != nil || got != tc.want {
			t.Errorf("%s: %t, want %t (%v)", label, got, tc.want, err)
		}
	}
}

// A note that is too long is cut between two characters.
func TestEvent(t *testing.T) {
	recorder := events.NewFakeRecorder(1)
	Event(recorder, &v1beta2.EtcdRestore{}, corev1.EventTypeNormal, "Reason", "Action", strings.Repeat("ä%", 1000))
	note := strings.TrimPrefix(<-recorder.Events, "Normal Reason ")
	if len(note) > maxNote || len(note) < maxNote-4 || !utf8.ValidString(note) || !strings.HasSuffix(note, "…") {
		t.Errorf("the note has %d bytes: %s", len(note), note)
	}
}
