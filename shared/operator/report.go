package operator

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// Dated is the conditions of after, each with the time since when it holds: what is as it
// was before keeps its time. It may change before.
func Dated(before, after []metav1.Condition) []metav1.Condition {
	kept := map[string]bool{}
	dated := before
	for _, c := range after {
		kept[c.Type] = true
		meta.SetStatusCondition(&dated, c)
	}
	for _, c := range append([]metav1.Condition{}, dated...) {
		if !kept[c.Type] {
			meta.RemoveStatusCondition(&dated, c.Type)
		}
	}
	return dated
}

// EqualStatus compares two statuses as they are stored: times in whole seconds, nothing
// and empty the same.
func EqualStatus(a, b any) (bool, error) {
	x, err := json.Marshal(a)
	if err != nil {
		return false, err
	}
	y, err := json.Marshal(b)
	return bytes.Equal(x, y), err
}

// Sooner is the shorter of two waits, of which 0 is none.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// maxNote is the longest text of an event, in bytes, that the API server takes.
const maxNote = 1024

// Event tells of something that has happened about an object, or that was done to it.
// kind is one of package corev1's EventType constants.
func Event(to events.EventRecorder, about runtime.Object, kind, reason, action, note string) {
	to.Eventf(about, nil, kind, reason, action, "%s", clipped(note))
}

// clipped is a note that fits an event.
func clipped(note string) string {
	if len(note) <= maxNote {
		return note
	}
	return strings.ToValidUTF8(note[:maxNote-len("…")], "") + "…"
}
