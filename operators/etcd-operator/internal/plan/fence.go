package plan

import (
	"fmt"
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// liftFence ends the fence of a restore that has given up.
func liftFence(v *facts.View) *step {
	f := &v.Cluster.Fence
	if f.By == "" || f.By != f.Lifted {
		return nil
	}
	return do(LiftFence{f.By}, v1beta2.ClusterReasonFenceLifted, "reconciliation resumed: the restore ended without replacing the cluster; "+nameOfRestore(v, f.By))
}

// adoptSeed takes a restore's seed for the cluster, once it serves: the one Pod of
// that uid, with a cluster of its own. The restore repeats what Progressing tells.
func adoptSeed(v *facts.View) *step {
	if s := adoption(v); s != nil {
		return s.explains(v1beta2.ConditionProgressing)
	}
	return nil
}

func adoption(v *facts.View) *step {
	f := &v.Cluster.Fence
	name, uid, ok := f.Offered()
	if !ok {
		return nil
	}
	seed := v.PodOf[name]
	if seed == nil || seed.UID != uid {
		return wait(shortly, v1beta2.ClusterReasonFenced, fmt.Sprintf("cannot adopt the restore's seed: this cluster has no Pod %s with uid %s", name, uid)).as(Untouchable)
	}
	a := &seed.Answer
	alone := a.Read && !a.Learner && len(a.Members) == 1 && a.Members[0].ID == a.MemberID && a.Members[0].Name == name && !a.Members[0].Learner
	switch {
	case v.Cluster.NoClientCertificate():
		return wait(idle, v1beta2.ClusterReasonFenced, fmt.Sprintf("waiting to adopt the restore's seed %s: %s", name, v.Cluster.NoClientCertificateText())).as(Untouchable)
	case seed.Finished || !seed.DeletingSince.IsZero():
		return wait(shortly, v1beta2.ClusterReasonFenced, fmt.Sprintf("cannot adopt the restore's seed %s: it is terminating", name)).as(Untouchable)
	case v.Cluster.Persistent && (!seed.Persistent || v.ClaimOf[name] == nil):
		return wait(shortly, v1beta2.ClusterReasonFenced, fmt.Sprintf("cannot adopt the restore's seed %s: it has no PVC of this cluster", name)).as(Untouchable)
	case a.Reached && a.ClusterID == v.Cluster.ClusterID:
		return wait(shortly, v1beta2.ClusterReasonFenced, fmt.Sprintf("cannot adopt the restore's seed %s: it is a member of the old cluster %016x", name, a.ClusterID)).as(Untouchable)
	case a.Reached && a.Read && !alone:
		return wait(shortly, v1beta2.ClusterReasonFenced, fmt.Sprintf("cannot adopt the restore's seed %s: it is not the only member of its cluster", name)).as(Untouchable)
	case a.Refused != "":
		return wait(shortly, v1beta2.ClusterReasonFenced, fmt.Sprintf("waiting to adopt the restore's seed %s: %s", name, v.Cluster.WhatIsMissing(a))).as(Untouchable)
	case !alone || a.ClusterID == 0 || a.MemberID == 0:
		return wait(pollInterval(v, seed), v1beta2.ClusterReasonFenced, fmt.Sprintf("waiting for the restore's seed %s: %s", name, v.Progress(seed))).as(Untouchable)
	}
	if s := awaitWrite(v, name, a); s != nil {
		return s
	}
	return do(AdoptSeed{Restore: f.By, Name: name, UID: uid, ClusterID: a.ClusterID, Version: seed.Version},
		v1beta2.ClusterReasonSeedAdopted, fmt.Sprintf("adopted the restore's seed %s: it serves cluster %016x; %s", name, a.ClusterID, nameOfRestore(v, f.By)))
}

// awaitWrite holds the adoption of a seed back until it has acknowledged a write: with the
// adoption the restore has succeeded.
func awaitWrite(v *facts.View, name string, a *facts.Answer) *step {
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
	case slices.ContainsFunc(a.Alarms, func(a facts.Alarm) bool { return a.Kind == facts.NoSpace }):
		advice = "its database has reached its quota: " + advice + ", raise spec.etcd.quotaBackendBytes, and restore again"
	case slices.ContainsFunc(a.Alarms, func(a facts.Alarm) bool { return a.Kind == facts.Corrupt }):
		advice = "its data is corrupt: " + advice + ", and restore another snapshot"
	}
	return wait(shortly, v1beta2.ClusterReasonFenced, fmt.Sprintf("cannot adopt the restore's seed %s: it refuses writes, and etcd says %q; %s", name, a.Write.Refused, advice)).as(Untouchable)
}

// fenced touches nothing while a restore is at work, whatever becomes of its mark.
func fenced(v *facts.View) *step {
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
		abort, nameOfRestore(v, f.By), v1beta2.AnnotationFenceLifted)).as(Untouchable).explains(v1beta2.ConditionProgressing)
}

// fence acknowledges the fence that a restore asks for, when nothing that was begun
// before can still come about. What this operator has begun has ended, since it takes
// one step at a time. Before a bootstrap is recorded nobody has begun anything.
func fence(v *facts.View) *step {
	asked := v.Cluster.Fence.Asked()
	if asked == "" {
		return nil
	}
	untouched := v.Cluster.Bootstrap == nil && v.Cluster.ClusterID == 0
	if left := facts.Landing - v.Now.Sub(v.Since); left > 0 && !untouched {
		return wait(left, v1beta2.ClusterReasonFencing, fmt.Sprintf("suspending reconciliation for a restore: steps in flight end within %s; %s", facts.Landing, nameOfRestore(v, asked)))
	}
	return do(AcknowledgeFence{asked}, v1beta2.ClusterReasonFenced, "reconciliation suspended for a restore; "+nameOfRestore(v, asked)).as(Untouchable)
}

// nameOfRestore says how to find a restore's name: its marks tell its uid alone. That is text
// which others have written, and is no part of the command.
func nameOfRestore(v *facts.View, uid string) string {
	return fmt.Sprintf("the EtcdRestore has the uid %s: kubectl -n %s get etcdrs -o custom-columns=NAME:.metadata.name,UID:.metadata.uid",
		uid, v.Cluster.Namespace)
}
