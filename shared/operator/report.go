package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-operators/etcd-operators/shared/plaintext"
)

// Dated returns the conditions in after, each with the time of its last transition: a condition that has not
// changed keeps its time. Messages quote text from other systems, and are made printable. Dated can modify
// before.
func Dated(before, after []metav1.Condition) []metav1.Condition {
	kept := map[string]bool{}
	dated := before
	for _, c := range after {
		kept[c.Type] = true
		c.Message = plaintext.Line(c.Message)
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

// UpdateStatus writes the status of an object once, and only if it is not the same as before,
// and reports whether it has. It fails with a conflict if the object has changed since it was
// read: then nothing is recorded.
func UpdateStatus(ctx context.Context, to client.StatusClient, o client.Object, before, after any) (written bool, err error) {
	same, err := EqualStatus(before, after)
	if err != nil || same {
		return false, err
	}
	if err := to.Status().Update(ctx, o); err != nil {
		return false, fmt.Errorf("write status: %w", err)
	}
	return true, nil
}

// maxNote is the longest text of an event, in bytes, that the API server takes.
const maxNote = 1024

// Event tells of something that has happened about an object, or that was done to it.
// kind is one of package corev1's EventType constants.
func Event(to events.EventRecorder, about runtime.Object, kind, reason, action, note string) {
	to.Eventf(about, nil, kind, reason, action, "%s", clipped(note))
}

// Tell makes the event and the log line of what was found, rather than done.
func Tell(ctx context.Context, to events.EventRecorder, about runtime.Object, warning bool, reason, action, message string) {
	kind := corev1.EventTypeNormal
	if warning {
		kind = corev1.EventTypeWarning
	}
	log.FromContext(ctx).Info(message, "reason", reason, "warning", warning)
	Event(to, about, kind, reason, action, message)
}

// clipped returns a note that is printable and short enough for an event.
func clipped(note string) string {
	note = plaintext.Line(note)
	if len(note) <= maxNote {
		return note
	}
	return strings.ToValidUTF8(note[:maxNote-len("…")], "") + "…"
}
