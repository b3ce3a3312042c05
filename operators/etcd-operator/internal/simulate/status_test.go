package simulate

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/deploy"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/act"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// Whatever is observed, also in the words of others, a real API server takes the status
// that it leads to: one that it refuses would latch nothing and report nothing.
func TestEveryStatusIsAccepted(t *testing.T) {
	config := apiservertest.Another(t)
	apiservertest.Install(t, config, apiservertest.Definition(deploy.EtcdClusters))
	c := apiservertest.ClientFor(t, config)
	cluster := &v1beta2.EtcdCluster{}
	cluster.Namespace, cluster.Name = "default", clusterName
	apiservertest.Create(t, c, cluster)
	actor := &act.Actor{Client: c, Live: c}
	const observations = 400
	written := 0
	for i := range observations {
		r := newRandom(uint64(i), 9)
		d := &dice{random: &r}
		o := observationFrom(d)
		oddWords(d, &o)
		carryOn(&o, cluster.Status)
		decision := plan.Plan(o)
		before := cluster.ResourceVersion
		if _, err := actor.Report(apiservertest.Context(t), cluster, decision); err != nil {
			t.Fatalf("observation %d: %v\n%s", i, err, describe(decision))
		}
		apiservertest.Read(t, c, client.Object(cluster))
		if cluster.ResourceVersion != before {
			written++
		}
	}
	t.Logf("%d statuses were written", written)
	if written < observations/2 {
		t.Errorf("only %d of %d statuses differ from the one before: too few to show anything", written, observations)
	}
}

// carryOn is what the last status has a part in.
func carryOn(o *facts.Observation, last v1beta2.ClusterStatus) {
	c := &o.Cluster
	c.LastStatus = last
	c.LastStatus.Recovery = nil
	if r := c.Recovery; r != nil {
		c.LastStatus.Recovery = &v1beta2.RecoveryStatus{Phase: r.Phase, Survivors: r.Survivors, Members: r.Members}
	}
}

// oddWords has others say what nobody expects: texts that are too long or no UTF-8, and
// member lists with a name twice, an empty one, or thousands of them.
func oddWords(d *dice, o *facts.Observation) {
	word := func() string {
		return []string{"", "a word", strings.Repeat("long ", 20_000), strings.Repeat("ä", 40_000), "no \xff\xfe UTF-8", "\x00", strings.Repeat("x", 300)}[d.below(7)]
	}
	o.Cluster.Existed += word()
	if d.chance(6) {
		o.Conflicts = append(o.Conflicts, word())
	}
	if d.chance(6) {
		o.Cluster.TLS.Problem, o.Cluster.TLS.Message = facts.CertificateProblem(word()), word()
	}
	list := oddList(d)
	for i := range o.Pods {
		p := &o.Pods[i]
		a := &p.Answer
		switch d.below(5) {
		case 0:
			p.Trouble = word()
		case 1:
			p.Node, p.Unschedulable = "", word()
		case 2:
			p.Version, p.Node = word(), word()
		}
		if !a.Reached {
			continue
		}
		switch d.below(5) {
		case 0:
			a.Errors = []string{word(), word()}
		case 1:
			a.Version = word()
		case 2:
			a.Alarms = []facts.Alarm{{MemberID: 100, Kind: facts.AlarmKind(word())}}
		case 3:
			a.Members = list
		}
	}
}

// oddList is a member list that no etcd of the operator's has.
func oddList(d *dice) []facts.Member {
	list := arbitraryMembers(d)
	switch d.below(4) {
	case 0:
		list = append(list, facts.Member{ID: 900, Name: list[0].Name, Started: true})
	case 1:
		list = append(list, facts.Member{ID: 900, Started: true}, facts.Member{ID: 901}, facts.Member{ID: 901})
	case 2:
		list = append(list, facts.Member{ID: 900, Name: strings.Repeat("n", 100_000), Started: true})
	default:
		for i := range 5000 {
			list = append(list, facts.Member{ID: uint64(1000 + i), Name: fmt.Sprintf("%s%d", strings.Repeat("n", 500), i), Learner: true})
		}
	}
	return list
}
