package simulate

import (
	"slices"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
)

// checkVolume: the PVC that is changed was as it was read, and is the one that was decided on (S11); and
// none grows beside another one (S6).
func (s *shipped) checkVolume(call string, target *claimObject) {
	var refs []action.ClaimRef
	switch x := s.op.todo.decision.Action.(type) {
	case action.GrowClaim:
		refs = []action.ClaimRef{{Name: x.Name, UID: x.UID}}
		if read := s.looks.volumes[x.Name]; x.Name == target.name && read.requested != x.From {
			s.w.fail("S11", "%s, and it was not of the size that was observed", call)
		}
		if x.Name == target.name && s.looks.patches == 1 {
			s.checkPods(call, "S6")
		}
		for name, c := range s.looks.volumes {
			if name != x.Name && x.Name == target.name && s.w.isMembers(s.w.claim(name)) && !c.deleting && c.capacity < c.requested {
				s.w.fail("S6", "%s, and %s grew when it was looked", call, name)
			}
		}
	case action.KeepClaims:
		refs = x.Claims
	case action.TakeClaims:
		refs = x.Claims
	default:
	}
	if c := s.w.claim(target.name); c == nil || c.requested == target.requested && c.retained == target.retained && c.owner == target.owner &&
		c.version == target.version && c.reseed == target.reseed && c.refusedAt == target.refusedAt {
		return // labels are put back
	}
	i := slices.IndexFunc(refs, func(r action.ClaimRef) bool { return r.Name == target.name })
	if i < 0 {
		return
	}
	if read, ok := s.looks.volumes[target.name]; !ok || read.uid != target.uid || read.revision != target.revision {
		s.w.fail("S11", "%s, which has changed since it was read", call)
	}
	if x, ok := s.op.todo.decision.Action.(action.TakeClaims); ok {
		read := s.looks.volumes[target.name]
		switch {
		case read.deleting:
			s.w.fail("S12", "%s, which was being deleted when it was read", call)
		case !read.retained || clusterUID(read.owner) != x.From:
			s.w.fail("S12", "%s, which %s had not left when it was read", call, x.From)
		}
	}
	if refs[i].UID != target.uid {
		s.w.fail("S11", "%s, which is another one of its name", call)
	}
}
