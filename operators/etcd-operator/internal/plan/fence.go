package plan

import (
	"fmt"
	"slices"
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
	return do(LiftFence{f.By}, v1beta2.ClusterReasonFenceLifted, "reconciliation resumed: the restore ended without replacing the cluster; "+v.nameOfRestore(f.By))
}

// adoptSeed takes a restore's seed for the cluster, once it serves: the one Pod of
// that uid, with a cluster of its own. The restore repeats what Progressing tells.
func adoptSeed(v *view) *step {
	if s := v.adoption(); s != nil {
		return s.explains(v1beta2.ConditionProgressing)
	}
	return nil
}

func (v *view) adoption() *step {
	f := &v.Cluster.Fence
	name, uid, ok := f.Offered()
	if !ok {
		return nil
	}
	seed := v.pods[name]
	if seed == nil || seed.UID != uid {
		return wait(shortly, v1beta2.ClusterReasonFenced, fmt.Sprintf("cannot adopt the restore's seed: this cluster has no Pod %s with uid %s", name, uid)).as(Untouchable)
	}
	a := &seed.Answer
	alone := a.Read && !a.Learner && len(a.Members) == 1 && a.Members[0].ID == a.MemberID && a.Members[0].Name == name && !a.Members[0].Learner
	switch {
	case v.Cluster.noClientCertificate():
		return wait(idle, v1beta2.ClusterReasonFenced, fmt.Sprintf("waiting to adopt the restore's seed %s: %s", name, v.Cluster.noClientCertificateText())).as(Untouchable)
	case seed.Finished || !seed.DeletingSince.IsZero():
		return wait(shortly, v1beta2.ClusterReasonFenced, fmt.Sprintf("cannot adopt the restore's seed %s: it is terminating", name)).as(Untouchable)
	case v.Cluster.Persistent && (!seed.Persistent || v.claims[name] == nil):
		return wait(shortly, v1beta2.ClusterReasonFenced, fmt.Sprintf("cannot adopt the restore's seed %s: it has no PVC of this cluster", name)).as(Untouchable)
	case a.Reached && a.ClusterID == v.Cluster.ClusterID:
		return wait(shortly, v1beta2.ClusterReasonFenced, fmt.Sprintf("cannot adopt the restore's seed %s: it is a member of the old cluster %016x", name, a.ClusterID)).as(Untouchable)
	case a.Reached && a.Read && !alone:
		return wait(shortly, v1beta2.ClusterReasonFenced, fmt.Sprintf("cannot adopt the restore's seed %s: it is not the only member of its cluster", name)).as(Untouchable)
	case a.Refused != "":
		return wait(shortly, v1beta2.ClusterReasonFenced, fmt.Sprintf("waiting to adopt the restore's seed %s: %s", name, v.Cluster.whatIsMissing(a))).as(Untouchable)
	case !alone || a.ClusterID == 0 || a.MemberID == 0:
		return wait(v.pollInterval(seed), v1beta2.ClusterReasonFenced, fmt.Sprintf("waiting for the restore's seed %s: %s", name, v.progress(seed))).as(Untouchable)
	}
	if s := v.awaitWrite(name, a); s != nil {
		return s
	}
	return do(AdoptSeed{Restore: f.By, Name: name, UID: uid, ClusterID: a.ClusterID, Version: seed.Version},
		v1beta2.ClusterReasonSeedAdopted, fmt.Sprintf("adopted the restore's seed %s: it serves cluster %016x; %s", name, a.ClusterID, v.nameOfRestore(f.By)))
}

// awaitWrite holds the adoption of a seed back until it has acknowledged a write: with the
// adoption the restore has succeeded.
func (v *view) awaitWrite(name string, a *Answer) *step {
	switch {
	case a.Write.Acknowledged:
		return nil
	case a.Write.Refused == "":
		return wait(shortly, v1beta2.ClusterReasonFenced, fmt.Sprintf("waiting for the restore's seed %s to acknowledge a write", name)).as(Untouchable)
	}
	advice := "delete the EtcdRestore to get the old members back"
	if !v.Cluster.Persistent {
		advice = "delete the EtcdRestore (the old members had no volumes, and do not come back)"
	}
	switch {
	case slices.ContainsFunc(a.Alarms, func(a Alarm) bool { return a.Kind == NoSpace }):
		advice = "its database has reached its quota: " + advice + ", raise spec.etcd.quotaBackendBytes, and restore again"
	case slices.ContainsFunc(a.Alarms, func(a Alarm) bool { return a.Kind == Corrupt }):
		advice = "its data is corrupt: " + advice + ", and restore another snapshot"
	}
	return wait(shortly, v1beta2.ClusterReasonFenced, fmt.Sprintf("cannot adopt the restore's seed %s: it refuses writes, and etcd says %q; %s", name, a.Write.Refused, advice)).as(Untouchable)
}

// fenced touches nothing while a restore is at work, whatever becomes of its mark.
func fenced(v *view) *step {
	f := &v.Cluster.Fence
	if f.By == "" {
		return nil
	}
	abort := "delete it to abort"
	if !v.Cluster.Persistent {
		abort += " (members that it has stopped do not come back, since they have no volumes)"
	}
	return wait(idle, v1beta2.ClusterReasonFenced, fmt.Sprintf(
		"reconciliation suspended: an EtcdRestore is in progress; %s; %s; if it no longer exists, follow the runbook restore-waiting before you set the annotation %s to that uid",
		abort, v.nameOfRestore(f.By), v1beta2.AnnotationFenceLifted)).as(Untouchable).explains(v1beta2.ConditionProgressing)
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
		return wait(left, v1beta2.ClusterReasonFencing, fmt.Sprintf("suspending reconciliation for a restore: steps in flight end within %s; %s", landing, v.nameOfRestore(asked)))
	}
	return do(AcknowledgeFence{asked}, v1beta2.ClusterReasonFenced, "reconciliation suspended for a restore; "+v.nameOfRestore(asked)).as(Untouchable)
}

// nameOfRestore says how to find a restore's name: its marks tell its uid alone. That is text
// which others have written, and is no part of the command.
func (v *view) nameOfRestore(uid string) string {
	return fmt.Sprintf("the EtcdRestore has the uid %s: kubectl -n %s get etcdrs -o custom-columns=NAME:.metadata.name,UID:.metadata.uid",
		uid, v.Cluster.Namespace)
}
