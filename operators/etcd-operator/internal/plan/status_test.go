package plan

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// said is what the conditions say: "Type=Status Reason", in their order.
func said(s v1beta2.ClusterStatus) []string {
	var all []string
	for _, c := range s.Conditions {
		all = append(all, c.Type+"="+string(c.Status)+" "+c.Reason)
	}
	return all
}

func message(s v1beta2.ClusterStatus, kind string) string {
	for _, c := range s.Conditions {
		if c.Type == kind {
			return c.Message
		}
	}
	return ""
}

func TestConditions(t *testing.T) {
	for name, tc := range map[string]struct {
		seen *world
		want []string
	}{
		"before the beginning": {nothing(3), []string{
			"Available=False Bootstrapping", "Progressing=True Bootstrapping", "Degraded=False Creating", "Scaling=False Creating",
			"Recovering=False NothingToRecover", "Upgrading=False Creating", "Paused=False NotPaused"}},
		"the seed starts": {seeding(3, Answer{}), []string{
			"Available=False StartingSeed", "Progressing=True StartingSeed", "Degraded=False Creating", "Scaling=False Creating",
			"Recovering=False NothingToRecover", "Upgrading=False Creating", "Paused=False NotPaused"}},
		"the first of three members serves": {healthy(1).size(3).learner("b"), []string{
			"Available=True Serving", "Progressing=True CreatingMembers", "Degraded=False BelowSize", "Scaling=True ScalingUp",
			"Recovering=False NothingToRecover", "Upgrading=False AtVersion", "Paused=False NotPaused"}},
		"a size that waits for an upgrade": {upgrading("3.7.3").runs("b", "3.7.3").size(5), []string{
			"Available=True Serving", "Progressing=True UpgradingMember", "Degraded=False BelowSize", "Scaling=True WaitingForUpgrade",
			"Recovering=False NothingToRecover", "Upgrading=True Upgrading", "Paused=False NotPaused"}},
		"growing": {healthy(3).size(5).newJoiner("d").newJoiner("e"), []string{
			"Available=True Serving", "Progressing=True AddingMember", "Degraded=False BelowSize", "Scaling=True ScalingUp",
			"Recovering=False NothingToRecover", "Upgrading=False AtVersion", "Paused=False NotPaused"}},
		"shrinking": {healthy(5).size(3), []string{
			"Available=True Serving", "Progressing=True ScalingDown", "Degraded=False AllHealthy", "Scaling=True ScalingDown",
			"Recovering=False NothingToRecover", "Upgrading=False AtVersion", "Paused=False NotPaused"}},
		"as desired": {healthy(3), []string{
			"Available=True Serving", "Progressing=False UpToDate", "Degraded=False AllHealthy", "Scaling=False AtSize",
			"Recovering=False NothingToRecover", "Upgrading=False AtVersion", "Paused=False NotPaused"}},
		"a member does not answer": {healthy(3).silent("c"), []string{
			"Available=True Serving", "Progressing=True WaitingForMember", "Degraded=True MembersUnhealthy", "Scaling=False AtSize",
			"Recovering=False NothingToRecover", "Upgrading=False AtVersion", "Paused=False NotPaused"}},
		"a member is replaced": {healthy(3).dead("c"), []string{
			"Available=True Serving", "Progressing=True CreatingMembers", "Degraded=True MembersUnhealthy", "Scaling=False AtSize",
			"Recovering=True ReplacingDeadMember", "Upgrading=False AtVersion", "Paused=False NotPaused"}},
		"a replacement can't be scheduled": {healthy(3).dead("c").newJoiner("d").pod("d", unschedulable), []string{
			"Available=True Serving", "Progressing=True ReplacingDeadMember", "Degraded=True MembersUnhealthy", "Scaling=False AtSize",
			"Recovering=True ReplacingDeadMember", "Upgrading=False AtVersion", "Paused=False NotPaused"}},
		"a joiner can't be scheduled": {healthy(3).size(4).newJoiner("d").pod("d", unschedulable), []string{
			"Available=True Serving", "Progressing=True AddingMember", "Degraded=True JoinersUnhealthy", "Scaling=True ScalingUp",
			"Recovering=False NothingToRecover", "Upgrading=False AtVersion", "Paused=False NotPaused"}},
		"a member returns": {healthy(3).volumes().gone("c"), []string{
			"Available=True Serving", "Progressing=True RestartingMember", "Degraded=True MembersUnhealthy", "Scaling=False AtSize",
			"Recovering=True RestartingMember", "Upgrading=False AtVersion", "Paused=False NotPaused"}},
		"no quorum": {healthy(3).silent("b", "c").noQuorum(), []string{
			"Available=False NoQuorum", "Progressing=True NoQuorum", "Degraded=True MembersUnhealthy", "Scaling=False AtSize",
			"Recovering=False NothingToRecover", "Upgrading=False AtVersion", "Paused=False NotPaused"}},
		"a quorum that the operator does not reach": {healthy(3).silent("b", "c"), []string{
			"Available=True Serving", "Progressing=True NoQuorum", "Degraded=True MembersUnhealthy", "Scaling=False AtSize",
			"Recovering=False NothingToRecover", "Upgrading=False AtVersion", "Paused=False NotPaused"}},
		"nobody answers": {healthy(3).silent("a", "b", "c").lastStatus(reported("a", "b", "c")), []string{
			"Available=False NoQuorum", "Progressing=True NoQuorum", "Degraded=True NoQuorum", "Scaling=False AtSize",
			"Recovering=False NothingToRecover", "Upgrading=False AtVersion", "Paused=False NotPaused"}},
		"quorum is lost": {healthy(3).dead("a", "b", "c").lastStatus(reported("a", "b", "c")), []string{
			"Available=False QuorumLost", "Progressing=False QuorumLost", "Degraded=True QuorumLost", "Scaling=False AtSize",
			"Recovering=False QuorumLost", "Upgrading=False AtVersion", "Paused=False NotPaused"}},
		"a cluster existed": {nothing(3).cluster(func(c *Cluster) { c.Existed = "its volumes exist" }), []string{
			"Available=False ClusterExisted", "Progressing=False ClusterExisted", "Degraded=True ClusterExisted", "Scaling=False Creating",
			"Recovering=False NothingToRecover", "Upgrading=False Creating", "Paused=False NotPaused"}},
		"a name is another's": {conflicted(nothing(3)), []string{
			"Available=False NameConflict", "Progressing=False NameConflict", "Degraded=True NameConflict", "Scaling=False Creating",
			"Recovering=False NothingToRecover", "Upgrading=False Creating", "Paused=False NotPaused", "NameConflict=True NameConflict"}},
		"a version is not run": {nothing(3).cluster(func(c *Cluster) { c.Version, c.WantedVersion = "3.3.1", "3.3.1" }), []string{
			"Available=False VersionUnsupported", "Progressing=False VersionUnsupported", "Degraded=True VersionUnsupported", "Scaling=False Creating",
			"Recovering=False NothingToRecover", "Upgrading=False Creating", "Paused=False NotPaused", "VersionUnsupported=True VersionUnsupported"}},
		"a version change is asked for": {healthy(3).wants("3.7.3"), []string{
			"Available=True Serving", "Progressing=True UpgradeStarted", "Degraded=False AllHealthy", "Scaling=False AtSize",
			"Recovering=False NothingToRecover", "Upgrading=True Upgrading", "Paused=False NotPaused"}},
		"a version to which no upgrade leads is asked for": {healthy(3).wants("3.8.0"), []string{
			"Available=True Serving", "Progressing=False VersionRefused", "Degraded=False AllHealthy", "Scaling=False AtSize",
			"Recovering=False NothingToRecover", "Upgrading=False VersionRefused", "Paused=False NotPaused"}},
		"a member is restarted": {upgrading("3.7.3").runs("b", "3.7.3").restarting("c", "3.7.3").silent("c"), []string{
			"Available=True Serving", "Progressing=True UpgradingMember", "Degraded=True MembersUnhealthy", "Scaling=False AtSize",
			"Recovering=False NothingToRecover", "Upgrading=True Upgrading", "Paused=False NotPaused"}},
		"all run it, and etcd has not said so": {upgrading("3.7.3").runs("a", "3.7.3").runs("b", "3.7.3").runs("c", "3.7.3"), []string{
			"Available=True Serving", "Progressing=True Upgrading", "Degraded=False AllHealthy", "Scaling=False AtSize",
			"Recovering=False NothingToRecover", "Upgrading=True Upgrading", "Paused=False NotPaused"}},
		"paused": {healthy(3).silent("a", "b", "c").cluster(func(c *Cluster) { c.Paused = true }), []string{
			"Available=Unknown Paused", "Progressing=False Paused", "Degraded=Unknown Paused", "Scaling=False AtSize",
			"Recovering=Unknown Paused", "Upgrading=False AtVersion", "Paused=True Paused"}},
		"being deleted": {deleted(healthy(3).wants("3.7.3").silent("a", "b", "c")), []string{
			"Available=Unknown Deleting", "Progressing=True Deleting", "Degraded=Unknown Deleting", "Scaling=False AtSize",
			"Recovering=Unknown Deleting", "Upgrading=False AtVersion", "Paused=False NotPaused"}},
		"being deleted before it has served": {deleted(strandedSeed(strandedAge)), []string{
			"Available=Unknown Deleting", "Progressing=True Deleting", "Degraded=Unknown Deleting", "Scaling=False Creating",
			"Recovering=False NothingToRecover", "Upgrading=False Creating", "Paused=False NotPaused"}},
	} {
		s := decided(tc.seen.seen()).Status
		if diff := cmp.Diff(tc.want, said(s)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		isToldOnce(t, &Decision{Status: s})
		for _, c := range s.Conditions {
			if c.Message == "" || c.ObservedGeneration != 4 || !c.LastTransitionTime.IsZero() {
				t.Errorf("%s: condition %s has message %q, observedGeneration %d, time %s", name, c.Type, c.Message, c.ObservedGeneration, c.LastTransitionTime)
			}
		}
	}
}

// isToldOnce fails for a paragraph that two conditions tell: one of them is to point to the other.
func isToldOnce(t *testing.T, d *Decision) {
	t.Helper()
	for i, c := range d.Status.Conditions {
		for j, other := range d.Status.Conditions {
			if i != j && len(c.Message) >= aParagraph && strings.HasPrefix(other.Message, c.Message) {
				t.Errorf("%s repeats %s: %q", other.Type, c.Type, c.Message)
			}
		}
	}
}

// crashingWhileGrowing waits to expand a volume until a member is healthy that crashes for ever.
func crashingWhileGrowing() *world {
	return sized(3, 2*gibi).silent("c").pod("c", crashing(5)).pod("c", func(p *Pod) { p.Trouble = "CrashLoopBackOff: back-off" }).lostNode(1, "b")
}

// refusedAtLength has the API server say much.
func refusedAtLength(w *world) *world {
	w.o.Rejections[0].Words = `admission webhook "policy.company.com" denied the request: policy require-limits: every container of a Pod must have a memory limit`
	return w
}

// deleted is a cluster that is being deleted, once these finalizers are removed.
func deleted(w *world, finalizers ...string) *world {
	return w.cluster(func(c *Cluster) { c.Deleting, c.Finalizers = true, finalizers })
}

// Nothing tells the operator of what it has written in the status: where the next decision
// rests on that, it follows at once.
func TestWhatIsLatchedIsReadAgainAtOnce(t *testing.T) {
	for name, seen := range map[string]*world{
		"whom members are to trust": healthy(3).cluster(func(c *Cluster) { c.TLS = TLS{Wanted: true, Trust: "new"} }),
		"how far a rotation is":     healthy(3).cluster(func(c *Cluster) { c.TLS = TLS{Wanted: true, Rotation: v1beta2.CATrustingBoth} }),
		"since when data is lost":   healthy(3).noQuorum().dead("b", "c"),
	} {
		o := seen.seen()
		if requeueAfter := decided(o).RequeueAfter; requeueAfter != next {
			t.Errorf("%s: the next look is after %s, want %s", name, requeueAfter, next)
		}
		o.Cluster.LastStatus = decided(o).Status
		if since := o.Cluster.LastStatus.QuorumLostSince; since != nil {
			o.Cluster.QuorumLostSince = since.Time
		}
		if requeueAfter := decided(o).RequeueAfter; requeueAfter == next {
			t.Errorf("%s: the look after that is after %s too", name, requeueAfter)
		}
	}
}

// What a person reads must tell them what is going on and what to do.
func TestMessages(t *testing.T) {
	for name, tc := range map[string]struct {
		seen *world
		kind string
		want []string
	}{
		"how many may fail":              {healthy(5), v1beta2.ConditionAvailable, []string{"5 voters", "2 of them can fail"}},
		"how many may with one down":     {healthy(3).silent("c"), v1beta2.ConditionAvailable, []string{"2 of 3 voters serve reads and writes; the cluster tolerates no failure until more voters are healthy"}},
		"how many may of five, one down": {healthy(5).silent("e"), v1beta2.ConditionAvailable, []string{"4 of 5 voters serve reads and writes; 1 of them can fail"}},
		"two of five are down":           {healthy(5).silent("d", "e"), v1beta2.ConditionAvailable, []string{"3 of 5 voters serve reads and writes; the cluster tolerates no failure until more voters are healthy"}},
		"one alone":                      {healthy(1), v1beta2.ConditionAvailable, []string{"1 voter serves reads and writes; the cluster tolerates no failure"}},
		"an even size gains nothing":     {healthy(4), v1beta2.ConditionAvailable, []string{"1 of them can fail", "4 members tolerate no more failures than 3 do: use an odd size"}},
		"who is not healthy and why":     {healthy(3).silent("c"), v1beta2.ConditionDegraded, []string{"c: ", "does not answer", "node-c"}},
		"why it does not answer":         {healthy(3).silent("c").answer("c", func(a *Answer) { a.Trouble = "connection refused" }).pod("c", func(p *Pod) { p.RunningSince = old }), v1beta2.ConditionDegraded, []string{"c: it does not answer yet on node node-c: connection refused"}},
		"what a deletion waits for":      {deleted(healthy(3).silent("a", "b", "c"), "example.com/backup"), v1beta2.ConditionProgressing, []string{"being deleted", "finalizers", "example.com/backup"}},
		"why nobody is asked":            {deleted(healthy(3).silent("a", "b", "c")), v1beta2.ConditionDegraded, []string{"not queried", "being deleted"}},
		"an error":                       {healthy(3).answer("c", func(a *Answer) { a.Errors = []string{"etcdserver: too many requests"} }), v1beta2.ConditionDegraded, []string{`c: etcd reports "etcdserver: too many requests"`}},
		"no leader":                      {healthy(3).answer("c", func(a *Answer) { a.Leader, a.Errors = 0, []string{"etcdserver: no leader"} }), v1beta2.ConditionDegraded, []string{"c: it has no leader"}},
		"a foreign etcd":                 {healthy(3).answer("c", func(a *Answer) { a.ClusterID = otherCluster }), v1beta2.ConditionDegraded, []string{"c: ", "another cluster", "00000000000000c2"}},
		"an image that can't be pulled":  {healthy(3).size(4).newJoiner("d").pod("d", func(p *Pod) { p.Node, p.Trouble, p.ImageUnavailable = "n", "ImagePullBackOff: no such image", true }), v1beta2.ConditionDegraded, []string{"d: ", "ImagePullBackOff: no such image"}},
		"a Pod without a node":           {healthy(3).size(4).newJoiner("d").pod("d", unschedulable), v1beta2.ConditionDegraded, []string{"d: ", "0/3 nodes are available"}},
		"when a node is given up":        {healthy(3).lostNode(1, "c"), v1beta2.ConditionDegraded, []string{"c: ", "node-c", "5m0s"}},
		"why a member is replaced":       {healthy(3).wiped("c"), v1beta2.ConditionRecovering, []string{"c", "disk is empty", "the operator replaces it"}},
		"why a lost one is not":          {healthy(3).noQuorum().silent("b").dead("c"), v1beta2.ConditionRecovering, []string{"member c is lost", "it cannot be replaced without a quorum"}},
		"whose data is lost":             {healthy(3).noQuorum().dead("b", "c"), v1beta2.ConditionAvailable, []string{"2 of 3", "b, c", "restore"}},
		"that data is lost, shortly":     {healthy(3).noQuorum().dead("b", "c"), v1beta2.ConditionDegraded, []string{"2 of 3 voters is lost: b, c; the condition Available says what to do"}},
		"a conflict":                     {conflicted(nothing(3)), v1beta2.ConditionNameConflict, []string{"Service x-client (of EtcdCluster y)", "rename"}},
		"how to end a conflict":          {orphansOf(conflicted(nothing(3))), v1beta2.ConditionNameConflict, []string{"Pod x-a", "kubectl -n ns delete pod/x-a service/x-client", "take a snapshot first"}},
		"Pods that others have left":     {healthy(3).orphans("x-z (of EtcdCluster x)"), v1beta2.ConditionOrphanedPods, []string{"x-z (of EtcdCluster x)", "do not route to them"}},
		"what ails a member":             {crashingWhileGrowing(), v1beta2.ConditionDegraded, []string{"only if you are sure that its data is damaged"}},
		"a conflict, shortly":            {orphansOf(conflicted(nothing(3))), v1beta2.ConditionDegraded, []string{"see the condition NameConflict"}},
		"what the API server refuses":    {refusedAtLength(begun(3).rejected(Seed, "a")), v1beta2.ConditionDegraded, []string{"cannot create the Pod of the first member", "webhook"}},
		"that it refuses, shortly":       {refusedAtLength(begun(3).rejected(Seed, "a")), v1beta2.ConditionAvailable, []string{"see the condition Degraded"}},
		"no space, shortly":              {full(), v1beta2.ConditionDegraded, []string{"etcd refuses writes: alarm NOSPACE on member b; the condition Available says what to do"}},
		"what the restore repeats":       {offered().refused(WrongCredentials, "s").secret("s"), v1beta2.ConditionProgressing, []string{"waiting to adopt the restore's seed s", "right username"}},
		"which version to write":         {nothing(3).cluster(func(c *Cluster) { c.Version = "3.4.1" }), v1beta2.ConditionVersionUnsupported, []string{"3.4.1", "spec.version", "3.4.29"}},
		"a version change":               {upgrading("3.7.3").runs("b", "3.7.3"), v1beta2.ConditionUpgrading, []string{"1 of 3 members run quay.io/coreos/etcd:v3.7.3"}},
		"a version change that skips":    {healthy(3).version("3.5.35").wants("3.7.3"), v1beta2.ConditionUpgrading, []string{"one minor at a time", "3.5.35", "to 3.6.16 first", "then to 3.7.3"}},
		"a version change back":          {healthy(3).wants("3.5.35"), v1beta2.ConditionUpgrading, []string{theVersion, "members move from etcd 3.6.16 to 3.5.35"}},
		"a version that is not run":      {healthy(3).wants("3.3.27"), v1beta2.ConditionUpgrading, []string{"3.3.27", "spec.version"}},
		"a version that can't be pulled": {upgrading("3.6.99").restarting("c", "3.6.99").silent("c").pod("c", pulled), v1beta2.ConditionUpgrading, []string{"0 of 3", "c: ImagePullBackOff: no such image", "set spec.version"}},
		"a way back that is closed":      {upgrading("3.7.3").runs("a", "3.7.3").runs("b", "3.7.3").runs("c", "3.7.3").wants(theVersion), v1beta2.ConditionUpgrading, []string{"cannot roll back to etcd 3.6.16", "set spec.version to 3.7.3"}},
		"writes that are refused":        {full(), v1beta2.ConditionProgressing, []string{"etcd refuses writes: alarm NOSPACE on member b; the condition Available says what to do"}},
		"the size of no members":         {nothing(3), v1beta2.ConditionScaling, []string{"no member serves yet", "3 wanted"}},
		"the version of no members":      {begun(3), v1beta2.ConditionUpgrading, []string{"no member serves yet", "starting with etcd " + theVersion}},
		"how far it has grown":           {healthy(3).size(5), v1beta2.ConditionScaling, []string{"3 of 5"}},
		"why it is not begun":            {nothing(3).cluster(func(c *Cluster) { c.Existed = "volume x-1 exists" }), v1beta2.ConditionAvailable, []string{"volume x-1 exists", "restore"}},
		"what is done while it is begun": {begun(3), v1beta2.ConditionAvailable, []string{"the Pods of 3 new members"}},
	} {
		got := message(decided(tc.seen.seen()).Status, tc.kind)
		for _, want := range tc.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %s says %q, want %q in it", name, tc.kind, got, want)
			}
		}
	}
	if got := message(decided(healthy(3).seen()).Status, v1beta2.ConditionAvailable); strings.Contains(got, "even") {
		t.Errorf("an odd size is warned of: %q", got)
	}
}

func TestPhases(t *testing.T) {
	for name, tc := range map[string]struct {
		seen   *world
		want   v1beta2.ClusterPhase
		reason bool
	}{
		"before the beginning":           {nothing(3), v1beta2.PhaseCreating, false},
		"before the latch":               {seeding(3, serving("a")), v1beta2.PhaseCreating, false},
		"after the latch":                {healthy(1).size(3), v1beta2.PhaseRunning, false},
		"as desired":                     {healthy(3), v1beta2.PhaseRunning, false},
		"without a quorum":               {healthy(3).silent("b", "c").noQuorum(), v1beta2.PhaseRunning, false},
		"paused":                         {healthy(3).cluster(func(c *Cluster) { c.Paused = true }), v1beta2.PhaseRunning, false},
		"quorum is lost":                 {healthy(3).noQuorum().dead("b", "c"), v1beta2.PhaseFailed, true},
		"existed":                        {nothing(3).cluster(func(c *Cluster) { c.Existed = "its volumes exist" }), v1beta2.PhaseFailed, true},
		"existed, and said it was there": {nothing(3).cluster(func(c *Cluster) { c.Existed = "volume x-0 exists"; c.LastStatus.Phase = v1beta2.PhaseRunning }), v1beta2.PhaseRunning, false},
	} {
		s := decided(tc.seen.seen()).Status
		if s.Phase != tc.want || (s.Reason != "") != tc.reason {
			t.Errorf("%s: phase %q with reason %q, want %q and a reason: %t", name, s.Phase, s.Reason, tc.want, tc.reason)
		}
	}
}

// What shows that a cluster existed stays in the status whatever is decided, or the next look would
// begin an empty one (S1). It may be the only sign: an EtcdCluster of the archived operator without
// volumes has no other.
func TestSignsOfAnEarlierClusterStay(t *testing.T) {
	for sign, last := range map[string]v1beta2.ClusterStatus{
		"it was running": {Phase: v1beta2.PhaseRunning},
		"it had members": {Phase: v1beta2.PhaseFailed, Members: v1beta2.MembersStatus{Ready: []string{"x-0000"}, Unready: []string{"x-0001"}}},
	} {
		for situation, change := range map[string]func(*world) *world{
			"nothing else":          func(w *world) *world { return w },
			"a restore asks":        (*world).asked,
			"a restore is at work":  (*world).fenced,
			"it is paused":          func(w *world) *world { return w.cluster(func(c *Cluster) { c.Paused = true }) },
			"it is being deleted":   func(w *world) *world { return w.cluster(func(c *Cluster) { c.Deleting = true }) },
			"its version is no one": func(w *world) *world { return w.cluster(func(c *Cluster) { c.Version = "3.1.10" }) },
		} {
			w := change(nothing(3).cluster(func(c *Cluster) { c.Existed, c.LastStatus = "its volumes exist", last }))
			now := decided(w.seen()).Status
			if last.Phase == v1beta2.PhaseRunning && now.Phase != last.Phase {
				t.Errorf("%s, and %s: the phase becomes %s", sign, situation, now.Phase)
			}
			if diff := cmp.Diff(last.Members, now.Members); diff != "" {
				t.Errorf("%s, and %s: members (-want +got):\n%s", sign, situation, diff)
			}
		}
	}
}

// Where its Pods are the only sign, the status names them before they can vanish.
func TestPodsOfAnEarlierClusterAreWrittenDown(t *testing.T) {
	for situation, change := range map[string]func(*world) *world{
		"nothing else":         func(w *world) *world { return w },
		"a restore asks":       (*world).asked,
		"a restore is at work": (*world).fenced,
		"it is paused":         func(w *world) *world { return w.cluster(func(c *Cluster) { c.Paused = true }) },
	} {
		w := change(nothing(3).newJoiner("f").cluster(func(c *Cluster) { c.Existed = "its volumes exist" }))
		if s := decided(w.seen()).Status; len(s.Members.Ready)+len(s.Members.Unready) == 0 {
			t.Errorf("%s: the status names no members", situation)
		}
	}
}

// No client has ever reached a seed: that of a restore which was given up is no sign, and goes.
func TestASeedIsNoSignOfAnEarlierCluster(t *testing.T) {
	for situation, w := range map[string]*world{
		"it does not answer": nothing(3).newJoiner("f").pod("f", func(p *Pod) { p.Role = Seed }),
		"it serves":          nothing(3).voter("f").pod("f", func(p *Pod) { p.Role = Seed }),
	} {
		d := decided(w.cluster(func(c *Cluster) { c.Existed = "its volumes exist" }).seen())
		if m := d.Status.Members; d.Reason != "ClusterExisted" || len(m.Ready)+len(m.Unready)+len(d.Status.MemberDetails) > 0 {
			t.Errorf("%s: it says %s, and the status names %v: nothing could begin once the Pod is gone", situation, d.Reason, m)
		}
	}
}

func TestWhoIsThere(t *testing.T) {
	s := decided(healthy(3).size(4).silent("c").learner("d").unstarted("e").newJoiner("f").seen()).Status
	want := v1beta2.ClusterStatus{
		Size: 5, Leader: "a", ReadyMembers: "2/4",
		Members: v1beta2.MembersStatus{Ready: []string{"a", "b"}, Unready: []string{"c", "d", "e", "f"}},
		MemberDetails: []v1beta2.MemberDetail{
			{Name: "a", ID: "000000000000000a", Role: v1beta2.MemberVoter, Version: theVersion, Node: "node-a"},
			{Name: "b", ID: "000000000000000b", Role: v1beta2.MemberVoter, Version: theVersion, Node: "node-b"},
			{Name: "c", ID: "000000000000000c", Role: v1beta2.MemberVoter, Version: theVersion, Node: "node-c"},
			{Name: "d", ID: "000000000000000d", Role: v1beta2.MemberLearner, Version: theVersion, Node: "node-d"},
			{Name: "e", ID: "000000000000000e", Role: v1beta2.MemberUnstarted, Version: theVersion, Node: "node-e"},
		},
	}
	got := v1beta2.ClusterStatus{Size: s.Size, Leader: s.Leader, ReadyMembers: s.ReadyMembers, Members: s.Members, MemberDetails: s.MemberDetails}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A name is listed once, as the schema demands: a second member of it, and one whose peer
// URL tells no name, are listed by id.
func TestMembersAreListedUnderDifferentNames(t *testing.T) {
	w := healthy(3)
	w.list = append(w.list, Member{ID: 0xf0, Name: "c", Started: true}, Member{ID: 0xf1, Learner: true})
	var got []string
	for _, d := range decided(w.seen()).Status.MemberDetails {
		got = append(got, d.Name+" "+d.ID)
	}
	want := []string{"a 000000000000000a", "b 000000000000000b", "c 000000000000000c", "00000000000000f0 00000000000000f0", "00000000000000f1 00000000000000f1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Only those are ready that serve: none without a linearizable read, and none that has
// not applied its own promotion.
func TestWhoIsReady(t *testing.T) {
	unread := healthy(3)
	for _, name := range []string{"a", "b", "c"} {
		unread.answer(name, func(a *Answer) { a.Read = false })
	}
	for name, tc := range map[string]struct {
		seen *world
		want []string
	}{
		"all serve":                        {healthy(3), []string{"a", "b", "c"}},
		"no linearizable read succeeded":   {unread, nil},
		"one takes itself for a learner":   {healthy(3).answer("c", func(a *Answer) { a.Learner = true }), []string{"a", "b"}},
		"one is a learner":                 {healthy(2).size(3).learner("c"), []string{"a", "b"}},
		"one does not answer":              {healthy(3).silent("c"), []string{"a", "b"}},
		"one is too far behind":            {healthy(3).answer("c", func(a *Answer) { a.Applied = theApplied - maxLag - 1 }), []string{"a", "b"}},
		"one is of another cluster":        {healthy(3).answer("c", func(a *Answer) { a.ClusterID = otherCluster }), []string{"a", "b"}},
		"one is about to leave and serves": {healthy(3).size(2).role("c", Leaving), []string{"a", "b", "c"}},
	} {
		if got := decided(tc.seen.seen()).Status.Members.Ready; !slices.Equal(got, tc.want) {
			t.Errorf("%s: ready are %v, want %v", name, got, tc.want)
		}
	}
}

// What is latched, and what others write, is in every status that follows.
func TestLatchesAreCarriedOn(t *testing.T) {
	last := reported("a", "b", "c")
	last.ServiceName, last.ClientPort, last.Selector = "x-client", 2379, "app=etcd"
	for name, w := range map[string]*world{
		"healthy": healthy(3), "paused": healthy(3).cluster(func(c *Cluster) { c.Paused = true }), "deleting": healthy(3).cluster(func(c *Cluster) { c.Deleting = true }),
		"conflict": conflicted(healthy(3)), "nobody answers": healthy(3).silent("a", "b", "c"), "lost": healthy(3).dead("a", "b", "c"),
	} {
		s := decided(w.lastStatus(last).seen()).Status
		if s.ClusterID != last.ClusterID || !cmp.Equal(s.Bootstrap, last.Bootstrap) || s.CurrentVersion != theVersion ||
			s.ServiceName != "x-client" || s.ClientPort != 2379 || s.Selector != "app=etcd" {
			t.Errorf("%s: something is lost: %+v", name, s)
		}
	}
}

// When nobody was asked, or nobody could tell, the last report of who the members
// are stands; that they serve does not.
func TestWhatNobodyTellsIsCarriedOn(t *testing.T) {
	last := reported("a", "b", "c")
	last.Leader, last.ReadyMembers, last.Members = "a", "3/3", v1beta2.MembersStatus{Ready: []string{"a", "b", "c"}}
	for name, tc := range map[string]struct {
		seen   *world
		stands bool
	}{
		"paused":         {healthy(3).silent("a", "b", "c").cluster(func(c *Cluster) { c.Paused = true }), true},
		"deleting":       {healthy(3).silent("a", "b", "c").cluster(func(c *Cluster) { c.Deleting = true }), true},
		"nobody answers": {healthy(3).silent("a", "b", "c"), false},
		"lost":           {healthy(3).dead("a", "b", "c"), false},
	} {
		s := decided(tc.seen.lastStatus(last).seen()).Status
		if s.Size != 3 || !cmp.Equal(s.MemberDetails, last.MemberDetails) {
			t.Errorf("%s: size %d and members %v, want those of the last report", name, s.Size, s.MemberDetails)
		}
		ready, leader := "0/3", ""
		if tc.stands {
			ready, leader = last.ReadyMembers, last.Leader
		}
		if s.ReadyMembers != ready || s.Leader != leader || (len(s.Members.Ready) == 3) != tc.stands {
			t.Errorf("%s: ready %s %v, leader %q, want %s, leader %q", name, s.ReadyMembers, s.Members, s.Leader, ready, leader)
		}
	}
}

// An idle cluster gives the same Decision every time, so nothing is written: what
// changes all the time is no status. It is looked at again seldom.
func TestAnIdleClusterWritesNothing(t *testing.T) {
	written := func() *world {
		w := healthy(3)
		for _, name := range []string{"a", "b", "c"} {
			w.answer(name, func(a *Answer) { a.Revision = 2 })
		}
		return w
	}
	first := decided(written().seen())
	if first.Action != nil || first.Reason != "UpToDate" || first.RequeueAfter != idle {
		t.Fatalf("%T %s again after %s, want UpToDate after %s", first.Action, first.Reason, first.RequeueAfter, idle)
	}
	later := written().lastStatus(first.Status)
	later.o.Now = now.Add(idle)
	later.o.FreshNames, later.o.FreshToken = []string{"other"}, "other"
	for _, name := range []string{"a", "b", "c"} {
		later.answer(name, func(a *Answer) { a.Applied += 1000; a.Revision += 900 })
	}
	second := decided(later.seen())
	if !reflect.DeepEqual(first.Status, second.Status) {
		t.Errorf("the status has changed (-first +second):\n%s", cmp.Diff(first.Status, second.Status))
	}
}

// What has failed is not told as if it had been done, by no condition.
func TestAFailedActionIsNotToldAsDone(t *testing.T) {
	for name, w := range map[string]*world{
		"the first Pods":                  begun(3).dead("a", "b", "c"),
		"a new member":                    healthy(3).size(4).joiner("d"),
		"a member that is lost":           healthy(3).dead("c").joiner("d"),
		"a cluster built from a survivor": reseeding(),
		"an upgrade":                      healthy(3).wants("3.7.3"),
	} {
		d := decided(w.seen())
		if d.Action == nil {
			t.Fatalf("%s: %s, want an action", name, d.Message)
		}
		for reason, failed := range map[string]error{
			v1beta2.ClusterReasonActionFailed:   errors.New("add member example-d: no answer: the change may have happened"),
			v1beta2.ClusterReasonWaitingForEtcd: errors.New("add member example-d: too few started members for this change"),
		} {
			isRefused := reason == v1beta2.ClusterReasonWaitingForEtcd
			st := Failed(w.seen(), failed, isRefused)
			for _, c := range st.Conditions {
				note(c.Type+"="+string(c.Status)+" "+c.Reason, c.Message)
				if strings.Contains(c.Message, d.Message) {
					t.Errorf("%s: %s tells of it as done: %q", name, c.Type, c.Message)
				}
			}
			c := meta.FindStatusCondition(st.Conditions, v1beta2.ConditionProgressing)
			if moves := c.Status == metav1.ConditionTrue; moves != isRefused || c.Reason != reason || !strings.Contains(c.Message, failed.Error()) {
				t.Errorf("%s: Progressing is %s, %s: %q, want %s and the error", name, c.Status, c.Reason, c.Message, reason)
			}
		}
	}
}

// The same Observation gives the same Decision, and is left as it was.
func TestPlanIsAFunction(t *testing.T) {
	for name, build := range map[string]func() *world{
		"broken": broken, "healthy": func() *world { return healthy(7) }, "begun": func() *world { return begun(5) },
		"volumes": func() *world { return healthy(5).volumes().gone("b", "d").wiped("e") },
		"no one":  func() *world { return healthy(3).dead("a", "b", "c") },
	} {
		o, same := build().seen(), build().seen()
		first, second := decided(o), decided(o)
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("%s: two Decisions:\n%s", name, diff)
		}
		if diff := cmp.Diff(same, o); diff != "" {
			t.Errorf("%s: the Observation was changed:\n%s", name, diff)
		}
	}
}

// Every reason and every type of a condition is in CamelCase, as the API demands of
// conditions.
func TestReasonsAreCamelCase(t *testing.T) {
	for _, c := range decided(conflicted(broken()).seen()).Status.Conditions {
		for _, word := range []string{c.Type, c.Reason} {
			if word == "" || strings.ContainsAny(word, " -_.") || word[0] < 'A' || word[0] > 'Z' {
				t.Errorf("%q is not in CamelCase", word)
			}
		}
		if !slices.Contains([]metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown}, c.Status) {
			t.Errorf("%s has status %q", c.Type, c.Status)
		}
	}
}
