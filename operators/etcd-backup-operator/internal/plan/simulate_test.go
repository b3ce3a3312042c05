package plan

import (
	"flag"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// seeds is how many runs there are of what must hold: go test -run TestSimulate -seeds N.
var seeds = flag.Int64("seeds", 2000, "how many runs TestSimulate makes")

// TestSimulate runs the planner in a world where caches lag, writes are lost, Jobs
// vanish, two operators work side by side, and operators crash between any two of their
// steps.
func TestSimulate(t *testing.T) {
	starts, records := 0, 0
	for seed := range *seeds {
		w := newWorld(seed, randomConfig(rand.New(rand.NewSource(seed))), noted)
		w.run()
		starts += len(w.starts)
		records += len(w.recorded)
		if w.broken != "" {
			t.Fatalf("seed %d, %+v: %s\n%s", seed, w.config, w.broken, strings.Join(w.trace, "\n"))
		}
	}
	t.Logf("%d runs, %d Jobs, %d recorded", *seeds, starts, records)
	if int64(starts) < 10**seeds {
		t.Errorf("%d Jobs in %d runs: the world does not do much", starts, *seeds)
	}
}

// TestPlantedBugs proves the world: each row plants a bug, and some seed must find it.
func TestPlantedBugs(t *testing.T) {
	// lie is the planner that is told something else than what was observed.
	lie := func(f func(*Observation)) planner {
		return func(o Observation) Decision {
			o.Backup = o.Backup.DeepCopy()
			f(&o)
			return Plan(o)
		}
	}
	rows := map[string]struct {
		reason string
		plan   planner
		config func(*config)
		says   []string // one of which is found
	}{
		"stores where it is not allowed": {
			reason: "whoever creates an EtcdBackup would take the data anywhere",
			plan:   lie(func(o *Observation) { o.Restricted = nil }),
			config: func(c *config) { c.restricts = true },
			says:   []string{"which allows", "is not told of EtcdCluster"},
		},
		"does not ask who created it": {
			reason: "whoever creates an EtcdBackup would use any account",
			plan:   lie(func(o *Observation) { o.Creator.Passed = true }),
			config: func(c *config) { c.account = true },
			says:   []string{"might not be able to use"},
		},
		"forgets its clock": {
			reason: "the predecessor's was in memory",
			plan: lie(func(o *Observation) {
				o.Backup.Status.Clock, o.Backup.Status.LastScheduleTime = nil, nil
				o.Backup.Status.Phase = v1beta2.BackupNone
			}),
			config: func(c *config) { c.interval, c.cron = 0, "* * * * *" },
			says:   []string{"were due", "is started after", "a second time"},
		},
		"begins its clock anew": {
			reason: "every look counts from its own moment",
			plan:   lie(func(o *Observation) { o.Backup.Status.Clock = nil }),
			config: func(c *config) { c.interval, c.cron = 0, "* * * * *" },
			says:   []string{"nothing was started since", "does not come to rest", "due and not started"},
		},
		"forgets what it recorded": {
			reason: "results are recorded twice",
			plan:   lie(func(o *Observation) { o.Backup.Status.History = nil }),
			says:   []string{"a second time", "has ended", "are counted"},
		},
		"forgets who is active": {
			reason: "a Job that is lost is never recorded",
			plan:   lie(func(o *Observation) { o.Backup.Status.Active = nil }),
			config: func(c *config) { c.vanish = true },
			says:   []string{"is not recorded", "a second time"},
		},
		"does not forbid": {
			reason: "two run side by side",
			plan: lie(func(o *Observation) {
				if o.Backup.Spec.Concurrency() == v1beta2.ForbidConcurrent {
					o.Backup.Spec.BackupPolicy.ConcurrencyPolicy = v1beta2.AllowConcurrent
				}
			}),
			config: func(c *config) { c.concurrency = "" },
			says:   []string{"side by side", "beside"},
		},
		"makes up the oldest": {
			reason: "after a gap all that was missed is made, one after the other",
			plan: func(o Observation) Decision {
				if c := o.Backup.Status.Clock; c != nil && o.Now.Sub(c.After.Time) > 2*time.Minute {
					o.Now = c.After.Add(time.Minute)
				}
				return Plan(o)
			},
			config: func(c *config) { c.interval, c.cron, c.deadline = 0, "* * * * *", nil },
			says:   []string{"newer ones are due"},
		},
		"makes a one-shot backup again": {
			reason: "its end is not looked at",
			plan: lie(func(o *Observation) {
				o.Backup.Status.History, o.Backup.Status.Succeeded = nil, false
				o.Backup.Status.Phase = v1beta2.BackupPending
			}),
			config: func(c *config) { c.interval, c.cron = 0, "" },
			says:   []string{"has ended", "a second time", "are counted"},
		},
		"takes any backup for the newest good one": {
			reason: "one without a quorum might lack what an earlier one holds",
			plan: func(o Observation) Decision {
				o.Backup = o.Backup.DeepCopy()
				snapshot := o.Backup.Status.Snapshot
				o.Backup.Status.Snapshot, o.Backup.Status.LastSuccessDate = nil, nil
				d := Plan(o)
				if d.Status.Snapshot == nil {
					d.Status.Snapshot = snapshot
				}
				return d
			},
			config: func(c *config) { c.interval, c.cron = 0, "* * * * *" },
			says:   []string{"takes the place of a good one"},
		},
		"waits without a timer": {
			reason: "no watch says that time has passed",
			plan: func(o Observation) Decision {
				d := Plan(o)
				d.RequeueAfter = 0
				return d
			},
			config: func(c *config) { c.interval, c.cron = 0, "* * * * *" },
			says:   []string{"nothing was started since", "due and not started", "is not recorded"},
		},
		"takes a lagging cache for the truth": {
			reason: "a Job that the cache lacks is taken for gone",
			plan:   Plan,
			config: func(c *config) { c.noLiveJobs = true },
			says:   []string{"and runs", "side by side", "and has succeeded"},
		},
		"starts without a live read": {
			reason: "an older status says that it is due",
			plan:   Plan,
			config: func(c *config) { c.noLiveRead, c.operators = true, 2 },
			says:   []string{"side by side", "a second time", "has ended", "is started after"},
		},
		"believes the cache of Pods": {
			reason: "it lags behind that of Jobs",
			plan:   Plan,
			config: func(c *config) { c.noLivePods = true },
			says:   []string{"and has succeeded"},
		},
		"does not wait for the report": {
			reason: "the Pod has not ended yet when its Job has",
			plan: lie(func(o *Observation) {
				for i := range o.Jobs {
					o.Jobs[i].Finished = time.Time{}
				}
			}),
			says: []string{"and has succeeded"},
		},
		"never tidies up": {
			reason: "Jobs are left",
			plan: func(o Observation) Decision {
				d := Plan(o)
				if _, ok := d.Action.(DeleteJob); ok {
					d.Action = nil
				}
				return d
			},
			config: func(c *config) { c.interval, c.cron, c.concurrency = 0, "* * * * *", "" },
			says:   []string{"Jobs are left", "nothing was started since", "due and not started", "does not come to rest"},
		},
		"tidies up too early": {
			reason: "a Job is deleted in the step that would record its end",
			plan: func(o Observation) Decision {
				d := Plan(o)
				for _, j := range o.Jobs {
					if j.Result != nil && !isRecorded(o.Backup.Status.History, j.Name) && d.Action == nil {
						d.Action = DeleteJob{Name: j.Name, UID: j.UID}
					}
				}
				return d
			},
			config: func(c *config) { c.concurrency = "" },
			says:   []string{"before its end is recorded"},
		},
		"verifies beside another": {
			reason: "nodes are there for others",
			plan: lie(func(o *Observation) {
				o.Verifications = nil
			}),
			config: func(c *config) { c.interval, c.cron, c.noLiveRead = 0, "* * * * *", true },
			says:   []string{"verify side by side", "is made a second time", "once more"},
		},
		"forgets what it verified": {
			reason: "its end is told again and again",
			plan:   lie(func(o *Observation) { o.Backup.Status.Verification = nil }),
			config: func(c *config) { c.interval, c.cron = 0, "* * * * *" },
			says:   []string{"is recorded a second time"},
		},
		"never verifies": {
			reason: "nobody knows whether a backup is good",
			plan: func(o Observation) Decision {
				d := Plan(o)
				if _, ok := d.Action.(StartVerification); ok {
					d.Action = nil
				}
				return d
			},
			config: func(c *config) { c.interval, c.cron = 0, "* * * * *" },
			says:   []string{"is not verified", "does not come to rest"},
		},
		"deletes verifications too early": {
			reason: "their end is never known",
			plan: func(o Observation) Decision {
				d := Plan(o)
				for _, r := range o.Verifications {
					if r.hasEnded() && d.Action == nil {
						d.Action = DeleteVerification{Name: r.Name, UID: r.UID}
					}
				}
				return d
			},
			config: func(c *config) { c.interval, c.cron = 0, "* * * * *" },
			says:   []string{"is deleted before its end is recorded", "is not verified", "does not come to rest"},
		},
		"never copies": {
			reason: "nothing is in the second store",
			plan: func(o Observation) Decision {
				d := Plan(o)
				if _, ok := d.Action.(StartCopy); ok {
					d.Action = nil
				}
				return d
			},
			config: func(c *config) { c.interval, c.cron = 0, "* * * * *" },
			says:   []string{"is not copied", "does not come to rest"},
		},
		"forgets what it copied": {
			reason: "the same is copied again and again",
			plan: lie(func(o *Observation) {
				for i := range o.Backup.Status.History {
					o.Backup.Status.History[i].Copy = nil
				}
			}),
			config: func(c *config) { c.interval, c.cron = 0, "* * * * *" },
			says:   []string{"is copied once more", "is recorded a second time", "does not come to rest"},
		},
		"deletes copies too early": {
			reason: "their end is never known",
			plan: func(o Observation) Decision {
				d := Plan(o)
				if c := o.Copier; c != nil && !c.Running && !c.Deleting && d.Action == nil && d.Copied != nil {
					d.Action = DeleteJob{Name: c.Name, UID: c.UID}
				}
				return d
			},
			config: func(c *config) { c.interval, c.cron = 0, "* * * * *" },
			says:   []string{"is deleted before its end is recorded"},
		},
		"never gives up": {
			reason: "a node is lost for good, or a Pod never starts",
			plan: lie(func(o *Observation) {
				for i := range o.Jobs {
					o.Jobs[i].Deadline, o.Jobs[i].Idle = time.Time{}, time.Time{}
				}
			}),
			config: func(c *config) { c.nodes, c.concurrency, c.interval, c.cron = true, "", 0, "* * * * *" },
			says:   []string{"is not given up", "nothing was started since", "due and not started"},
		},
		"gives up at once": {
			reason: "the node may come back",
			plan: lie(func(o *Observation) {
				for i := range o.Jobs {
					if !o.Jobs[i].Deadline.IsZero() {
						o.Jobs[i].Deadline = o.Now
					}
				}
			}),
			config: func(c *config) { c.nodes, c.clockJumps = true, false },
			says:   []string{"before its deadline"},
		},
		"gives up what may start": {
			reason: "an image is pulled for a while",
			plan: lie(func(o *Observation) {
				for i := range o.Jobs {
					if !o.Jobs[i].Idle.IsZero() {
						o.Jobs[i].Idle = o.Now.Add(-startGrace)
					}
				}
			}),
			config: func(c *config) { c.pending, c.concurrency, c.interval, c.cron = true, "", 0, "* * * * *" },
			says:   []string{"may start"},
		},
		"starts beside what it gave up": {
			reason: "the Job makes another Pod when the node is back",
			plan: lie(func(o *Observation) {
				for i := range o.Jobs {
					o.Jobs[i].Deleting = o.Jobs[i].Deleting || isOverdue(&o.Jobs[i], o.Now)
				}
			}),
			config: func(c *config) { c.nodes, c.concurrency, c.interval, c.cron = true, "", 0, "* * * * *" },
			says:   []string{"side by side"},
		},
		"counts nothing": {
			reason: "missed runs are not told",
			plan: func(o Observation) Decision {
				d := Plan(o)
				d.Status.MissedRuns = o.Backup.Status.MissedRuns
				return d
			},
			config: func(c *config) { c.interval, c.cron, c.edits = 0, "* * * * *", false },
			says:   []string{"were due"},
		},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			for seed := range int64(500) {
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

// A clock that is put back between a look and the write of what follows from it makes no
// Job one that was given up too early: the deadline had passed when it was looked at.
func TestTheClockIsPutBackBeforeAWrite(t *testing.T) {
	for reason, hangs := range map[string]func(*simJob){
		"NodeLost": func(j *simJob) {
			j.lost, j.Deadline = true, born.Add(time.Minute)
			j.HangReason, j.HangMessage = "NodeLost", "the node is lost"
		},
		"PodNotStarting": func(j *simJob) { j.Idle = born.Add(time.Minute - startGrace) },
	} {
		for _, skew := range []time.Duration{0, 148 * time.Second} {
			w := newWorld(1, config{operators: 1, cron: "@every 45s"}, Plan)
			w.calm = true
			j := &simJob{hung: true, Job: Job{Name: JobName(w.backup, born), UID: "uid", Scheduled: born, Created: born, Running: true}}
			hangs(j)
			w.jobs[j.Name], w.all[j.Name] = j, j
			w.logJobs()
			w.deliver(w.operators[0])

			w.now = born.Add(time.Minute)
			o := w.observe(w.operators[0])
			w.skew = skew
			if d := w.plan(o); len(d.Recorded) != 1 || d.Recorded[0].Reason != reason || !w.write(o, d) || w.broken != "" {
				t.Errorf("%s, put back by %s: %+v: %s", reason, skew, d.Recorded, w.broken)
			}
		}
	}
}
