package simulate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/go-semver/semver"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// This file is what versions and images matter to: kubelets, which pull them and
// restart containers, and etcd's cluster version.

// Images. Patches of these numbers, and that repository, are not what they should be.
const (
	goodRepository  = "r"
	otherRepository = "s"
	badRepository   = "r2"

	unpullablePatch = ".99"
	crashingPatch   = ".98"
)

// olderPatches are those that people run beside the newest of a minor, or in place of one that is
// not supported.
var olderPatches = []string{"3.4.37", "3.5.30", "3.6.15"}

// oldestMinor and newestMinor are those of the versions that are supported.
var oldestMinor, newestMinor = minorOf(etcdversion.All()[0]), minorOf(etcdversion.Newest())

// versions are what a user may write, the good ones first.
var versions = func() []string {
	var good, unpullable, crashing []string
	for minor := oldestMinor; minor <= newestMinor; minor++ {
		good = append(good, ofMinor(olderPatches, minor)...)
		good = append(good, newestPatches(minor)...)
		unpullable = append(unpullable, fmt.Sprintf("3.%d%s", minor, unpullablePatch))
		if minor > oldestMinor {
			crashing = append(crashing, fmt.Sprintf("3.%d%s", minor, crashingPatch))
		}
	}
	return slices.Concat(good, unpullable, crashing, []string{olderPatches[0], "3.3.1", fmt.Sprintf("3.%d.0", newestMinor+1)})
}()

// newestPatches are the newest patch of a minor and, as long as there are any, one that is newer
// than the operator knows.
func newestPatches(minor int) []string {
	newest := etcdversion.OfMinor(minor)
	if minor == oldestMinor {
		return []string{newest}
	}
	newer := semver.New(newest)
	newer.BumpPatch()
	return []string{newest, newer.String()}
}

// ofMinor are the versions of a minor.
func ofMinor(versions []string, minor int) []string {
	return slices.DeleteFunc(slices.Clone(versions), func(v string) bool { return minorOf(v) != minor })
}

// pickVersion picks one; it draws nothing if there is no choice.
func (w *world) pickVersion(from []string) string {
	if len(from) == 1 {
		return from[0]
	}
	return pick(&w.random, from...)
}

// minorOf is the minor of a version 3.x.y.
func minorOf(version string) int {
	rest, _ := strings.CutPrefix(version, "3.")
	minor, _, _ := strings.Cut(rest, ".")
	n, _ := strconv.Atoi(minor) // none is 0
	return n
}

// firstOf is the first version of a minor.
func firstOf(minor int) string { return "3." + strconv.Itoa(minor) + ".0" }

// crashes reports whether an etcd of this version ends as soon as it is started.
func crashes(version string) bool { return strings.HasSuffix(version, crashingPatch) }

// runnable reports whether an image of this version can be pulled, and runs.
func runnable(version string) bool {
	return !crashes(version) && !strings.HasSuffix(version, unpullablePatch)
}

// unpullable reports whether the image of a run can't be pulled.
func (w *world) unpullable(r *run) bool {
	return !r.begun && (r.repository == badRepository || strings.HasSuffix(r.version, unpullablePatch))
}

// changeImage is a kubelet that hears of another image for a container that it runs: it
// ends that, and then pulls. The Pod's sandbox and disk stay.
func (w *world) changeImage(r *run, p *pod) {
	if r.version == p.version && r.repository == p.repository || r.stopAt != never {
		return
	}
	if !w.calm && !w.random.chance(50) {
		return
	}
	w.say("the container of %s is restarted with %s:v%s", r.name, p.repository, p.version)
	w.stopEtcd(r)
	r.version, r.repository, r.begun = p.version, p.repository, false
	r.state, r.due, r.failures = pulling, w.now+w.delay(5*time.Second), 0
}

// versionRefused is why an etcd does not start in a cluster; empty if it does. (etcd
// panics on data of a later cluster version, and one that is two minors ahead does not
// talk with the others.)
func (w *world) versionRefused(r *run, birth int) string {
	b := &w.births[birth]
	minor := minorOf(r.version)
	switch {
	case minor < b.minor:
		w.checkRefused(r, birth)
		return fmt.Sprintf("etcd %s, and the cluster version is 3.%d", r.version, b.minor)
	case minor > b.minor+1:
		w.checkRefused(r, birth)
		return fmt.Sprintf("etcd %s, and the cluster version is 3.%d", r.version, b.minor)
	case r.disk.data != nil && (minor < r.disk.data.told || minor < r.disk.data.stored):
		w.checkRefused(r, birth)
		return fmt.Sprintf("etcd %s, on data of 3.%d", r.version, max(r.disk.data.told, r.disk.data.stored))
	case minor == 7 && w.replaysOld(r):
		w.checkRefused(r, birth)
		return "its log has entries of etcd 3.5 after its last snapshot"
	}
	return ""
}

// snapshotEntries is after how many log entries an etcd makes a snapshot.
const snapshotEntries = 20

// replaysOld reports whether a member may have made no snapshot since etcd 3.5 wrote to
// its log.
func (w *world) replaysOld(r *run) bool {
	d := r.disk.data
	if d == nil || d.applied == 0 {
		return false
	}
	b := &w.births[d.birth]
	return b.oldIndex > 0 && d.log[d.applied-1].index <= b.oldIndex+snapshotEntries
}

// raiseVersion is a leader that looks at what all members run. A member that it does
// not reach, or that has not started, holds the cluster version back.
func (w *world) raiseVersion(l *run) {
	d := l.disk.data
	b := &w.births[d.birth]
	lowest := minorOf(l.version)
	for _, m := range d.view {
		r := w.member(d.birth, m.ID)
		if r == nil || !w.addressed(r) || (r != l && !w.reaches(l, r)) {
			return
		}
		lowest = min(lowest, minorOf(r.version))
	}
	if b.downgrade == 0 && lowest > b.minor && w.hasQuorum(l) && (w.calm || w.random.chance(40)) {
		if b.minor == 5 {
			b.oldIndex = d.log[len(d.log)-1].index
		}
		b.minor = lowest
		w.say("the cluster version is 3.%d", lowest)
	}
}

// advanceLog is a member that is asked for entries that change nothing.
func (w *world) advanceLog(op *operator, a action.AdvanceLog) error {
	r := w.endpoint(op)
	if r == nil {
		return errNobody
	}
	w.touch("raft's log grows")
	w.asked++
	return w.appendNoops(r, a.Entries)
}

func (w *world) appendNoops(r *run, n int) error {
	for range n {
		if err := w.propose(r, entry{kind: noop}); err != nil {
			return err
		}
	}
	return nil
}

// editVersion is a user who wants another version.
func (w *world) editVersion(version string) {
	w.say("the user sets version %s", version)
	w.edit(func(c *etcdCluster) { c.wanted = version })
}

// finalVersion is a version that the cluster can reach, by what is recorded of it.
func (w *world) finalVersion() string {
	at := w.cluster.current
	if w.cluster.target != "" {
		at = w.cluster.target
	}
	if at == "" {
		return w.cfg.Version
	}
	if w.cluster.target == "" && !runnable(at) { // nothing has ever run it
		at = w.seedVersion()
	}
	minor := minorOf(at)
	if w.main >= 0 { // which may have risen just now
		minor = max(minor, w.births[w.main].minor)
	}
	unadopted := w.cluster.number > 0 && w.cluster.clusterID == 0 // what was noted must be tried first
	finalMinor := w.finallyBack(minor)
	if unadopted {
		finalMinor = 0
	}
	switch {
	case finalMinor > 0:
		return w.pickVersion(newestPatches(finalMinor))
	case w.cluster.target == "" && minor == 6 && w.cluster.index > 0 && w.cfg.Idle && !unadopted:
		minor = 7 // and nobody writes
	case w.cluster.target == "" && minor < newestMinor && !unadopted:
		minor += int(w.seed % 2)
	}
	if good := slices.DeleteFunc(ofMinor(versions, minor), func(v string) bool { return !runnable(v) }); len(good) > 0 && minor <= newestMinor && minor > 3 {
		return w.pickVersion(good)
	}
	return at
}

// samePods reports whether the Pods, read live, are as they were observed, and no member has a
// volume that was not.
func (w *world) samePods(seen *facts.Observation) bool {
	pods := w.ownPods()
	if len(pods) != len(seen.Pods) || w.hasUnseenClaim(seen, toldMembers(seen)) {
		return false
	}
	for i, p := range pods {
		q := &seen.Pods[i]
		if p.name != q.Name || p.uid != q.UID || !samePod(p, q) {
			return false
		}
	}
	return true
}

func samePod(p *pod, q *facts.Pod) bool {
	return p.role == q.Role && p.version == q.Version && p.repository == q.Repository && p.changedFrom() == q.From &&
		(p.deleting == never) == q.DeletingSince.IsZero() && p.ready == q.UnreadySince.IsZero()
}

// giveImage is the patch of a Pod's image.
func (w *world) giveImage(t *todo, a action.ChangeImage) error {
	p := w.pod(a.Name)
	switch {
	case p == nil || p.uid != a.UID:
		return errGone
	case w.cfg.has(NoLivePods):
	case t.sent && !slices.ContainsFunc(t.seen.Pods, func(q facts.Pod) bool { return q.UID == p.uid && samePod(p, &q) }):
		return errConflict // its resourceVersion is another one
	case !t.sent && !w.samePods(&t.seen):
		return errConflict
	}
	w.touch("a Pod gets another image")
	w.checkImage(t, p, a)
	p.changeTo(a.Repository, a.Version)
	return nil
}

// startedSince reports whether etcd runs, and was seen neither to serve nor to answer: it has started
// since it was asked. The Pod's restart ends what its container did anyway.
func (w *world) startedSince(r *run, seen *facts.Observation) bool {
	i := slices.IndexFunc(seen.Pods, func(p facts.Pod) bool { return p.UID == r.uid })
	return i >= 0 && !seen.Pods[i].UnreadySince.IsZero() && !seen.Pods[i].Answer.Reached && !epoch.Add(r.etcd.since).Before(seen.Now)
}
