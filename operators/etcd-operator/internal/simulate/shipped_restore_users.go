package simulate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// This file is users who do something between two calls of etcd-restore-operator: with kubectl
// replace --force they make a Pod or a volume anew, with kubectl apply one of old, they label
// volumes, delete Jobs and their Pods, and change their EtcdRestore.

// meddleAsUser is one of them; name is that of the object that the next call is about.
func (w *world) meddleAsUser(s *restorer, name string) {
	n := w.random.below(100)
	switch {
	case n < 25:
		w.replacePod(w.pod(name))
	case n < 35 && len(w.pods) > 0:
		w.replacePod(w.pods[w.random.below(len(w.pods))])
	case n < 50:
		w.reapplyPod()
	case n < 65:
		w.replaceClaim(w.claim(name))
	case n < 80:
		w.relabelClaim(s.of, w.claim(name))
	case n < 85 && len(w.pods) > 0:
		w.takeLabel(w.pods[w.random.below(len(w.pods))], n)
	case n < 90:
		w.meddleWithJob(s.of)
	default:
		w.editRestore(s.of)
	}
}

// replacePod is kubectl replace --force: another Pod in the place of one, with its metadata and
// spec. The data of one without a volume would be lost with it.
func (w *world) replacePod(p *pod) {
	if p == nil || !p.persistent || p.object == nil {
		return
	}
	w.say("a user replaces Pod %s", p.name)
	w.dropPod(p)
	w.createPod(p.anew())
	w.disturbed++
}

// anew is a Pod with the same metadata and spec, which nobody has started. It is on no node yet.
func (p *pod) anew() *pod {
	object := p.object.DeepCopy()
	object.Spec.NodeName = ""
	return &pod{
		object: object, name: p.name, role: p.role, permit: p.permit, persistent: p.persistent, version: p.version, repository: p.repository,
		template: p.template, learners: p.learners, quota: p.quota, trust: p.trust, snapshot: p.snapshot, again: true,
	}
}

// keepManifest keeps the manifest of a member's Pod, as users do before they change something.
func (w *world) keepManifest(p *pod) {
	if p.persistent && p.snapshot == "" && p.object != nil && p.recovery == nil {
		w.manifests = append(w.manifests, p.anew())
		if len(w.manifests) > 5 {
			w.manifests = w.manifests[1:]
		}
	}
}

// reapplyPod is kubectl apply of the manifest of a Pod that is not there any more, on a volume
// that is.
func (w *world) reapplyPod() {
	fits := func(p *pod) bool { return w.pod(p.name) == nil && w.claim(p.name) != nil && !w.left(p.object) }
	i := slices.IndexFunc(w.manifests, fits)
	if i < 0 || w.cluster.fence.By == "" {
		return
	}
	w.say("a user creates Pod %s again", w.manifests[i].name)
	w.createPod(w.manifests[i].anew())
	w.disturbed++
}

// replaceClaim is kubectl replace --force of a volume that no Pod uses: its data is lost.
func (w *world) replaceClaim(c *claim) {
	if c == nil || w.pod(c.name) != nil || c.deleting || w.cfg.Gentle && c.disk.data != nil {
		return
	}
	w.say("a user replaces volume %s", c.name)
	o := c.object
	w.dropClaim(c)
	made := w.createClaim(c.name)
	made.set(o)
	made.capacity, made.retired = made.requested, o.Labels[v1beta2.LabelRetiredBy]
	w.disturbed++
}

// relabelClaim is a person who gives a volume back that a restore has put aside, or says that one
// is another cluster's.
func (w *world) relabelClaim(r *restore, c *claim) {
	if c == nil || c.deleting || w.cfg.Gentle && c.retired == "" || c.name == r.object.Status.SeedMember {
		return
	}
	o := c.object.DeepCopy()
	if c.retired != "" {
		w.say("a user gives volume %s back", c.name)
		delete(o.Labels, v1beta2.LabelRetiredBy)
		o.Labels[v1beta2.LabelCluster] = clusterName
	} else {
		w.say("a user labels volume %s", c.name)
		o.Labels["example.com/theirs"] = "true"
	}
	c.retired = o.Labels[v1beta2.LabelRetiredBy]
	c.set(o)
	w.disturbed++
}

// meddleWithJob deletes the Job of a restore, or its Pods.
func (w *world) meddleWithJob(r *restore) {
	switch {
	case r.job == nil:
	case w.random.chance(50):
		w.say("a user deletes Job %s", r.job.object.Name)
		r.job = nil
	default:
		w.say("a user deletes the Pods of Job %s", r.job.object.Name)
		r.job.pods = []corev1.Pod{}
	}
}

// editRestore changes what may be changed of an EtcdRestore.
func (w *world) editRestore(r *restore) {
	if r.gone || r.done {
		return
	}
	o := r.object.DeepCopy()
	o.Generation++
	switch {
	case w.random.chance(70) && o.Spec.StopMembers != v1beta2.StopMembersFirst:
		o.Spec.StopMembers = v1beta2.StopMembersFirst
	case w.random.chance(50):
		o.Spec.StopMembers = ""
	default:
		r.force, o.Spec.AcceptRunningOldMembers = true, true
	}
	w.say("the user edits EtcdRestore %s: stopMembers %q, acceptRunningOldMembers %t", o.Name, o.Spec.StopMembers, o.Spec.AcceptRunningOldMembers)
	r.put(w, o)
}
