package bootstrap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// The rules of this file let a new EtcdCluster go on with the volumes that an earlier one
// of its name has left (S1). Nothing ever begins empty over them:
//
//   - While there are any, and nobody has asked for them, existed waits.
//   - They are taken over one by one. As long as some are not, and until the beginning is
//     recorded, existed counts those that were taken as well as those that were not.
//   - The beginning is recorded as adopted: from then on no Pod gets a permit to begin a
//     cluster, and all that is made are the Pods of those volumes. Their launchers start
//     etcd only where there is data.
//   - Where one of them finds no place, those without data give way to it, and get their Pods
//     back some minutes later: it may be the one that has the data (see UnplacedPod).
//   - The cluster id is latched when a quorum of the members that etcd itself lists
//     answers. With fewer volumes than that it waits, and says so: what is missing may
//     come back. With a quorum but not all, the others are replaced as any lost member.

// AdoptVolumes takes over the volumes that the EtcdCluster asks for, and then records that
// it goes on with them.
func AdoptVolumes(v *facts.View) *step.Step {
	c := &v.Cluster
	if c.AdoptVolumes == "" || c.ClusterID != 0 || c.Bootstrap != nil || len(v.Pods) > 0 {
		return nil
	}
	from, refs, why := retainedClaims(v)
	switch {
	case why != "":
		return step.Wait(step.Idle, v1beta2.ClusterReasonClusterExisted, why).As(action.Existed)
	case len(refs) == 0 && len(v.Claims) == 0 && c.AdoptVolumes == v1beta2.AdoptAny:
		return nil // there is nothing to go on with
	case len(refs) == 0 && len(v.Claims) == 0:
		return step.Wait(step.Idle, v1beta2.ClusterReasonClusterExisted, fmt.Sprintf("no PVCs found of an EtcdCluster with uid %s: use the uid in their label %s, or remove the annotation %s to start empty",
			c.AdoptVolumes, v1beta2.LabelOwner, v1beta2.AnnotationAdoptVolumes)).As(action.Existed)
	case !c.Persistent:
		return step.Wait(step.Idle, v1beta2.ClusterReasonClusterExisted, "cannot adopt PVCs: this EtcdCluster has no volumes; delete it, and create it again with spec.pod.persistentVolumeClaimSpec").As(action.Existed)
	case adoptedVersion(v) == "":
		return step.Wait(step.Idle, v1beta2.ClusterReasonClusterExisted, "cannot adopt PVCs: the etcd version that ran on them is not known; set spec.version to it").As(action.Existed)
	case len(refs) > 0:
		return step.Do(action.TakeClaims{From: from, Claims: refs}, v1beta2.ClusterReasonAdoptingVolumes, fmt.Sprintf("adopted %d PVCs of the EtcdCluster with uid %s", len(refs), from))
	}
	first := facts.Bootstrap{Member: v.Claims[0].Name, Token: cmp.Or(v.FreshToken, v.Claims[0].UID), Adopted: true}
	return step.Do(action.RecordBootstrap{Bootstrap: first, Version: adoptedVersion(v)}, v1beta2.ClusterReasonVolumesAdopted, fmt.Sprintf("adopted %d PVCs; the cluster starts from their data", len(v.Claims))).Announced()
}

// adoptedVersion is the version that ran on the adopted volumes: the one recorded on them, or
// the one that the user names; empty if neither is there. The cluster starts with it and then
// moves to spec.version as in any upgrade (S10).
func adoptedVersion(v *facts.View) string {
	noted := notedVersion(v)
	if noted == "" && v.Cluster.VersionGiven {
		return v.Cluster.WantedVersion
	}
	return noted
}

// notedVersion is the latest version that is noted on volumes; empty if none is.
func notedVersion(v *facts.View) string {
	latest := ""
	note := func(version string) {
		if etcdversion.Parse(version).Compare(etcdversion.Parse(latest)) > 0 {
			latest = version
		}
	}
	for _, r := range v.Retained {
		note(r.Version)
	}
	for _, c := range v.Claims {
		note(c.Version)
	}
	return latest
}

// retainedClaims is whose volumes are asked for, and which those are. why says why they can't be
// told.
func retainedClaims(v *facts.View) (from string, refs []action.ClaimRef, why string) {
	var owners []string
	for _, r := range v.Retained {
		if !r.Deleting && !slices.Contains(owners, r.Owner) {
			owners = append(owners, r.Owner)
		}
	}
	from = v.Cluster.AdoptVolumes
	if from == v1beta2.AdoptAny {
		if len(owners) == 0 {
			return "", nil, ""
		}
		from = owners[0]
		if len(owners) > 1 {
			slices.Sort(owners)
			return "", nil, fmt.Sprintf("PVCs of %d earlier EtcdClusters of this name exist: set the annotation %s to the uid of one of them: %s",
				len(owners), v1beta2.AnnotationAdoptVolumes, strings.Join(owners, ", "))
		}
	}
	for _, r := range v.Retained {
		if r.Owner != from || r.Deleting {
			continue
		}
		if r.Reseed {
			return "", nil, fmt.Sprintf("PVC %s was created for a recovery from a survivor, and others might hold data from before it: delete those, and remove the annotation %s from this one",
				r.Name, v1beta2.AnnotationSurvivorPermit)
		}
		refs = append(refs, action.ClaimRef{Name: r.Name, UID: r.UID})
	}
	return from, refs, ""
}

// existedAdvice says what may be done about a cluster that existed.
func existedAdvice(v *facts.View) string {
	ways := "restore a backup, or delete this EtcdCluster and create it again to start empty"
	if len(v.Retained) > 0 || len(v.Claims) > 0 {
		ways = fmt.Sprintf("annotate this EtcdCluster with %s=%s to start from them, or delete them to start empty", v1beta2.AnnotationAdoptVolumes, v1beta2.AdoptAny)
	}
	return ways
}

// LatchAdopted makes the cluster that runs on adopted volumes this one, when a quorum of
// its members says that it is one: of one id, and with no member of another name.
func LatchAdopted(v *facts.View) *step.Step {
	if !v.Cluster.IsAdopting() {
		return nil
	}
	b := v.Cluster.Bootstrap
	if id, ok := adoptedID(v); ok {
		if runs := observedVersion(v); runs != "" {
			return step.Do(action.RecordBootstrap{Bootstrap: *b, Version: runs}, v1beta2.ClusterReasonVolumesAdopted, fmt.Sprintf("corrected the recorded version: members on the adopted PVCs run etcd %s, and none runs %s", runs, v.Cluster.Version)).Announced()
		}
		return step.Do(action.LatchClusterID{ClusterID: id, Index: max(v.Applied, 1)}, v1beta2.ClusterReasonBootstrapped, fmt.Sprintf("a quorum of members on the adopted PVCs serves cluster %016x", id))
	}
	if isVersionCorrected(v) {
		return step.Do(action.RecordBootstrap{Bootstrap: *b, Version: v.Cluster.WantedVersion}, v1beta2.ClusterReasonVolumesAdopted, "corrected the recorded version: the adopted PVCs start with etcd "+v.Cluster.WantedVersion).Announced()
	}
	return nil
}

// WhileAdopting tries a rule only while it is not known yet whose data the adopted volumes have.
func WhileAdopting(r step.Rule) step.Rule {
	return func(v *facts.View) *step.Step {
		if !v.Cluster.IsAdopting() {
			return nil
		}
		return r(v)
	}
}

// AwaitAdopted waits for a quorum of members on adopted volumes as long as it takes.
func AwaitAdopted(v *facts.View) *step.Step {
	if !v.Cluster.IsAdopting() {
		return nil
	}
	requeueAfter := step.Shortly
	for i := range v.Pods {
		if step.PollInterval(v, &v.Pods[i]) == step.FastPoll {
			requeueAfter = step.FastPoll
		}
	}
	return step.Wait(requeueAfter, v1beta2.ClusterReasonAdoptingVolumes, fmt.Sprintf("waiting for a quorum of members on the adopted PVCs: %s; if a majority of the volumes is lost, restore a backup", v.WhoIsMissing()+deferredPodsText(v)))
}

// observedVersion is the patch that the members on adopted volumes run, where it is another
// one than was noted; empty otherwise. What no member runs, such as a version whose image
// cannot be pulled, must not be latched as the one that they all run: every other version
// would wait for it.
func observedVersion(v *facts.View) string {
	noted, runs := v.Cluster.Version, v.OldestServing()
	if runs == "" || etcdversion.Parse(runs).CompareMinor(etcdversion.Parse(noted)) != 0 {
		return ""
	}
	for _, m := range v.List {
		if v.Answer(m) != nil && v.PodOf[m.Name].Runs() == noted {
			return ""
		}
	}
	return runs
}

// isVersionCorrected reports whether the user has corrected the version that runs on the adopted
// volumes, before any etcd ran there: to another patch, or to any if none is noted.
func isVersionCorrected(v *facts.View) bool {
	if noted := notedVersion(v); noted != "" && etcdversion.Parse(noted).CompareMinor(etcdversion.Parse(v.Cluster.WantedVersion)) != 0 {
		return false
	}
	serves := slices.ContainsFunc(v.Pods, func(p facts.Pod) bool { return p.Answer.Reached })
	troubled := slices.ContainsFunc(v.Pods, func(p facts.Pod) bool { return p.Trouble != "" })
	return v.Cluster.WantedVersion != v.Cluster.Version && etcdversion.Supported(v.Cluster.WantedVersion) && troubled && !serves
}

// adoptedID is the cluster id that the members on adopted volumes have, and whether a
// quorum of them says so.
func adoptedID(v *facts.View) (id uint64, ok bool) {
	if !v.HasQuorum() {
		return 0, false
	}
	for i := range v.Pods {
		a := &v.Pods[i].Answer
		switch {
		case !a.Reached:
		case id != 0 && a.ClusterID != id:
			return 0, false
		default:
			id = a.ClusterID
		}
	}
	for _, m := range v.List {
		if !strings.HasPrefix(m.Name, v.Cluster.Name+"-") || (v.Healthy[m.ID] && v.ClaimOf[m.Name] == nil) {
			return 0, false
		}
	}
	return id, id != 0
}

// deferredPodsText says which Pods are not recreated while another one is to find a place, and
// until when, as it continues a sentence; empty if there are none.
func deferredPodsText(v *facts.View) string {
	p := v.UnplacedPod()
	if p == nil {
		return ""
	}
	until := p.Created.Add((v.Now.Sub(p.Created)/facts.OldPodAge + 1) * facts.OldPodAge)
	var said string
	for i := range v.Claims {
		if c := &v.Claims[i]; v.LacksPod(c) {
			said += fmt.Sprintf("; %s: its Pod is recreated once Pod %s is scheduled, or at %s", c.Name, p.Name, until.UTC().Format(time.RFC3339))
		}
	}
	return said
}
