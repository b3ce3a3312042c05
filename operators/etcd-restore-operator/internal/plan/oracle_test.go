package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

// oracle checks a Decision against its Observation alone, and returns what is wrong. It
// is written from the contract, and shares nothing with the rules.
func oracle(o Observation, d Decision) (broken []string) {
	complain := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	j := &judge{Observation: o, Decision: d, complain: complain}
	j.words()
	j.verifyOnly()
	if d.Action != nil {
		j.action()
	}
	j.status()
	return broken
}

type judge struct {
	Observation
	Decision
	complain func(string, ...any)
}

func (j *judge) uid() string { return string(j.Restore.UID) }

func (j *judge) fenced() bool {
	return j.Cluster != nil && j.uid() != "" && j.Cluster.Status.FencedBy == j.uid() && j.ours()
}

// ours is true if the EtcdCluster is the one that the status has settled on.
func (j *judge) ours() bool {
	uid := j.Restore.Status.ClusterUID
	return j.Cluster != nil && (uid == "" || uid == string(j.Cluster.UID)) && j.Cluster.DeletionTimestamp == nil
}

func (j *judge) adopted() bool {
	if j.Restore.Status.HandOffTime != nil {
		return true
	}
	return j.Cluster != nil && j.Cluster.Status.AdoptedSeed != nil && j.Cluster.Status.AdoptedSeed.Restore == j.uid()
}

func (j *judge) held() bool { return slices.Contains(j.Restore.Finalizers, v1beta2.FinalizerRestore) }

func (j *judge) words() {
	if d := &j.Decision; d.Reason == "" || d.Message == "" && d.Action != nil || !conditiontext.IsReason(d.Reason) {
		j.complain("no reason: %q: %q", d.Reason, d.Message)
	}
	if j.RequeueAfter < 0 || j.RequeueAfter > idle {
		j.complain("again after %s", j.RequeueAfter)
	}
}

// touching are the actions on a cluster that only its holder may do.
func touching(a Action) bool {
	switch a.(type) {
	case StopPods, RetireClaims, ReturnClaims, CreateSeedClaim, CreateSeed, PermitStart, DeleteSeed, DeleteSeedClaim, WithdrawPermit, HandOff, WithdrawSeed, LiftFence:
		return true
	}
	return false
}

func (j *judge) action() {
	st, kind := &j.Restore.Status, j.Action.Kind()
	if j.Refused != "" {
		j.complain("%s although it was refused", kind)
	}
	if _, ok := j.Action.(CreateCluster); ok && !j.Creator.Passed {
		j.complain("an EtcdCluster for somebody whose rights were not checked")
	}
	if isOver(st.Phase) {
		switch j.Action.(type) {
		case RemoveFinalizer, DeleteJob:
		default:
			j.complain("%s although the restore is over", kind)
		}
		return
	}
	goingBack := j.Restore.DeletionTimestamp != nil || st.Phase == v1beta2.RestoreRollingBack
	if touching(j.Action) {
		switch {
		case !j.fenced():
			j.complain("%s and the cluster is not ours", kind)
		case j.adopted():
			j.complain("%s after the adoption", kind)
		case !goingBack && (!j.held() || st.ClusterUID == "" || st.Snapshot == nil && ends(j.Action)):
			j.complain("%s before its time", kind)
		}
	}
	switch j.Action.(type) {
	case StopPods, RetireClaims, CreateSeed:
		// What comes before the seed has a name is not done without certificates.
		early := st.SeedMember == "" || kind == "CreateSeed"
		if c := j.Cluster; c.Spec.TLS != nil && (c.Status.TLS == nil || c.Status.TLS.Trust == "") && early {
			j.complain("%s before the certificates are there", kind)
		}
	}
	switch a := j.Action.(type) {
	case AddFinalizer:
		if goingBack {
			j.complain("the finalizer is put on")
		}
	case CreateCluster, AskFence:
		if !j.held() || goingBack || j.adopted() {
			j.complain("%s before its time", kind)
		}
		for _, other := range j.Others {
			if c := j.Cluster; c != nil && other.UID != j.uid() && c.Status.FencedBy == other.UID {
				j.complain("%s beside restore %s", kind, other.Name)
			}
		}
		if _, asks := a.(AskFence); asks && (!j.ours() || j.Cluster.Status.FencedBy != "") {
			j.complain("a fence is asked for that is not to be had")
		}
	case StopPods:
		j.mayStop(a)
		for _, p := range a.Pods {
			if i := slices.IndexFunc(j.Pods, func(q Pod) bool { return q.UID == p.UID }); i < 0 || j.Pods[i].Seed || goingBack {
				j.complain("Pod %s is stopped", p.Name)
			}
		}
	case RetireClaims:
		for _, c := range a.Claims {
			if c.Name == st.SeedMember || goingBack {
				j.complain("claim %s is retired", c.Name)
			}
		}
	case CreateSeedClaim:
		j.newSeed(a.Name, goingBack)
	case CreateSeed:
		j.newSeed(a.Name, goingBack)
		if a.Revision != st.Revision || a.Bump < minBump || (a.Want == nil) != (st.Snapshot == nil) || a.Version == "" || (a.Source.Store == nil) == (a.Source.PVC == nil) {
			j.complain("the seed is not whole: %+v", a)
		}
	case PermitStart:
		i := slices.IndexFunc(j.Pods, func(q Pod) bool { return q.UID == a.UID })
		if i < 0 || !j.Pods[i].Seed || !j.Pods[i].Prepared || j.Pods[i].Permit != PermitToPrepare || !j.Pods[i].Deleting.IsZero() || a.Name != st.SeedMember || goingBack {
			j.complain("Pod %s may start", a.Name)
		}
		j.alone()
	case DeleteSeed:
		j.notOffered(a.UID)
		if i := slices.IndexFunc(j.Pods, func(q Pod) bool { return q.UID == a.UID }); i < 0 || !j.Pods[i].Seed {
			j.complain("Pod %s is no seed", a.Name)
		}
	case DeleteSeedClaim:
		if i := slices.IndexFunc(j.Claims, func(c Claim) bool { return c.UID == a.UID }); i < 0 || j.Claims[i].Retired || a.Name != st.SeedMember {
			j.complain("claim %s is no seed's", a.Name)
		}
		if strings.Contains(j.Cluster.Annotations[v1beta2.AnnotationSeeded], j.uid()+"/"+a.Name+"/") {
			j.complain("the volume of seed %s is deleted, which is handed over", a.Name)
		}
	case HandOff:
		i := slices.IndexFunc(j.Pods, func(q Pod) bool { return q.UID == a.UID })
		if i < 0 || j.Pods[i].Permit != PermitNone || !j.Pods[i].Ready || !j.Pods[i].Seed || a.Name != st.SeedMember || !j.Pods[i].Deleting.IsZero() || goingBack {
			j.complain("Pod %s is handed over", a.Name)
		}
		j.alone()
	case LiftFence:
		j.gaveBack()
	case DeleteCluster:
		if c := j.Cluster; c == nil || c.Annotations[v1beta2.AnnotationRestoredBy] != j.uid() || j.adopted() || !goingBack ||
			(c.Status.FencedBy == j.uid() && strings.HasPrefix(c.Annotations[v1beta2.AnnotationSeeded], j.uid()+"/")) {
			j.complain("the cluster is deleted")
		}
	case DeleteRetired:
		if !j.adopted() || len(j.Cluster.Status.Members.Ready) < j.Cluster.Spec.Size {
			j.complain("old volumes are deleted")
		}
		for _, c := range a.Claims {
			if i := slices.IndexFunc(j.Claims, func(q Claim) bool { return q.UID == c.UID }); i < 0 || !j.Claims[i].Retired {
				j.complain("claim %s is deleted, which is no old one", c.Name)
			}
		}
	case RemoveFinalizer:
		if j.adopted() || !j.ours() || j.Restore.Spec.VerifyOnly {
			break
		}
		c := j.Cluster
		if c.Status.FencedBy == j.uid() || (c.Annotations[v1beta2.AnnotationFence] == j.uid() && c.Annotations[v1beta2.AnnotationFenceLifted] != j.uid()) {
			j.complain("the finalizer is taken off, and the cluster is fenced")
		}
	}
}

func (j *judge) newSeed(name string, goingBack bool) {
	if name == "" || name != j.Restore.Status.SeedMember || j.Restore.Status.Revision == 0 || goingBack {
		j.complain("seed %q is made and is not in the status", name)
	}
	if slices.ContainsFunc(j.Pods, func(p Pod) bool { return p.Name == name }) {
		j.complain("seed %s is made a second time", name)
	}
	serve := slices.ContainsFunc(j.Pods, func(p Pod) bool { return !p.Seed && p.Deleting.IsZero() })
	if serve && j.Restore.Spec.StopMembers == v1beta2.StopMembersFirst {
		j.complain("seed %s is made, and members were to be stopped first", name)
	}
}

// ends tells the actions that end the old cluster: they need a snapshot that is known.
func ends(a Action) bool {
	switch a.(type) {
	case StopPods, RetireClaims, PermitStart, HandOff, WithdrawPermit:
		return true
	}
	return false
}

// mayStop checks that members are stopped for a seed that is ready, or first because the
// user wants it, and that nothing is lost by it that nobody has accepted.
func (j *judge) mayStop(a StopPods) {
	spec, st := &j.Restore.Spec, &j.Restore.Status
	i := slices.IndexFunc(j.Pods, func(q Pod) bool { return q.UID == a.Seed.UID && q.Name == a.Seed.Name })
	switch {
	case a.Seed.Name == "" && spec.StopMembers != v1beta2.StopMembersFirst && !slices.ContainsFunc(j.Pods, func(q Pod) bool { return q.Seed && q.Permit != PermitToPrepare }):
		j.complain("members are stopped for no seed")
	case a.Seed.Name != "" && (i < 0 || !j.Pods[i].Seed || a.Seed.Name != st.SeedMember || !j.Pods[i].Deleting.IsZero() || !j.Pods[i].Prepared || !j.Pods[i].Launched):
		j.complain("members are stopped for a seed that is not ready")
	}
	if a.Seed.Name != "" && j.Asked && j.Reported >= st.Revision {
		j.complain("members are stopped at revision %d, and the cluster is to begin at %d", j.Reported, st.Revision)
	}
	if j.Cluster.Spec.Persistent() || spec.AcceptDataLoss {
		return
	}
	serving := 0
	for _, p := range j.Pods {
		if !p.Seed && p.Ready && p.Deleting.IsZero() {
			serving++
		}
	}
	if size := j.Cluster.Spec.Size; size > 0 && j.Cluster.Status.Size == 0 && serving > size/2 && spec.ClusterTemplate == nil && spec.Target != v1beta2.TargetNew {
		j.complain("%d members lose their data, and nobody has accepted that", serving)
	}
}

// alone checks that nobody else may serve clients.
func (j *judge) alone() {
	for _, p := range j.Pods {
		if p.Name != j.Restore.Status.SeedMember && !p.Stopped && (!j.Restore.Spec.AcceptRunningOldMembers || p.Deleting.IsZero()) {
			j.complain("Pod %s may run beside the seed", p.Name)
		}
	}
	for _, c := range j.Claims {
		if !c.Retired && !c.Deleting && c.Name != j.Restore.Status.SeedMember {
			j.complain("claim %s is not put aside", c.Name)
		}
	}
}

func (j *judge) notOffered(uid string) {
	if strings.HasSuffix(j.Cluster.Annotations[v1beta2.AnnotationSeeded], "/"+uid) {
		j.complain("seed %s is deleted, which is handed over", uid)
	}
}

// gaveBack checks that nothing is left to give back.
func (j *judge) gaveBack() {
	for _, c := range j.Claims {
		if !c.Deleting && (c.Retired || c.Name == j.Restore.Status.SeedMember) {
			j.complain("the fence is lifted, and claim %s is not as it was", c.Name)
		}
	}
	for _, p := range j.Pods {
		if p.Seed && p.Deleting.IsZero() {
			j.complain("the fence is lifted, and seed %s runs", p.Name)
		}
	}
	if strings.HasPrefix(j.Cluster.Annotations[v1beta2.AnnotationSeeded], j.uid()+"/") {
		j.complain("the fence is lifted, and a seed is handed over")
	}
}

func (j *judge) status() {
	last, st := &j.Restore.Status, &j.Decision.Status
	over := isOver(last.Phase)
	switch {
	case over && st.Phase != last.Phase:
		j.complain("a restore that is over is %s again", st.Phase)
	case !last.Succeeded && st.Succeeded && !j.adopted() && !j.Restore.Spec.VerifyOnly:
		j.complain("it is called a success before the adoption")
	case !over && last.Phase != "" && st.Reason != "" && st.Phase != v1beta2.RestoreFailed && st.Phase != v1beta2.RestoreRollingBack && last.Reason == "":
		j.complain("a reason in phase %s", st.Phase)
	case last.Snapshot != nil && (st.Snapshot == nil || !reflect.DeepEqual(st.Snapshot, last.Snapshot)):
		j.complain("the snapshot has changed")
	case last.ClusterUID != "" && st.ClusterUID != last.ClusterUID:
		j.complain("the cluster has changed")
	case st.Phase == v1beta2.RestoreFailed && !over && j.held() && !j.Restore.Spec.VerifyOnly && last.Phase != v1beta2.RestoreRollingBack:
		j.complain("it has failed without giving back")
	case st.Phase == v1beta2.RestoreFailed && (st.Reason == "" || st.CompletionTime == nil) && !over:
		j.complain("it has failed for no reason")
	}
	if st.SeedMember != last.SeedMember || (st.Revision != last.Revision) {
		if st.Revision < last.Revision || st.Revision < minBump || (st.Snapshot != nil && st.Revision < st.Snapshot.Revision+minBump) || j.Action != nil || !j.fenced() {
			j.complain("seed %s at revision %d", st.SeedMember, st.Revision)
		}
		if j.Cluster != nil && st.Revision < j.Cluster.Status.HighestRevision+minBump && last.Revision == 0 {
			j.complain("revision %d and the cluster has come to %d", st.Revision, j.Cluster.Status.HighestRevision)
		}
	}
	for _, c := range st.Conditions {
		if !conditiontext.IsReason(c.Reason) || c.Message == "" {
			j.complain("condition %s has the reason %q and the message %q", c.Type, c.Reason, c.Message)
		}
	}
}
