package plan

import (
	"fmt"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// The reasons of a Decision that changes nothing: no condition and no event has them, and
// they come without a message.
const (
	reasonDeleting                = "Deleting"
	reasonHandledByLegacyOperator = "HandledByLegacyOperator"
	reasonFinished                = "Finished"
)

// handledByLegacyOperator repeats no restore that the archived operator carried out.
func handledByLegacyOperator(v *view) *step {
	if !v.predecessors() {
		return nil
	}
	return v.silent(reasonHandledByLegacyOperator)
}

// stopJob stops a verification that is no longer needed.
func stopJob(v *view) *step {
	j := v.Job
	if j == nil || j.Done || j.Deleting || v.last.Phase != v1beta2.RestoreFailed {
		return nil
	}
	return do(v.last.Phase, DeleteJob{Name: j.Name, UID: j.UID}, v1beta2.RestoreReasonJobDeleted, fmt.Sprintf("deleted Job %s, since the restore has failed", j.Name)).quietly()
}

// removeFinalizer lets an EtcdRestore be deleted that has ended.
func removeFinalizer(v *view) *step {
	if !v.held {
		return nil
	}
	return do(v.last.Phase, RemoveFinalizer{}, v1beta2.RestoreReasonReleased, "removing the finalizer from the EtcdRestore: nothing is left to roll back").quietly()
}

// rest is a restore that is finished. It is never repeated.
func rest(v *view) *step {
	return v.silent(reasonFinished)
}

// silent is a state in which nothing is done, and nothing is told beyond the last status.
func (v *view) silent(reason string) *step {
	return &step{phase: v.last.Phase, reason: reason, quiet: true}
}
