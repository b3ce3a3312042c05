package plan

import (
	"fmt"
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/wording"
)

const seeding = v1beta2.RestoreSeeding

// dropSeed takes a seed away that will not serve, or that an earlier attempt has left:
// first the offer of it, then its Pod, then its volume. Another one has another name, so
// that nobody takes one for the other.
func dropSeed(v *view) *step {
	why := v.seedLost()
	if v.offered && (why != "" || v.seed == nil || v.seeded != v.offer(v.seed)) {
		return do(seeding, WithdrawSeed{}, "SeedWithdrawn", "the seed that was handed over is taken back, since it is lost: another one is made")
	}
	for i := range v.strays {
		if s := v.dropPod(seeding, &v.strays[i], "it is of an earlier attempt"); s != nil {
			return s
		}
	}
	if why == "" {
		return nil
	}
	if v.seed != nil {
		if s := v.dropPod(seeding, v.seed, why); s != nil {
			return s
		}
	}
	if c := v.seedClaim; c != nil && !c.Deleting {
		return do(seeding, DeleteSeedClaim{Ref{c.Name, c.UID}}, "SeedLost", fmt.Sprintf("the volume of seed %s is deleted: %s", c.Name, why))
	}
	return v.freshSeed("SeedLost", fmt.Sprintf("the seed %s is lost: %s; another one is made", v.last.SeedMember, why))
}

// dropPod deletes a seed's Pod, and waits until it is gone unless it is let be.
func (v *view) dropPod(phase v1beta2.RestorePhase, p *Pod, why string) *step {
	switch {
	case p.Deleting.IsZero():
		return do(phase, DeleteSeed{Ref{p.Name, p.UID}}, "SeedDeleted", fmt.Sprintf("the seed %s is deleted: %s", p.Name, why))
	case v.spec.AcceptRunningOldMembers:
		return nil
	}
	return wait(phase, "SeedDeleted", fmt.Sprintf("the seed %s is stopping: %s", p.Name, why), "Pod "+p.Name)
}

// seedLost says why the recorded seed can't be adopted any more; empty if it can.
func (v *view) seedLost() string {
	p := v.seed
	switch {
	case v.last.SeedMember == "":
		return ""
	case v.seedClaim != nil && v.seedClaim.Deleting:
		return "its volume is being deleted"
	case v.last.SeedUID != "" && (p == nil || p.UID != v.last.SeedUID):
		return "its Pod is gone"
	case slices.ContainsFunc(v.old, func(p Pod) bool { return p.Name == v.last.SeedMember }):
		return "its name is taken by another Pod"
	case p == nil:
		return ""
	case !p.Deleting.IsZero():
		return "its Pod is being deleted"
	case p.Finished:
		return "its Pod has ended"
	case !p.Leave && !p.Ready && p.Result != nil && p.Result.Already:
		// Its Pod was set up anew after it had served, perhaps on an empty disk.
		return "its Pod was started anew before it was adopted"
	}
	return ""
}

// recordSeed settles the seed's name and the revision, before either is used.
func recordSeed(v *view) *step {
	if v.last.SeedMember != "" {
		return nil
	}
	return v.freshSeed("Seeding", "")
}

func (v *view) freshSeed(reason, message string) *step {
	name := v.FreshName
	taken := func(other string) bool { return other == name }
	if name == "" || name == v.last.SeedMember ||
		slices.ContainsFunc(v.Pods, func(p Pod) bool { return taken(p.Name) }) ||
		slices.ContainsFunc(v.Claims, func(c Claim) bool { return taken(c.Name) }) {
		return wait(seeding, "Seeding", "a name for the seed is looked for")
	}
	revision := v.last.Revision
	if revision == 0 {
		r, ok := v.revision()
		if !ok {
			return v.fail("RevisionTooHigh", "no revision is left to begin at")
		}
		revision = r
	}
	if message == "" {
		message = fmt.Sprintf("member %s is made from the snapshot, and begins at revision %d", name, revision)
	}
	return record(seeding, reason, message, func(st *v1beta2.RestoreStatus) {
		st.SeedMember, st.SeedUID, st.Revision = name, "", revision
	})
}

// createSeedClaim makes the seed's volume.
func createSeedClaim(v *view) *step {
	if !v.persistent() || v.seed != nil || v.seedClaim != nil {
		return nil
	}
	return do(seeding, CreateSeedClaim{Name: v.last.SeedMember}, "Seeding", fmt.Sprintf("the volume of member %s is made", v.last.SeedMember))
}

// createSeed makes the seed's Pod.
func createSeed(v *view) *step {
	if v.seed != nil {
		return nil
	}
	if s := v.awaitTrust(seeding); s != nil {
		return s
	}
	return do(seeding, CreateSeed{
		Name:     v.last.SeedMember,
		Version:  v.version(),
		Source:   v.source,
		Want:     *v.last.Snapshot.DeepCopy(),
		Revision: v.last.Revision,
	}, "Seeding", v.making())
}

func (v *view) making() string {
	return fmt.Sprintf("member %s is made from the snapshot, and begins at revision %d", v.last.SeedMember, v.last.Revision)
}

// seedFailed gives up when the snapshot can't be restored. What may do better at another
// try, the kubelet tries again.
func seedFailed(v *view) *step {
	r := v.seed.Result
	if r == nil || r.Failure == nil || !r.Failure.Permanent {
		return nil
	}
	return v.fail(r.Failure.Reason, r.Failure.Message)
}

// awaitSeed waits until the seed serves.
func awaitSeed(v *view) *step {
	p := v.seed
	switch {
	case p.Ready:
		return nil
	case !p.Restored && p.Result != nil && p.Result.Failure != nil:
		s := warn(seeding, wording.Reason(p.Result.Failure.Reason, "SeedFailed"), fmt.Sprintf("the seed %s tries again: %s", p.Name, wording.Clip(p.Result.Failure.Message)), "Pod "+p.Name)
		s.progress = true
		return s
	case p.Waiting != "":
		return warn(seeding, "SeedNotStarting", fmt.Sprintf("the seed %s does not start: %s", p.Name, wording.Clip(p.Waiting)), "Pod "+p.Name)
	case !p.Restored:
		s := wait(seeding, "Seeding", v.making(), "Pod "+p.Name)
		s.progress = true
		return s
	case p.Restarts > 0:
		return warn(seeding, "SeedNotReady", fmt.Sprintf("etcd of seed %s has ended and is started again: its log says why", p.Name), "Pod "+p.Name)
	}
	return wait(seeding, "SeedStarting", fmt.Sprintf("the snapshot is restored, and etcd of seed %s starts", p.Name), "Pod "+p.Name)
}

// withdrawLeave comes before the hand-off: from then on a disk that is lost has lost its
// data, and is never restored again.
func withdrawLeave(v *view) *step {
	if !v.seed.Leave {
		return nil
	}
	return do(seeding, WithdrawLeave{Ref{v.seed.Name, v.seed.UID}}, "SeedReady", fmt.Sprintf("the seed %s serves: its leave to restore is withdrawn", v.seed.Name))
}

// handOff offers the seed to etcd-operator.
func handOff(v *view) *step {
	if v.seeded == v.offer(v.seed) {
		return nil
	}
	return do(seeding, HandOff{Ref{v.seed.Name, v.seed.UID}}, "SeedHandedOver", fmt.Sprintf("the seed %s is handed over to etcd-operator", v.seed.Name))
}

// awaitAdoption waits until etcd-operator has taken the seed for the cluster.
func awaitAdoption(v *view) *step {
	return v.awaitServing(seeding, "SeedHandedOver", fmt.Sprintf("the seed %s is handed over: etcd-operator adopts it", v.seed.Name))
}
