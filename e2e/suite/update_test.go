package suite

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/e2e/previous"
)

// TestUpdateOfOperators: what the previous release has made goes on under this one, without a
// restart, and once more when one goes back. What it has begun is finished. It runs beside no other
// test: the definitions, which it takes back, are everybody's.
func TestUpdateOfOperators(t *testing.T) {
	s, before := afterARelease(t)

	s.operatorsAre(harness.Install{Release: before})
	s.must(s.view.WatchBackups(s.ctx))
	s.must(s.view.WatchRestores(s.ctx))
	st, vol := s.aStore(), s.aVolume("backups")
	c := s.cluster("etcd", harness.Size(3), harness.Volumes)
	c.settles(3, oneMinute)
	secure, resized := s.cluster("secure", harness.Size(3), harness.AutoTLS), s.cluster("resized", harness.Size(1))
	secure.settles(3, oneMinute)
	resized.settles(1, oneMinute)
	secrets := secure.writes()
	u := &updated{s: s, c: c, w: c.writes(), resized: resized, st: st, vol: vol, members: map[*cluster]map[types.UID]int32{
		c: c.restarts(), secure: secure.restarts(),
	}}
	u.repeated = s.backup("repeated", u.w.Writer, st.at("repeated"), harness.OfCluster(c.Name), harness.Policy(v1beta2.BackupPolicy{BackupIntervalInSecond: 5, MaxBackups: 3}))
	s.must(u.repeated.Patch(s.ctx, map[string]any{"spec": map[string]any{"archive": map[string]any{"interval": "2s"}}}))
	u.goesOn("before")

	ends := u.begins("after", 3)
	s.operatorsAre(harness.Install{})
	ends()
	u.goesOn("after")

	ends = u.begins("back", 1)
	s.operatorsAre(harness.Install{Release: before, KeepDefinitions: true})
	ends()
	u.goesOn("back")

	for c, members := range u.members {
		c.isUnrestarted(members)
	}
	if a := u.repeated.Status().Archive; a.Gaps > 0 || a.Timeline != u.timeline {
		t.Errorf("the archive has a gap, or began anew: %+v", a)
	}
	c.losesPods(c.members()[0])
	c.settles(3, twoMinutes)
	u.w.lostNothing(3)
	secrets.noticedNoFailure(aBlink)
	secrets.lostNothing(3)
}

// afterARelease is a namespace, and the previous release, whose images the nodes have. Today's
// definitions are installed at the end of the test.
func afterARelease(t *testing.T) (*scene, *previous.Release) {
	t.Helper()
	isLong(t)
	s := aNamespaceFor(t, "restricted", programTimeout)
	before, err := previous.Read(env.Root)
	s.must(err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), oneMinute)
		defer cancel()
		if err := env.InstallCRD(ctx); err != nil {
			t.Error(err)
		}
	})
	s.within(fourMinutes, func(ctx context.Context) error { return env.LoadRelease(ctx, before) })
	s.tell("the images of %s are there", before.Version)
	return s, before
}

// operatorsAre installs all operators, in the order that the docs tell, and waits until nothing
// else runs.
func (s *scene) operatorsAre(how harness.Install) {
	s.t.Helper()
	for _, operator := range harness.Operators {
		how.Operator = operator
		s.must(env.Install(s.ctx, s.ns, how))
		s.kubectl("rollout", "status", "deployment/"+operator, "--timeout=3m")
		s.tell("%s is %s", operator, s.kubectl("get", "deployment", operator, "-o", "jsonpath={.spec.template.spec.containers[0].image}"))
	}
}

// updated is what lives through an update.
type updated struct {
	s        *scene
	c        *cluster
	w        *etcdClient
	st       *store
	vol      *volume
	repeated *backup
	// resized is a cluster that is about to change its size whenever the operators change.
	resized *cluster
	// stored is where the last backup is.
	stored place
	// timeline is that of the archive.
	timeline int64
	// members are those of each cluster, also of those that were restored, as they were at first.
	members map[*cluster]map[types.UID]int32
}

// goesOn: repeated backups and the archive go on, a backup is made in each store, and a cluster is
// restored from it. Each operator has something to do.
func (u *updated) goesOn(when string) {
	u.s.t.Helper()
	then := time.Now()
	u.repeated.becomes("backed up and archived", twoMinutes, harness.AllOf(madeAfter(then), recordedAfter(then)))
	if u.timeline == 0 {
		u.timeline = u.repeated.Status().Archive.Timeline
	}
	of := harness.OfCluster(u.c.Name)
	once := u.st.at("once-" + when)
	u.s.backup("once-"+when, u.w.Writer, once, of).isStored(oneMinute)
	u.stored = once
	u.s.backup("volume-"+when, u.w.Writer, u.vol.at(when+".db"), of).isStored(oneMinute)
	u.isRestored(u.s.restore("copy-"+when, harness.AsTemplate(harness.Size(1)), once.from))
	u.c.settles(3, oneMinute)
}

// begins lets each operator have something in hand when it ends: a cluster that changes its size, a
// backup, and a restore. ends waits until the next operators have finished that.
func (u *updated) begins(when string, size int) (ends func()) {
	u.s.t.Helper()
	u.resized.resize(size)
	b := u.s.backup("begun-"+when, u.w.Writer, u.st.at("begun-"+when), harness.OfCluster(u.c.Name))
	r := u.s.restore("begun-"+when, harness.AsTemplate(harness.Size(1)), u.stored.from)
	return func() {
		u.s.t.Helper()
		b.isStored(twoMinutes)
		u.isRestored(r)
		u.resized.settles(size, twoMinutes)
	}
}

// isRestored: it completes, and its cluster runs from now on.
func (u *updated) isRestored(r *restore) {
	u.s.t.Helper()
	r.completes(twoMinutes)
	c := u.s.existing(r.Name)
	c.settles(1, oneMinute)
	u.members[c] = c.restarts()
}

// madeAfter: a backup that was due then or later has succeeded.
func madeAfter(then time.Time) harness.BackupCheck {
	return func(s harness.BackupState) string {
		for _, r := range s.Backup.Status.History {
			if r.Succeeded && r.ScheduledTime.After(then) {
				return ""
			}
		}
		return fmt.Sprintf("none was made after %s", then)
	}
}
