package simulate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/simulated"
)

// etcdRestore is what a restore of the shipped code is in Kubernetes.
type etcdRestore struct {
	// object is never changed in place; gone is true once it is not there any more.
	object *v1beta2.EtcdRestore
	gone   bool
	// deleteAt is the step at which the user deletes it; 0 for never.
	deleteAt int
	// snapshotVersion is the minor of its snapshot.
	snapshotVersion int
	// grown is true once the cluster that it made has had its size.
	grown bool
	// job verifies its snapshot; nil if there is none.
	job *restoreJob
}

// restorer is etcd-restore-operator: the code that ships, in the place of the model in
// restore.go. As that of etcd-operator it is a coroutine that stops before each of its calls.
type restorer struct {
	w  *world
	id string
	// caches are those of the EtcdCluster, Pods and volumes; those of EtcdRestores are in seen.
	caches     *operator
	seen       map[string]*v1beta2.EtcdRestore
	reconciler reconcile.Reconciler
	scheme     *runtime.Scheme

	coroutine
	// underWay is true while a reconcile is.
	underWay bool
	// next is the call before which it stands.
	next string
	// of is the restore whose reconcile is under way, looks what it has seen live.
	of     *restore
	looks  restoreLooks
	result ctrl.Result
	err    error
	// due are when it looks at a restore again.
	due map[string]time.Duration
	// deadUntil and stalledUntil are steps; dead is true until it has started again.
	deadUntil, stalledUntil int
	dead                    bool
}

// shipRestorer makes an etcd-restore-operator.
func (w *world) shipRestorer(scheme *runtime.Scheme) {
	s := &restorer{w: w, id: fmt.Sprintf("r-%c", 'a'+len(w.restorers)), scheme: scheme, caches: &operator{}}
	w.restorers = append(w.restorers, s)
	s.start()
	for _, r := range w.restores { // one that was there before
		if r.object == nil {
			w.shipRestore(r)
		}
	}
}

// start fills the caches, as when the process starts.
func (s *restorer) start() {
	s.end()
	s.caches.relist(s.w)
	s.seen, s.due, s.dead = map[string]*v1beta2.EtcdRestore{}, map[string]time.Duration{}, false
	cached, live := &restoreAPI{restorer: s, cached: true}, &restoreAPI{restorer: s}
	s.reconciler = simulated.New(simulated.World{Client: cached, Live: live, Events: events{&shipped{w: s.w}}, Network: s, Image: "operator"})
}

// end ends what runs of it.
func (s *restorer) end() {
	s.coroutine.end()
	s.underWay = false
}

// shipRestore is a user who creates the EtcdRestore of a restore.
func (w *world) shipRestore(r *restore) {
	w.serial++
	o := &v1beta2.EtcdRestore{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1beta2.GroupVersion.String(), Kind: "EtcdRestore"},
		ObjectMeta: metav1.ObjectMeta{Name: "restore-" + r.uid, Namespace: namespace, UID: types.UID(r.uid), Generation: 1, ResourceVersion: resourceVersion(w.serial), CreationTimestamp: timeAt(w.now)},
		Spec: v1beta2.RestoreSpec{
			EtcdCluster: &v1beta2.ClusterReference{Name: clusterName}, Target: v1beta2.TargetInPlace, BackupStorageType: v1beta2.StorageS3,
			AcceptDataLoss: true, AcceptRunningOldMembers: r.force,
		},
	}
	o.Spec.S3 = &v1beta2.S3Source{Path: "bucket/snapshot"}
	if w.cfg.BornFenced && r == w.restores[0] { // it makes the EtcdCluster
		o.Name, o.Spec.EtcdCluster, o.Spec.Target = clusterName, nil, ""
		o.Spec.ClusterTemplate = &v1beta2.ClusterTemplate{Spec: w.object(&w.cluster).Spec}
	}
	if hash(r.uid, fmt.Sprint(w.seed), "first")%4 == 0 {
		o.Spec.StopMembers = v1beta2.StopMembersFirst
	}
	r.object, r.snapshotVersion = o, minorOf(w.seedVersion())
}

// put is an EtcdRestore as it is from now on; without a finalizer one that is deleted is gone.
func (r *restore) put(w *world, o *v1beta2.EtcdRestore) {
	w.serial++
	o.ResourceVersion = resourceVersion(w.serial)
	if r.object = o; o.DeletionTimestamp != nil && len(o.Finalizers) == 0 {
		w.say("EtcdRestore %s is gone", o.Name)
		r.gone = true
	}
	switch o.Status.Phase {
	case v1beta2.RestoreComplete, v1beta2.RestoreFailed:
		r.done = true
	default:
		r.done = r.gone
	}
}

// deleteRestores is users who delete their EtcdRestores.
func (w *world) deleteRestores() {
	for _, r := range w.restores {
		due := r.deleteAt > 0 && w.step >= r.deleteAt || w.settling && w.hopeless(r)
		if due || w.isInTheWay(r) {
			w.deleteRestore(r)
		}
	}
}

func (w *world) deleteRestore(r *restore) {
	// What a majority loses with its Pods cannot be given back.
	if r.done || r.adopted && !w.isInTheWay(r) || r.object.DeletionTimestamp != nil || !w.cfg.Persistent && w.cfg.Gentle && !w.settling {
		return
	}
	w.say("the user deletes EtcdRestore %s", r.object.Name)
	o := r.object.DeepCopy()
	o.DeletionTimestamp = new(timeAt(w.now))
	r.put(w, o)
}

// isInTheWay reports whether a cluster that was restored has lost its majority before it was whole,
// while another restore waits for this one: that is told to delete it.
func (w *world) isInTheWay(r *restore) bool {
	waits := func(q *restore) bool { return q != r && !q.done && !q.adopted }
	return w.settling && w.majorityLost && r.adopted && slices.ContainsFunc(w.restores, waits)
}

// leftByRestores is how many old volumes are kept for good, since their EtcdRestore was deleted
// after its seed was adopted.
func (w *world) leftByRestores() int {
	n := 0
	for _, r := range w.restores {
		for _, c := range w.claims {
			n += boolInt(r.gone && r.adopted && c.retired == r.uid)
		}
	}
	return n
}

// liftLostFence is a person who follows the runbook restore-waiting: the EtcdRestore that a cluster
// waits for is not there any more.
func (w *world) liftLostFence() {
	f := w.cluster.fence
	by := cmp.Or(f.By, f.Mark)
	lost := slices.ContainsFunc(w.restores, func(r *restore) bool { return r.uid == by && r.gone && !r.adopted })
	if w.settling && lost && f.Lifted != by {
		w.say("a person lifts the fence of EtcdRestore %s, which is gone", by)
		w.mark(func(f *facts.Fence) { f.Lifted = by })
	}
}

// hopeless reports whether a restore tells its user that its seed does not start: no node, or no
// image, is ever going to fit it.
func (w *world) hopeless(r *restore) bool {
	for _, c := range r.object.Status.Conditions {
		if c.Reason == v1beta2.RestoreReasonSeedNotStarting && w.now-c.LastTransitionTime.Sub(epoch) > patience && !r.adopted {
			return true
		}
	}
	return false
}

// patience is for how long a user waits once nothing else goes wrong.
const patience = 10 * time.Minute

// tickRestorers lets the shipped operators of restores make some of their calls.
func (w *world) tickRestorers() {
	for _, r := range w.restores {
		r.grown = r.grown || w.isWhole(r)
	}
	w.deleteRestores()
	w.liftLostFence()
	w.tickJobs()
	for _, s := range w.restorers {
		w.runRestorer(s)
	}
}

// isWhole reports whether the cluster that a restore has made has its size.
func (w *world) isWhole(r *restore) bool {
	return r.adopted && (w.cluster.fence.Adopted.Restore != r.uid || countVoters(w.births[w.main].view) >= w.cluster.size)
}

func (w *world) runRestorer(s *restorer) {
	calls := 40
	if !w.calm {
		calls = w.random.between(0, 30)
	}
	for ; calls > 0 && w.broken == nil && w.step >= s.deadUntil && w.step >= s.stalledUntil; calls-- {
		if s.dead {
			s.start()
		}
		if !s.underWay {
			s.deliver()
			r := s.pick()
			if r == nil {
				return
			}
			s.begin(r)
		} else if w.meddleRestore(s); !s.goesOn() {
			return
		}
		var more bool
		if s.next, more = s.resume(); !more {
			s.over()
		}
		w.publish()
		w.checkTruth()
	}
}

// deliver moves what watches have told into the caches.
func (s *restorer) deliver() {
	w := s.w
	before := s.caches.cluster
	w.deliver(s.caches)
	changed := s.caches.woken || s.caches.cluster != before
	s.caches.woken = false
	for _, r := range w.restores {
		told := !w.during(LagStatus) || w.random.chance(30)
		if told && s.seen[r.uid] != r.object || changed && !r.done {
			s.due[r.uid] = w.now
		}
		if told {
			s.seen[r.uid] = r.object
		}
	}
}

// pick is a restore that is to be reconciled; nil if none is.
func (s *restorer) pick() *restore {
	for _, r := range s.w.restores {
		if at, ok := s.due[r.uid]; ok && s.w.now >= at {
			return r
		}
	}
	return nil
}

// begin starts a reconcile, up to its first call.
func (s *restorer) begin(r *restore) {
	delete(s.due, r.uid)
	s.of, s.looks = r, restoreLooks{}
	s.underWay = true
	s.reconcile = func() {
		s.result, s.err = s.reconciler.Reconcile(context.Background(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(r.object)})
	}
}

// over notes when the restore is looked at again.
func (s *restorer) over() {
	s.underWay = false
	switch {
	case s.err != nil:
		s.w.say("operator %s: %v", s.id, s.err)
		s.due[s.of.uid] = s.w.now
	case s.result.RequeueAfter > 0:
		at := s.w.now + s.result.RequeueAfter
		if is, ok := s.due[s.of.uid]; !ok || at < is {
			s.due[s.of.uid] = at
		}
	}
}

// goesOn lets it stand still, or end, before its next call.
func (s *restorer) goesOn() bool {
	w := s.w
	if w.calm || w.settling {
		return true
	}
	switch {
	case w.random.chance(1):
		w.say("operator %s crashes", s.id)
		s.end()
		s.deadUntil, s.dead = w.step+1+w.random.below(10), true
	case w.random.chance(1):
		s.stalledUntil = w.step + 1 + w.random.below(30)
		w.say("operator %s stands still until step %d", s.id, s.stalledUntil)
	default:
		return true
	}
	return false
}

// call makes a call to the outside, before which the reconcile stops. changes is true of one that
// changes something, and may take effect later or twice.
func (s *restorer) call(ctx context.Context, what string, changes bool, do func() error) error {
	if !s.yield(what) {
		panic(errEnded)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	w := s.w
	mishap := 100
	if !w.calm && !w.settling {
		mishap = w.random.below(100)
	}
	r := s.of
	switch {
	case mishap == 0:
		w.say("operator %s: %s fails", s.id, what)
		return timedOut
	case changes && (mishap == 1 || mishap < 100 && mishap >= w.promptBelow(what)):
		w.say("operator %s: %s is under way", s.id, what)
		looks, marks := s.looks, ""
		if what == marksCluster {
			marks = r.uid
		}
		w.lates = append(w.lates, late{marks: marks, at: w.now + time.Duration(w.random.below(11))*time.Second, land: func() {
			was, had := s.of, s.looks
			s.of, s.looks = r, looks
			w.say("a late call lands: %s: %v", what, do())
			s.of, s.looks = was, had
		}})
		return timedOut
	}
	err := do()
	switch {
	case mishap == 2 && changes:
		w.publish()
		w.say("operator %s: %s is done twice: %v", s.id, what, do())
	case mishap == 3:
		w.say("operator %s: the reply to %s is lost", s.id, what)
		return timedOut
	}
	if changes && w.trace != nil {
		w.say("operator %s: %s: %v", s.id, what, err)
	}
	return err
}

// promptBelow is the mishap, of a hundred, from which on a call of etcd-restore-operator takes effect
// late.
func (w *world) promptBelow(what string) int {
	switch {
	case w.cfg.LateMarks && what == marksCluster:
		return 50
	case w.cfg.Meddles > 0:
		return 90
	}
	return 100
}

// stopRestorers ends what lasts of their faults.
func (w *world) stopRestorers() {
	for _, s := range w.restorers {
		s.deadUntil, s.stalledUntil = 0, 0
	}
}

// restoreOf is the restore of an EtcdRestore's name; nil if there is none.
func (w *world) restoreOf(name string) *restore {
	i := slices.IndexFunc(w.restores, func(r *restore) bool { return r.object.Name == name && !r.gone })
	if i < 0 {
		return nil
	}
	return w.restores[i]
}
