package simulate

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// This file is what is checked of what the shipped operator records, of the volumes that Pods are
// made on or that are deleted, and of Services and the PodDisruptionBudget: each against its last
// look (S11).

// noteChild notes a Service or a PodDisruptionBudget that was found, and whether it is the
// EtcdCluster's.
func (l *looks) noteChild(key string, o client.Object) {
	if l.children == nil {
		l.children = map[string]string{}
	}
	l.children[key] = ""
	if ref := metav1.GetControllerOf(o); ref != nil && clusterNumber(string(ref.UID)) == l.base.number {
		l.children[key] = string(o.GetUID())
	}
}

// childOf is the key and the object that a call is about; nil if it is about no child.
func (w *world) childOf(call string) *child {
	for prefix, kind := range map[string]string{
		"applying Service ": "*v1.Service ", "applying PodDisruptionBudget ": "*v1.PodDisruptionBudget ", "deleting *v1.PodDisruptionBudget ": "*v1.PodDisruptionBudget ",
	} {
		if name, ok := strings.CutPrefix(call, prefix); ok {
			key := kind + name
			c := &child{key: key}
			if o := w.children[key]; o != nil {
				c.uid = string(o.GetUID())
			}
			return c
		}
	}
	return nil
}

// child is a Service or a PodDisruptionBudget; uid is empty if it is not there.
type child struct{ key, uid string }

// checkChild: what is applied or deleted was the EtcdCluster's when it was looked (S12), and what is
// deleted is that one (S11).
func (s *shipped) checkChild(call string, c *child) {
	uid, found := s.looks.children[c.key]
	switch {
	case found && uid == "":
		s.w.fail("S12", "%s, which was somebody else's", call)
	case found && strings.HasPrefix(call, "deleting ") && c.uid != uid:
		s.w.fail("S11", "%s, which is another one of its name", call)
	}
}

// isMarked reports whether a Pod was marked as defragmented.
func isMarked(before, after *pod) bool {
	is := func(p *pod) string {
		if p.object == nil {
			return ""
		}
		return p.object.Annotations[v1beta2.AnnotationDefragmented]
	}
	return is(before) != is(after)
}

// checkDefragmented: the first mark is on the Pod as it was read, the second on the same one.
func (s *shipped) checkDefragmented(call string, x action.Defragment, target *pod) {
	switch {
	case target.uid == "":
	case target.uid != x.UID:
		s.w.fail("S11", "%s, which is another one of its name", call)
	case s.looks.patches == 1:
		s.checkPods(call, "S6")
		for i := range s.looks.pods {
			if p := &s.looks.pods[i]; p.name == target.name && p.resourceVersion() != target.resourceVersion() {
				s.w.fail("S6", "%s, which has changed since it was read", call)
			}
		}
	}
}

// wasMembers reports whether a volume, as it was, is a member's.
func (s *shipped) wasMembers(c *claimObject) bool {
	return observe.IsMembers(s.w.claimAsObject(c), s.w.object(&s.looks.base))
}

// checkOnVolume: a Pod is made on a volume that was the cluster's when it was read, and a volume is
// deleted that was, as it was.
func (s *shipped) checkOnVolume(call, name string, target *claimObject) {
	read, found := s.looks.volumes[name]
	switch {
	case !found:
	case strings.HasPrefix(call, "creating Pod "):
		p := s.w.pod(name)
		switch {
		case p == nil:
		case !s.wasMembers(&read):
			s.w.fail("S12", "%s on a volume that was not the cluster's when it was read", call)
		case p.role == facts.Joiner && read.deleting:
			s.w.fail("S12", "%s on a volume that was being deleted when it was read", call)
		}
	case strings.HasPrefix(call, "deleting *v1.PersistentVolumeClaim "):
		s.checkDeleted(call, &read, target)
	}
}

func (s *shipped) checkDeleted(call string, read, target *claimObject) {
	uid := ""
	switch x := s.op.todo.decision.Action.(type) {
	case action.DeleteClaim:
		uid = x.UID
	case action.DropSeed:
		uid = x.ClaimUID
		if read.reseed != x.Token {
			s.w.fail("S7", "%s, which was not the seed's when it was read", call)
		}
	default:
		return
	}
	switch {
	case target.uid != uid:
		s.w.fail("S7", "%s, which is another one of its name", call)
	case !s.wasMembers(read):
		s.w.fail("S7", "%s, which was not the cluster's when it was read", call)
	case read.revision != target.revision:
		s.w.fail("S7", "%s, which has changed since it was read", call)
	}
}

// checkRecorded: what the status records rests on the last look at Pods and volumes.
func (s *shipped) checkRecorded(before *etcdCluster) {
	now, l := &s.w.cluster, &s.looks
	switch x := s.op.todo.decision.Action.(type) {
	case action.RecordSurvivor:
		if now.recovery != nil && (before.recovery == nil || before.recovery.Token != now.recovery.Token) {
			s.checkHolders("a survivor is chosen")
			s.checkHolderVolumes("a survivor is chosen")
			s.checkDoubt("a survivor is chosen")
		}
	case action.AdoptSurvivor:
		if now.clusterID == before.clusterID {
			return
		}
		s.checkHolders("a survivor's seed is adopted")
		for i := range l.pods {
			if p := &l.pods[i]; p.role == facts.Voter && p.name != x.Name {
				s.w.fail("S13", "a survivor's seed is adopted, and Pod %s got clients when it was looked", p.name)
			}
		}
	case action.RecordBootstrap:
		if now.bootstrap == before.bootstrap || before.bootstrap.Member != "" || x.Adopted {
			return
		}
		for name, c := range l.volumes {
			if c.object.Labels[v1beta2.LabelCluster] == clusterName {
				s.w.fail("S1", "a beginning is recorded, and volume %s was there when it was looked", name)
			}
		}
	case action.AdoptSeed:
		if now.fence.Adopted == before.fence.Adopted {
			return
		}
		if p := l.pod; p == nil || p.uid != x.UID || p.deleting != never || s.w.left(p.object) {
			s.w.fail("S12", "seed %s is adopted, and was not there when it was looked", x.Name)
		}
		if i := slices.IndexFunc(l.pods, func(p pod) bool { return p.name != x.Name && mightServe(&p) }); i >= 0 {
			s.w.fail("S1", "seed %s is adopted, and Pod %s was seen beside it", x.Name, l.pods[i].name)
		}
	default: // it rests on the EtcdCluster alone
	}
}

// checkHolders: the Pods that may hold data are those that were observed (S13).
func (s *shipped) checkHolders(what string) {
	seen := map[string]*facts.Pod{}
	for i := range s.op.todo.seen.Pods {
		p := &s.op.todo.seen.Pods[i]
		seen[p.Name] = p
	}
	for i := range s.looks.pods {
		p := &s.looks.pods[i]
		if o := seen[p.name]; o == nil || o.UID != p.uid || o.DeletingSince.IsZero() != (p.deleting == never) {
			s.w.fail("S13", "%s, and Pod %s was not observed so", what, p.name)
		}
		delete(seen, p.name)
	}
	if len(seen) > 0 {
		s.w.fail("S13", "%s, and there were fewer Pods than were observed", what)
	}
}

// checkHolderVolumes: the same of volumes.
func (s *shipped) checkHolderVolumes(what string) {
	seen := map[string]string{}
	for _, c := range s.op.todo.seen.Claims {
		seen[c.Name] = c.UID
	}
	for name, c := range s.looks.volumes {
		if !s.wasMembers(&c) {
			continue
		}
		if seen[name] != c.uid {
			s.w.fail("S13", "%s, and volume %s was not observed", what, name)
		}
		delete(seen, name)
	}
	if len(seen) > 0 {
		s.w.fail("S13", "%s, and there were fewer volumes than were observed", what)
	}
}
