package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

// The tests of this file take nodes away, so nothing else runs beside them: they
// are not parallel. Several clusters live through one fault, where they can.

const (
	// theNode is the one that is taken away; node 1 carries what must stay.
	theNode = 3
	// memberTimeout is the shortest that there is.
	memberTimeout = 10 * time.Second
	// nodeLoss is enough for a node to be NotReady (16 s, and some that the
	// controllers take to notice) and for its member to be given up.
	nodeLoss = 3 * time.Minute
)

// TestNodeLost: a machine loses its power, and later comes back.
func TestNodeLost(t *testing.T) {
	needsNodeAccess(t)
	s := anOperatorWith(t, harness.Install{Nodes: true, OnNode: env.Local.NodeName(1)})
	// Each of its members needs a node of its own, and there are three.
	strict := s.cluster("strict", harness.Size(3), harness.AntiAffinity, harness.MemberTimeout(memberTimeout))
	// A replacement finds room beside another member.
	spread := s.cluster("spread", harness.Size(3), harness.OnePerNode, harness.MemberTimeout(memberTimeout))
	volumes := s.cluster("volumes", harness.Size(3), harness.OnePerNode, harness.Volumes, harness.MemberTimeout(memberTimeout))
	patient := s.cluster("patient", harness.Size(3), harness.OnePerNode)
	all := []*cluster{strict, spread, volumes, patient}
	clients, lost, members := map[*cluster]*etcdClient{}, map[*cluster]string{}, map[*cluster][]string{}
	for _, c := range all {
		c.settles(3, twoMinutes)
		clients[c] = c.writesFrom(env.Local.NodeName(1))
		lost[c], members[c] = c.onNode(env.Local.NodeName(theNode)), c.members()
	}

	s.losesNode()
	for _, c := range []*cluster{spread, volumes} {
		c.becomes("healed by another member", harness.All(withoutMember(lost[c]), harness.Healthy(3)), nodeLoss)
		c.tells("ReplacingDeadMember", lost[c])
	}
	strict.becomes("waiting for room", func(s harness.State) string {
		for _, p := range s.Pods {
			if p.Labels[v1beta2.LabelRole] == v1beta2.RoleJoiner && p.Spec.NodeName == "" {
				return harness.Condition(v1beta2.ConditionDegraded, true, "")(s)
			}
		}
		return "no replacement is waiting"
	}, nodeLoss)
	strict.stays("served by the two that are left, and nobody is removed", memberTimeout+5*time.Second, harness.All(
		harness.Condition(v1beta2.ConditionAvailable, true, ""), sameMembers(members[strict])))
	patient.stays("as it was", time.Second, harness.All(
		harness.Condition(v1beta2.ConditionAvailable, true, ""), sameMembers(members[patient])))
	for _, c := range all {
		clients[c].noticed(anElection)
		clients[c].goesOn(oneMinute)
	}

	s.getsNodeBack()
	for _, c := range []*cluster{strict, patient} {
		c.becomes("healed by the node's return", harness.All(sameMembers(members[c]), harness.Healthy(3)), nodeLoss)
	}
	for _, c := range all {
		c.settles(3, nodeLoss)
		clients[c].lostNothing(3)
	}
}

// TestZoneLost: the example with three zones goes on when one of them is lost, also when its nodes
// are deleted. No other zone gets a second member. The zone's own comes back with it.
func TestZoneLost(t *testing.T) {
	isLong(t)
	needsNodeAccess(t)
	s := anOperatorWith(t, harness.Install{Nodes: true, OnNode: env.Local.NodeName(1)})
	s.applyExample("cluster-zones.yaml", asItIs)
	c, node := s.existing("example-zones"), env.Local.NodeName(theNode)
	c.settles(3, twoMinutes)
	w := c.writesFrom(env.Local.NodeName(1))
	lost := c.onNode(node)

	s.losesNode()
	w.goesOn(oneMinute)
	s.kubectl("delete", "node", node)
	s.tell("the node of %s is deleted", lost)
	waits := harness.All(harness.Condition(v1beta2.ConditionAvailable, true, ""), onlyOnePlaceless)
	c.becomes("waiting for the zone", waits, nodeLoss)
	c.stays("without a second member in a zone", 20*time.Second, waits)
	w.goesOn(oneMinute)
	w.noticed(anElection)

	s.getsNodeBack()
	c.settles(3, nodeLoss)
	c.onNode(node)
	w.lostNothing(3)
}

// onlyOnePlaceless: one Pod has no node, and no two have the same.
func onlyOnePlaceless(s harness.State) string {
	on := map[string][]string{}
	for _, p := range s.Pods {
		on[p.Spec.NodeName] = append(on[p.Spec.NodeName], p.Name)
	}
	if len(on) != 3 || len(s.Pods) != 3 || len(on[""]) != 1 {
		return fmt.Sprintf("the Pods are on %v", on)
	}
	return ""
}

// TestNodeCutOff: a machine that nobody reaches still runs its members, one of
// which leads.
func TestNodeCutOff(t *testing.T) {
	isLong(t)
	needsNodeAccess(t)
	s := anOperatorWith(t, harness.Install{Nodes: true, OnNode: env.Local.NodeName(1)})
	// Its member is replaced while it still runs.
	hasty := s.cluster("hasty", harness.Size(3), harness.OnePerNode, harness.MemberTimeout(memberTimeout))
	patient := s.cluster("patient", harness.Size(3), harness.OnePerNode, harness.Volumes)
	clients, lost := map[*cluster]*etcdClient{}, map[*cluster]string{}
	all := []*cluster{hasty, patient}
	for _, c := range all {
		c.settles(3, twoMinutes)
		clients[c] = c.writesFrom(env.Local.NodeName(1))
		lost[c] = c.onNode(env.Local.NodeName(theNode))
		s.must(clients[c].MoveLeader(s.ctx, lost[c]))
	}
	members := patient.members()

	s.must(env.Local.PartitionNode(s.ctx, theNode))
	s.t.Cleanup(s.heals)
	s.tell("node %d is cut off, and with it the leaders", theNode)
	for _, c := range all {
		clients[c].goesOn(oneMinute)
		clients[c].noticed(anElection)
	}
	hasty.becomes("healed by another member", harness.All(withoutMember(lost[hasty]), harness.Healthy(3)), nodeLoss)
	patient.stays("served by the two that are left", time.Second, harness.All(
		harness.Condition(v1beta2.ConditionAvailable, true, ""), sameMembers(members)))

	s.heals()
	for _, c := range all {
		c.settles(3, nodeLoss)
		clients[c].noticed(anElection)
		clients[c].lostNothing(3)
	}
	if why := sameMembers(members)(patient.State()); why != "" {
		t.Error(why)
	}
}

const (
	// takeOver is how long etcd-operator may be without a replica that leads, once the
	// node of the one that did is gone.
	takeOver = 20 * time.Second
	// untrue is how long the status may show what was, after that: the new leader asks
	// each member, and waits 3 s for one that does not answer.
	untrue = 10 * time.Second
)

// TestOperatorCutOff: a machine that nobody reaches carries the replica of the operator
// that leads, and etcd's leader. The other replica takes over and tells the truth.
func TestOperatorCutOff(t *testing.T) {
	isLong(t)
	needsNodeAccess(t)
	s := anOperatorWith(t, harness.Install{Nodes: true, OffNode: env.Local.NodeName(1)})
	leading := s.leaderOf(harness.OperatorName)
	node := 2
	if leading.Spec.NodeName == env.Local.NodeName(theNode) {
		node = theNode
	}
	s.operatorsAreSpread()
	c := s.cluster("etcd", harness.Size(3), harness.OnePerNode, harness.Volumes)
	c.settles(3, twoMinutes)
	w := c.writesFrom(env.Local.NodeName(1))
	lost, members := c.onNode(env.Local.NodeName(node)), c.members()
	s.must(w.MoveLeader(s.ctx, lost))
	c.becomes("led by the member beside the operator", func(s harness.State) string {
		if got := s.Cluster.Status.Leader; got != lost {
			return "the leader is " + got
		}
		return ""
	}, twoMinutes)

	s.must(env.Local.PartitionNode(s.ctx, node))
	s.t.Cleanup(func() { s.restored(env.Local.HealNode, node) })
	s.tell("node %d is cut off, with %s and %s", node, leading.Name, lost)
	s.within(takeOver, func(ctx context.Context) error {
		return harness.Poll(ctx, "another replica to lead", func(ctx context.Context) (string, error) {
			now, err := env.Leader(ctx, s.ns, harness.OperatorName)
			if err != nil || now == nil || now.Name == leading.Name {
				return "none does", err
			}
			return "", nil
		})
	})
	s.tell("another replica leads")
	c.becomes("known to have lost a member", harness.All(sameMembers(members), harness.Condition(v1beta2.ConditionAvailable, true, ""), func(s harness.State) string {
		status := s.Cluster.Status
		if slices.Contains(status.Members.Ready, lost) || status.Leader == lost || status.Leader == "" {
			return fmt.Sprintf("the status says that %v serve and %s leads", status.Members.Ready, status.Leader)
		}
		return ""
	}), untrue)
	w.goesOn(oneMinute)
	w.noticed(anElection)

	s.restored(env.Local.HealNode, node)
	c.settles(3, nodeLoss)
	if why := sameMembers(members)(c.State()); why != "" {
		t.Error(why)
	}
	s.within(nodeLoss, func(ctx context.Context) error { return env.AwaitOperator(ctx, s.view, s.ns) })
	w.lostNothing(3)
}

// leaderOf is the Pod of an operator that leads.
func (s *scene) leaderOf(operator string) (leader *corev1.Pod) {
	s.t.Helper()
	s.within(oneMinute, func(ctx context.Context) error {
		return harness.Poll(ctx, "a replica to lead", func(ctx context.Context) (objection string, err error) {
			if leader, err = env.Leader(ctx, s.ns, operator); leader == nil {
				objection = "none does"
			}
			return objection, err
		})
	})
	return leader
}

// operatorsAreSpread: no two replicas of the operator are on one node.
func (s *scene) operatorsAreSpread() {
	s.t.Helper()
	nodes := strings.Fields(s.kubectl("get", "pods", "-l", "app.kubernetes.io/name="+harness.OperatorName, "-o", "jsonpath={.items[*].spec.nodeName}"))
	slices.Sort(nodes)
	if len(nodes) < 2 || len(slices.Compact(slices.Clone(nodes))) < len(nodes) {
		s.t.Fatalf("the replicas are on %v", nodes)
	}
}

// TestRestoreWithAMemberCutOff: a member that may still run on a node that nobody reaches
// is waited for, unless the user knows better.
func TestRestoreWithAMemberCutOff(t *testing.T) {
	isLong(t)
	needsNodeAccess(t)
	s := anOperatorWith(t, harness.Install{Nodes: true, OnNode: env.Local.NodeName(1)})
	s.must(env.Install(s.ctx, s.ns, harness.Install{Operator: harness.BackupOperatorName, OnNode: env.Local.NodeName(1)}))
	s.must(env.Install(s.ctx, s.ns, harness.Install{Operator: harness.RestoreOperatorName, OnNode: env.Local.NodeName(1)}))
	s.must(s.view.WatchBackups(s.ctx))
	s.must(s.view.WatchRestores(s.ctx))
	c := s.cluster("etcd", harness.Size(3), harness.OnePerNode, harness.Volumes)
	c.settles(3, twoMinutes)
	w := c.adds("first", "first/", 100)
	// The volume is on the node of the first Pod that needs it.
	b := s.backup("backup", w.Writer, s.aVolume("backups").at("etcd.db"), harness.OfCluster(c.Name), harness.MadeOn(env.Local.NodeName(1)))
	b.becomes("stored", oneMinute, harness.Stored)
	m := c.isMirroredFrom(env.Local.NodeName(1))
	snapshot, cutOff := s.snapshotAt(b.to), c.onNode(env.Local.NodeName(theNode))

	s.must(env.Local.PartitionNode(s.ctx, theNode))
	s.t.Cleanup(s.heals)
	s.tell("node %d is cut off", theNode)
	r := s.restore("restore", harness.InPlace(c.Name), harness.FromBackup(b.Name), harness.MembersFirst)
	r.becomes("waiting for the member that is cut off", twoMinutes, harness.Every(harness.RestorePhases(v1beta2.RestoreFencing), harness.WaitsFor(cutOff)))
	r.tells("OldMembersRunning", cutOff)
	c.stays("without another member", 3*time.Second, func(s harness.State) string {
		if len(s.Pods) != 1 || s.Pods[0].Name != cutOff {
			return "there are other Pods than " + cutOff
		}
		return ""
	})
	s.must(r.Patch(s.ctx, map[string]any{"spec": map[string]any{"acceptRunningOldMembers": true}}))
	r.serves(oneMinute)
	m.holds(snapshot)

	s.heals()
	r.completes(nodeLoss)
	c.settles(3, nodeLoss)
	m.holds(snapshot)
	c.writes().lostNothing(3)
}

// TestNodeDrained: the PodDisruptionBudget lets a drain take one member at a time,
// and each finds a new place.
func TestNodeDrained(t *testing.T) {
	needsNodeAccess(t)
	s := anOperatorWith(t, harness.Install{OnNode: env.Local.NodeName(1)})
	c := s.cluster("etcd", harness.Size(3)) // spread over the nodes, as far as possible
	c.settles(3, oneMinute)
	w := c.writesFrom(env.Local.NodeName(1))
	gone := c.onNode(env.Local.NodeName(theNode))
	node := env.Local.NodeName(theNode)
	t.Cleanup(func() {
		if _, err := env.Kubectl.Run(context.Background(), "uncordon", node); err != nil {
			t.Error(err)
		}
	})
	s.kubectl("drain", node, "--delete-emptydir-data", "--ignore-daemonsets", "--force", "--timeout=60s")
	s.tell("%s is drained", node)
	c.becomes("healed elsewhere", harness.All(withoutMember(gone), harness.Settled(3)), twoMinutes)
	w.noticed(anElection)
	w.lostNothing(3)
}

// TestNodesRestarted: all machines that carry members lose their power at once, and
// come back: so do the members, with their data, whether it is on volumes or in the Pods.
func TestNodesRestarted(t *testing.T) {
	isLong(t)
	needsNodeAccess(t)
	s := anOperatorWith(t, harness.Install{Nodes: true, OnNode: env.Local.NodeName(1)})
	offNodeOne := harness.OffNode(env.Local.NodeName(1))
	all := []*cluster{
		s.cluster("volumes", harness.Size(3), offNodeOne, harness.Volumes),
		s.cluster("plain", harness.Size(3), offNodeOne),
	}
	clients, uids := map[*cluster]*etcdClient{}, map[*cluster][]types.UID{}
	for _, c := range all {
		c.settles(3, twoMinutes)
		clients[c] = c.writesFrom(env.Local.NodeName(1))
		uids[c] = c.State().UIDs()
	}

	nodes := []int{2, 3}
	for _, n := range nodes {
		s.must(env.Local.StopNode(s.ctx, n))
		s.t.Cleanup(func() { s.restored(env.Local.StartNode, n) })
	}
	s.tell("nodes %v have lost their power", nodes)
	for _, c := range all {
		c.becomes("down", harness.Condition(v1beta2.ConditionAvailable, false, "NoQuorum"), nodeLoss)
	}
	for _, n := range nodes {
		s.restored(env.Local.StartNode, n)
	}
	for _, c := range all {
		c.settles(3, nodeLoss)
		if diff := cmp.Diff(uids[c], c.State().UIDs()); diff != "" {
			t.Errorf("cluster %s came back with other Pods: -before +after\n%s", c.Name, diff)
		}
		clients[c].noticed(nodeLoss)
		clients[c].lostNothing(3)
	}
}

// TestNodeEmptied: the members of a node that is cordoned move to another one, volumes and
// all, before a drain finds them; none is without a quorum.
func TestNodeEmptied(t *testing.T) {
	isLong(t)
	needsNodeAccess(t)
	s := anOperatorWith(t, harness.Install{Nodes: true, OnNode: env.Local.NodeName(1)})
	volumes := s.cluster("volumes", harness.Size(3), harness.OnePerNode, harness.Volumes)
	plain := s.cluster("plain", harness.Size(3), harness.OnePerNode)
	// There is no room for another of its members.
	strict := s.cluster("strict", harness.Size(3), harness.AntiAffinity)
	all := []*cluster{volumes, plain, strict}
	clients, gone := map[*cluster]*etcdClient{}, map[*cluster]string{}
	node := env.Local.NodeName(theNode)
	for _, c := range all {
		c.settles(3, twoMinutes)
		clients[c] = c.writesFrom(env.Local.NodeName(1))
		gone[c] = c.onNode(node)
	}
	members := strict.members()
	t.Cleanup(func() {
		if _, err := env.Kubectl.Run(context.Background(), "uncordon", node); err != nil {
			t.Error(err)
		}
	})
	s.kubectl("cordon", node)
	s.tell("%s is cordoned", node)
	for _, c := range []*cluster{volumes, plain} {
		c.becomes("moved elsewhere", harness.All(withoutMember(gone[c]), harness.Settled(3)), twoMinutes)
		c.tells("MemberMoved", gone[c])
		clients[c].noticed(aBlink)
	}
	strict.becomes("waiting for room", harness.All(sameMembers(members), harness.Condition(v1beta2.ConditionProgressing, true, "MovingMember"),
		harness.Condition(v1beta2.ConditionDegraded, false, "")), oneMinute)
	clients[strict].noticedNoFailure(aBlink)

	// What has found no place goes now, and comes back with the node.
	s.kubectl("drain", node, "--delete-emptydir-data", "--ignore-daemonsets", "--force", "--timeout=60s")
	s.tell("%s is drained", node)
	clients[strict].noticed(anElection)
	s.kubectl("uncordon", node)
	for _, c := range all {
		c.settles(3, twoMinutes)
		clients[c].lostNothing(3)
	}
}

func (s *scene) losesNode() {
	s.t.Helper()
	s.must(env.Local.StopNode(s.ctx, theNode))
	s.t.Cleanup(s.getsNodeBack)
	s.tell("node %d has lost its power", theNode)
}

// getsNodeBack switches the node on; it does nothing if it is.
func (s *scene) getsNodeBack() {
	s.t.Helper()
	s.restored(env.Local.StartNode, theNode)
}

// heals ends the node's isolation; it does nothing if it has ended.
func (s *scene) heals() {
	s.t.Helper()
	s.restored(env.Local.HealNode, theNode)
}

// restored also runs when the test is over, so it has a context of its own.
func (s *scene) restored(how func(context.Context, int) error, n int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeoutCause(context.Background(), nodeLoss, errors.New("the node did not come back"))
	defer cancel()
	err := how(ctx, n)
	if err == nil {
		err = harness.Poll(ctx, "the node", func(ctx context.Context) (string, error) { return nodeReady(ctx, env.Local.NodeName(n)) })
	}
	if err != nil {
		s.t.Errorf("node %d: %v", n, err)
	}
	s.tell("node %d is there", n)
}

func nodeReady(ctx context.Context, name string) (string, error) {
	var node corev1.Node
	err := env.Client.Get(ctx, client.ObjectKey{Name: name}, &node)
	if apierrors.IsNotFound(err) {
		return "it is deleted", nil
	}
	if err != nil {
		return "", err
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return fmt.Sprintf("it is not ready: %s", c.Message), nil
		}
	}
	return "", nil
}
