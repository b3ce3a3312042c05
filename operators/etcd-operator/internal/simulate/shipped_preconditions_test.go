//go:build simulation

package simulate

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/act"
)

// planted is what the runs show of a precondition of act.
type planted struct {
	// by are the invariants of which one finds that it is left out.
	by []string
	// config changes a configuration to where it matters; without it, the seeds of
	// TestShipped come to it.
	config func(*Config)
	// guarded is why nothing comes of it when it is left out: something else keeps the same.
	// never is why it cannot fail.
	guarded, never string
	// from is the first seed, for a row that few seeds come to.
	from int64
}

const (
	ownNames    = "the planner names only what it has observed"
	comparedPod = "SamePods or SameHolders, and AllPods, have compared the same Pod, by uid and whether it is being deleted"
	byServer    = "the server refuses it: this only says that it is to be observed again"
)

// preconditionRows has a row for each precondition of act.
var preconditionRows = map[act.Precondition]planted{
	act.SameCluster:   {guarded: "another one of its name has no cluster id and no beginning: SameClusterID, SameBootstrap and StatusAsRead refuse it", config: recreated},
	act.SameSpec:      {by: []string{"S11"}},
	act.SameClusterID: {by: []string{"S11"}, from: 600},
	act.SameBootstrap: {guarded: "who decides before the beginning is recorded only records one, and StatusAsRead refuses that"},
	act.SameRecovery:  {by: []string{"S11"}, config: surviving(abortAhead)},
	act.SameVersions:  {guarded: "who decides before a version is recorded only records one, and StatusAsRead refuses that"},
	act.NotFenced:     {by: []string{"S12"}, config: fencing},

	act.BeforeAction:     {by: []string{"S11"}},
	act.BeforePod:        {by: []string{"S11"}},
	act.BeforeVolume:     {by: []string{"S11"}, config: withVolumes},
	act.BeforeEtcd:       {by: []string{"S11"}},
	act.BeforeImage:      {by: []string{"S11"}, config: rolling},
	act.BeforeRecreation: {by: []string{"S11"}, config: recreating},
	act.BeforeRole:       {by: []string{"S11"}, config: scaling},
	act.BeforePermit:     {by: []string{"S11"}},
	act.BeforeRevocation: {by: []string{"S11"}, config: withVolumes},
	act.BeforeDowngrade:  {by: []string{"S11"}, config: rolling},
	act.BeforeGrowth:     {by: []string{"S11"}, config: editingVolumes},
	act.BeforeKeeping:    {by: []string{"S11"}, config: editingVolumes},
	act.BeforeTaking:     {by: []string{"S11", "S12"}, config: recreated},
	act.BeforeChild:      {by: []string{"S11"}},
	act.BeforeNoBudget:   {by: []string{"S11"}, config: resizing},
	act.BeforeLabels:     {by: []string{"S11"}},

	act.SameMembers: {by: []string{"S3", "S4", "S7"}, config: scaling},
	act.LeadsNot:    {by: []string{"S8"}, config: leadLeaving},
	act.QuorumStays: {by: []string{"S4"}, config: intruded(leadLeaving, 50, crashStaying)},
	act.Downgrade:   {guarded: byServer},

	act.Observed:          {never: ownNames},
	act.SameNames:         {by: []string{"S11"}},
	act.SamePods:          {by: []string{"S4", "S6"}},
	act.AllPods:           {by: []string{"S4", "S6", "S11"}, config: rolling},
	act.NoUnseenPod:       {by: []string{"S9"}},
	act.NoUnseenClaim:     {by: []string{"S9"}, config: scaling},
	act.NoDoubtfulPod:     {by: []string{"S9"}, config: intruded(scaling, 3, confusePod), from: 140},
	act.NoDoubtfulClaim:   {by: []string{"S9"}, config: intruded(scaling, 3, confuseVolume)},
	act.RemovedPod:        {never: comparedPod},
	act.RemovedPermit:     {by: []string{"S4"}, config: intruded(joining, 50, permitNow)},
	act.RemovedNotBack:    {by: []string{"S4"}, config: intruded(stranding, 50, findNode)},
	act.NoPodOfClaim:      {by: []string{"S7"}, config: intruded(scaling, 50, addPod)},
	act.SeedIsThere:       {by: []string{"S12"}, config: intruded(restored, 50, deletePodNext)},
	act.SeedIsAlone:       {by: []string{"S1"}, config: intruded(handingOver, 50, reapplyBeside)},
	act.StillThere:        {guarded: byServer},
	act.NameIsFree:        {guarded: byServer},
	act.ImageAsRead:       {by: []string{"S6"}, config: rolling},
	act.DefragmentAsRead:  {by: []string{"S6"}, config: intruded(defragmenting, 50, annotatePod)},
	act.DefragmentOfPod:   {by: []string{"S11"}, config: intruded(defragmenting, 50, replacePod)},
	act.LabelsAsRead:      {by: []string{"S11"}},
	act.RecreationAsRead:  {by: []string{"S6"}, config: recreating},
	act.SameRole:          {by: []string{"S11"}},
	act.PermitOfSamePod:   {by: []string{"S2"}, config: scaling},
	act.PermitAsRead:      {by: []string{"S2"}},
	act.RevocationOfPod:   {by: []string{"S11"}},
	act.DeletionOfSamePod: {by: []string{"S7"}, config: withVolumes},

	act.NoOtherClaims:   {by: []string{"S1"}, config: intruded(beginning, 50, addStrangersVolume)},
	act.ClaimIsMembers:  {by: []string{"S7"}, config: intruded(scaling, 50, editing("retires", retire, readingVolume))},
	act.SameClaim:       {by: []string{"S7"}, config: intruded(scaling, 50, replaceVolume)},
	act.ClaimAsRead:     {by: []string{"S7"}, config: intruded(scaling, 50, editing("retires", retire, deletingVolume))},
	act.PatchedAsRead:   {by: []string{"S11"}, config: editingVolumes},
	act.ClaimIsOurs:     {by: []string{"S12"}, config: intruded(scaling, 50, takeVolumesName(giveAway, retire, nil))},
	act.ClaimIsUsable:   {by: []string{"S12"}, config: intruded(scaling, 50, takeVolumesName(giveAway, retire, nil))},
	act.GrowsAlone:      {by: []string{"S6"}, config: editingVolumes, from: 190},
	act.GrowsAsObserved: {by: []string{"S11"}, config: expanding()},
	act.GrowsBesideSame: {by: []string{"S6"}, config: expanding(deleteHolder)},
	act.TakenIsThere:    {by: []string{"S12"}, config: adopting(deleteVolume)},
	act.TakenIsRetained: {by: []string{"S12"}, config: adopting(editing("gives away", giveAway, readingVolume))},

	act.SameHolders:      {by: []string{"S13"}, config: surviving(deleteHolder)},
	act.SameHolderClaims: {by: []string{"S13"}, config: survivingOnVolumes(addVolume)},
	act.AllHolderClaims:  {by: []string{"S13"}, config: survivingOnVolumes(giveAwayObserved)},
	act.NoOtherServes:    {by: []string{"S13"}, config: surviving(serveOld)},
	act.SurvivorsSeed:    {never: comparedPod, config: surviving(deleteHolder)},
	act.SeedNotAdopted:   {never: "it compares what was observed: the planner drops no seed with which the cluster has begun, and SameBootstrap refuses another beginning", config: surviving(replacePod, withdraw)},
	act.SeedPod:          {guarded: "SeedOfUID refuses another Pod by its uid, and tokens of a Pod never change", config: surviving(replacePod, withdraw, deleteHolder)},
	act.SeedOfUID:        {by: []string{"S7"}, config: surviving(replacePod, withdraw)},
	act.SeedExists:       {guarded: "a volume without an observed uid is not found, or is refused by SameClaim", config: surviving(replacePod, withdraw, deleteHolder)},
	act.SeedClaim:        {by: []string{"S7"}, config: survivingOnVolumes(editing("unmarks", unmark, readingVolume), withdraw)},
	act.RevocationOfSeed: {by: []string{"S13"}, config: surviving(replacePod)},

	act.ServiceIsOurs: {by: []string{"S12"}, config: intruded(scaling, 5, takeChild("*v1.Service"))},
	act.BudgetIsOurs:  {by: []string{"S12"}, config: intruded(scaling, 5, takeChild("*v1.PodDisruptionBudget"))},
	act.BudgetAsRead:  {by: []string{"S11"}, config: intruded(scaling, 50, replaceBudget)},
	act.StatusAsRead:  {by: []string{"S11"}},
}

// withVolumes has members with volumes.
func withVolumes(c *Config) {
	c.Persistent, c.Steps, c.Meddles = true, 250, 25
	c.Kinds = append(c.Kinds, EditSize, EditSize)
	c.Faults = 20
}

// editingVolumes has volumes that grow, stay and do not.
func editingVolumes(c *Config) {
	c.Kinds, c.Faults = []FaultKind{EditStorage, EditPolicy, EditPolicy, EditSize, KillContainer}, 20
	c.Persistent, c.Size, c.Nodes, c.Steps, c.Meddles = true, max(3, c.Size), max(c.Nodes, 4, c.Size), 250, 25
}

// recreated has EtcdClusters that are deleted and made again, and adopt the volumes.
func recreated(c *Config) {
	c.Kinds, c.Faults = []FaultKind{Recreate, Recreate, Recreate, EditSize, KillContainer}, 20
	c.Persistent, c.Retain, c.Formed, c.Gentle, c.Steps, c.Meddles = true, true, true, true, 250, 25
}

// fencing has restores of clusters that change.
func fencing(c *Config) {
	restoring(EditSize, EditSize, EditSize, DeletePod)(c)
	c.Steps, c.Meddles = 250, 25
}

// rolling has versions and images that change.
func rolling(c *Config) {
	c.Kinds, c.Faults = []FaultKind{EditVersion, EditVersion, EditVersion, EditRepository, KillContainer, MoveAway}, 20
	c.Size, c.Nodes = max(3, c.Size), max(c.Nodes, 4, c.Size)
}

// recreating has templates that change, of members with volumes.
func recreating(c *Config) {
	c.Kinds, c.Faults = []FaultKind{EditTemplate, AskRestart, Cordon, Uncordon, KillContainer, MoveAway}, 20
	c.Persistent, c.Size, c.Nodes, c.Steps, c.Meddles = true, max(3, c.Size), max(c.Nodes, 4, c.Size), 250, 25
}

// scaling has members with volumes that come, go and are replaced.
func scaling(c *Config) {
	c.Kinds, c.Faults = []FaultKind{EditSize, EditSize, DeletePod, ForceDeletePod, WipeDisk, DeleteUserClaim, LagPods, LagClaims, StallOperator}, 20
	c.Persistent, c.Nodes = true, max(c.Nodes, 5, c.Size)
}

// resizing has a size that changes all the time, and whether there is a PodDisruptionBudget with it.
func resizing(c *Config) {
	c.Kinds, c.Faults, c.Meddles = []FaultKind{EditSize, EditSize, EditSize, StallOperator}, 40, 40
	c.Nodes = max(c.Nodes, 5)
}

// leadLeaving moves the lead to members that are about to leave.
func leadLeaving(c *Config) {
	c.Kinds, c.Faults = []FaultKind{EditSize, EditSize, LeadLeaving, MoveAway}, 20
	c.Size, c.Nodes = 5, max(c.Nodes, 5)
}

// declaredPreconditions are the names of all, read from where they are declared.
func declaredPreconditions(t *testing.T) map[act.Precondition]string {
	t.Helper()
	source, err := os.ReadFile("../act/preconditions.go")
	if err != nil {
		t.Fatal(err)
	}
	names := map[act.Precondition]string{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\w+) +Precondition = "(.+)"$`).FindAllSubmatch(source, -1) {
		names[act.Precondition(m[2])] = string(m[1])
	}
	return names
}

func init() { afterShipped = reportPreconditions }

// reportPreconditions tells how often each precondition has failed. If all seeds were run, each has to
// have failed, but for those that cannot, and those with a configuration of their own: they fail in
// TestShippedPlanted.
func reportPreconditions(t *testing.T, all bool) {
	var lines []string
	names := declaredPreconditions(t)
	for p, name := range names {
		row, ok := preconditionRows[p]
		n := act.Refusals[p]
		switch {
		case !ok:
			t.Errorf("%s has no row in preconditionRows", name)
		case row.never != "" && n > 0:
			t.Errorf("%s has failed, and cannot: %s", name, row.never)
		case n == 0 && all && row.never == "" && row.config == nil && row.guarded == "":
			t.Errorf("%s has never failed", name)
		}
		lines = append(lines, fmt.Sprintf("%7d %-18s %s", n, name, p))
	}
	for p := range preconditionRows {
		if names[p] == "" {
			t.Errorf("there is no precondition %q", p)
		}
	}
	slices.Sort(lines)
	t.Logf("preconditions that failed:\n%s", strings.Join(lines, "\n"))
}

// TestShippedPlanted: without each of its preconditions the shipped code does what an invariant
// forbids, and the runs show it; or something else keeps the same. Each of them fails in some run, but
// for those that cannot.
func TestShippedPlanted(t *testing.T) {
	defer func() { act.Omitted, act.Refusals = "", map[act.Precondition]int{} }()
	names := declaredPreconditions(t)
	for _, p := range slices.Sorted(maps.Keys(preconditionRows)) {
		row := preconditionRows[p]
		t.Run(names[p], func(t *testing.T) {
			seeds := int64(100)
			if row.never != "" {
				seeds = 4
			}
			act.Omitted, act.Refusals = p, map[act.Precondition]int{}
			for seed := row.from; seed < row.from+seeds; seed++ {
				cfg := meddledConfig(seed)
				cfg.Meddles, cfg.Only = 15, row.by
				if row.config != nil {
					row.config(&cfg)
				}
				w := runShipped(t, cfg, seed, RandomFaults(cfg, seed), nil)
				failed := act.Refusals[p] > 0
				if w.broken != nil {
					t.Logf("seed %d: %s: %s", seed, w.broken.invariant, w.broken.message)
					if row.by == nil {
						t.Error("it is not guarded: " + row.guarded + row.never)
					}
					act.Omitted = ""
					if w := runShipped(t, cfg, seed, RandomFaults(cfg, seed), nil); w.broken != nil {
						t.Errorf("seed %d breaks without it, too: %s: %s", seed, w.broken.invariant, w.broken.message)
					}
					return
				}
				if failed && row.guarded != "" {
					return
				}
			}
			if n := act.Refusals[p]; (row.never == "") != (n > 0) || row.by != nil {
				t.Errorf("no run has shown it; it has failed %d times", n)
			}
		})
	}
}
