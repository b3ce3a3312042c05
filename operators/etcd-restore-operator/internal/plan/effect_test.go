package plan

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// effect carries an Action out with the preconditions that decision.go has; false if one
// does not hold.
func (w *world) effect(o *Observation, a Action) bool {
	if a == nil {
		return true
	}
	r := w.restores[o.Restore.Name]
	if r == nil || r.UID != o.Restore.UID || (r.ResourceVersion != o.Restore.ResourceVersion && !w.noLive) {
		return false
	}
	defer w.changed()
	w.checkVerifyOnly(r, a)
	switch a := a.(type) {
	case AddFinalizer:
		if r.DeletionTimestamp != nil {
			return false
		}
		r.Finalizers = []string{v1beta2.FinalizerRestore}
		w.bump(&r.ObjectMeta)
		return true
	case RemoveFinalizer:
		w.checkRelease(r)
		r.Finalizers = nil
		w.bump(&r.ObjectMeta)
		w.collect(r)
		return true
	case StartJob:
		if j := w.jobs[a.Name]; j != nil {
			return j.owner == string(r.UID)
		}
		w.jobs[a.Name] = &simJob{Job: Job{Name: a.Name, UID: w.uid("job")}, owner: string(r.UID), endsAt: w.in(1, 5)}
		w.version++
		return true
	case DeleteJob:
		if j := w.jobs[a.Name]; j != nil && j.UID == a.UID {
			delete(w.jobs, a.Name)
			w.version++
		}
		return true
	case CreateCluster:
		if !o.Creator.Passed {
			w.fail("an EtcdCluster is made for the creator of restore %s, who was not checked", r.UID)
		}
		return w.createCluster(r, a)
	}
	return w.clusterEffect(o, r, a)
}

func (w *world) createCluster(r *v1beta2.EtcdRestore, a CreateCluster) bool {
	w.checkTouch(r)
	if c := w.clusters[r.Name]; c != nil {
		return c.Annotations[v1beta2.AnnotationRestoredBy] == string(r.UID)
	}
	c := newCluster(r.Name, "", false)
	c.Spec, c.Status = a.Spec, v1beta2.ClusterStatus{}
	c.Annotations[v1beta2.AnnotationFence], c.Annotations[v1beta2.AnnotationRestoredBy] = string(r.UID), string(r.UID)
	w.addCluster(r.Name, c)
	return true
}

// checkTouch is what must hold before anything of a cluster is begun.
func (w *world) checkTouch(r *v1beta2.EtcdRestore) {
	if !slices.Contains(r.Finalizers, v1beta2.FinalizerRestore) {
		w.fail("restore %s touches the cluster without the finalizer", r.UID)
	}
}

// checkFits: no member is stopped for a snapshot that it could not hold or write
// to, nor for an empty one that would take its keys. It is written from what the config says
// of the snapshot and of the cluster, and not from what the planner knows.
func (w *world) checkFits(r *v1beta2.EtcdRestore) {
	replaces := !makesCluster(&r.Spec) && !w.unseen
	switch {
	case w.smallQuota:
		w.fail("restore %s stops members, whose quota is less than the database", r.UID)
	case w.smallVolume && w.persistent:
		w.fail("restore %s stops members, whose volumes are smaller than the database", r.UID)
	case w.empty && !r.Spec.AllowEmptySnapshot && replaces:
		w.fail("restore %s replaces keys by none", r.UID)
	}
}

// clusterEffect carries out what touches the EtcdCluster and its parts.
func (w *world) clusterEffect(o *Observation, r *v1beta2.EtcdRestore, a Action) bool {
	c, uid := w.clusters[ClusterName(r)], string(r.UID)
	if c == nil || o.Cluster == nil || c.UID != o.Cluster.UID {
		_, deletes := a.(DeleteCluster)
		return deletes
	}
	if _, tidies := a.(DeleteRetired); w.adoptions[uid] > 0 && !tidies && w.noLive {
		w.fail("%s after the adoption", a.Kind())
	}
	fenced := c.Status.FencedBy == uid
	if touching(a) {
		permit, onSeed := a.(WithdrawPermit)
		if onSeed {
			p := w.pod(permit.UID)
			fenced = fenced || p == nil || p.Permit == PermitNone // there is nothing to do any more
		} else if !fenced && !w.noLive {
			return false
		}
		if !fenced {
			w.fail("%s, and the cluster is not fenced", a.Kind())
		}
		w.checkTouch(r)
	}
	same := c.ResourceVersion == o.Cluster.ResourceVersion || w.noLive
	switch a := a.(type) {
	case AskFence:
		if !same {
			return false
		}
		w.checkTouch(r)
		w.checkBeside(c, uid)
		c.Annotations[v1beta2.AnnotationFence] = uid
	case WithdrawFence:
		if fenced || !same {
			return false
		}
		delete(c.Annotations, v1beta2.AnnotationFence)
		c.Annotations[v1beta2.AnnotationFenceLifted] = uid
	case DeleteCluster:
		if c.Annotations[v1beta2.AnnotationRestoredBy] != uid || w.adoptions[uid] > 0 || strings.HasPrefix(c.Annotations[v1beta2.AnnotationSeeded], uid+"/") {
			if !w.noLive {
				return false
			}
			w.fail("the cluster is deleted, and it is not this restore's alone")
		}
		w.removeCluster(c)
		return true
	case HandOff:
		w.checkHandOff(c, r, a)
		c.Annotations[v1beta2.AnnotationSeeded] = uid + "/" + a.Name + "/" + a.UID
		delete(c.Annotations, v1beta2.AnnotationFence)
	case WithdrawSeed:
		delete(c.Annotations, v1beta2.AnnotationSeeded)
	case LiftFence:
		w.checkLift(c, r)
		c.Annotations[v1beta2.AnnotationFenceLifted] = uid
	default:
		return w.partEffect(c, r, a)
	}
	w.bump(&c.ObjectMeta)
	return true
}

// partEffect carries out what touches Pods and claims.
func (w *world) partEffect(c *v1beta2.EtcdCluster, r *v1beta2.EtcdRestore, a Action) bool {
	uid := string(r.UID)
	w.version++
	switch a := a.(type) {
	case StopPods:
		if !w.checkStop(r, a) {
			return false
		}
		w.checkFits(r)
		if c.Spec.TLS != nil && c.Status.TLS == nil {
			w.fail("members are stopped before the certificates of %s are there", c.Name)
		}
		for _, ref := range a.Pods {
			w.deletePod(ref.UID)
		}
	case RetireClaims:
		for _, ref := range a.Claims {
			if cl := w.claim(ref.UID); cl != nil {
				cl.by = uid
			}
		}
	case ReturnClaims:
		for _, ref := range a.Claims {
			if cl := w.claim(ref.UID); cl != nil && cl.by == uid {
				cl.by = ""
			}
		}
	case CreateSeedClaim:
		if slices.ContainsFunc(w.claims, func(cl *simClaim) bool { return cl.Name == a.Name }) {
			return true
		}
		w.claims = append(w.claims, &simClaim{Claim: Claim{Name: a.Name, UID: w.uid("claim")}, owner: string(c.UID), disk: &disk{}})
	case CreateSeed:
		return w.createSeed(c, r, a)
	case DeleteSeed:
		if w.isOffered(c, a.Name) {
			return false
		}
		w.countEviction(r, a)
		w.deletePod(a.UID)
	case DeleteSeedClaim:
		if w.isOffered(c, a.Name) {
			return false
		}
		w.deleteClaim(a.UID)
	case WithdrawPermit:
		if p := w.pod(a.UID); p != nil {
			p.Permit = PermitNone
		}
	case PermitStart:
		return w.permitStart(r, a)
	case DeleteRetired:
		if w.adoptions[uid] == 0 || len(c.Status.Members.Ready) < c.Spec.Size {
			w.fail("old volumes are deleted, and %d members serve", len(c.Status.Members.Ready))
		}
		for _, ref := range a.Claims {
			if cl := w.claim(ref.UID); cl != nil && cl.by == uid {
				w.deleteClaim(ref.UID)
			}
		}
	}
	return true
}

// isOffered is true for a seed that is handed over, which is not touched.
func (w *world) isOffered(c *v1beta2.EtcdCluster, name string) bool {
	if !strings.Contains(c.Annotations[v1beta2.AnnotationSeeded], "/"+name+"/") {
		return false
	}
	if w.noLive {
		w.fail("seed %s is deleted, which is handed over", name)
	}
	return true
}

// countEviction counts a seed that has ended and is replaced, beside members that serve
// or for a new cluster: some may be replaced unseen, since a cache lags or for another cause.
func (w *world) countEviction(r *v1beta2.EtcdRestore, a DeleteSeed) {
	p, uid := w.pod(a.UID), string(r.UID)
	if p == nil || p.Ended == nil || !p.Deleting.IsZero() || r.Status.Phase == back || w.stopped[uid] && !makesCluster(&r.Spec) {
		return
	}
	w.evictions[uid]++
	if w.evictions[uid] > 2*mostTries {
		w.fail("seed after seed ends, and restore %s tells nobody", uid)
	}
}

// alone is true if no other Pod of the cluster may run, or that is accepted.
func (w *world) alone(r *v1beta2.EtcdRestore, seed string) bool {
	c := w.clusters[ClusterName(r)]
	return !slices.ContainsFunc(w.pods, func(p *simPod) bool {
		return p.owner == string(c.UID) && p.Name != seed && !p.Stopped && (!r.Spec.AcceptRunningOldMembers || p.Deleting.IsZero())
	})
}

func (w *world) createSeed(c *v1beta2.EtcdCluster, r *v1beta2.EtcdRestore, a CreateSeed) bool {
	if c.Spec.TLS != nil && c.Status.TLS == nil {
		if !w.noLive {
			return false
		}
		w.fail("seed %s is made before the certificates of %s are there", a.Name, c.Name)
	}
	if slices.ContainsFunc(w.pods, func(p *simPod) bool { return p.Name == a.Name }) {
		return true
	}
	if w.madeBy[a.Name] != "" {
		w.fail("seed %s is made a second time", a.Name)
	}
	if seen := w.highest[string(c.UID)]; a.Revision <= seen && w.alone(r, a.Name) { // else they are asked before they are stopped
		w.fail("seed %s begins at %d, and clients have seen %d", a.Name, a.Revision, seen)
	}
	if r.Status.Snapshot != nil && a.Want == nil {
		w.fail("seed %s is not pinned to the snapshot that was verified", a.Name)
	}
	if !etcdversion.Supported(a.Version) {
		w.fail("seed %s is made of etcd %s", a.Name, a.Version)
	}
	if a.Name != r.Status.SeedMember || a.Revision != r.Status.Revision {
		w.fail("seed %s is made and was not recorded", a.Name)
	}
	p := w.addPod(c, a.Name)
	p.Version = a.Version
	p.restore, p.Permit, p.Seed, p.revision = string(r.UID), PermitToPrepare, true, max(a.Revision, w.stored().Revision+a.Bump)
	if w.asOf {
		p.revision = max(p.revision, w.target()+a.Bump)
	}
	if p.finds = r.Status.TargetRevision == 0; w.byTime && !p.finds && r.Status.TargetRevision != w.target() {
		w.fail("seed %s is made for revision %d, and the time stands for %d", a.Name, r.Status.TargetRevision, w.target())
	}
	return true
}

// permitStart gives a seed its start permit.
func (w *world) permitStart(r *v1beta2.EtcdRestore, a PermitStart) bool {
	p := w.pod(a.UID)
	if p == nil || p.Permit == PermitToStart {
		return p != nil
	}
	if !w.alone(r, a.Name) {
		if !w.noLive {
			return false
		}
		w.fail("seed %s may start, and old members may run", a.Name)
	}
	if p.Permit == PermitNone {
		if !w.noLive {
			return false
		}
		w.fail("seed %s may start, and its permit was withdrawn", a.Name)
	}
	if r.Status.Snapshot == nil {
		w.fail("seed %s may start before its snapshot is recorded", a.Name)
	}
	if w.asOf && w.cut(false) == nil {
		w.fail("seed %s may start, and holds what came after revision %d", a.Name, w.target())
	}
	if w.asOf && p.revision < w.target()+minBump {
		w.fail("seed %s may start at revision %d, and holds revision %d", a.Name, p.revision, w.target())
	}
	p.Permit = PermitToStart
	return true
}

// checkStop is what must hold when an old member is stopped: its successor is ready, or the
// snapshot was verified and the user wants members to be stopped first.
func (w *world) checkStop(r *v1beta2.EtcdRestore, a StopPods) bool {
	uid := string(r.UID)
	if a.Seed.Name != "" {
		p := w.pod(a.Seed.UID)
		ready := p != nil && p.Deleting.IsZero() && !p.Finished && p.Ended == nil && p.Prepared && p.Launched
		if !ready && !w.noLive {
			return false
		}
		if !ready || w.diskOf(p).prepared != uid {
			w.fail("restore %s stops members before its seed is ready", uid)
		}
	} else if r.Spec.StopMembers != v1beta2.StopMembersFirst && !slices.ContainsFunc(w.pods, func(p *simPod) bool { return p.restore == uid && p.Permit != PermitToPrepare }) {
		w.fail("restore %s stops members, and has no seed", uid)
	}
	if r.Status.Snapshot == nil {
		w.fail("restore %s stops members before its snapshot is verified", uid)
	}
	if seen := w.highest[string(w.clusters[ClusterName(r)].UID)]; r.Status.Revision != 0 && seen >= r.Status.Revision {
		w.fail("restore %s begins at %d, and clients have seen %d", uid, r.Status.Revision, seen)
	}
	w.stopped[uid] = true
	return true
}

func (w *world) pod(uid string) *simPod {
	if i := slices.IndexFunc(w.pods, func(p *simPod) bool { return p.UID == uid }); i >= 0 {
		return w.pods[i]
	}
	return nil
}

func (w *world) claim(uid string) *simClaim {
	if i := slices.IndexFunc(w.claims, func(c *simClaim) bool { return c.UID == uid }); i >= 0 {
		return w.claims[i]
	}
	return nil
}

func (w *world) deletePod(uid string) {
	if p := w.pod(uid); p != nil && p.Deleting.IsZero() {
		p.Deleting, p.Ready, p.goneAt = w.now, false, w.in(1, 4)
		p.stopsAt = w.now.Add(p.goneAt.Sub(w.now) / 2)
	}
}

func (w *world) deleteClaim(uid string) {
	if c := w.claim(uid); c != nil {
		c.Deleting = true
	}
}

// removeCluster is the deletion of an EtcdCluster: Kubernetes deletes what it owns.
func (w *world) removeCluster(c *v1beta2.EtcdCluster) {
	if c.DeletionTimestamp == nil {
		c.DeletionTimestamp = &metav1.Time{Time: w.now.Add(3e9)}
		w.bump(&c.ObjectMeta)
	}
}

// collect takes an EtcdRestore out of the world that may go, with its Job.
func (w *world) collect(r *v1beta2.EtcdRestore) {
	if r.DeletionTimestamp == nil || len(r.Finalizers) > 0 {
		return
	}
	w.say("EtcdRestore %s (%s) is gone", r.Name, r.UID)
	delete(w.restores, r.Name)
	for n, j := range w.jobs {
		if j.owner == string(r.UID) {
			delete(w.jobs, n)
		}
	}
}

// checkBeside: two restores of one cluster never both fence it.
func (w *world) checkBeside(c *v1beta2.EtcdCluster, uid string) {
	mark, adopted := c.Annotations[v1beta2.AnnotationFence], ""
	if c.Status.AdoptedSeed != nil {
		adopted = c.Status.AdoptedSeed.Restore
	}
	if (c.Status.FencedBy != "" && c.Status.FencedBy != uid) || (mark != "" && mark != uid && mark != c.Annotations[v1beta2.AnnotationFenceLifted] && mark != adopted) {
		w.fail("restore %s asks for a fence beside %s", uid, mark+c.Status.FencedBy)
	}
}

func (w *world) checkHandOff(c *v1beta2.EtcdCluster, r *v1beta2.EtcdRestore, a HandOff) {
	p := w.pod(a.UID)
	if p != nil && p.Permit != PermitNone {
		w.fail("seed %s is handed over with its permit", a.Name)
	}
	if p != nil && p.restore != string(r.UID) {
		w.fail("Pod %s is handed over, and is no seed", a.Name)
	}
	if !w.alone(r, a.Name) && !slices.ContainsFunc(w.pods, func(q *simPod) bool {
		return q.owner == string(c.UID) && q.Name != a.Name && q.restore == "" && q.Deleting.IsZero()
	}) {
		w.say("seed %s is handed over beside Pods that end", a.Name)
	}
}

// checkLift: a roll-back gives back exactly what was taken, before the fence is lifted.
func (w *world) checkLift(c *v1beta2.EtcdCluster, r *v1beta2.EtcdRestore) {
	uid := string(r.UID)
	for _, cl := range w.claims {
		if cl.owner == string(c.UID) && !cl.Deleting && (cl.by == uid || cl.disk.by == uid || cl.Name == r.Status.SeedMember) {
			w.fail("the fence is lifted, and claim %s is not as it was", cl.Name)
		}
	}
	for _, p := range w.pods {
		if p.restore == uid && p.Deleting.IsZero() {
			w.fail("the fence is lifted, and seed %s runs", p.Name)
		}
	}
	if strings.HasPrefix(c.Annotations[v1beta2.AnnotationSeeded], uid+"/") {
		w.fail("the fence is lifted, and a seed is handed over")
	}
}

// checkRelease: the finalizer is off only when nothing is left to give back.
func (w *world) checkRelease(r *v1beta2.EtcdRestore) {
	uid := string(r.UID)
	if w.adoptions[uid] > 0 {
		return
	}
	for _, c := range w.clusters {
		if c.DeletionTimestamp != nil {
			continue
		}
		if c.Status.FencedBy == uid || (c.Annotations[v1beta2.AnnotationFence] == uid && c.Annotations[v1beta2.AnnotationFenceLifted] != uid) {
			w.fail("restore %s is let go, and EtcdCluster %s is fenced", uid, c.Name)
		}
		if c.Annotations[v1beta2.AnnotationRestoredBy] == uid {
			w.fail("restore %s is let go, and its EtcdCluster %s is left", uid, c.Name)
		}
	}
}
