package plan

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// This file is about members that people have added or changed with etcdctl. The operator
// cannot tell what runs behind a name or a peer URL that it did not give: it never removes
// such a member, reports it, and counts it in each quorum (S9). What is lost of its own it
// replaces all the same; nothing that can wait is done.

// isUnmanaged reports whether a member is not the operator's to remove: it did not make it,
// or not at the peer URL that the member has.
func (m Member) isUnmanaged() bool { return m.Foreign || m.At != "" }

// countForeign counts the members that the operator did not make.
func (v *view) countForeign() int {
	n := 0
	for _, m := range v.list {
		if m.Foreign {
			n++
		}
	}
	return n
}

// ownSize is how many members of the operator's own there are to be: Cluster.Size without
// those that it did not make.
func (v *view) ownSize() int { return v.Cluster.Size - v.foreign }

// unmanagedText says which members the operator does not manage, and how a person ends that;
// empty if there are none.
func (v *view) unmanagedText() string {
	var said []string
	for _, m := range v.list {
		switch {
		case m.Foreign:
			kind := "voter"
			if m.Learner {
				kind = "learner"
			}
			said = append(said, fmt.Sprintf("member %s (%s %016x, peer URL %s) was not created by the operator and is not touched; to remove it: etcdctl member remove %016x",
				m.Name, kind, m.ID, m.At, m.ID))
		case m.At != "":
			said = append(said, fmt.Sprintf("member %s has the peer URL %s, which the operator did not set, and is neither removed nor replaced; to undo the change: etcdctl member update %016x --peer-urls=%s",
				m.Name, m.At, m.ID, fmt.Sprintf(v.Cluster.PeerURLFormat, m.Name)))
		}
	}
	return strings.Join(said, "; ")
}

// awaitUnmanaged waits for a person, before what can wait: restarts, moves and changes of
// the version.
func awaitUnmanaged(v *view) *step {
	said := v.unmanagedText()
	if said == "" {
		return nil
	}
	return wait(idle, v1beta2.ClusterReasonUnmanagedMembers, said).as(AwaitsUser)
}

// unmanaged is the condition UnmanagedMembers; nil if there are none.
func (v *view) unmanaged() *metav1.Condition {
	said := v.unmanagedText()
	if said == "" {
		return nil
	}
	c := v.condition(v1beta2.ConditionUnmanagedMembers, true, v1beta2.ClusterReasonUnmanagedMembers, said)
	return &c
}
