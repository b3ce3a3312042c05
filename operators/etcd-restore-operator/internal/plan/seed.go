package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

const (
	seeding = v1beta2.RestoreSeeding
	// mostTries is how often what prepares the seed is restarted while members serve that
	// etcd-operator does not repair meanwhile. The agent itself tries several times at each, and the
	// kubelet waits 10, 20 and 40 seconds between. A seed whose Pod has ended is
	// replaced as often then, as the Pods of a Job are.
	mostTries = 3
	// evictionPause is between the first such seed and the next, and twice as long after
	// each: a node says only after a while that it runs short of a resource, and until then
	// evicts, or refuses, what is scheduled to it.
	evictionPause = 10 * time.Second
)

// seedEnded tells of a seed that the kubelet has evicted or refused, or that was preempted,
// before dropSeed replaces it. While members serve nothing is lost yet, and the restore fails
// as a Job does; later only another seed can end the outage.
func seedEnded(v *view) *step {
	p := v.seed
	if p == nil || p.Ended == nil {
		return nil
	}
	var told v1beta2.SeedEvictions
	if e := v.last.SeedEvictions; e != nil {
		told = *e
	}
	n, isNew := told.Count, told.Seed != p.Name
	if isNew {
		n++
	}
	reason, words := conditiontext.Reason(p.Ended.Reason, v1beta2.RestoreReasonSeedFailed), conditiontext.Clip(p.Ended.Message)
	if (p.Ended.Permanent || n > mostTries) && (v.mostServe() || v.fresh) {
		return v.fail(reason, words+"; then create another EtcdRestore")
	}
	message := fmt.Sprintf("%s; another seed follows%s", words, v.offerFirst(nil))
	if isNew {
		s := record(v.preparing(), reason, message, func(st *v1beta2.RestoreStatus) {
			st.SeedEvictions = &v1beta2.SeedEvictions{Count: n, Seed: p.Name, Time: *v.now()}
		})
		s.warn = true
		return s
	}
	due := told.Time.Add(evictionPause << (min(max(n, 1), mostTries) - 1))
	if v.Now.Before(told.Time.Time) || !v.Now.Before(due) || !p.Deleting.IsZero() {
		return nil
	}
	v.wakeAt(due)
	return warn(v.preparing(), reason, message, "Pod "+p.Name)
}

// dropSeed deletes a seed that will not serve, or that belongs to an earlier attempt:
// first the offer of it, then its Pod, then its volume. The next seed has another name, so
// that the two are never confused.
func dropSeed(v *view) *step {
	why := v.seedLost()
	if v.offered && (why != "" || v.seed == nil || v.seeded != v.offer(v.seed)) {
		return do(v.preparing(), WithdrawSeed{}, v1beta2.RestoreReasonSeedWithdrawn, "withdrew the hand-over of the lost seed: another seed follows")
	}
	for i := range v.strays {
		if s := v.dropPod(v.preparing(), &v.strays[i], "it belongs to an earlier attempt"); s != nil {
			return s
		}
	}
	if why == "" {
		return nil
	}
	if v.seed != nil {
		if s := v.dropPod(v.preparing(), v.seed, why); s != nil {
			return s
		}
	}
	if c := v.seedClaim; c != nil && !c.Deleting {
		return do(v.preparing(), DeleteSeedClaim{Ref{c.Name, c.UID}}, v1beta2.RestoreReasonSeedLost, fmt.Sprintf("asked Kubernetes to delete the volume of seed %s: %s", c.Name, why))
	}
	return v.freshSeed(v1beta2.RestoreReasonSeedLost, fmt.Sprintf("seed %s is lost: %s; another seed follows", v.last.SeedMember, why))
}

// dropPod deletes a seed's Pod, and waits until it is deleted, unless the user accepts Pods
// that still run.
func (v *view) dropPod(phase v1beta2.RestorePhase, p *Pod, why string) *step {
	due := p.Deleting.Add(slowToStop)
	switch {
	case p.Deleting.IsZero():
		return do(phase, DeleteSeed{Ref{p.Name, p.UID}}, v1beta2.RestoreReasonSeedDeleted, fmt.Sprintf("asked Kubernetes to delete seed %s: %s", p.Name, why))
	case v.spec.AcceptRunningOldMembers:
		return nil
	case v.Now.Before(due):
		v.wakeAt(due)
		return wait(phase, v1beta2.RestoreReasonSeedDeleted, fmt.Sprintf("waiting for seed %s to stop: %s", p.Name, why), "Pod "+p.Name)
	}
	return warn(phase, v1beta2.RestoreReasonSeedNotStopping, fmt.Sprintf("seed %s does not stop, and could still run: %s; %s", p.place(), why, endRunning), "Pod "+p.Name)
}

// seedLost says why the recorded seed can no longer be adopted; empty if it can.
func (v *view) seedLost() string {
	p := v.seed
	switch {
	case v.last.SeedMember == "":
		return ""
	case v.seedClaim != nil && v.seedClaim.Deleting:
		return "its volume is being deleted"
	case v.last.SeedUID != "" && (p == nil || p.UID != v.last.SeedUID):
		return "its Pod was deleted"
	case slices.ContainsFunc(v.old, func(p Pod) bool { return p.Name == v.last.SeedMember }):
		return "its name is taken by another Pod"
	case p == nil:
		return ""
	case !p.Deleting.IsZero():
		return "its Pod is being deleted"
	case p.Ended != nil:
		return "its Pod has ended"
	case p.Outdated && p.Permit == PermitToPrepare && v.serves():
		return "an earlier release of the operator has made it"
	case p.Permit == PermitToPrepare && p.Version != "" && v.version() != "" && p.Version != v.version():
		// It was checked against another version, or does not start, since that one was a mistake.
		return fmt.Sprintf("it has etcd %s, and EtcdCluster %s is to run %s", conditiontext.Clip(p.Version), v.name, conditiontext.Clip(v.version()))
	case p.Emptied:
		return "its data was deleted before it was adopted"
	case p.Unstarted:
		return "its start permit was removed before it started"
	case p.Permit == PermitNone && !p.Ready && p.Result != nil && p.Result.Already:
		// Its Pod was set up anew after it had served, perhaps on an empty disk.
		return "its Pod was restarted before it was adopted"
	}
	return ""
}

// recordSeed settles the seed's name and the revision, before either is used.
func recordSeed(v *view) *step {
	if v.last.SeedMember != "" {
		return nil
	}
	return v.freshSeed(v1beta2.RestoreReasonPreparing, "")
}

func (v *view) freshSeed(reason, message string) *step {
	name := v.FreshName
	taken := func(other string) bool { return other == name }
	if name == "" || name == v.last.SeedMember ||
		slices.ContainsFunc(v.Pods, func(p Pod) bool { return taken(p.Name) }) ||
		slices.ContainsFunc(v.Claims, func(c Claim) bool { return taken(c.Name) }) {
		return wait(v.preparing(), v1beta2.RestoreReasonPreparing, "choosing a name for the seed")
	}
	if s := v.askReached(); s != nil {
		return s
	}
	revision, ok := v.revision()
	if !ok {
		return v.fail(v1beta2.RestoreReasonRevisionTooHigh, revisionTooHigh)
	}
	revision = max(revision, v.last.Revision)
	if v.last.SeedMember != "" && !v.serves() {
		// The lost seed might have served, and clients have seen what this one would number again.
		if v.last.Revision > maxRevision-minBump {
			return v.fail(v1beta2.RestoreReasonRevisionTooHigh, revisionTooHigh)
		}
		revision = max(revision, v.last.Revision+minBump)
	}
	if message == "" {
		message = fmt.Sprintf("preparing seed %s, which begins at revision %d or later", name, revision)
	}
	return record(v.preparing(), reason, message, func(st *v1beta2.RestoreStatus) {
		st.SeedMember, st.SeedUID, st.Revision = name, "", revision
	})
}

// createSeedClaim makes the seed's volume.
func createSeedClaim(v *view) *step {
	if !v.persistent() || v.seed != nil || v.seedClaim != nil {
		return nil
	}
	return do(v.preparing(), CreateSeedClaim{Name: v.last.SeedMember}, v1beta2.RestoreReasonPreparing, fmt.Sprintf("created the volume of seed %s", v.last.SeedMember))
}

// createSeed makes the seed's Pod.
func createSeed(v *view) *step {
	if v.seed != nil {
		return nil
	}
	if s := v.awaitTrust(v.preparing()); s != nil {
		return s
	}
	return do(v.preparing(), CreateSeed{
		Name:        v.last.SeedMember,
		Version:     v.version(),
		Source:      v.source,
		Credentials: v.credentials(),
		Want:        v.last.Snapshot.DeepCopy(),
		Revision:    v.last.Revision,
		Bump:        v.bump(),
	}, v1beta2.RestoreReasonPreparing, v.making())
}

func (v *view) making() string {
	text := fmt.Sprintf("seed %s fetches and checks the snapshot, and rebuilds its database", v.last.SeedMember)
	if v.serves() {
		text += ", while the old members serve"
	}
	return text
}

// seedFailed fails the restore when the snapshot cannot be restored. What may do better at another
// try, the kubelet tries again; but not for ever while members serve that are not repaired.
func seedFailed(v *view) *step {
	p := v.seed
	r := p.Result
	failed := r != nil && r.Failure != nil
	switch {
	case failed && r.Failure.Permanent:
		return v.fail(r.Failure.Reason, r.Failure.Message)
	case p.Permit != PermitToPrepare || p.Prepared || p.Tries < mostTries || p.Waiting == "" || (!v.serves() && !v.fresh):
		return nil
	case failed:
		return v.fail(r.Failure.Reason, r.Failure.Message)
	}
	return v.fail(v1beta2.RestoreReasonPreparationFailed, fmt.Sprintf(
		"seed %s failed to prepare its database, and did not report why: %s; see its events, and the log of its container %s", p.Name, conditiontext.Clip(p.Waiting), task.ContainerRestore))
}

// awaitPrepared waits until the seed's database is rebuilt.
func awaitPrepared(v *view) *step {
	p := v.seed
	switch {
	case p.Prepared || p.Permit != PermitToPrepare:
		return nil
	case p.Result != nil && p.Result.Failure != nil:
		s := warn(v.preparing(), conditiontext.Reason(p.Result.Failure.Reason, v1beta2.RestoreReasonSeedFailed), fmt.Sprintf("seed %s retries: %s", p.Name, conditiontext.Clip(p.Result.Failure.Message)), "Pod "+p.Name)
		s.progress = true
		return s
	case p.Waiting != "":
		why := strings.TrimSuffix(conditiontext.Clip(p.Waiting), ".") // the scheduler's words end in one
		return warn(v.preparing(), v1beta2.RestoreReasonSeedNotStarting, fmt.Sprintf("seed %s does not start: %s%s", p.Name, why, v.offerFirst(nil)), "Pod "+p.Name)
	}
	s := wait(v.preparing(), v1beta2.RestoreReasonPreparing, v.making(), "Pod "+p.Name)
	s.progress = true
	return s
}

// offerFirst says what to do where a node or a quota cannot hold the seed beside the
// members. action is what was refused; nil if nothing was.
func (v *view) offerFirst(action Action) string {
	switch action.(type) {
	case nil, CreateSeed, CreateSeedClaim:
	default:
		return ""
	}
	if !v.serves() || v.spec.StopMembers == v1beta2.StopMembersFirst {
		return ""
	}
	return "; the old members still serve; if there is no room for the seed beside them, set spec.stopMembers: First"
}

// recordPrepared settles which snapshot is restored, if it is the one that was asked for,
// and where the cluster begins: from then on only this very one is.
func recordPrepared(v *view) *step {
	p, r := v.seed, v.seed.Result
	told := r != nil && r.Failure == nil && r.Snapshot != nil
	switch {
	case p.Permit != PermitToPrepare:
		return nil
	case v.last.Snapshot != nil && told && r.Revision < v.last.Revision:
		return v.dropPod(v.preparing(), p, fmt.Sprintf("it begins at revision %d, and the cluster has to begin at %d or later; another seed follows", r.Revision, v.last.Revision))
	case v.last.Snapshot != nil && v.isAsAsked(v.last.Restored, v.target()) && (!told || r.Revision == v.last.Revision):
		return nil
	case !told:
		return v.fail(v1beta2.RestoreReasonResultInvalid, fmt.Sprintf("seed %s succeeded without reporting what it found: see the log of its container %s", p.Name, task.ContainerRestore))
	}
	s, revision := snapshotOf(r.Snapshot), r.Revision
	restored := restoredOf(s, r.Cut)
	target, at := v.targetIn(r.Cut)
	newest := s.Revision
	if restored != nil {
		newest, s.DatabaseSizeAtRevision = max(newest, restored.Revision), max(r.Cut.DatabaseSize, 0)
	}
	if r := v.checkIdentity(s); r != nil {
		return v.fail(r.reason, r.message)
	}
	if revision < v.last.Revision || revision < newest || revision-newest < minBump {
		return v.fail(v1beta2.RestoreReasonResultInvalid, fmt.Sprintf("seed %s begins at revision %d, which is lower than requested: run agent and operator in the same version", p.Name, revision))
	}
	if !v.isAsAsked(restored, target) {
		return v.fail(v1beta2.RestoreReasonResultInvalid, fmt.Sprintf("seed %s did not restore the keys of the snapshot%s: run agent and operator in the same version", p.Name, v.asAsked(target)))
	}
	return record(v.preparing(), v1beta2.RestoreReasonSnapshotVerified, v.describe(s, restored, target), func(st *v1beta2.RestoreStatus) {
		if st.Snapshot == nil {
			st.Snapshot = s
		}
		st.Revision, st.Restored = revision, restored
		v.recordTarget(st, target, at)
	}).news()
}

// checkPrepared fails a restore, before a member is stopped, that the cluster could not
// serve. That the seed's volume had room is known by then; but not every volume is as small
// as it was asked for.
func checkPrepared(v *view) *step {
	if v.seed.Permit != PermitToPrepare {
		return nil
	}
	for _, check := range []func() *refusal{v.checkVersion, v.checkVolume, v.checkQuota, v.checkEmpty, v.checkBump} {
		if r := check(); r != nil {
			return v.fail(r.reason, r.message)
		}
	}
	return nil
}

// awaitLauncher waits, before a member is stopped, until the seed's launcher says that it lacks
// the start permit alone: from then on clients wait for no image and no container.
func awaitLauncher(v *view) *step {
	p := v.seed
	switch {
	case p.Launched || p.Permit != PermitToPrepare || !v.serves():
		return nil
	case p.Restarts >= mostTries:
		return v.fail(v1beta2.RestoreReasonPreparationFailed, fmt.Sprintf("the launcher of seed %s exited %d times: see the log of its container %s, then create another EtcdRestore", p.Name, p.Restarts, member.ContainerEtcd))
	case p.Waiting != "":
		s := warn(v.preparing(), v1beta2.RestoreReasonSeedNotStarting, fmt.Sprintf("seed %s does not start: %s", p.Name, conditiontext.Clip(p.Waiting)), "Pod "+p.Name)
		s.requeueAfter = launching
		return s
	case p.Restarts > 0:
		return warn(v.preparing(), v1beta2.RestoreReasonSeedNotReady, fmt.Sprintf("the launcher of seed %s exited and is restarting: see the log of its container %s", p.Name, member.ContainerEtcd), "Pod "+p.Name)
	}
	s := wait(v.preparing(), v1beta2.RestoreReasonPreparing, fmt.Sprintf("waiting for the launcher of seed %s, whose database is ready", p.Name), "Pod "+p.Name)
	s.requeueAfter = launching
	return s
}

// permitStart lets the seed start, since no old member can serve clients.
func permitStart(v *view) *step {
	if v.seed.Permit != PermitToPrepare {
		return nil
	}
	return do(seeding, PermitStart{Ref{v.seed.Name, v.seed.UID}}, v1beta2.RestoreReasonSeedStarting, fmt.Sprintf("gave seed %s its start permit; it begins at revision %d", v.seed.Name, v.last.Revision))
}

// awaitSeed waits until the seed serves.
func awaitSeed(v *view) *step {
	p := v.seed
	switch {
	case p.Ready:
		return nil
	case p.Result != nil && p.Result.Failure != nil:
		s := warn(seeding, conditiontext.Reason(p.Result.Failure.Reason, v1beta2.RestoreReasonSeedFailed), fmt.Sprintf("seed %s retries: %s", p.Name, conditiontext.Clip(p.Result.Failure.Message)), "Pod "+p.Name)
		s.progress = true
		return s
	case p.Waiting != "":
		return warn(seeding, v1beta2.RestoreReasonSeedNotStarting, fmt.Sprintf("seed %s does not start: %s", p.Name, conditiontext.Clip(p.Waiting)), "Pod "+p.Name)
	case p.Restarts > 0:
		return warn(seeding, v1beta2.RestoreReasonSeedNotReady, fmt.Sprintf("etcd of seed %s exited and is restarting: see its log", p.Name), "Pod "+p.Name)
	}
	return wait(seeding, v1beta2.RestoreReasonSeedStarting, fmt.Sprintf("waiting for etcd of seed %s to serve the restored data", p.Name), "Pod "+p.Name)
}

// withdrawPermit comes before the hand-over: from then on a disk that is lost has lost its
// data, and is never restored again.
func withdrawPermit(v *view) *step {
	if v.seed.Permit == PermitNone {
		return nil
	}
	return do(seeding, WithdrawPermit{Ref{v.seed.Name, v.seed.UID}}, v1beta2.RestoreReasonSeedReady, fmt.Sprintf("revoked the start permit of seed %s, which serves", v.seed.Name))
}

// handOff offers the seed to etcd-operator.
func handOff(v *view) *step {
	if v.seeded == v.offer(v.seed) {
		return nil
	}
	return do(seeding, HandOff{Ref{v.seed.Name, v.seed.UID}}, v1beta2.RestoreReasonSeedHandedOver, fmt.Sprintf("handed seed %s over to etcd-operator", v.seed.Name))
}

// awaitAdoption waits until etcd-operator has taken the seed for the cluster.
func awaitAdoption(v *view) *step {
	return v.awaitServing(seeding, v1beta2.RestoreReasonSeedHandedOver, fmt.Sprintf("waiting for etcd-operator to adopt seed %s, once it has acknowledged a write%s", v.seed.Name, v.adoptionNews()))
}
