package facts

import (
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/quorum"
)

// View is an Observation with what follows from it: who is a member, who is healthy, who is
// lost. It is computed once, and every rule reads it.
//
// It is made of layers, each of which knows those before it and nothing of those after:
// Objects, Members, Versions, Losses. What View itself tells needs all of them, such as
// whether a member may be disrupted.
type View struct {
	Losses
	// WantedSize is spec.size. While members move to another version Cluster.Size is the
	// one that the cluster had when they began, if that is smaller.
	WantedSize int
}

// Losses tell which members are lost, and why, and which Pods can become members.
type Losses struct{ Versions }

// Versions tell which versions of etcd run, and which are compatible.
type Versions struct{ Members }

// Members are the cluster as etcd itself tells it.
type Members struct {
	Objects
	// Sure is true when a linearizable read succeeded: List is then etcd's own
	// member list. Otherwise List is the best that a member without quorum told,
	// or empty, and no membership is decided from it.
	Sure bool
	// Settled is true when every healthy voter tells the same list, and they are a
	// quorum (S3).
	Settled bool
	List    []Member
	Voters  []Member
	// Healthy is H: the ids of the voters that answered themselves, name the same leader
	// and term, report no error, are caught up, take the operator for who it is and are
	// not corrupt. A NOSPACE alarm is no matter of members: they change
	// under it.
	Healthy map[uint64]bool
	// Leader is the id of the leader that H names; 0 if none.
	Leader  uint64
	term    uint64
	Applied uint64
	// Alarms are those that are raised, as the one knows them whose list it is.
	Alarms []Alarm
	// Foreign is how many members of List the operator did not make. Cluster.Size and
	// WantedSize count them: they take nobody's place.
	Foreign int
}

// Objects are the Pods and volumes, as Kubernetes tells them and as each of them answers.
type Objects struct {
	Observation
	// PodOf and ClaimOf have the Pods and Claims by name.
	PodOf   map[string]*Pod
	ClaimOf map[string]*Claim
	// DoubtOf maps names to the Doubtful of the Observation.
	DoubtOf map[string]*Doubtful
	// Noted are the Rejections of effects that a rule has asked for.
	Noted []*Rejection
	// DeleteEmpty and DeleteIfDamaged are what texts ask the user to delete (see Decision).
	DeleteEmpty     string
	DeleteIfDamaged []string
}

// NewView draws the conclusions from an Observation.
func NewView(o Observation) *View {
	v := &View{WantedSize: o.Cluster.Size}
	v.Observation, v.Healthy = o, map[uint64]bool{}
	v.PodOf, v.ClaimOf = make(map[string]*Pod, len(o.Pods)), make(map[string]*Claim, len(o.Claims))
	if c := &v.Cluster; c.Target != "" && c.UpgradeSize > 0 {
		c.Size = min(c.Size, c.UpgradeSize)
	}
	for i := range o.Pods {
		v.PodOf[o.Pods[i].Name] = &o.Pods[i]
	}
	for i := range o.Claims {
		v.ClaimOf[o.Claims[i].Name] = &o.Claims[i]
	}
	v.DoubtOf = make(map[string]*Doubtful, len(o.Doubtful))
	for i := range o.Doubtful {
		v.DoubtOf[o.Doubtful[i].Name] = &o.Doubtful[i]
	}
	v.readList()
	v.Foreign = v.countForeign()
	v.Cluster.Size += v.Foreign
	v.WantedSize += v.Foreign
	v.findHealthy()
	v.Settled = v.Sure && len(v.Healthy) >= quorum.Majority(len(v.Voters)) && v.agreed()
	return v
}
