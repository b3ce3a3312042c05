package bootstrap

import (
	"fmt"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// The rules of this file make the one beginning of a cluster (S1). All of them
// are silent once the cluster id is latched.

// FirstAttempt is the Attempt of the StartPermit that a seed is created with.
const FirstAttempt = 1

// Existed refuses to begin where something already was.
func Existed(v *facts.View) *step.Step {
	if v.Cluster.ClusterID != 0 || v.Cluster.Bootstrap != nil || v.Cluster.Existed == "" {
		return nil
	}
	return step.Wait(step.Idle, v1beta2.ClusterReasonClusterExisted, fmt.Sprintf("not starting an empty cluster: %s; %s", v.Cluster.Existed, existedAdvice(v))).As(action.Existed)
}

// RecordBootstrap writes the seed's name and token down before anything else, and
// again under another name when a seed is given up before it ever served.
func RecordBootstrap(v *facts.View) *step.Step {
	if !v.Cluster.IsBootstrapping() {
		return nil
	}
	b := v.Cluster.Bootstrap
	if b != nil {
		seed := v.PodOf[b.Member]
		if seed == nil || seed.Answer.Reached || seed.Answer.Refused != "" || !isGivenUp(v, seed) {
			return nil
		}
	}
	if len(v.FreshNames) == 0 {
		return step.Wait(step.Shortly, v1beta2.ClusterReasonBootstrapping, "choosing a name for the seed")
	}
	fresh := facts.Bootstrap{Member: v.FreshNames[0], Token: v.FreshToken}
	return step.Do(action.RecordBootstrap{Bootstrap: fresh, Version: firstVersion(v)},
		v1beta2.ClusterReasonBootstrapping, fmt.Sprintf("chose %s as the seed that starts the cluster", fresh.Member))
}

// firstVersion is what a seed begins with: what is wanted, if that is run.
func firstVersion(v *facts.View) string {
	if etcdversion.Supported(v.Cluster.WantedVersion) {
		return v.Cluster.WantedVersion
	}
	return v.Cluster.Version
}

// isGivenUp reports whether a seed will not start in this place: its node is gone, or
// the volume that it got is where it can't be scheduled, or it does not run and the user
// has written another version or another shape of Pods meanwhile.
func isGivenUp(v *facts.View, seed *facts.Pod) bool {
	if seed.Trouble != "" && !seed.Answer.Waiting && firstVersion(v) != v.Cluster.Version {
		return true
	}
	if v.HasOldTemplate(seed) && v.Stuck(seed) != "" {
		return true
	}
	return v.NodeLost(seed) || (seed.Persistent && seed.Node == "" && seed.Unschedulable != "" && v.IsExpired(seed.ExistsSince()))
}

// DropOldSeeds deletes the Pods of seeds that were given up before any of them
// served.
func DropOldSeeds(v *facts.View) *step.Step {
	b := v.Cluster.Bootstrap
	if !v.Cluster.IsBootstrapping() || b == nil {
		return nil
	}
	for i := range v.Pods {
		if p := &v.Pods[i]; p.Role == facts.Seed && p.Name != b.Member && p.DeletingSince.IsZero() {
			return step.Do(action.DeletePod{Name: p.Name, UID: p.UID}, v1beta2.ClusterReasonSeedDiscarded, fmt.Sprintf("deleted the Pod of seed %s, which never served", p.Name))
		}
	}
	return nil
}

// DropEndedJoiners deletes the Pods of joiners that have ended for good before the cluster
// has begun, such as those that were evicted: they never had a start permit.
func DropEndedJoiners(v *facts.View) *step.Step {
	if !v.Cluster.IsBootstrapping() || v.Cluster.Bootstrap == nil {
		return nil
	}
	for i := range v.Pods {
		p := &v.Pods[i]
		if !p.Finished || p.Role != facts.Joiner || !p.DeletingSince.IsZero() || p.StartPermit != nil {
			continue
		}
		if s := step.Try(v, step.Do(action.DeletePod{Name: p.Name, UID: p.UID}, v1beta2.ClusterReasonDeletingPod, fmt.Sprintf("deleted Pod %s, which ended before it could join", p.Name)).Unannounced()); s != nil {
			return s
		}
	}
	return nil
}

// RevokeSeedPermits takes the permit to begin a cluster from every Pod but the seed's,
// and from that too once it serves: before the cluster id is latched, and its data counts
// (S2). It needs no quorum.
func RevokeSeedPermits(v *facts.View) *step.Step {
	var pods []action.PodRef
	for i := range v.Pods {
		p := &v.Pods[i]
		beginning := v.Cluster.IsBootstrapping() && v.Cluster.Bootstrap != nil && p.Name == v.Cluster.Bootstrap.Member && !hasBegun(p)
		if p.StartPermit != nil && p.StartPermit.New && !beginning {
			pods = append(pods, action.PodRef{Name: p.Name, UID: p.UID})
		}
	}
	if len(pods) == 0 {
		return nil
	}
	return step.Do(action.RevokeStartPermits{Pods: pods}, v1beta2.ClusterReasonStartPermitRevoked, fmt.Sprintf("revoked the start permit of seed %s: bootstrap is complete", pods[0].Name))
}

// CreateFirstPods makes the seed's Pod, and beside it the Pods of all who are to
// join, so that they start while the seed does. A seed that can't be scheduled has
// the room to itself.
func CreateFirstPods(v *facts.View) *step.Step {
	b := v.Cluster.Bootstrap
	if !v.Cluster.IsBootstrapping() || b == nil {
		return nil
	}
	var pods []action.NewPod
	if v.PodOf[b.Member] == nil {
		seed := action.NewPod{Name: b.Member, Role: facts.Seed, Version: v.NewPodVersion(b.Member)}
		// On a volume that exists there may be data, and etcd goes on with it: a start permit
		// would stay unused, and lie there for the day that the disk is lost.
		if v.ClaimOf[b.Member] == nil {
			seed.StartPermit = &facts.StartPermit{Attempt: FirstAttempt, New: true, Members: []string{b.Member}, Token: b.Token}
		}
		pods = append(pods, seed)
	}
	if seed := v.PodOf[b.Member]; seed == nil || seed.Unschedulable == "" {
		pods = append(pods, step.NewJoiners(v, v.Cluster.Size-1-len(v.Candidates())-v.OutgrownPods())...)
	}
	if len(pods) == 0 {
		return nil
	}
	return step.Do(action.CreatePods{Pods: pods}, v1beta2.ClusterReasonCreatingMembers, step.Created(pods)).Unannounced().Needs((*facts.Rejection).LacksService)
}

// RestartSeed lets a seed begin again that ended before it had any data, and makes
// the Pod of one that has ended for good again.
func RestartSeed(v *facts.View) *step.Step {
	b := v.Cluster.Bootstrap
	if !v.Cluster.IsBootstrapping() || b == nil {
		return nil
	}
	seed := v.PodOf[b.Member]
	if s := step.Yield(v, seed); s != nil {
		return s
	}
	if seed.Finished && seed.DeletingSince.IsZero() {
		return step.Do(action.DeletePod{Name: seed.Name, UID: seed.UID}, v1beta2.ClusterReasonRecreatingSeed, fmt.Sprintf("deleted the Pod of seed %s, which has ended, to recreate it", seed.Name))
	}
	if !seed.Answer.Waiting || seed.CanUsePermit() {
		return nil
	}
	permit := facts.StartPermit{Attempt: seed.Answer.Attempt + 1, New: true, Members: []string{b.Member}, Token: b.Token}
	return step.Do(action.GrantStartPermit{Name: seed.Name, UID: seed.UID, StartPermit: permit}, v1beta2.ClusterReasonStartingSeed, fmt.Sprintf("granted seed %s its start permit", seed.Name))
}

// hasBegun reports whether a seed serves a cluster of its own. One that is ending takes
// its data with it: it is begun anew.
func hasBegun(seed *facts.Pod) bool {
	a := &seed.Answer
	return !seed.Finished && seed.DeletingSince.IsZero() && a.Reached && a.Read && a.ClusterID != 0 &&
		len(a.Members) == 1 && a.Members[0].Name == seed.Name && a.Members[0].ID == a.MemberID
}

// LatchClusterID ends the beginning: from here on there is never another one.
func LatchClusterID(v *facts.View) *step.Step {
	if !v.Cluster.IsBootstrapping() {
		return nil
	}
	seed := v.PodOf[v.Cluster.Bootstrap.Member]
	a := &seed.Answer
	if hasBegun(seed) {
		return step.Do(action.LatchClusterID{ClusterID: a.ClusterID}, v1beta2.ClusterReasonBootstrapped, fmt.Sprintf("seed %s serves cluster %016x", seed.Name, a.ClusterID))
	}
	if a.Refused != "" {
		return step.Wait(step.Shortly, a.Kind(), v.Cluster.WhatIsMissing(a)).As(action.Unauthorized)
	}
	return step.Wait(step.PollInterval(v, seed), v1beta2.ClusterReasonStartingSeed, fmt.Sprintf("waiting for seed %s: %s", seed.Name, v.Progress(seed)))
}
