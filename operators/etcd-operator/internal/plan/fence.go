package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// The rules of this file give a cluster out of our hands for a restore, and take it
// back: from the restore's seed, or as it was (S12). Each is one write of the status,
// against the EtcdCluster as it was observed, so of two operators one makes it, and
// none makes it for marks that have changed.

// landing is for how long after its beginning an effect may still come about. It is
// longer than the deadline that act gives to all of an action.
const landing = 12 * time.Second

// Asked is the uid of the restore that asks for a fence; empty if none does. One
// whose seed was adopted, or whose fence was lifted, does not ask again: what still
// says so is old.
func (f *Fence) Asked() string {
	if f.Mark == f.Lifted || f.Mark == f.Adopted.Restore {
		return ""
	}
	return f.Mark
}

// Stands reports whether nothing may be begun: the fence is asked for, or it has been
// acknowledged.
func (f *Fence) Stands() bool { return f.By != "" || f.Asked() != "" }

// Offered reports whether a restore hands its seed over, and which Pod that is.
func (f *Fence) Offered() (pod, uid string, ok bool) {
	parts := strings.Split(f.Seeded, "/")
	if len(parts) != 3 || f.By == "" || parts[0] != f.By || parts[0] == f.Adopted.Restore || parts[0] == f.Lifted || parts[1] == "" || parts[2] == "" {
		return "", "", false
	}
	return parts[1], parts[2], true
}

// liftFence ends the fence of a restore that has given up.
func liftFence(v *view) *step {
	f := &v.Cluster.Fence
	if f.By == "" || f.By != f.Lifted {
		return nil
	}
	return do(LiftFence{f.By}, "FenceLifted", fmt.Sprintf("restore %s has lifted its fence; the cluster is looked after again", f.By))
}

// adoptSeed takes a restore's seed for the cluster, once it serves: the one Pod of
// that uid, with a cluster of its own.
func adoptSeed(v *view) *step {
	f := &v.Cluster.Fence
	name, uid, ok := f.Offered()
	if !ok {
		return nil
	}
	seed := v.pods[name]
	if seed == nil || seed.UID != uid {
		return wait(shortly, "Fenced", fmt.Sprintf("restore %s hands over Pod %s of uid %s, and there is no such Pod of this cluster", f.By, name, uid))
	}
	a := &seed.Answer
	alone := a.Read && !a.Learner && len(a.Members) == 1 && a.Members[0].ID == a.MemberID && a.Members[0].Name == name && !a.Members[0].Learner
	switch {
	case v.blind():
		return wait(idle, "Fenced", fmt.Sprintf("seed %s of restore %s is adopted when the operator can ask it: %s", name, f.By, v.blindness()))
	case seed.Finished || !seed.DeletingSince.IsZero():
		return wait(shortly, "Fenced", fmt.Sprintf("seed %s of restore %s is going, and is not adopted", name, f.By))
	case v.Cluster.Persistent && (!seed.Persistent || v.claims[name] == nil):
		return wait(shortly, "Fenced", fmt.Sprintf("seed %s of restore %s has no volume of this cluster, and is not adopted", name, f.By))
	case a.Reached && a.ClusterID == v.Cluster.ClusterID:
		return wait(shortly, "Fenced", fmt.Sprintf("Pod %s of restore %s is a member of the old cluster %016x, and is not adopted", name, f.By, a.ClusterID))
	case a.Reached && a.Read && !alone:
		return wait(shortly, "Fenced", fmt.Sprintf("seed %s of restore %s is not the only member of its cluster, and is not adopted", name, f.By))
	case a.Refused != "":
		return wait(shortly, "Fenced", fmt.Sprintf("seed %s of restore %s serves, and is adopted when the operator may ask it: %s", name, f.By, v.whatIsMissing(a)))
	case !alone || a.ClusterID == 0 || a.MemberID == 0:
		return wait(v.patience(seed), "Fenced", fmt.Sprintf("waiting for seed %s of restore %s: %s", name, f.By, v.progress(seed)))
	}
	return do(AdoptSeed{Restore: f.By, Name: name, UID: uid, ClusterID: a.ClusterID, Version: seed.Version},
		"SeedAdopted", fmt.Sprintf("seed %s of restore %s serves cluster %016x, and is the cluster now", name, f.By, a.ClusterID))
}

// fenced touches nothing while a restore is at work, whatever becomes of its mark.
func fenced(v *view) *step {
	f := &v.Cluster.Fence
	if f.By == "" {
		return nil
	}
	return wait(idle, "Fenced", fmt.Sprintf(
		"restore %s is at work, and nothing is done to this cluster before it hands its seed over; to give the restore up, delete it (if it is gone, set the annotation %s to its uid)",
		f.By, v1beta2.AnnotationFenceLifted))
}

// fence acknowledges the fence that a restore asks for, when nothing that was begun
// before can still come about. What this operator has begun has ended, since it takes
// one step at a time. Before a bootstrap is recorded nobody has begun anything.
func fence(v *view) *step {
	asked := v.Cluster.Fence.Asked()
	if asked == "" {
		return nil
	}
	untouched := v.Cluster.Bootstrap == nil && v.Cluster.ClusterID == 0
	if left := landing - v.Now.Sub(v.Since); left > 0 && !untouched {
		return wait(left, "Fencing", fmt.Sprintf("restore %s asks for a fence; what was begun before takes effect within %s", asked, landing))
	}
	return do(AcknowledgeFence{asked}, "Fenced", fmt.Sprintf("the cluster is left to restore %s", asked))
}
