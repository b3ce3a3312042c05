package simulate

import (
	"flag"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// Runs leave much garbage and keep little: collecting it less often saves a quarter of their time. A
// process takes some 250 MiB so.
func init() {
	debug.SetGCPercent(1500)
	// Without a sink, controller-runtime keeps every logger that is asked for, in case one is set later.
	log.SetLogger(logr.New(log.NullLogSink{}))
}

var scheme = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(v1beta2.AddToScheme(s))
	return s
})

// runShipped makes one run with the code that ships in the place of the model of it. The
// clock and the random numbers that it sees are the run's own.
func runShipped(t *testing.T, cfg Config, seed int64, faults []Fault, trace *story) (w *world) {
	t.Helper()
	return runPlanner(t, cfg, seed, faults, trace, plan.Plan)
}

// runPlanner repeats the run with another planner.
func runPlanner(t *testing.T, cfg Config, seed int64, faults []Fault, trace *story, planner func(facts.Observation) plan.Decision) (w *world) {
	t.Helper()
	scheme := scheme() // outside of the bubble
	cryptotest.SetGlobalRandom(t, uint64(seed))
	synctest.Test(t, func(*testing.T) {
		time.Sleep(time.Until(epoch))
		w = newWorld(cfg, seed, planner, faults)
		if cfg.Rejects {
			w.rejection = randomRejection(seed, cfg.Steps)
		}
		w.trace, w.sleep = trace, func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait() // for the deadlines that have passed
		}
		w.existed()
		w.awaitCreation()
		w.ship(w.operators[0], scheme)
		w.shipRestorer(scheme)
		if cfg.Formed {
			w.form()
		}
		for w.step < cfg.Steps && w.broken == nil {
			w.advance()
		}
		if w.broken == nil && w.rejection != nil {
			w.settleRejected()
		}
		if w.broken == nil && cfg.checks(liveness) {
			w.settle()
		}
		w.stats.Runs, w.stats.Steps, w.stats.QuorumLost = 1, w.step, boolInt(w.broken == nil && w.majorityLost)
		w.end()
	})
	return w
}

// What the shipped code is put to comes in three kinds, of which a seed draws those that apply: what
// becomes of the objects in Kubernetes; of etcd's data, users and certificates; and what happens
// between two calls.
var (
	shippedKinds = []FaultKind{
		KillContainer, HoldContainer, DeletePod, ForceDeletePod, FinishPod, DrainPod, StopNode, CutNode, SilenceNode, LoseNode,
		WipeDisk, WipeWhileDown, WipeSeed, DeleteUserClaim, CorruptDisk, StarveMember, LoseMajority, KillLearner, KillLeader, MoveAway,
		LeadLeaving, SlowMember, PartitionPeers, PartitionOperator, CrashOperator, StallOperator, LoseReply, FailCall,
		LagPods, LagClaims, LagStatus, EditSize, Pause, EditVersion, EditRepository, EditTemplate, AskRestart, Cordon, Uncordon, Unschedulable, ImageTrouble, SlowAddress,
		RefusePods, RefuseClaims,
	}
	kubernetesKinds = []FaultKind{
		EditStorage, EditPolicy, Recreate, BringBack, SecondOperator, DeleteCluster, WantSurvivor,
		Restore, EraseFence, OldMarks, LateCall, RepeatCall, TearCall,
	}
	etcdKinds = []FaultKind{
		Fill, FillSlowly, CorruptMember, CorruptSomebody, AlterData,
		AddByHand, ChangePeerURL, ChangeLearners, EnableAuth, LackCredentials,
		LackCertificates, SpoilCertificates, RotateCA, AskDefragment, AskLeader,
	}
)

// shippedConfig is a configuration as RandomConfig draws it, without what is not simulated
// with the shipped code yet. Of the first kind, two in ten have mostly restores, and two lose a
// majority; they are compared with the model.
func shippedConfig(seed int64) Config {
	cfg := RandomConfig(seed)
	switch seed % 20 {
	case 4, 14:
		cfg = losing(seed)
	case 8:
		restoring(StallOperator, StallOperator, LagStatus, SecondOperator, EditSize, DeletePod, KillContainer, TearCall, EraseFence, OldMarks)(&cfg)
	case 18:
		restoring(LateCall, LateCall, LateCall, RepeatCall, EditSize, EditSize, DeletePod, CrashOperator, EraseFence, OldMarks)(&cfg)
	}
	if seed%2 == 0 {
		cfg.Compared = true
		cfg.play(true, false)
		return cfg
	}
	// The others are drawn: what becomes of objects, of etcd, and what happens between two calls.
	r := newRandom(uint64(seed), 19)
	objects, etcd, meddled := r.chance(50), r.chance(50), r.chance(50)
	if meddled || !objects && !etcd {
		cfg.Meddles, cfg.Intrusions, cfg.Intrudes, cfg.Clocks = 10, anyIntrusions, 5, true
	}
	cfg.play(objects, etcd)
	return cfg
}

// play leaves out of a configuration what is not played: what becomes of objects in Kubernetes, and
// what becomes of etcd.
func (c *Config) play(objects, etcd bool) {
	kinds := slices.Clone(shippedKinds)
	if objects {
		kinds = append(kinds, kubernetesKinds...)
	} else {
		c.Expansion, c.Retain, c.Existed, c.BornFenced, c.Survive, c.Formed = growing, false, "", false, false, false
	}
	if etcd {
		kinds = append(kinds, etcdKinds...)
	} else {
		c.Quota, c.Live, c.AutoRepair, c.AbovePercent = 0, 0, false, 0
		c.Scheduled, c.Compares, c.TLS, c.Learners = false, false, false, member.MaxLearners
	}
	if objects { // a restore's seed has that limit of learners, and CAs are not judged across two EtcdClusters
		c.Learners, c.TLS = member.MaxLearners, false
	}
	c.limit(kinds)
}

// limit leaves no other kinds of faults.
func (c *Config) limit(kinds []FaultKind) {
	c.Kinds = slices.DeleteFunc(c.Kinds, func(k FaultKind) bool { return !slices.Contains(kinds, k) })
	if len(c.Kinds) == 0 {
		c.Kinds = []FaultKind{KillContainer}
	}
}

// meddledConfig has something happen between the calls of the operator.
func meddledConfig(seed int64) Config {
	cfg := RandomConfig(seed)
	cfg.Meddles = 10
	cfg.play(false, false)
	return cfg
}

// shippedActions are the kinds of actions that its runs come to.
var shippedActions = []string{
	"AcknowledgeFence", "AddLearner", "AdoptSeed", "AdoptSurvivor", "ChangeImage", "Compact", "CompareData", "CreatePods",
	"Defragment", "DeleteClaim", "DeletePod", "DisarmAlarm", "EnableDowngrade", "GrantStartPermit", "GrowClaim", "KeepClaims", "LatchClusterID", "LiftFence",
	"Promote", "RecordBootstrap", "RecordConsistency", "RecordSurvivor", "RecordVersion", "RecreatePod", "RemoveMember", "RevokeStartPermits", "RevokeSurvivorPermit",
	"SetRoles", "TransferLeadership",
}

// seldomActions are those that few of them come to.
var seldomActions = []string{"AnswerLeaderRequest", "BeginDefragment", "CancelDowngrade", "DropSeed", "EndRecovery", "TakeClaims"}

var shippedFlag = flag.Int("shipped", 350, "how many seeds TestShipped runs")

// afterShipped tells of the preconditions, in the build that counts them.
var afterShipped = func(_ *testing.T, all bool) {}

// TestShipped tries to break the code that ships.
func TestShipped(t *testing.T) {
	first, n := *firstFlag, int64(*shippedFlag)
	if *seedFlag >= 0 {
		first, n = *seedFlag, 1
	}
	stats := newStats()
	failed := 0
	for seed := first; seed < first+n; seed++ {
		cfg := shippedConfig(seed)
		var trace *story
		if n == 1 {
			trace = &story{}
		}
		w := runShipped(t, cfg, seed, RandomFaults(cfg, seed), trace)
		stats.Add(w.stats)
		if trace != nil {
			t.Logf("%s\n%s", &cfg, strings.Join(trace.lines, "\n"))
		}
		if w.broken != nil {
			failed++
			t.Errorf("seed %d: %s: %s", seed, w.broken.invariant, w.broken.message)
		}
	}
	t.Logf("%d of %d failed\n%s", failed, n, stats)
	for _, kind := range slices.Concat(shippedActions, seldomActions) {
		enough := n >= 150 && !slices.Contains(seldomActions, kind) || n >= 1500
		if first == 0 && enough && stats.Actions[kind] == 0 {
			t.Errorf("%s never happened", kind)
		}
	}
	afterShipped(t, first == 0 && n >= 150)
}
