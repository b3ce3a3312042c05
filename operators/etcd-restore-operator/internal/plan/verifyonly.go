package plan

import (
	"fmt"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// verifying is the runbook of a restore that only verifies. It has no rule that asks for
// anything of a cluster, and newView shows it none.
var verifying = []rule{
	dismiss,
	refuse,
	timeOut,
	findSource,
	startJob,
	awaitJob,
	recordSnapshot,
	recordVerified,
}

// hideCluster leaves of an Observation what a restore that only verifies may know: no
// cluster, nothing that is of one, and no other restore, since it waits for none.
func hideCluster(o Observation) Observation {
	o.Cluster, o.Template, o.Pods, o.Claims, o.Others = nil, nil, nil, nil, nil
	return o
}

// MayBeAsked reports whether a restore may ask for this Action: one that only verifies
// may touch nothing but itself and its Job. What carries actions out asks, too.
func MayBeAsked(r *v1beta2.EtcdRestore, a Action) bool {
	if a == nil || !r.Spec.VerifyOnly {
		return true
	}
	switch a.(type) {
	case StartJob, DeleteJob, RemoveFinalizer:
		return true
	default:
		return false
	}
}

// dismiss lets a restore be deleted that only verifies: there is nothing to give back, and
// its Job goes with it.
func dismiss(v *view) *step {
	if !v.deleted {
		return nil
	}
	if s := removeFinalizer(v); s != nil { // somebody else has put it on
		return s
	}
	return v.silent(reasonDeleting)
}

// recordVerified is the good end.
func recordVerified(v *view) *step {
	message := v.describe(v.last.Snapshot, nil, v.target())
	if s := v.last.Served; s != nil {
		message += fmt.Sprintf("; etcd %s served all of it, with %d keys", s.EtcdVersion, s.TotalKeys)
	}
	message += "; nothing was restored, since spec.verifyOnly is true"
	return record(v1beta2.RestoreVerified, v1beta2.RestoreReasonSnapshotVerified, message, func(st *v1beta2.RestoreStatus) {
		st.Succeeded, st.CompletionTime = true, v.now()
	}).news()
}
