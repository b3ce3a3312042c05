package plan

import (
	"cmp"
	"fmt"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
	"github.com/etcd-operators/etcd-operators/shared/creator"
)

// AsksCreator reports whether a restore goes on only if its creator was checked: it is about
// to make an EtcdCluster, of any image and with any Secret of the namespace.
func AsksCreator(o Observation) bool { return newView(o).asksCreator() }

func (v *view) asksCreator() bool {
	return v.fresh && !v.spec.VerifyOnly && v.Cluster == nil && v.last.ClusterUID == "" && !v.hasEnded() && !v.deleted
}

// checkCreator fails a restore by which somebody could get an EtcdCluster that they cannot
// create.
func checkCreator(v *view) *step {
	const (
		reason  = v1beta2.RestoreReasonCreatorNotChecked
		binding = "ValidatingAdmissionPolicyBinding " + creator.RestorePolicy
		why     = "the rights of this EtcdRestore's creator were not checked, and it creates an EtcdCluster: "
	)
	c := &v.Creator
	switch {
	case !v.asksCreator():
		return nil
	case c.Passed && c.Since.After(v.Restore.CreationTimestamp.Time):
		return v.fail(reason, why+binding+" is newer than this EtcdRestore; create another EtcdRestore")
	case c.Passed:
		return nil
	case c.Missing != "":
		message := fmt.Sprintf("%s%s; %s, then create another EtcdRestore", why, c.Missing, c.Advice("etcd-restore-operator"))
		if !c.Forbidden {
			return v.fail(reason, message)
		}
		v.wakeAt(v.Now.Add(learning))
		return v.missing(binding, reason, message)
	}
	s := warn(v1beta2.RestorePending, reason, fmt.Sprintf(
		"cannot find out whether the rights of this EtcdRestore's creator were checked: %s; retried every %s", conditiontext.Clip(cmp.Or(c.Unknown, "not asked yet")), retry))
	s.requeueAfter = retry
	return s
}
