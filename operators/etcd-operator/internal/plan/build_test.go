package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// The Observations of these tests are a healthy cluster, changed by a few words:
//
//	healthy(3).size(5).silent("c").joiner("d")
//
// Members are named a, b, c, …; a leads. Their ids are 0xa, 0xb, 0xc, ….

const (
	theCluster    = 0xc1
	otherCluster  = 0xc2
	theTerm       = 7
	theApplied    = 200_000
	theVersion    = "3.6.16"
	theRepository = "quay.io/coreos/etcd"
	theLearners   = 6 // ETCD_MAX_LEARNERS of every Pod
	theTimeout    = 5 * time.Minute
)

var (
	now = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	old = now.Add(-time.Hour)
)

// world is an Observation in the making.
type world struct {
	o    Observation
	list []Member
	// told are member lists of members that do not tell the common one.
	told map[string][]Member
}

// nothing is a cluster of n members to be, of which nothing exists.
func nothing(n int) *world {
	w := &world{told: map[string][]Member{}, o: Observation{
		Now: now,
		Cluster: Cluster{
			Namespace: "ns", Name: "x", Generation: 4, Size: n, Version: theVersion, WantedVersion: theVersion, Repository: theRepository,
			MemberTimeout: theTimeout, DisruptionBudget: true, PeerURLFormat: "http://%s.x.ns.svc:2380",
		},
		FreshToken: "fresh-token",
	}}
	for i := range v1beta2.MaxSize + 1 {
		w.o.FreshNames = append(w.o.FreshNames, fmt.Sprintf("n%d", i+1))
	}
	return w
}

// begun is a cluster of n whose seed, a, is recorded and does not exist yet.
func begun(n int) *world {
	w := nothing(n)
	w.o.Cluster.Bootstrap = &Bootstrap{Member: "a", Token: "token"}
	w.o.Cluster.LastStatus.Bootstrap = &v1beta2.BootstrapStatus{Member: "a", Token: "token"}
	w.o.Cluster.LastStatus.CurrentVersion = theVersion
	return w
}

// latched is a cluster of n whose id is known, and of which nothing is left.
func latched(n int) *world {
	w := begun(n)
	w.o.Cluster.ClusterID = theCluster
	w.o.Cluster.LastStatus.ClusterID = fmt.Sprintf("%016x", theCluster)
	w.o.Cluster.LastStatus.Phase = v1beta2.PhaseRunning
	return w
}

// healthy is a cluster of n voters, as it is to be.
func healthy(n int) *world {
	w := latched(n)
	for i := range n {
		w.voter(string(rune('a' + i)))
	}
	return w
}

// seen is the Observation.
func (w *world) seen() Observation {
	for i := range w.o.Pods {
		p := &w.o.Pods[i]
		a := &p.Answer
		if !a.Reached || a.Learner {
			continue
		}
		if list, ok := w.told[p.Name]; ok {
			a.Members = slices.Clone(list)
			continue
		}
		a.Members = slices.Clone(w.list)
	}
	byName := func(a, b Pod) int { return int(a.Name[0]) - int(b.Name[0]) }
	slices.SortFunc(w.o.Pods, byName)
	return w.o
}

func id(name string) uint64 { return 0xa + uint64(name[0]-'a') }

func (w *world) cluster(change func(*Cluster)) *world {
	change(&w.o.Cluster)
	return w
}

func (w *world) size(n int) *world { w.o.Cluster.Size = n; return w }

func (w *world) lastStatus(s v1beta2.ClusterStatus) *world { w.o.Cluster.LastStatus = s; return w }

// pod changes a Pod.
func (w *world) pod(name string, change func(*Pod)) *world {
	i := slices.IndexFunc(w.o.Pods, func(p Pod) bool { return p.Name == name })
	if i < 0 {
		panic("no Pod " + name)
	}
	change(&w.o.Pods[i])
	return w
}

// answer changes what a member says of itself.
func (w *world) answer(name string, change func(*Answer)) *world {
	return w.pod(name, func(p *Pod) { change(&p.Answer) })
}

// add adds a Pod that runs, and its claim if the cluster has volumes.
func (w *world) add(name string, role Role, a Answer) *world {
	w.o.Pods = append(w.o.Pods, Pod{
		Name: name, UID: "uid-" + name, Role: role, Created: old, IP: "ip-" + name, Node: "node-" + name, Addressed: true,
		Persistent: w.o.Cluster.Persistent, Version: w.o.Cluster.Version, Repository: theRepository, Learners: theLearners, Answer: a,
	})
	if w.o.Cluster.Persistent {
		w.claim(name)
	}
	return w
}

func serving(name string) Answer {
	return Answer{
		Reached: true, ClusterID: theCluster, MemberID: id(name), Leader: id("a"), Term: theTerm, Applied: theApplied,
		Revision: 1, Version: theVersion, ClusterVersion: "3.6.0", Read: true,
	}
}

// voter adds a voter that serves.
func (w *world) voter(name string) *world {
	w.list = append(w.list, Member{ID: id(name), Name: name, Started: true})
	return w.add(name, Voter, serving(name))
}

// learner adds a member without a vote that has started and has caught up.
func (w *world) learner(name string) *world {
	w.list = append(w.list, Member{ID: id(name), Name: name, Started: true, Learner: true})
	a := serving(name)
	a.Learner, a.Read = true, false
	return w.add(name, Learner, a)
}

// unstarted adds a member that is in the list and whose Pod waits.
func (w *world) unstarted(name string) *world { return w.phantom(name).joiner(name) }

// phantom adds an entry to the list, and no Pod.
func (w *world) phantom(name string) *world {
	w.list = append(w.list, Member{ID: id(name), Name: name, Learner: true})
	return w
}

// joiner adds a Pod that waits to become a member.
func (w *world) joiner(name string) *world {
	return w.add(name, Joiner, Answer{Waiting: true, Identified: true}).pod(name, func(p *Pod) { p.Created = now.Add(-3 * time.Second) })
}

// newJoiner adds a Pod that is not scheduled yet.
func (w *world) newJoiner(name string) *world {
	return w.joiner(name).pod(name, func(p *Pod) {
		p.Created, p.Node, p.IP, p.Addressed, p.Answer = now, "", "", false, Answer{}
	})
}

// volumes gives every member a volume of its own.
func (w *world) volumes() *world {
	w.o.Cluster.Persistent = true
	for i := range w.o.Pods {
		w.o.Pods[i].Persistent = true
		w.claim(w.o.Pods[i].Name)
	}
	return w
}

// volumeOn tells on which node the volume of a claim is.
func (w *world) volumeOn(name, node string) *world {
	for i := range w.o.Claims {
		if w.o.Claims[i].Name == name {
			w.o.Claims[i].Node = node
		}
	}
	return w
}

func (w *world) claim(name string) *world {
	w.o.Claims = append(w.o.Claims, Claim{Name: name, UID: "claim-" + name, Created: old})
	slices.SortFunc(w.o.Claims, func(a, b Claim) int { return int(a.Name[0]) - int(b.Name[0]) })
	return w
}

// noClaim takes the volumes of members away.
func (w *world) noClaim(names ...string) *world {
	w.o.Claims = slices.DeleteFunc(w.o.Claims, func(c Claim) bool { return slices.Contains(names, c.Name) })
	return w
}

// silent are members whose Pods run and whose etcd does not answer the operator.
func (w *world) silent(names ...string) *world {
	for _, name := range names {
		w.answer(name, func(a *Answer) { *a = Answer{} })
	}
	return w
}

// gone are members whose Pods do not exist.
func (w *world) gone(names ...string) *world {
	w.o.Pods = slices.DeleteFunc(w.o.Pods, func(p Pod) bool { return slices.Contains(names, p.Name) })
	return w
}

// dead are members whose Pods, and volumes if they had any, do not exist.
func (w *world) dead(names ...string) *world { return w.gone(names...).noClaim(names...) }

// doubtful puts the owner of these members' PVCs in doubt.
func (w *world) doubtful(names ...string) *world {
	for _, name := range names {
		w.o.Doubtful = append(w.o.Doubtful, facts.DoubtfulPVC("ns", name, "x", "1234"))
	}
	return w.noClaim(names...)
}

// doubtfulPod puts the owner of this member's Pod in doubt.
func (w *world) doubtfulPod(name string) *world {
	w.o.Doubtful = append(w.o.Doubtful, facts.DoubtfulPod("ns", name, "example", "1234"))
	return w.gone(name)
}

// wiped are members whose launchers find no data where there was some.
func (w *world) wiped(names ...string) *world {
	for _, name := range names {
		w.answer(name, func(a *Answer) { *a = empty(1) })
	}
	return w
}

// finished are members whose Pods have ended for good.
func (w *world) finished(names ...string) *world {
	w.silent(names...)
	for _, name := range names {
		w.pod(name, func(p *Pod) { p.Finished = true })
	}
	return w
}

// deleting are members whose Pods were asked to go just now.
func (w *world) deleting(names ...string) *world { return w.deletingSince(now, names...) }

func (w *world) deletingSince(since time.Time, names ...string) *world {
	for _, name := range names {
		w.pod(name, func(p *Pod) { p.DeletingSince = since })
	}
	return w
}

// lostNode are members that do not answer and whose nodes have not been ready for
// that long.
func (w *world) lostNode(ago time.Duration, names ...string) *world {
	w.silent(names...)
	for _, name := range names {
		w.pod(name, func(p *Pod) { p.NodeLostSince = now.Add(-ago) })
	}
	return w
}

// leader makes everybody name this leader.
func (w *world) leader(name string) *world {
	for i := range w.o.Pods {
		if w.o.Pods[i].Answer.Reached {
			w.o.Pods[i].Answer.Leader = id(name)
		}
	}
	return w
}

// noQuorum makes members answer, each for itself, without a quorum behind them.
func (w *world) noQuorum() *world {
	for i := range w.o.Pods {
		if a := &w.o.Pods[i].Answer; a.Reached {
			a.Read, a.Leader, a.Errors = false, 0, []string{"etcdserver: no leader"}
		}
	}
	return w
}

// tells makes a member tell a list of its own.
func (w *world) tells(name string, list []Member) *world { w.told[name] = list; return w }

func (w *world) role(name string, r Role) *world {
	return w.pod(name, func(p *Pod) { p.Role = r })
}

func (w *world) permit(name string, g StartPermit) *world {
	return w.pod(name, func(p *Pod) { p.StartPermit = &g })
}

// unschedulable is a Pod that the scheduler has found no node for.
func unschedulable(p *Pod) {
	p.Node, p.IP, p.Addressed, p.Answer = "", "", false, Answer{}
	p.Unschedulable = "0/3 nodes are available"
}

func young(p *Pod) { p.Created = now }

// empty is what a launcher says that has looked at its empty disk for long enough, and has
// used so many start permits.
func empty(attempt int) Answer {
	return Answer{Waiting: true, Attempt: attempt, Identified: true, Waited: emptyFor}
}
