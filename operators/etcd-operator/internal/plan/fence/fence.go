package fence

import (
	"fmt"
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

// The rules of this file give a cluster out of our hands for a restore, and take it
// back: from the restore's seed, or as it was (S12). Each is one write of the status,
// against the EtcdCluster as it was observed, so of two operators one makes it, and
// none makes it for marks that have changed.

// LiftFence ends the fence of a restore that has given up.
func LiftFence(v *facts.View) *step.Step {
	f := &v.Cluster.Fence
	if f.By == "" || f.By != f.Lifted {
		return nil
	}
	return step.Do(action.LiftFence{Restore: f.By}, v1beta2.ClusterReasonFenceLifted, "reconciliation resumed: the restore ended without replacing the cluster; "+nameOfRestore(v, f.By))
}

// AdoptSeed takes a restore's seed for the cluster, once it serves: the one Pod of
// that uid, with a cluster of its own. The restore repeats what Progressing tells.
func AdoptSeed(v *facts.View) *step.Step {
	if s := adoption(v); s != nil {
		return s.Explains(v1beta2.ConditionProgressing)
	}
	return nil
}

func adoption(v *facts.View) *step.Step {
	f := &v.Cluster.Fence
	name, uid, ok := f.Offered()
	if !ok {
		return nil
	}
	seed := v.PodOf[name]
	if seed == nil || seed.UID != uid {
		return step.Wait(step.Shortly, v1beta2.ClusterReasonFenced, fmt.Sprintf("cannot adopt the restore's seed: this cluster has no Pod %s with uid %s", name, uid)).As(action.Untouchable)
	}
	a := &seed.Answer
	alone := a.Read && !a.Learner && len(a.Members) == 1 && a.Members[0].ID == a.MemberID && a.Members[0].Name == name && !a.Members[0].Learner
	switch {
	case v.Cluster.NoClientCertificate():
		return step.Wait(step.Idle, v1beta2.ClusterReasonFenced, fmt.Sprintf("waiting to adopt the restore's seed %s: %s", name, v.Cluster.NoClientCertificateText())).As(action.Untouchable)
	case seed.Finished || !seed.DeletingSince.IsZero():
		return step.Wait(step.Shortly, v1beta2.ClusterReasonFenced, fmt.Sprintf("cannot adopt the restore's seed %s: it is terminating", name)).As(action.Untouchable)
	case v.Cluster.Persistent && (!seed.Persistent || v.ClaimOf[name] == nil):
		return step.Wait(step.Shortly, v1beta2.ClusterReasonFenced, fmt.Sprintf("cannot adopt the restore's seed %s: it has no PVC of this cluster", name)).As(action.Untouchable)
	case a.Reached && a.ClusterID == v.Cluster.ClusterID:
		return step.Wait(step.Shortly, v1beta2.ClusterReasonFenced, fmt.Sprintf("cannot adopt the restore's seed %s: it is a member of the old cluster %016x", name, a.ClusterID)).As(action.Untouchable)
	case a.Reached && a.Read && !alone:
		return step.Wait(step.Shortly, v1beta2.ClusterReasonFenced, fmt.Sprintf("cannot adopt the restore's seed %s: it is not the only member of its cluster", name)).As(action.Untouchable)
	case a.Refused != "":
		return step.Wait(step.Shortly, v1beta2.ClusterReasonFenced, fmt.Sprintf("waiting to adopt the restore's seed %s: %s", name, v.Cluster.WhatIsMissing(a))).As(action.Untouchable)
	case !alone || a.ClusterID == 0 || a.MemberID == 0:
		return step.Wait(step.PollInterval(v, seed), v1beta2.ClusterReasonFenced, fmt.Sprintf("waiting for the restore's seed %s: %s", name, v.Progress(seed))).As(action.Untouchable)
	}
	if s := awaitAlone(v, name); s != nil {
		return s
	}
	if s := awaitWrite(v, name, a); s != nil {
		return s
	}
	return step.Do(action.AdoptSeed{Restore: f.By, Name: name, UID: uid, ClusterID: a.ClusterID, Version: seed.Version},
		v1beta2.ClusterReasonSeedAdopted, fmt.Sprintf("adopted the restore's seed %s: it serves cluster %016x; %s", name, a.ClusterID, nameOfRestore(v, f.By)))
}

// awaitAlone holds the adoption of a seed back while a Pod is there that might serve the old data
// beside it (S1): somebody has created it again after the restore had stopped the old members. The
// restore deletes it as it did those. A Pod that ends already was its to judge.
func awaitAlone(v *facts.View, seed string) *step.Step {
	i := slices.IndexFunc(v.Pods, func(p facts.Pod) bool {
		return p.Name != seed && p.Role != facts.Seed && p.DeletingSince.IsZero()
	})
	if i < 0 {
		return nil
	}
	return step.Wait(step.Shortly, v1beta2.ClusterReasonFenced, fmt.Sprintf(
		"waiting to adopt the restore's seed %s: Pod %s was created after the old members had been stopped, and the restore stops it first", seed, v.Pods[i].Name)).As(action.Untouchable)
}

// awaitWrite holds the adoption of a seed back until it has acknowledged a write: with the
// adoption the restore has succeeded.
func awaitWrite(v *facts.View, name string, a *facts.Answer) *step.Step {
	switch {
	case a.Write.Acknowledged:
		return nil
	case a.Write.Refused == "":
		return step.Wait(step.Shortly, v1beta2.ClusterReasonFenced, fmt.Sprintf("waiting for the restore's seed %s to acknowledge a write", name)).As(action.Untouchable)
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
	return step.Wait(step.Shortly, v1beta2.ClusterReasonFenced, fmt.Sprintf("cannot adopt the restore's seed %s: it refuses writes, and etcd reports %s; %s", name, conditiontext.Quote(a.Write.Refused), advice)).As(action.Untouchable)
}

// Fenced touches nothing while a restore is at work, whatever becomes of its mark.
func Fenced(v *facts.View) *step.Step {
	f := &v.Cluster.Fence
	if f.By == "" {
		return nil
	}
	abort := "delete it to abort"
	if !v.Cluster.Persistent {
		abort += " (members that it has stopped do not come back, since they have no volumes)"
	}
	return step.Wait(step.Idle, v1beta2.ClusterReasonFenced, fmt.Sprintf(
		"reconciliation suspended: an EtcdRestore is in progress; %s; %s; if it no longer exists, follow the runbook restore-waiting before you set the annotation %s to that uid",
		abort, nameOfRestore(v, f.By), v1beta2.AnnotationFenceLifted)).As(action.Untouchable).Explains(v1beta2.ConditionProgressing)
}

// Fence acknowledges the fence that a restore asks for, when nothing that was begun
// before can still come about. What this operator has begun has ended, since it takes
// one step at a time. Before a bootstrap is recorded nobody has begun anything.
func Fence(v *facts.View) *step.Step {
	asked := v.Cluster.Fence.Asked()
	if asked == "" {
		return nil
	}
	untouched := v.Cluster.Bootstrap == nil && v.Cluster.ClusterID == 0
	if left := facts.Landing - v.Now.Sub(v.Since); left > 0 && !untouched {
		return step.Wait(left, v1beta2.ClusterReasonFencing, fmt.Sprintf("suspending reconciliation for a restore: steps in flight end within %s; %s", facts.Landing, nameOfRestore(v, asked)))
	}
	return step.Do(action.AcknowledgeFence{Restore: asked}, v1beta2.ClusterReasonFenced, "reconciliation suspended for a restore; "+nameOfRestore(v, asked)).As(action.Untouchable)
}

// nameOfRestore says how to find a restore's name: its marks tell its uid alone. That is text
// which others have written, and is no part of the command.
func nameOfRestore(v *facts.View, uid string) string {
	return fmt.Sprintf("the EtcdRestore has the uid %s; to find it: kubectl -n %s get etcdrs -o custom-columns=NAME:.metadata.name,UID:.metadata.uid",
		uid, v.Cluster.Namespace)
}
