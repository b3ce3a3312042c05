package simulate

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// Config is what stays the same during a run.
type Config struct {
	// Size is the size at creation, 1 to 7.
	Size int
	// Persistent gives each member a claim of its own; else data lives and dies
	// with the Pod.
	Persistent bool
	// LocalVolumes binds a claim to the node on which it was first used.
	LocalVolumes bool
	// Expansion is whether volumes may grow, and whether the operator may read that; Retain
	// keeps them when the EtcdCluster is deleted.
	Expansion expansion
	Retain    bool
	// Version is the members' etcd version, such as "3.6.16".
	Version string
	// Learners is the ETCD_MAX_LEARNERS that the operator's Pods run with.
	Learners int
	// Nodes is the number of nodes; with AntiAffinity each takes one Pod.
	Nodes        int
	AntiAffinity bool
	// NodesReadable is false for a namespaced install that cannot see nodes.
	NodesReadable    bool
	DisruptionBudget bool
	MemberTimeout    time.Duration
	// Existed is why the cluster is known to have existed before; empty if it did
	// not.
	Existed string
	// Weight is how many raft entries one write stands for: with many, a member
	// that lags by a write is not caught up.
	Weight int
	// Quota is what the databases may grow to, in units of which a write takes one; 0 for no
	// limit, and databases of no size. Live is what of a database a compaction leaves.
	Quota, Live int
	// AutoRepair is spec.maintenance.autoRepairSpace, AbovePercent its
	// defragmentAbovePercent, Scheduled whether there is a schedule.
	AutoRepair   bool
	AbovePercent int
	Scheduled    bool
	// Compares is whether members' data is compared.
	Compares bool
	// TLS is whether members talk by TLS.
	TLS bool
	// Idle has clients write seldom, and no more once faults have stopped.
	Idle bool
	// Steps is how many steps there are in which faults happen.
	Steps int
	// Faults is the number of faults.
	Faults int
	// Kinds are the kinds of faults that may happen; nil means all.
	Kinds []FaultKind
	// Calm takes all chance out of delays: each is as short as it can be.
	Calm bool
	// BornFenced begins it with an EtcdCluster that was made for a restore.
	BornFenced bool
	// Formed begins the run with a cluster that is complete.
	Formed bool
	// Gentle leaves out faults that would lose a majority's disks, until the cluster
	// has healed so far that they don't.
	Gentle bool
	// Survive begins it with spec.recovery.quorumLoss: Survivor.
	Survive bool
	// Only names the invariants that are checked, to see what comes of breaking the
	// others; nil means all.
	Only []string
	// TruthOnly leaves out CheckDecision: only what came of a decision counts.
	TruthOnly bool
	// Rejects makes the API server reject one kind of call permanently.
	Rejects bool
	// Clocks makes the clocks of some nodes' kubelets wrong.
	Clocks bool
	// Compared has the shipped code compared with the model of it.
	Compared bool
	// Meddles is before how many of a hundred calls of the shipped operator something else
	// happens first: that nothing else does is what its preconditions are for.
	Meddles int
	// Intrusions are what somebody else does to the objects that the shipped operator's calls are
	// about, before Intrudes of a hundred of them.
	Intrusions []intrusion
	Intrudes   int
	// RestoreIntrusion is that before half of the calls of the shipped etcd-restore-operator.
	RestoreIntrusion restoreIntrusion
	// Deletes has users delete EtcdRestores whose marks on the EtcdCluster are about to change.
	// With LateMarks half of these changes take effect late.
	Deletes, LateMarks bool
	// Planted are bugs in what surrounds the planner.
	Planted []Bug
}

// Bug is a bug that can be planted in the model of act, in what the launcher is told, or in what the
// shipped operator remembers, to see that it matters, and that the simulator notices.
type Bug int

const (
	// NoLiveRead: act does not read the EtcdCluster before it acts.
	NoLiveRead Bug = iota
	// NoLiveFence: it does not look whether the EtcdCluster is fenced before it acts.
	NoLiveFence
	// NoLiveReadForPatches: it does not before it changes Pods: start permits and roles.
	NoLiveReadForPatches
	// NoLiveNames: it creates Pods whatever there are meanwhile.
	NoLiveNames
	// NoLivePod: it removes members whatever became of their Pods.
	NoLivePod
	// NoLivePods: it gives Pods another image whatever became of them and the others.
	NoLivePods
	// NoLiveHolders: it begins anew with a survivor's data whatever else has data.
	NoLiveHolders
	// NoUID: it changes and deletes by name.
	NoUID
	// NoMemberList: it changes members whatever the list is meanwhile.
	NoMemberList
	// NoDeadline: it asks a member to defragment however long ago it has decided that.
	NoDeadline
	// NoLiveClaims: it does not look at the other volumes before it lets one grow, or
	// records a beginning.
	NoLiveClaims
	// ForgetfulLauncher: the launcher uses a start permit again that it has used.
	ForgetfulLauncher
	// EagerLauncher: without data it starts as a member that joins, start permit or not, as
	// a Pod with constant flags does.
	EagerLauncher
	// TrustingLauncher: it does not ask the members that a start permit names whether it has
	// started before.
	TrustingLauncher
	// EarlyLeaves: certificates are of a new CA before all members trust it.
	EarlyLeaves
	// EarlyDrop: a CA that was replaced is not trusted any more before members have
	// loaded the certificates of the new one.
	EarlyDrop
	// NoDoubt: the shipped operator forgets that a call of its own was not answered.
	NoDoubt
	// NoStart: it forgets when it was started, too, so that what the one before has begun counts as
	// over.
	NoStart
	// IgnoreDoubt hides Pods and PVCs whose owner is in doubt from the planner.
	IgnoreDoubt
)

func (c *Config) checks(invariant string) bool {
	return c.Only == nil || slices.Contains(c.Only, invariant)
}

func (c *Config) has(b Bug) bool { return slices.Contains(c.Planted, b) }

// laterFaults are drawn from sources of their own, so that what a seed does otherwise stays
// as it was before they came.
var laterFaults = []struct {
	stream  uint64
	percent int
	kinds   []FaultKind
}{
	{15, 20, []FaultKind{RefusePods, RefuseClaims}},
	{16, 25, []FaultKind{AddByHand, ChangePeerURL}},
	{17, 45, []FaultKind{AlterData}},
	{18, 20, []FaultKind{FillSlowly}},
}

// firstVersions are those that clusters begin with, most of them with the default.
var firstVersions = slices.Sorted(slices.Values(append(etcdversion.All(), etcdversion.Default, "3.4.37", "3.5.30")))

// RandomConfig is a configuration drawn from the seed. Sizes, volumes, versions
// and faults of all kinds occur; each run has a subset of the kinds of faults, so
// that rare combinations get their turn.
func RandomConfig(seed int64) Config {
	r := newRandom(uint64(seed), 1)
	cfg := Config{
		Size:             pick(&r, 1, 2, 3, 3, 3, 3, 4, 5, 5, 6, 7),
		Persistent:       r.chance(60),
		LocalVolumes:     r.chance(40),
		Version:          pick(&r, firstVersions...),
		Learners:         7,
		AntiAffinity:     r.chance(40),
		NodesReadable:    r.chance(80),
		DisruptionBudget: r.chance(80),
		MemberTimeout:    pick(&r, 30*time.Second, time.Minute, 5*time.Minute),
		Expansion:        pick(&r, growing, growing, growingUnread, frozen, frozenUnread),
		Retain:           r.chance(40),
		Weight:           pick(&r, 1, 100, 3000),
		Steps:            pick(&r, 60, 150, 250),
	}
	cfg.Nodes = cfg.Size + r.below(3)
	if !cfg.Persistent {
		cfg.Nodes++ // members are replaced: another one finds a place first
	}
	if !cfg.AntiAffinity {
		cfg.Nodes = r.between(1, 5)
	}
	if r.chance(1) {
		cfg.Existed = "a status of the archived operator"
	}
	if r.chance(50) {
		cfg.Quota = pick(&r, 30, 60, 200)
		cfg.Live = pick(&r, 1, 1, cfg.Quota/3, cfg.Quota-1)
	}
	cfg.AutoRepair, cfg.Scheduled = r.chance(60), r.chance(30)
	cfg.AbovePercent = pick(&r, 0, 0, 30, 60)
	cfg.Formed = r.chance(50)
	cfg.BornFenced = !cfg.Formed && r.chance(10)
	cfg.Gentle = r.chance(75)
	survivors := newRandom(uint64(seed), 11)
	cfg.Survive = survivors.chance(40)
	secure := newRandom(uint64(seed), 12)
	cfg.TLS = secure.chance(50)
	cfg.Compares = secure.chance(50)
	idle := newRandom(uint64(seed), 14)
	cfg.Idle = idle.chance(30)
	older := newRandom(uint64(seed), 13)
	cfg.Learners = pick(&older, 7, 7, 7, 3, 1)
	cfg.Faults = pick(&r, 0, 2, 4, 8, 12, 20)
	for k := range RefusePods {
		if r.chance(45) {
			cfg.Kinds = append(cfg.Kinds, k)
		}
	}
	for _, later := range laterFaults {
		draw := newRandom(uint64(seed), later.stream)
		for _, k := range later.kinds {
			if draw.chance(later.percent) {
				cfg.Kinds = append(cfg.Kinds, k)
			}
		}
	}
	if slices.Contains(cfg.Kinds, LeadLeaving) { // nobody leaves unless somebody scales
		cfg.Kinds = append(cfg.Kinds, EditSize, EditSize)
	}
	if slices.Contains(cfg.Kinds, EditVersion) && r.chance(60) { // one change of mind seldom shows much
		cfg.Kinds = append(cfg.Kinds, EditVersion, EditVersion, EditVersion, EditVersion)
	}
	if slices.Contains(cfg.Kinds, EditTemplate) && r.chance(50) {
		cfg.Kinds = append(cfg.Kinds, EditTemplate, EditTemplate, Cordon)
	}
	if slices.Contains(cfg.Kinds, LackCredentials) { // of no account before
		cfg.Kinds = append(cfg.Kinds, EnableAuth, EnableAuth)
	}
	if cfg.TLS && slices.Contains(cfg.Kinds, RotateCA) {
		cfg.Kinds = append(cfg.Kinds, RotateCA, RotateCA)
	}
	if slices.Contains(cfg.Kinds, EraseFence) || slices.Contains(cfg.Kinds, OldMarks) || slices.Contains(cfg.Kinds, LateCall) {
		cfg.Kinds = append(cfg.Kinds, Restore, Restore)
	}
	return cfg
}

// largest is the largest size that the nodes have room for.
func (c *Config) largest() int {
	if c.AntiAffinity {
		return min(7, c.Nodes-boolInt(!c.Persistent))
	}
	return 7
}

func (c *Config) String() string {
	volumes := "emptyDir"
	if c.Persistent {
		volumes = "claims"
		if c.LocalVolumes {
			volumes = "local claims"
		}
	}
	s := fmt.Sprintf("size %d, %s, etcd %s, %d nodes, member timeout %s, weight %d", c.Size, volumes, c.Version, c.Nodes, c.MemberTimeout, c.Weight)
	if c.AntiAffinity {
		s += ", anti-affinity"
	}
	if !c.NodesReadable {
		s += ", nodes not readable"
	}
	if c.Quota > 0 {
		s += fmt.Sprintf(", quota %d of which %d are live", c.Quota, c.Live)
	}
	if c.AutoRepair {
		s += ", repairs"
	}
	if c.AbovePercent > 0 {
		s += fmt.Sprintf(", defragments above %d %%", c.AbovePercent)
	}
	if c.TLS {
		s += ", TLS"
	}
	if c.Compares {
		s += ", compared"
	}
	if c.Scheduled {
		s += ", scheduled"
	}
	if c.Formed {
		s += ", formed"
	}
	if c.BornFenced {
		s += ", born fenced"
	}
	if c.Gentle {
		s += ", gentle"
	}
	if c.Survive {
		s += ", survivor"
	}
	if c.Idle {
		s += ", idle"
	}
	if c.Calm {
		s += ", calm"
	}
	return s
}
