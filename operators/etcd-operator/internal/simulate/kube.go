package simulate

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

const (
	// notReadyAfter is how long a kubelet may be silent before its node counts as
	// not ready (kube-controller-manager's node-monitor-grace-period).
	notReadyAfter = 40 * time.Second
	// evictAfter is how long Pods stay on a node that is not ready before they are
	// deleted (the default tolerationSeconds).
	evictAfter = 300 * time.Second
	// collectAfter is how long Pods stay on a node that no longer exists.
	collectAfter = 60 * time.Second
	// stopTime is how long etcd takes to end once it is told to.
	stopTime = 2 * time.Second
	// longestBackoff bounds the pauses between restarts of a container. (It is
	// five minutes; less makes runs shorter and changes nothing.)
	longestBackoff = 60 * time.Second
)

// node is a machine. What runs on it is in world.runs.
type node struct {
	// off until a step: without power. Silent until a step: its kubelet is cut off
	// from the API server. Cut until a step: it reaches no other node, and no
	// operator reaches it.
	off, silent, cut int
	// gone is true once the machine has been taken away for good.
	gone bool
	// cordoned is true while nothing more is to be scheduled to it.
	cordoned bool
	// silentSince and lostSince are when the kubelet was last heard of and since
	// when the node counts as not ready; never if all is well.
	silentSince, lostSince time.Duration
}

func newNode(int) node { return node{silentSince: never, lostSince: never} }

func nodeName(i int) string { return "n" + strconv.Itoa(i) }

// pod is a Pod object. It is comparable: what changes is told to watchers.
type pod struct {
	name, uid string
	// object is what the shipped operator has made of it, never changed in place, and revision is
	// that of its last change that watchers were told of.
	object        *corev1.Pod
	revision      int
	role          facts.Role
	roleAt        time.Duration
	created       time.Duration
	deleting      time.Duration // never: not being deleted
	finished      bool
	again         bool // a person has created it, from the manifest of one that is not there any more
	owner         int  // the EtcdCluster of the name that it is of, by number
	node          int  // -1: not scheduled
	unschedulable string
	trouble       string
	ip, addressed bool
	persistent    bool
	template      string
	trust         string // the CAs that it was made to trust
	version       string
	repository    string
	// from is what the container runs, or ran last, while the image was changed and the
	// container has not been restarted since. fromContainer is the container that was reported
	// when the image was changed.
	from          string
	fromContainer int
	learners      int
	permit        *facts.StartPermit // never changed in place
	// snapshot is the restore whose snapshot the init container puts on an empty
	// disk; empty if there is no such container.
	snapshot string
	// quota is what a shipped operator has given its database, in units; 0 if it has not.
	quota int
	// defragmented is when its member was last asked to defragment, sizeBefore how large the
	// database was; defragmentDone is true once the member has answered.
	defragmented   time.Duration
	sizeBefore     int
	defragmentDone bool
	// recovery is the one whose seed it was made as; nil if it was not. survivorPermit is true
	// while its init container may make the data dir.
	recovery       *facts.Recovery
	survivorPermit bool
	// unseeded is why its agent has not made the data dir; empty if it has, or there is none.
	unseeded string
	// prepared, agent and tries are those of a shipped restore's seed (see run).
	prepared bool
	agent    string
	tries    int
	// ready is what its kubelet said last, at readyAt; routed is true while the client
	// Service has its address.
	ready   bool
	readyAt time.Duration
	routed  bool
	// What its kubelet says of its container, and what was noted when it served last. container is
	// which one it is, from 1 on; 0 before there is one.
	container      int
	restarts       int
	exit           facts.Exit
	looping        bool
	runningSince   time.Duration // never: it does not run
	provenRestarts int
	provenImage    string
}

func (p *pod) image() string { return p.repository + ":v" + p.version }

// changeTo gives a Pod another image, with the marks that tell of it.
func (p *pod) changeTo(repository, version string) {
	// What has not been started since the last change has not run.
	p.from, p.fromContainer = cmp.Or(p.changedFrom(), p.version), p.container
	p.repository, p.version = repository, version
}

// changedFrom is what an operator takes for from. It knows by its id a container that came after the
// change. One that crashed, and was restarted before its kubelet heard of the image, has another id too.
func (p *pod) changedFrom() string {
	if p.container != p.fromContainer {
		return ""
	}
	return p.from
}

// claim is a PersistentVolumeClaim and, while it exists, its volume.
type claim struct {
	claimObject
	disk *disk
	// restore is the restore that created it; empty if etcd-operator did.
	restore string
}

// claimObject is what watchers see of a claim. It is comparable.
type claimObject struct {
	name, uid string
	// object and revision are as those of a pod.
	object   *corev1.PersistentVolumeClaim
	revision int
	node     int // the node that its volume is on; -1: any
	deleting bool
	created  time.Duration
	// retired is the restore that keeps it; it belongs to no member then.
	retired string
	// owner is the EtcdCluster of the name that it is of, by number, and retained is true
	// if it is not deleted with that.
	owner    int
	retained bool
	// version is what is noted on it.
	version string
	// requested and capacity are sizes; refused is the one that it was not allowed to
	// have, at refusedAt.
	requested, capacity, refused int64
	refusedAt                    time.Duration
	// reseed is the token of the recovery whose seed it was made for.
	reseed string
}

func (w *world) nodeRuns(i int) bool {
	return !w.nodes[i].gone && w.step >= w.nodes[i].off
}

// kubeletTalks reports whether the node's kubelet hears of objects.
func (w *world) kubeletTalks(i int) bool {
	n := &w.nodes[i]
	return w.nodeRuns(i) && w.step >= n.silent && w.step >= n.cut
}

func (w *world) nodeReady(i int) bool { return w.nodes[i].lostSince == never && !w.nodes[i].gone }

// connected reports whether two nodes reach each other.
func (w *world) connected(a, b int) bool {
	if a == b {
		return w.nodeRuns(a)
	}
	if !w.nodeRuns(a) || !w.nodeRuns(b) || w.step < w.nodes[a].cut || w.step < w.nodes[b].cut {
		return false
	}
	// PartitionPeers splits the nodes in two, by parity.
	return !w.during(PartitionPeers) || a%2 == b%2
}

// connections sums up which nodes run, reach each other, and have a kubelet that reports.
func (w *world) connections() string {
	b := make([]byte, 0, len(w.nodes)+1)
	for i := range w.nodes {
		b = append(b, byte('0'+boolInt(w.nodeRuns(i))+2*boolInt(w.step < w.nodes[i].cut)+4*boolInt(w.step < w.nodes[i].silent)))
	}
	return string(append(b, byte('0'+boolInt(w.during(PartitionPeers)))))
}

func (w *world) tickKubernetes() {
	if now := w.connections(); now != w.reachable {
		w.reachable = now
		w.disturbed++
	}
	for i := range w.nodes {
		w.tickNode(i)
	}
	for _, p := range slices.Clone(w.pods) {
		w.tickPod(p)
	}
	for _, r := range slices.Clone(w.runs) {
		w.tickRun(r)
	}
	w.collect()
	w.tickVolumes()
	for _, c := range slices.Clone(w.claims) {
		if c.deleting && w.pod(c.name) == nil {
			w.dropClaim(c)
		}
	}
}

// tickNode is what the control plane makes of a node.
func (w *world) tickNode(i int) {
	n := &w.nodes[i]
	if n.gone {
		return
	}
	if w.kubeletTalks(i) {
		n.silentSince, n.lostSince = never, never
		return
	}
	if n.silentSince == never {
		n.silentSince = w.now
	}
	if n.lostSince == never && w.now-n.silentSince >= notReadyAfter {
		n.lostSince = w.now
		w.say("node %s is not ready", nodeName(i))
	}
}

// tickPod is what controllers and the scheduler do with a Pod object.
func (w *world) tickPod(p *pod) {
	p.routed = p.ready && p.role == facts.Voter && p.deleting == never && !p.unlabelled()
	if p.node < 0 {
		w.schedule(p)
		return
	}
	n := &w.nodes[p.node]
	switch {
	case n.gone && w.now-n.lostSince >= collectAfter:
		w.say("Pod %s is collected: its node is gone", p.name)
		w.dropPod(p)
	case n.lostSince != never && w.now-n.lostSince >= evictAfter && p.deleting == never:
		w.say("Pod %s is evicted from the lost node %s", p.name, nodeName(p.node))
		w.deletePod(p)
	case w.kubeletTalks(p.node) && !p.finished && w.runOf(p.uid) == nil && p.deleting == never:
		w.startRun(p)
	case w.kubeletTalks(p.node) && p.deleting != never && w.runOf(p.uid) == nil:
		w.dropPod(p)
	}
}

func (w *world) schedule(p *pod) {
	if p.deleting != never || w.now-p.created < w.delay(3*time.Second) {
		return
	}
	if strings.HasPrefix(p.template, unplaceableTemplate) {
		p.unschedulable = "0/3 nodes have as much"
		return
	}
	if w.during(Unschedulable) {
		p.unschedulable = "0/3 nodes are available"
		return
	}
	c := w.claim(p.name)
	if c == nil && p.persistent {
		p.unschedulable = "persistentvolumeclaim not found"
		return
	}
	var fit []int
	for i := range w.nodes {
		if !w.nodeReady(i) || w.nodes[i].cordoned || (c != nil && p.persistent && c.node >= 0 && c.node != i) {
			continue
		}
		if w.cfg.AntiAffinity && slices.ContainsFunc(w.pods, func(q *pod) bool { return q.node == i && !q.finished }) {
			continue
		}
		fit = append(fit, i)
	}
	if len(fit) == 0 {
		p.unschedulable = "no node fits"
		return
	}
	// The scheduler spreads: the node with the fewest Pods, by chance among equals.
	load := func(i int) int {
		n := 0
		for _, q := range w.pods {
			if q.node == i {
				n++
			}
		}
		return n
	}
	slices.SortStableFunc(fit, func(a, b int) int { return load(a) - load(b) })
	p.node, p.unschedulable = fit[0], ""
	if c != nil && p.persistent && w.cfg.LocalVolumes && c.node != p.node {
		c.node, c.revision = p.node, w.nextRevision()
	}
}

func (w *world) createPod(p *pod) {
	p.uid, p.created, p.deleting, p.node, p.readyAt, p.defragmented, p.runningSince = w.uid(), w.now, never, -1, w.now, never, never
	p.owner, p.revision = w.cluster.number, w.nextRevision()
	if p.object != nil && isUnclear(p.object) {
		p.owner = -1
	}
	w.pods = insert(w.pods, p, func(p *pod) string { return p.name })
	for _, op := range w.operators { // a new list: copies of a world share it
		op.orphans = slices.DeleteFunc(slices.Clone(op.orphans), func(name string) bool { return name == p.name })
	}
}

func (w *world) createClaim(name string) *claim {
	c := &claim{claimObject: claimObject{
		name: name, uid: w.uid(), revision: w.nextRevision(), node: -1, created: w.now, owner: w.cluster.number, retained: w.cluster.retain, requested: w.cluster.storage, capacity: w.cluster.storage,
	}, disk: &disk{}}
	if w.ships() {
		c.set(member.NewClaim(w.object(&w.cluster), name))
	}
	w.claims = insert(w.claims, c, func(c *claim) string { return c.name })
	return c
}

// deletePod asks for a Pod's deletion, with grace.
func (w *world) deletePod(p *pod) {
	if p.deleting != never {
		return
	}
	p.deleting = w.now
	if p.node < 0 || p.finished {
		w.dropPod(p)
		return
	}
	if r := w.runOf(p.uid); r != nil && w.kubeletTalks(p.node) {
		r.stopAt = w.now + stopTime + w.delay(20*time.Second)
	}
}

// dropPod takes the Pod object away. What still runs for it on a node that does
// not hear of it runs on.
func (w *world) dropPod(p *pod) {
	w.keepManifest(p)
	w.pods = slices.DeleteFunc(w.pods, func(q *pod) bool { return q == p })
	if r := w.runOf(p.uid); r != nil && (w.kubeletTalks(r.node) || w.nodes[r.node].gone) {
		w.dropRun(r)
	}
	w.diskLost()
}

// dropRun ends what runs for a Pod, and its emptyDir.
func (w *world) dropRun(r *run) {
	w.stopEtcd(r)
	w.runs = slices.DeleteFunc(w.runs, func(q *run) bool { return q == r })
	w.diskLost()
}

// finishPod ends a Pod for good: evicted by its kubelet for want of something.
func (w *world) finishPod(p *pod) {
	p.finished = true
	if r := w.runOf(p.uid); r != nil {
		w.dropRun(r)
	}
	w.diskLost()
}

func (w *world) deleteClaim(c *claim) {
	c.deleting = true
	if w.pod(c.name) == nil {
		w.dropClaim(c)
	}
}

// dropClaim takes a claim away, and its volume.
func (w *world) dropClaim(c *claim) {
	w.claims = slices.DeleteFunc(w.claims, func(d *claim) bool { return d == c })
	w.diskLost()
}

// ready reports whether a Pod is ready to serve, as its probe tells.
func (w *world) ready(p *pod) bool {
	r := w.runOf(p.uid)
	return r != nil && r.etcd != nil && r.etcd.serves && !w.starved(r) && r.etcd.leader != 0 && w.kubeletTalks(p.node)
}
