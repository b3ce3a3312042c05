package plan

import (
	"cmp"
	"flag"
	"math/rand"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
)

// seeds is how many runs there are of what must hold: go test -run TestSimulate -seeds N.
var seeds = flag.Int64("seeds", 1500, "how many runs TestSimulate makes")

// TestSimulate runs the planner in a world where caches lag, writes are lost, nodes do not
// answer, seeds are lost, users change their minds, and the operator crashes between any
// two of its steps.
func TestSimulate(t *testing.T) {
	adoptions, restores := 0, 0
	for seed := range *seeds {
		w := newWorld(seed, randomConfig(rand.New(rand.NewSource(seed))), noted)
		w.run()
		adoptions += len(w.adoptions)
		restores += len(w.over)
		if w.broken != "" {
			t.Fatalf("seed %d, %+v: %s\n%s", seed, w.config, w.broken, strings.Join(w.trace, "\n"))
		}
	}
	t.Logf("%d runs, %d restores ended, %d adoptions", *seeds, restores, adoptions)
	if int64(adoptions) < *seeds/4 {
		t.Errorf("%d adoptions in %d runs: the world does not do much", adoptions, *seeds)
	}
}

// TestEveryMoment lets one thing happen at every moment at which the operator may crash,
// on each of the main paths: nothing is forgotten by a crash, and whatever a user or a
// node does comes to an end.
func TestEveryMoment(t *testing.T) {
	paths := map[string]config{
		"in place, with volumes":        {persistent: true},
		"in place, without":             {},
		"in place, never looked at":     {persistent: true, unseen: true},
		"new, from another":             {persistent: true, fresh: true},
		"new, from a template":          {fresh: true, template: true},
		"a snapshot that is no good":    {persistent: true, badJob: true},
		"a seed that can't be restored": {persistent: true, badSeed: true},
		"members first":                 {persistent: true, first: true},
		"new, and can't be restored":    {fresh: true, badSeed: true},
		"too slow":                      {persistent: true, timeout: 9},
		"with TLS, in place":            {persistent: true, tls: true, unseen: true},
		"with TLS, new":                 {fresh: true, tls: true},
	}
	happenings := map[string]func(*config, int){
		"the operator crashes":     func(c *config, n int) { c.crashAt = n },
		"the restore is deleted":   func(c *config, n int) { c.deleteAt = n },
		"deleted, and a crash":     func(c *config, n int) { c.deleteAt, c.crashAt = n, n+2 },
		"deleted, and lost":        func(c *config, n int) { c.deleteAt, c.vanishAt = n, n+1 },
		"the cluster is deleted":   func(c *config, n int) { c.dropAt = n },
		"running is accepted":      func(c *config, n int) { c.acceptAt = n },
		"a Pod vanishes":           func(c *config, n int) { c.vanishAt = n },
		"a seed's disk is wiped":   func(c *config, n int) { c.wipeAt = n },
		"the cluster is paused":    func(c *config, n int) { c.pauseAt = n },
		"the nodes do not answer":  func(c *config, n int) { c.stickAt = n },
		"it crashes all the time":  func(c *config, n int) { c.crashEvery = n + 1 },
		"a second restore":         func(c *config, n int) { c.secondAt = n },
		"a second, and a crash":    func(c *config, n int) { c.secondAt, c.crashAt = n, n+4 },
		"deleted, and made anew":   func(c *config, n int) { c.deleteAt, c.anewAt = n, n+1+n%7 },
		"the certificates go bad":  func(c *config, n int) { c.certsAt = n },
		"the policy is removed":    func(c *config, n int) { c.policyAt = n },
		"members are to be first":  func(c *config, n int) { c.firstAt = n },
		"the seed is evicted":      func(c *config, n int) { c.evictAt = n },
		"the operator is updated":  func(c *config, n int) { c.updateAt = n },
		"the seed's node is lost":  func(c *config, n int) { c.dead, c.dieAt = true, n },
		"stuck, and then accepted": func(c *config, n int) { c.stickAt, c.acceptAt = 3, n },
	}
	runs := 0
	for path, base := range paths {
		for what, happen := range happenings {
			t.Run(path+"/"+what, func(t *testing.T) {
				for _, lag := range []int{0, 3} {
					for n := 1; ; n += 1 + 2*lag/3 {
						c := base
						c.lag, c.quiet = lag, 45
						happen(&c, n)
						w := newWorld(int64(n), c, noted)
						w.run()
						runs++
						if w.broken != "" {
							t.Fatalf("%+v: %s\n%s", w.config, w.broken, strings.Join(w.trace, "\n"))
						}
						if w.chances < n {
							break // it was over before that
						}
					}
				}
			})
		}
	}
	t.Logf("%d runs", runs)
}

// TestPlantedBugs proves the world: each row plants a bug, and some seed must find it.
func TestPlantedBugs(t *testing.T) {
	// lie is the planner that is told something else than what was observed.
	lie := func(f func(*Observation)) planner {
		return func(o Observation) Decision {
			o.Restore = o.Restore.DeepCopy()
			o.Cluster = o.Cluster.DeepCopy()
			f(&o)
			return Plan(o)
		}
	}
	// instead is the planner that does something else than what is decided.
	instead := func(f func(*Observation, *Decision)) planner {
		return func(o Observation) Decision {
			d := Plan(o)
			f(&o, &d)
			return d
		}
	}
	// without leaves rules out.
	without := func(names ...string) planner {
		return func(o Observation) Decision {
			v := newView(o)
			for _, r := range v.runbook() {
				if slices.Contains(names, ruleName(r)) {
					continue
				}
				if s := r(v); s != nil {
					return v.decide(s)
				}
			}
			return v.decide(rest(v))
		}
	}
	rows := map[string]struct {
		reason string
		plan   planner
		config func(*config)
		says   []string // one of which is found
	}{
		"no finalizer": {
			reason: "a deleted restore leaves its cluster fenced",
			plan:   without("addFinalizer"),
			says:   []string{"without the finalizer"},
		},
		"does not ask who created it": {
			reason: "somebody gets an EtcdCluster that they cannot create",
			plan:   without("checkCreator"),
			config: func(c *config) { c.fresh = true },
			says:   []string{"who was not checked"},
		},
		"does not wait for old members": {
			reason: "clients write to two clusters",
			plan:   without("awaitPods"),
			config: func(c *config) { c.noLive = true },
			says:   []string{"old members may run"},
		},
		"takes old members that stop for stopped": {
			reason: "clients write to two clusters until their containers have ended",
			plan: lie(func(o *Observation) {
				o.Pods = slices.Clone(o.Pods)
				for i := range o.Pods {
					o.Pods[i].Stopped = !o.Pods[i].Deleting.IsZero()
				}
			}),
			config: func(c *config) { c.noLive = true },
			says:   []string{"old members may run"},
		},
		"does not wait for the seed": {
			reason: "members are stopped for a seed that never starts",
			plan:   without("awaitPrepared", "recordPrepared", "checkPrepared"),
			config: func(c *config) { c.noLive, c.first = true, false },
			says:   []string{"before its seed is ready", "before its snapshot is verified"},
		},
		"does not wait for the seed's launcher": {
			reason: "members are stopped for a container that cannot be started",
			plan:   without("awaitLauncher"),
			config: func(c *config) { c.noLive, c.first = true, false },
			says:   []string{"before its seed is ready"},
		},
		"stops them before there is a seed": {
			reason: "the outage is as long as the fetch",
			plan: func(o Observation) Decision {
				v := newView(o)
				if v.fenced && v.held && !v.deleted && v.last.ClusterUID != "" && v.last.Phase != v1beta2.RestoreRollingBack {
					if s := stopPods(v); s != nil {
						return v.decide(s)
					}
				}
				return Plan(o)
			},
			config: func(c *config) { c.first = false },
			says:   []string{"and has no seed", "before its seed is ready", "before its snapshot is verified"},
		},
		"does not look how far members have come": {
			reason: "clients see time run backwards",
			plan:   without("checkReached"),
			config: func(c *config) {
				c.busy, c.silent, c.crowded, c.first = true, false, false, false
				c.fresh, c.badJob, c.badSeed = false, false, false
			},
			says: []string{"clients have seen"},
		},
		"does not look how far they have come, and stops them first": {
			reason: "nobody can tell any more, and clients see time run backwards",
			plan:   without("recordReached"),
			config: func(c *config) {
				c.busy, c.silent, c.crowded, c.first = true, false, true, false
				c.fresh, c.badJob, c.badSeed = false, false, false
			},
			says: []string{"clients have seen"},
		},
		"hands over before it serves": {
			reason: "clients are sent to an etcd that may never answer",
			plan:   without("awaitSeed"),
			config: func(c *config) { c.truthOnly = false },
			says:   []string{"is handed over"},
		},
		"takes any fence for its own": {
			reason: "two restores work on one cluster",
			plan: lie(func(o *Observation) {
				if o.Cluster != nil && o.Cluster.Status.FencedBy != "" {
					o.Cluster.Status.FencedBy = string(o.Restore.UID)
				}
			}),
			config: func(c *config) { c.noLive, c.user, c.faults = true, true, 150 },
			says:   []string{"is not fenced", "beside"},
		},
		"forgets the bump": {
			reason: "clients see time run backwards",
			plan: instead(func(o *Observation, d *Decision) {
				if d.Status.Revision > minBump && o.Restore.Status.Revision == 0 {
					d.Status.Revision -= minBump
				}
			}),
			config: func(c *config) { c.fresh = false },
			says:   []string{"clients have seen"},
		},
		"removes the seed's pin": {
			reason: "another snapshot is restored than was verified",
			plan: instead(func(_ *Observation, d *Decision) {
				if a, ok := d.Action.(CreateSeed); ok {
					a.Want = nil
					d.Action = a
				}
			}),
			config: func(c *config) { c.first, c.fresh = true, false },
			says:   []string{"is not pinned"},
		},
		"does not ask before data is lost": {
			reason: "a cluster that serves loses all that it holds",
			plan:   without("awaitConsent"),
			config: func(c *config) { c.persistent, c.fresh, c.truthOnly = false, false, false },
			says:   []string{"nobody has accepted that"},
		},
		"does not stop old members": {
			reason: "it waits for ever",
			plan:   without("stopPods"),
			config: func(c *config) { c.fresh, c.badJob = false, false },
			says:   []string{"has not ended"},
		},
		"does not wait for the acknowledgement": {
			reason: "two operators work on one cluster",
			plan:   without("awaitFence"),
			config: func(c *config) { c.noLive = true },
			says:   []string{"is not fenced"},
		},
		"hands over with the permit": {
			reason: "a seed whose disk is lost is restored again",
			plan:   without("withdrawPermit"),
			says:   []string{"with its permit"},
		},
		"does not take its turn": {
			reason: "two restores fence one cluster",
			plan:   without("takeTurn"),
			config: func(c *config) { c.user, c.faults = true, 150 },
			says:   []string{"beside"},
		},
		"forgets the volumes": {
			reason: "a roll-back lifts the fence before they are back",
			plan:   without("returnClaims"),
			config: func(c *config) { c.persistent, c.badSeed = true, true },
			says:   []string{"is not as it was"},
		},
		"forgets the seed": {
			reason: "a roll-back leaves a second cluster beside the old one",
			plan:   without("deleteSeed"),
			config: func(c *config) { c.persistent, c.badSeed = true, true },
			says:   []string{"is not as it was", "runs", "not come to rest"},
		},
		"does not lift": {
			reason: "the cluster stays fenced",
			plan:   without("liftFence", "awaitLift"),
			config: func(c *config) { c.badSeed = true },
			says:   []string{"is fenced"},
		},
		"does not withdraw the fence": {
			reason: "the fence is acknowledged when nobody is there any more",
			plan:   without("withdrawFence"),
			config: func(c *config) { c.user = true },
			says:   []string{"is fenced"},
		},
		"does not withdraw the seed": {
			reason: "a seed that is being deleted is adopted",
			plan:   without("withdrawSeed"),
			config: func(c *config) { c.truthOnly, c.user = false, true },
			says:   []string{"which is handed over", "the cluster is deleted"},
		},
		"deletes old volumes at once": {
			reason: "members are lost while the cluster has one",
			plan:   without("awaitMembers"),
			says:   []string{"old volumes are deleted"},
		},
		"keeps old volumes": {
			reason: "nobody deletes them any more",
			plan:   without("deleteRetired"),
			config: func(c *config) { c.persistent, c.fresh = true, false },
			says:   []string{"is left"},
		},
		"seeds at the snapshot's revision": {
			reason: "clients see time run backwards",
			plan: instead(func(_ *Observation, d *Decision) {
				if d.Status.Snapshot != nil && d.Status.Revision > 0 {
					d.Status.Revision = d.Status.Snapshot.Revision
				}
			}),
			says: []string{"clients have seen", "a hot loop"},
		},
		"does not look at the quota": {
			reason: "the restored cluster takes no write",
			plan: lie(func(o *Observation) {
				if o.Restore.Status.Snapshot != nil {
					o.Restore.Status.Snapshot.DatabaseSize = 0
				}
			}),
			config: func(c *config) { c.smallQuota, c.badJob, c.fresh = true, false, false },
			says:   []string{"whose quota is less"},
		},
		"does not look at the volume": {
			reason: "the seed finds no room when the members are stopped",
			plan: lie(func(o *Observation) {
				if o.Restore.Status.Snapshot != nil {
					o.Restore.Status.Snapshot.DatabaseSize = -volumeSlack
				}
				if c := o.Cluster; c != nil && c.Spec.Persistent() {
					delete(c.Spec.Pod.PersistentVolumeClaimSpec.Resources.Requests, "storage")
				}
			}),
			config: func(c *config) { c.smallVolume, c.smallQuota, c.persistent, c.fresh = true, false, true, false },
			says:   []string{"whose volumes are smaller"},
		},
		"takes consent for given": {
			reason: "an empty snapshot takes all keys",
			plan:   lie(func(o *Observation) { o.Restore.Spec.AllowEmptySnapshot = true }),
			config: func(c *config) {
				c.empty, c.allowEmpty, c.smallQuota, c.smallVolume, c.fresh, c.unseen = true, false, false, false, false, false
			},
			says: []string{"replaces keys by none"},
		},
		"etcd-operator does not count the seed's revision": {
			reason: "a second restore begins where the first one did",
			plan:   Plan,
			config: func(c *config) {
				c.noLatch, c.user, c.silent = true, true, true
				c.empty, c.smallQuota, c.smallVolume, c.badJob, c.badSeed, c.noPolicy, c.evicting = false, false, false, false, false, false, false
			},
			says: []string{"clients have seen"},
		},
		"forgets the seed's name": {
			reason: "seeds pile up",
			plan:   lie(func(o *Observation) { o.Restore.Status.SeedMember = "" }),
			says:   []string{"not come to rest", "has not ended", "a hot loop"},
		},
		"keeps the seed's name": {
			reason: "two seeds take each other for themselves",
			plan:   lie(func(o *Observation) { o.Restore.Status.SeedUID = "" }),
			says:   []string{"made a second time", "made twice"},
		},
		"begins again": {
			reason: "a restore that is over throws away what was written since",
			plan: lie(func(o *Observation) {
				if o.Restore.Status.Phase == v1beta2.RestoreComplete {
					o.Restore.Status.Phase, o.Restore.Status.HandOffTime = v1beta2.RestoreVerifying, nil
					o.Cluster.Status.AdoptedSeed = nil
				}
			}),
			says: []string{"is over"},
		},
		"success too early": {
			reason: "as the predecessor reported it",
			plan: instead(func(_ *Observation, d *Decision) {
				d.Status.Succeeded = d.Status.Succeeded || d.Status.SeedUID != ""
			}),
			says: []string{"called a success"},
		},
		"stops members before there are certificates": {
			reason: "the cluster is down until a person mends them",
			plan:   without("awaitCertificates"),
			config: func(c *config) { c.tls, c.unseen, c.fresh = true, true, false },
			says:   []string{"are stopped before the certificates"},
		},
		"makes a seed before there are certificates": {
			reason: "its Pod is another one than etcd-operator would make",
			plan: lie(func(o *Observation) {
				if o.Cluster != nil {
					o.Cluster.Status.TLS = &v1beta2.TLSStatus{Trust: "CAs"}
				}
			}),
			config: func(c *config) { c.tls, c.fresh, c.template, c.noLive = true, true, false, true },
			says:   []string{"is made before the certificates"},
		},
		"does not go on with mended certificates": {
			reason: "it waits for ever",
			plan: lie(func(o *Observation) {
				if o.Cluster != nil && o.Cluster.Spec.TLS != nil {
					o.Cluster.Status.TLS = nil
				}
			}),
			config: func(c *config) { c.tls, c.fresh, c.badJob = true, false, false },
			says:   []string{"has not ended"},
		},
		"replaces evicted seeds for ever": {
			reason: "the members are not repaired, and nobody is told",
			plan:   without("seedEnded"),
			config: func(c *config) {
				c.evicting, c.persistent, c.first, c.crowded, c.badJob, c.badSeed, c.faults = true, false, false, false, false, false, 300
			},
			says: []string{"seed after seed"},
		},
		"gives up when members are stopped": {
			reason: "an outage that another seed would end",
			plan: func(o Observation) Decision {
				v := newView(o)
				if p := v.seed; p != nil && p.Ended != nil && v.held && v.last.Phase == v1beta2.RestoreSeeding && !v.adopted {
					return v.decide(v.fail(p.Ended.Reason, p.Ended.Message))
				}
				return Plan(o)
			},
			config: func(c *config) { c.first, c.evicting, c.fresh = true, true, false },
			says:   []string{"given up for an eviction"},
		},
		"does not tell of a seed that does not stop": {
			reason: "its node is lost, and nobody says that it does not run",
			plan: lie(func(o *Observation) {
				o.Pods = slices.Clone(o.Pods)
				for i := range o.Pods {
					if p := &o.Pods[i]; p.Seed && !p.Deleting.IsZero() {
						p.Deleting = o.Now
					}
				}
			}),
			config: func(c *config) { c.dead = true },
			says:   []string{"has not ended"},
		},
		"a lost seed is not replaced": {
			reason: "the restore waits for ever",
			plan:   without("dropSeed"),
			says:   []string{"has not ended", "made a second time", "made twice", "which is handed over"},
		},
		"believes caches while it rolls back": {
			reason: "what they do not show is never given back",
			plan:   Plan,
			config: func(c *config) { c.staleBackward, c.user, c.badSeed, c.lag, c.persistent = true, true, true, 8, true },
			says:   []string{"is not as it was", "is let go", "is fenced", "was not given back", "is left", "runs"},
		},
		"does not look at the restored revision": {
			reason: "what was to be undone is restored, too",
			plan: lie(func(o *Observation) {
				for i := range o.Pods {
					if r := o.Pods[i].Result; r != nil && r.Snapshot != nil {
						told := *r
						told.Cut = &task.Cut{Revision: o.Restore.Spec.Revision, TotalKeys: 1}
						if o.Restore.Spec.Time != nil {
							told.Cut = &task.Cut{Revision: cmp.Or(o.Restore.Status.TargetRevision, 20), TotalKeys: 1, Time: o.Now}
						}
						o.Pods[i].Result = &told
					}
				}
			}),
			config: func(c *config) { c.asOf, c.uncut = true, true },
			says:   []string{"holds what came after"},
		},
		"forgets what the time stands for": {
			reason: "what was verified is not what is restored",
			plan: instead(func(o *Observation, d *Decision) {
				if d.Status.TargetRevision != 0 {
					d.Status.TargetRevision++
				}
			}),
			config: func(c *config) { c.asOf, c.byTime, c.first, c.uncut = true, true, true, false },
			says:   []string{"the time stands for"},
		},
		"waits without a pause": {
			reason: "the API server is asked all the time",
			plan: instead(func(_ *Observation, d *Decision) {
				if d.RequeueAfter > 0 {
					d.RequeueAfter = next
				}
			}),
			says: []string{"a hot loop"},
		},
		"touches before it has verified": {
			reason: "a bad snapshot takes the cluster down",
			plan: func(o Observation) Decision {
				if o.Restore.Status.Snapshot == nil && o.Restore.DeletionTimestamp == nil {
					o.Restore = o.Restore.DeepCopy()
					o.Restore.Status.Snapshot = snapshotOf(found())
					d := Plan(o)
					d.Status.Snapshot = nil
					return d
				}
				return Plan(o)
			},
			config: func(c *config) { c.first, c.fresh = true, false },
			says:   []string{"before its snapshot is verified", "which could not be prepared"},
		},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			for seed := range int64(600) {
				c := randomConfig(rand.New(rand.NewSource(seed)))
				c.truthOnly = true
				if r.config != nil {
					r.config(&c)
				}
				w := newWorld(seed, c, r.plan)
				w.run()
				if w.broken == "" {
					continue
				}
				for _, s := range r.says {
					if strings.Contains(w.broken, s) {
						t.Logf("%s: found by seed %d: %s", r.reason, seed, w.broken)
						return
					}
				}
				t.Fatalf("%s: seed %d found something else: %s\n%s", r.reason, seed, w.broken, strings.Join(w.trace, "\n"))
			}
			t.Errorf("%s: not noticed", r.reason)
		})
	}
}

// ruleName is the name of a rule's function.
func ruleName(r rule) string {
	name := runtime.FuncForPC(reflect.ValueOf(r).Pointer()).Name()
	return name[strings.LastIndex(name, ".")+1:]
}
