package simulate

import (
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

// looks are what the shipped operator has seen live since its decision. That an effect rests
// on what was so at the last look is S11. The other checks find what comes of an effect that
// does not, after thousands of runs; these find it at once, and name the invariant that is at
// stake.
type looks struct {
	// base is the EtcdCluster from which it has decided.
	base etcdCluster
	// cluster is the EtcdCluster at the last look; nil if etcd was asked, or something was
	// changed, after that.
	cluster *etcdCluster
	// pods and answers are those of the last look; looked is true if there was one at Pods.
	pods    []pod
	looked  bool
	answers map[string]etcdclient.Answer
	// patches counts those of Pods and PVCs.
	patches int
	// found are the Pods and PVCs that were there when they were last read by name, and versions
	// those of the Pods.
	found []string
	// existing are the PVCs that were there when they were to be created, as by another operator.
	existing []string
	versions map[string]string
	// volumes are the PVCs as they were when they were last read, by name.
	volumes map[string]claimObject
	// pod is the Pod that was read last.
	pod *pod
	// children are the uids of those that were found and are the EtcdCluster's, "" of others.
	children map[string]string
}

// sameEtcdCluster reports whether nothing has changed that decisions rest on.
func sameEtcdCluster(a, b *etcdCluster) bool {
	return a.number == b.number && a.generation == b.generation && a.deleting == b.deleting && a.clusterID == b.clusterID && a.bootstrap == b.bootstrap &&
		a.current == b.current && a.target == b.target && reflect.DeepEqual(a.status.Recovery, b.status.Recovery) && !a.fence.Stands()
}

// sameAsSeen reports whether a Pod is as it was observed, as far as restarts go.
func sameAsSeen(p *pod, seen *facts.Pod) bool {
	return seen != nil && p.uid == seen.UID && p.role == seen.Role && p.version == seen.Version && p.repository == seen.Repository &&
		(p.deleting == never) == seen.DeletingSince.IsZero() && p.ready == seen.UnreadySince.IsZero()
}

// isEffect tells effects by what the operator says of its calls.
func isEffect(call string) bool {
	return slices.ContainsFunc([]string{
		"creating Pod ", "creating PVC ", "patching Pod ", "patching PVC ", "applying ",
		"deleting *v1.Pod ", "deleting *v1.PersistentVolumeClaim ", "deleting *v1.PodDisruptionBudget ",
		"adding a learner", "promoting ", "removing ", "moving ", "enabling ", "cancelling ", "appending ",
	}, func(verb string) bool { return strings.HasPrefix(call, verb) })
}

// carry makes a call, and notes what was looked at, or checks the effect.
func (s *shipped) carry(call string, do func() error) error {
	if s.w.cfg.Meddles == 0 {
		return do()
	}
	l := &s.looks
	name := call[strings.LastIndexByte(call, ' ')+1:]
	var before *pod
	if p := s.w.pod(name); p != nil {
		copied := *p
		before = &copied
	}
	var volume claimObject
	if c := s.w.claim(name); c != nil {
		volume = c.claimObject
	}
	cluster := s.w.cluster
	child := s.w.childOf(call)
	err := do()
	switch {
	case strings.HasPrefix(call, "reading *v1beta2.EtcdCluster"):
		l.cluster = &cluster
	case strings.HasPrefix(call, "listing *v1.PodList"), strings.HasPrefix(call, "listing *v1.PartialObjectMetadataList"):
		l.pods, l.looked = nil, true
		for _, p := range s.w.pods {
			if !p.unlabelled() && p.owner == l.base.number {
				l.pods = append(l.pods, *p)
			}
		}
	case strings.HasPrefix(call, "listing *v1.PersistentVolumeClaimList"):
		l.volumes = map[string]claimObject{}
		for _, c := range s.w.claims {
			l.volumes[c.name] = c.claimObject
		}
	case strings.HasPrefix(call, "reading ") && err == nil:
		if strings.HasPrefix(call, "reading *v1.PersistentVolumeClaim ") {
			if l.volumes == nil {
				l.volumes = map[string]claimObject{}
			}
			l.volumes[name] = volume
		}
		if !strings.HasPrefix(call, "reading *v1.Pod ") || before == nil || !s.w.left(before.object) || isStrangers(before.object) { // not of an earlier EtcdCluster
			l.found = append(l.found, strings.TrimPrefix(call, "reading "))
		}
		if before != nil && strings.HasPrefix(call, "reading *v1.Pod ") {
			l.pod = before
			if l.versions == nil {
				l.versions = map[string]string{}
			}
			l.versions[name] = before.resourceVersion()
		}
	case apierrors.IsNotFound(err) && strings.HasPrefix(call, "reading "): // the last look counts
		l.found = slices.DeleteFunc(l.found, func(f string) bool { return f == strings.TrimPrefix(call, "reading ") })
		if strings.HasPrefix(call, "reading *v1.Pod ") {
			l.pod = nil
		} else {
			delete(l.volumes, name)
		}
	case call == "asking members":
		l.cluster = nil
	case call == "writing the status":
		if err == nil && cluster.version != l.base.version {
			s.w.fail("S11", "the status is written over one that was not read")
		}
		if err == nil {
			s.checkRecorded(&cluster)
		}
	case isEffect(call):
		l.patches += boolInt(strings.HasPrefix(call, "patching "))
		if apierrors.IsAlreadyExists(err) {
			l.existing = append(l.existing, name)
		}
		if err == nil {
			s.checkCluster(call)
			switch {
			case strings.HasPrefix(call, "patching PVC "):
				s.checkVolume(call, &volume)
			case child != nil:
				s.checkChild(call, child)
			default:
				s.checkEffect(call, name, before)
				s.checkOnVolume(call, name, &volume)
			}
			if strings.HasPrefix(call, "creating PVC ") {
				delete(l.volumes, name) // what was read of an earlier one of its name
			}
		}
		l.cluster = nil
	}
	return err
}

// checkCluster: the EtcdCluster was read right before an effect, and was as it was decided
// on (S11), and not fenced (S12).
func (s *shipped) checkCluster(call string) {
	l := &s.looks
	switch s.op.todo.decision.Action.(type) {
	case action.Defragment, action.GrowClaim:
		if l.patches > 1 {
			return // the second of their patches follows upon the first
		}
	default:
	}
	switch {
	case l.cluster == nil:
		s.w.fail("S11", "%s without a look at the EtcdCluster", call)
	case l.cluster.fence.Stands():
		s.w.fail("S12", "%s, and the EtcdCluster is fenced", call)
	case !sameEtcdCluster(l.cluster, &l.base):
		s.w.fail("S11", "%s, and the EtcdCluster has changed", call)
	}
}

// checkEffect: what an effect rests on was so when it was last looked at.
func (s *shipped) checkEffect(call, name string, target *pod) {
	t := s.op.todo
	seen := func(name string) *facts.Pod {
		i := slices.IndexFunc(t.seen.Pods, func(p facts.Pod) bool { return p.Name == name })
		if i < 0 {
			return nil
		}
		return &t.seen.Pods[i]
	}
	if target == nil {
		target = &pod{} // not one that this is about
	}
	p := s.w.pod(name)
	if p != nil && target.unlabelled() && !p.unlabelled() { // its labels are put back
		if s.looks.versions[name] != target.resourceVersion() {
			s.w.fail("S11", "%s, which has changed since it was read", call)
		}
		return
	}
	if p != nil && strings.HasPrefix(call, "patching ") && p.role == target.role && p.permit == target.permit && p.image() == target.image() && p.survivorPermit == target.survivorPermit && !isMarked(target, p) {
		return // other labels and annotations are what they are to be, as of the Pod that was read
	}
	isOther := func(uid string) bool { return target.uid != "" && target.uid != uid }
	switch x := t.decision.Action.(type) {
	case action.CreatePods:
		s.checkNames(call, "S11")
	case action.SetRoles:
		if p := seen(name); p != nil && (isOther(p.UID) || p.Role != target.role) {
			s.w.fail("S11", "%s, which is another one or has another role meanwhile", call)
		}
	case action.GrantStartPermit:
		if isOther(x.UID) {
			s.w.fail("S2", "%s, which gets the permit of another one of its name", call)
		}
		if target.uid != "" && s.looks.versions[name] != target.resourceVersion() {
			s.w.fail("S2", "%s, which has changed since it was read", call)
		}
	case action.RevokeStartPermits:
		if p := seen(name); p != nil && isOther(p.UID) {
			s.w.fail("S11", "%s, which is another one of its name", call)
		}
	case action.AddLearner:
		s.checkList(call, x.Members, "S3", 0)
	case action.Promote:
		s.checkList(call, x.Members, "S3", 0)
	case action.RemoveMember:
		s.checkList(call, x.Members, "S4", x.ID)
		s.checkStaying(call, x)
		s.checkPods(call, "S4")
		s.checkRemoved(call, x)
	case action.ChangeImage, action.RecreatePod:
		s.checkPods(call, "S6")
		if target.uid != "" && !slices.Contains(s.looks.pods, *target) {
			s.w.fail("S6", "%s, which has changed since it was read", call)
		}
	case action.Defragment:
		s.checkDefragmented(call, x, target)
	case action.RevokeSurvivorPermit:
		if isOther(x.UID) {
			s.w.fail("S13", "%s, which is another one of its name", call)
		}
	case action.DropSeed:
		if isOther(x.PodUID) {
			s.w.fail("S7", "%s, which is another one of its name", call)
		}
	case action.EnableDowngrade, action.CancelDowngrade:
		s.checkPods(call, "S6")
	case action.DeletePod:
		if isOther(x.UID) {
			s.w.fail("S7", "%s, which is another one of its name", call)
		}
		if x.Members != nil {
			s.checkList(call, x.Members, "S7", 0)
		}
	case action.DeleteClaim:
		s.checkList(call, x.Members, "S7", 0)
		if slices.Contains(s.looks.found, "*v1.Pod "+name) {
			s.w.fail("S7", "%s, and a Pod of that name was found", call)
		}
	default: // it rests on the EtcdCluster alone, or is not played yet
	}
}

// isOurs reports whether a volume is the EtcdCluster's.
func (s *shipped) isOurs(name string) bool {
	c := s.w.claim(name)
	return c != nil && observe.IsMembers(s.w.claimAsObject(&c.claimObject), s.w.object(&s.w.cluster))
}

// checkNames: the live Pods have the names of the observed ones, and every Pod or PVC of a member that was
// found was observed. A member that returns uses its own name, so it cannot collide with another member.
func (s *shipped) checkNames(call, invariant string) {
	created, _ := s.op.todo.decision.Action.(action.CreatePods)
	returns := len(created.Pods) > 0 && !slices.ContainsFunc(created.Pods, func(p action.NewPod) bool { return p.Role != facts.Returning })
	for _, f := range s.looks.found {
		if returns {
			break
		}
		if name, isPod := strings.CutPrefix(f, "*v1.Pod "); isPod {
			p := s.w.pod(name)
			if p != nil && !s.w.left(p.object) && !isDoubtful(&s.op.todo.seen, name) && !slices.ContainsFunc(s.op.todo.seen.Pods, func(o facts.Pod) bool { return o.Name == name }) {
				s.w.fail("S9", "%s, and Pod %s was found that was not observed", call, name)
			}
		}
		name, isClaim := strings.CutPrefix(f, "*v1.PersistentVolumeClaim ")
		isSame := func() bool { c := s.w.claim(name); return c != nil && c.uid == s.looks.volumes[name].uid } // not collected since
		if isClaim && isSame() && !slices.Contains(s.looks.existing, name) && (s.isOurs(name) || isUnclear(s.w.claim(name).object)) && !isDoubtful(&s.op.todo.seen, name) && !slices.ContainsFunc(s.op.todo.seen.Claims, func(c facts.Claim) bool { return c.Name == name }) {
			s.w.fail("S9", "%s, and volume %s was found that was not observed", call, name)
		}
	}
	same := len(s.looks.pods) == len(s.op.todo.seen.Pods)
	for _, p := range s.looks.pods {
		same = same && slices.ContainsFunc(s.op.todo.seen.Pods, func(o facts.Pod) bool { return o.Name == p.name })
	}
	if !s.looks.looked || !same {
		s.w.fail(invariant, "%s, and there were other Pods than were observed", call)
	}
}

// checkPods: they were as they were observed.
func (s *shipped) checkPods(call, invariant string) {
	s.checkNames(call, invariant)
	for i := range s.looks.pods {
		p := &s.looks.pods[i]
		if j := slices.IndexFunc(s.op.todo.seen.Pods, func(o facts.Pod) bool { return o.Name == p.name }); j >= 0 && !sameAsSeen(p, &s.op.todo.seen.Pods[j]) {
			s.w.fail(invariant, "%s, and Pod %s was not as it was observed", call, p.name)
		}
	}
}

// checkRemoved: the Pod of a member that is removed has not been given a permit, and has not
// come back.
func (s *shipped) checkRemoved(call string, x action.RemoveMember) {
	for i := range s.looks.pods {
		if p := &s.looks.pods[i]; p.name == x.Name && x.Pod != nil {
			if (p.permit == nil) != (x.Pod.StartPermit == nil) || p.permit != nil && p.permit.Attempt != x.Pod.StartPermit.Attempt || p.node >= 0 && x.Pod.Node == "" {
				s.w.fail("S4", "%s, and its Pod %s has come back", call, p.name)
			}
		}
	}
}

// checkStaying: of those who stay a quorum has answered.
func (s *shipped) checkStaying(call string, x action.RemoveMember) {
	n, voters := 0, 0
	for _, m := range x.Members {
		if m.Learner || m.ID == x.ID {
			continue
		}
		voters++
		n += boolInt(answered(s.looks.answers, m.ID))
	}
	if n < quorum(voters) {
		s.w.fail("S4", "%s, and %d of %d voters that stay have answered", call, n, voters)
	}
}

// checkList: a member that was asked has told the list that was decided on, and none that it
// is led by the one that leaves.
func (s *shipped) checkList(call string, want []facts.Member, invariant string, leaves uint64) {
	told := false
	for _, a := range s.looks.answers {
		told = told || len(a.Members) > 0 && slices.Equal(observe.Members(s.w.object(&s.w.cluster), a.Members), want)
		if leaves != 0 && a.Leader == leaves {
			s.w.fail("S8", "%s, and member %x leads", call, leaves)
		}
	}
	if !told {
		s.w.fail(invariant, "%s, and the member list is not the one that was decided on", call)
	}
}
