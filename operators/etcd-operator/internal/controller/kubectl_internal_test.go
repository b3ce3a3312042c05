package controller

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/act"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/kubectltest"
)

// What kubectl shows of an EtcdCluster in the situations that users meet most often. Each is
// a story of Observations: the planner decides on each, and the operator reports it as if the
// action had been carried out.
func TestKubectl(t *testing.T) {
	forming := []observed{nothing(), nothing(), seedServes(), voters("a").joins("b", "c"), voters("a").joins("b", "c")}
	ready := append(slices.Clone(forming),
		voters("a").learner("b").joins("c"), voters("a", "b").joins("c"), voters("a", "b").learner("c"), voters("a", "b", "c"))
	then := func(next ...observed) []observed { return append(slices.Clone(ready), next...) }
	all := voters("a", "b", "c")
	for situation, tc := range map[string]struct {
		story []observed
		// created is the spec at the beginning, spec what is changed in it when the cluster is ready.
		created, spec func(*v1beta2.ClusterSpec)
	}{
		"forming":     {story: forming},
		"ready":       {story: ready},
		"member-lost": {story: then(all.nodeLost("c", 2*time.Minute), all.nodeLost("c", 6*time.Minute))},
		"quorum-lost": {story: then(
			all.noQuorum().silent("b", "c"), all.noQuorum().gone("b", "c").backup(), all.noQuorum().gone("b", "c").backup())},
		"upgrade-running": {spec: version("3.7.3"), story: then(all, all.runs("b", "3.7.3").restarting("c", "3.7.3"))},
		"upgrade-blocked": {spec: version("3.8.0"), story: then(all)},
		"image-not-pulled": {spec: version("3.6.99"), story: then(all, all.restarting("c", "3.6.99").
			unpulled("c", `ImagePullBackOff: Back-off pulling image "quay.io/coreos/etcd:v3.6.99"`))},
		"no-space":            {story: then(all.full("b"))},
		"certificate-expired": {created: static, story: then(all.expired())},
		"paused":              {spec: func(s *v1beta2.ClusterSpec) { s.Paused = true }, story: then(all.unasked())},
	} {
		t.Run(situation, func(t *testing.T) {
			t.Parallel()
			s := newStory(t, tc.created)
			for i, o := range tc.story {
				if i == len(ready) {
					s.edit(tc.spec)
				}
				s.observe(o)
			}
			kubectltest.Golden(t, situation, "etcdcluster", s.cluster)
		})
	}
}

// story is a cluster of three members to which things happen.
type story struct {
	t       *testing.T
	r       *Reconciler
	cluster *v1beta2.EtcdCluster
}

func newStory(t *testing.T, created func(*v1beta2.ClusterSpec)) *story {
	t.Helper()
	c := apiservertest.Client(t)
	s := &story{
		t: t,
		r: &Reconciler{Events: kubectltest.Recorder(t, "etcd-operator"), Actor: &act.Actor{Client: c, Live: c}},
		cluster: &v1beta2.EtcdCluster{
			ObjectMeta: metav1.ObjectMeta{Name: "example", Namespace: apiservertest.Namespace(t)},
			Spec:       v1beta2.ClusterSpec{Size: 3, Version: theVersion},
		},
	}
	if created != nil {
		created(&s.cluster.Spec)
	}
	apiservertest.Create(t, c, s.cluster)
	return s
}

// edit changes the spec as a user does.
func (s *story) edit(change func(*v1beta2.ClusterSpec)) {
	s.t.Helper()
	if change == nil {
		return
	}
	change(&s.cluster.Spec)
	if err := s.r.Actor.Client.Update(apiservertest.Context(s.t), s.cluster); err != nil {
		s.t.Fatal(err)
	}
}

func version(v string) func(*v1beta2.ClusterSpec) {
	return func(s *v1beta2.ClusterSpec) { s.Version = v }
}

func static(s *v1beta2.ClusterSpec) {
	s.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{
		Member: &v1beta2.MemberSecret{PeerSecret: "etcd-peer-tls", ServerSecret: "etcd-server-tls"}, OperatorSecret: "etcd-client-tls",
	}}
}

// observe has the planner decide on an Observation, and reports that as a reconcile does.
func (s *story) observe(change observed) {
	s.t.Helper()
	ctx, c := apiservertest.Context(s.t), s.cluster
	o := change(s.start())
	d := plan.Plan(o)
	status, err := s.r.report(ctx, c, d)
	if err != nil {
		s.t.Fatal(err)
	}
	s.r.reporter().TellCertificates(ctx, c, &status, &o.Cluster.TLS, &d)
	s.r.reporter().TellChanges(ctx, c, &status, &d)
	s.r.reporter().TellStep(ctx, c, d)
	apiservertest.Read(s.t, s.r.Actor.Client, s.cluster)
}

const (
	theVersion    = "3.6.16"
	theRepository = "quay.io/coreos/etcd"
	theClusterID  = 0x8a3fc1e07b2d4c55
)

var now = time.Now()

// observed is what is seen of a cluster, beside its spec and its status.
type observed func(facts.Observation) facts.Observation

// start is what the spec and the status tell.
func (s *story) start() facts.Observation {
	spec, last := &s.cluster.Spec, &s.cluster.Status
	o := facts.Observation{
		Now: now, FreshToken: "fresh-token", FreshNames: []string{"example-a", "example-b", "example-c", "example-d", "example-e", "example-f", "example-g"},
		Cluster: facts.Cluster{
			Name: s.cluster.Name, Namespace: s.cluster.Namespace, Generation: s.cluster.Generation, Paused: spec.Paused, Size: spec.Size,
			Version: theVersion, WantedVersion: spec.Version, Target: last.TargetVersion, UpgradeSize: last.UpgradeSize,
			Repository: theRepository, MemberTimeout: 5 * time.Minute, DisruptionBudget: true, Persistent: true, LastStatus: *last,
		},
	}
	if spec.TLS != nil {
		o.Cluster.TLS = facts.TLS{Wanted: true, Trust: "t1", Leaf: facts.Validity{NotBefore: now, NotAfter: now.Add(24 * time.Hour)}}
	}
	if b := last.Bootstrap; b != nil {
		o.Cluster.Bootstrap = &facts.Bootstrap{Member: b.Member, Token: b.Token}
	}
	if last.ClusterID != "" {
		o.Cluster.ClusterID = theClusterID
	}
	if last.QuorumLostSince != nil {
		o.Cluster.QuorumLostSince = last.QuorumLostSince.Time
	}
	return o
}

func nothing() observed { return func(o facts.Observation) facts.Observation { return o } }

func memberID(name string) uint64 { return 0x91bc3c398fb3c140 + uint64(name[0]) }

func podName(name string) string { return "example-" + name }

// withPod adds a member's Pod, and its volume.
func withPod(o *facts.Observation, name string, role facts.Role, a facts.Answer) {
	o.Pods = append(o.Pods, facts.Pod{
		Name: podName(name), UID: "uid-" + name, Role: role, Created: now.Add(-time.Hour), IP: "10.0.0.1", Node: "node-" + name, Addressed: true,
		ReadySince: now.Add(-time.Hour), RunningSince: now.Add(-time.Hour),
		Persistent: true, Version: theVersion, Repository: theRepository, Learners: 6, Answer: a,
	})
	o.Claims = append(o.Claims, facts.Claim{Name: podName(name), UID: "claim-" + name, Created: now.Add(-time.Hour)})
}

// answer is that of a member that serves.
func answer(name string) facts.Answer {
	return facts.Answer{
		Reached: true, ClusterID: theClusterID, MemberID: memberID(name), Leader: memberID("a"), Term: 2, Committed: 200_000, Applied: 200_000,
		Revision: 180_000, Version: theVersion, ClusterVersion: "3.6.0", Read: true, DBSize: 80 << 20, DBSizeInUse: 60 << 20, Quota: 2 << 30,
	}
}

// seedServes is the first member, before its cluster id is recorded.
func seedServes() observed {
	return func(o facts.Observation) facts.Observation {
		a := answer("a")
		a.Members = []facts.Member{{ID: memberID("a"), Name: podName("a"), Started: true}}
		withPod(&o, "a", facts.Seed, a)
		return o
	}
}

// voters are members that serve.
func voters(names ...string) observed {
	return func(o facts.Observation) facts.Observation {
		var list []facts.Member
		for _, name := range names {
			list = append(list, facts.Member{ID: memberID(name), Name: podName(name), Started: true})
		}
		for _, name := range names {
			a := answer(name)
			a.Members = list
			withPod(&o, name, facts.Voter, a)
		}
		return o
	}
}

// joins are Pods that wait to become members.
func (f observed) joins(names ...string) observed {
	return func(o facts.Observation) facts.Observation {
		o = f(o)
		for _, name := range names {
			withPod(&o, name, facts.Joiner, facts.Answer{Waiting: true, Identified: true})
			o.Pods[len(o.Pods)-1].Created = now.Add(-3 * time.Second)
		}
		return o
	}
}

// learner is a member without a vote yet.
func (f observed) learner(name string) observed {
	return func(o facts.Observation) facts.Observation {
		o = f(o)
		learner := facts.Member{ID: memberID(name), Name: podName(name), Started: true, Learner: true}
		for i := range o.Pods {
			o.Pods[i].Answer.Members = append(slices.Clone(o.Pods[i].Answer.Members), learner)
		}
		a := answer(name)
		a.Learner, a.Read = true, false
		withPod(&o, name, facts.Learner, a)
		return o
	}
}

// all changes every Pod.
func (f observed) all(change func(*facts.Pod)) observed {
	return func(o facts.Observation) facts.Observation {
		o = f(o)
		for i := range o.Pods {
			change(&o.Pods[i])
		}
		return o
	}
}

// pod changes a member's Pod.
func (f observed) pod(name string, change func(*facts.Pod)) observed {
	return f.all(func(p *facts.Pod) {
		if p.Name == podName(name) {
			change(p)
		}
	})
}

// silent are members that do not answer.
func (f observed) silent(names ...string) observed {
	for _, name := range names {
		f = f.pod(name, func(p *facts.Pod) {
			p.Answer, p.UnreadySince, p.ReadySince = facts.Answer{Trouble: "connection refused"}, now.Add(-time.Minute), time.Time{}
		})
	}
	return f
}

// nodeLost is a member whose node has not been ready for so long.
func (f observed) nodeLost(name string, ago time.Duration) observed {
	return f.silent(name).pod(name, func(p *facts.Pod) { p.NodeLostSince, p.Answer = now.Add(-ago), facts.Answer{Trouble: "i/o timeout"} })
}

// noQuorum are members without a leader.
func (f observed) noQuorum() observed {
	return f.all(func(p *facts.Pod) {
		p.Answer.Read, p.Answer.Leader, p.Answer.Errors = false, 0, []string{"etcdserver: no leader"}
		p.UnreadySince, p.ReadySince = now.Add(-time.Minute), time.Time{}
	})
}

// gone are members without Pod and volume.
func (f observed) gone(names ...string) observed {
	return func(o facts.Observation) facts.Observation {
		o = f(o)
		for _, name := range names {
			o.Pods = slices.DeleteFunc(o.Pods, func(p facts.Pod) bool { return p.Name == podName(name) })
			o.Claims = slices.DeleteFunc(o.Claims, func(c facts.Claim) bool { return c.Name == podName(name) })
		}
		return o
	}
}

// restarting is a member whose container is being replaced by one of another version.
func (f observed) restarting(name, to string) observed {
	return f.silent(name).pod(name, func(p *facts.Pod) {
		p.Role, p.From, p.Version, p.UnreadySince = facts.Restarting, p.Version, to, now.Add(-10*time.Second)
	})
}

// runs is a member that has been restarted with another version.
func (f observed) runs(name, version string) observed {
	return f.pod(name, func(p *facts.Pod) { p.Version, p.Answer.Version = version, version })
}

// backup is an EtcdBackup that has stored the cluster.
func (f observed) backup() observed {
	return func(o facts.Observation) facts.Observation {
		o = f(o)
		o.BackupsKnown, o.Backup = true, &facts.Backup{Name: "nightly", Revision: 178_000, Finished: now.Add(-time.Hour)}
		return o
	}
}

// unpulled is a member whose image its node cannot pull.
func (f observed) unpulled(name, why string) observed {
	return f.pod(name, func(p *facts.Pod) { p.Trouble, p.ImageUnavailable, p.RunningSince = why, true, time.Time{} })
}

// full is a cluster with the alarm that a member's database has grown to its quota.
func (f observed) full(name string) observed {
	return f.all(func(p *facts.Pod) {
		p.Answer.Alarms = []facts.Alarm{{MemberID: memberID(name), Kind: facts.NoSpace}}
		p.Answer.DBSize, p.Answer.DBSizeInUse = 2<<30+4096, 2<<30-1<<20
	})
}

// unasked are members that the operator does not query.
func (f observed) unasked() observed { return f.all(func(p *facts.Pod) { p.Answer = facts.Answer{} }) }

// expired is a cluster whose certificate for the operator is out of date, as
// package certificates tells it.
func (f observed) expired() observed {
	f = f.unasked()
	return func(o facts.Observation) facts.Observation {
		o = f(o)
		end := now.Add(-time.Hour)
		o.Cluster.TLS = facts.TLS{
			Wanted: true, Trust: "t1", Leaf: facts.Validity{NotBefore: end.Add(-90 * 24 * time.Hour), NotAfter: end}, NoClientCertificate: true, RequeueAfter: time.Minute, Problem: facts.CertificatesInvalid,
			Message: fmt.Sprintf("the certificate in etcd-client.crt of Secret etcd-client-tls expired at %s: write a new one", end.UTC().Format(time.RFC3339)),
		}
		return o
	}
}
