package facts

import (
	"strings"

	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// Doubtful describes, for Plan, a Pod or PersistentVolumeClaim that might be a member's (see
// Observation.Doubtful).
type Doubtful struct {
	// Name is the name of the object and of the member.
	Name string
	// Advice describes the fault in the object's metadata, and how a user corrects it.
	Advice string
}

// DoubtfulPVC returns the Doubtful of a PVC that might be a member's of the EtcdCluster c with this uid.
func DoubtfulPVC(namespace, name, c, uid string) Doubtful {
	return Doubtful{name, member.PVCInDoubt(namespace, name, c, uid)}
}

// DoubtfulPod returns the Doubtful of a Pod that might be a member's of the EtcdCluster c with this uid.
func DoubtfulPod(namespace, name, c, uid string) Doubtful {
	return Doubtful{name, conditiontext.InDoubt(namespace, "Pod", name, "EtcdCluster", c, uid)}
}

// hasNoClaim reports whether no PVC with this name can hold a member's data: it does not exist, or another
// controller owns it.
func (v *Objects) hasNoClaim(name string) bool {
	return v.ClaimOf[name] == nil && v.DoubtOf[name] == nil
}

// DoubtText describes which members' Pods or PVCs are in doubt, and what to do; empty if none is.
func (v *Members) DoubtText() string {
	var said []string
	for _, m := range v.List {
		if d := v.DoubtOf[m.Name]; d != nil {
			said = append(said, m.Name+": "+d.Advice)
		}
	}
	return strings.Join(said, "; ")
}
