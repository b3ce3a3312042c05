package facts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// This file is about members that people have added or changed with etcdctl. The operator
// cannot tell what runs behind a name or a peer URL that it did not give: it never removes
// such a member, reports it, and counts it in each quorum (S9). What is lost of its own it
// replaces all the same; nothing that can wait is done.

// DifferingAdvice says what a person can do where a quorum lacks a member whose data differs:
// the operator removes none without a quorum of the others. Empty if no member's data differs.
func (v *Losses) DifferingAdvice() string {
	if !v.isAnyDiffering() {
		return ""
	}
	const safe = "; the operator removes no member until a majority with the same data is healthy"
	if m, why := v.MemberToRemoveByHand(); m != nil {
		return safe + ": " + removeByHand(*m, why) + orRestore
	}
	return safe + ": bring its members back" + orRestore
}

// isAnyDiffering reports whether the data of any voter differs.
func (v *Members) isAnyDiffering() bool {
	return slices.ContainsFunc(v.Voters, func(m Member) bool { return v.Cluster.Differs(m.ID) })
}

// MemberToRemoveByHand is the member that a person is to remove next where a quorum lacks one
// whose data differs, and why it: first those whose data is lost for good, and, when nobody else
// is missing, those whose data differs. They still vote, so that etcd carries it out. It is nil
// if there is none.
func (v *Losses) MemberToRemoveByHand() (m *Member, why string) {
	if !v.Sure || !v.isAnyDiffering() {
		return nil, ""
	}
	var lost, differing []Member
	for _, m := range v.Voters {
		switch {
		case v.Healthy[m.ID] || m.IsUnmanaged():
		case v.dataGone(m):
			lost = append(lost, m)
		case v.Cluster.Differs(m.ID):
			differing = append(differing, m)
		}
	}
	missing := len(v.Voters) - len(v.Healthy) - len(lost) - len(differing)
	switch {
	case len(lost) > 0:
		return &lost[0], "its data is lost for good"
	case missing == 0 && len(v.Healthy) > 0 && len(differing) > 0:
		return &differing[0], "its data differs"
	}
	return nil, ""
}

// orRestore is the other way out of a quorum that lacks one whose data differs.
const orRestore = ", or restore the cluster from a backup with an EtcdRestore"

// removeByHand is what a person writes to remove a member that the operator does not.
func removeByHand(m Member, why string) string {
	return fmt.Sprintf("run etcdctl member remove %016x (%s: %s)", m.ID, cmp.Or(m.Name, "no name"), why)
}

// UnmanagedText says which members the operator does not manage, and how a person ends that;
// empty if there are none.
func (v *Members) UnmanagedText() string {
	var said []string
	for _, m := range v.List {
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
