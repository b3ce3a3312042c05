package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/plan"
)

// maxNote is the longest text of an event, in bytes, that the API server takes.
const maxNote = 1024

// report writes a status once, and only if anything in it has changed. It fails with a
// conflict if the EtcdBackup has changed since b was read: then nothing is recorded. It
// returns the status as it is now.
func (r *Reconciler) report(ctx context.Context, b *v1beta2.EtcdBackup, status v1beta2.BackupStatus) (v1beta2.BackupStatus, error) {
	next := b.DeepCopy()
	next.Status = status
	next.Status.Conditions = dated(b.DeepCopy().Status.Conditions, status.Conditions)
	same, err := equal(&b.Status, &next.Status)
	if err != nil || same {
		return b.Status, err
	}
	if err := r.Client.Status().Update(ctx, next); err != nil {
		return b.Status, fmt.Errorf("write status: %w", err)
	}
	return next.Status, nil
}

// dated gives each condition the time since when it holds.
func dated(before, after []metav1.Condition) []metav1.Condition {
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

// equal compares two statuses as they are stored: times in whole seconds, nothing and
// empty the same.
func equal(a, b *v1beta2.BackupStatus) (bool, error) {
	x, err := json.Marshal(a)
	if err != nil {
		return false, err
	}
	y, err := json.Marshal(b)
	return bytes.Equal(x, y), err
}

// tellAction makes the event and the log line of what was done.
func (r *Reconciler) tellAction(ctx context.Context, b *v1beta2.EtcdBackup, d plan.Decision) {
	log.FromContext(ctx).Info(d.Message, "action", d.Action.Kind(), "reason", d.Reason)
	r.event(b, corev1.EventTypeNormal, d.Reason, d.Action.Kind(), d.Message)
}

// tell makes the events, log lines and counts of what the status newly tells.
func (r *Reconciler) tell(ctx context.Context, b *v1beta2.EtcdBackup, d plan.Decision) {
	for _, e := range d.Events {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		log.FromContext(ctx).Info(e.Message, "reason", e.Reason, "warning", e.Warning)
		r.event(b, kind, e.Reason, "Backup", e.Message)
	}
	for i := range d.Recorded {
		r.Metrics.Ended(client.ObjectKeyFromObject(b), &d.Recorded[i])
	}
}

func (r *Reconciler) event(b *v1beta2.EtcdBackup, kind, reason, action, note string) {
	if len(note) > maxNote {
		note = strings.ToValidUTF8(note[:maxNote-len("…")], "") + "…"
	}
	r.Events.Eventf(b, nil, kind, reason, action, "%s", note)
}
