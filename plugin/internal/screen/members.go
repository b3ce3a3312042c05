package screen

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/plugin/internal/kube"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

// Member is a member as Kubernetes and etcd tell of it.
type Member struct {
	Name string `json:"name"`
	// ID is etcd's own, 16 hexadecimal digits.
	ID string `json:"id,omitempty"`
	// Role is Leader, Voter, Learner or Unstarted; or, of a Pod that is no member yet, what
	// the operator uses it for, such as joiner.
	Role    string `json:"role,omitempty"`
	Version string `json:"version,omitempty"`
	Node    string `json:"node,omitempty"`
	// Pod is the state of its Pod in a word.
	Pod       string `json:"pod,omitempty"`
	Restarts  int32  `json:"restarts,omitempty"`
	Unmanaged bool   `json:"unmanaged,omitempty"`
	// Etcd is what the member itself said; nil if it was not asked or did not answer.
	Etcd *Etcd `json:"etcd,omitempty"`
	// Trouble says why it did not answer.
	Trouble string `json:"trouble,omitempty"`
}

// Etcd is what a member said of itself.
type Etcd struct {
	Revision int64 `json:"revision"`
	// RaftLag is how many log entries it has still to apply of those that any member knows to
	// be committed.
	RaftLag uint64 `json:"raftLag"`
	Term    uint64 `json:"term"`
	DBSize  int64  `json:"dbSize"`
	InUse   int64  `json:"dbSizeInUse"`
	// Quota is 0 if there is none, or it is not known.
	Quota int64 `json:"quota,omitempty"`
}

// Members are those of a cluster, in the order of their names. Answers are etcd's; none if it was
// not asked.
func Members(c *v1beta2.EtcdCluster, pods []corev1.Pod, answers map[string]etcdclient.Answer) []Member {
	all := map[string]*Member{}
	for _, d := range c.Status.MemberDetails {
		role := string(d.Role)
		if d.Name == c.Status.Leader {
			role = "Leader"
		}
		all[d.Name] = &Member{Name: d.Name, ID: d.ID, Role: role, Version: d.Version, Node: d.Node, Unmanaged: d.Unmanaged}
	}
	for i := range pods {
		p := &pods[i]
		m := all[p.Name]
		if m == nil {
			m = &Member{Name: p.Name, Role: p.Labels[v1beta2.LabelRole]}
			all[p.Name] = m
		}
		m.Node, m.Pod = cmp.Or(p.Spec.NodeName, m.Node), podState(p)
		for _, s := range p.Status.ContainerStatuses {
			m.Restarts += s.RestartCount
		}
	}
	var committed uint64
	for _, a := range answers {
		committed = max(committed, a.RaftIndex)
	}
	for name, a := range answers {
		m := all[name]
		switch {
		case m == nil:
		case a.Reached:
			m.take(a, committed)
		default:
			m.Trouble = cmp.Or(a.Trouble, a.RefusedBecause, a.Err)
		}
	}
	var members []Member
	for _, m := range all {
		members = append(members, *m)
	}
	slices.SortFunc(members, func(x, y Member) int { return cmp.Compare(x.Name, y.Name) })
	return members
}

// take takes over what a member said, which is newer than the status.
func (m *Member) take(a etcdclient.Answer, committed uint64) {
	m.Etcd = &Etcd{Revision: a.Revision, Term: a.Term, DBSize: a.DBSize, InUse: a.DBSizeInUse, Quota: a.Quota}
	if committed > a.AppliedIndex {
		m.Etcd.RaftLag = committed - a.AppliedIndex
	}
	m.ID, m.Version = fmt.Sprintf("%016x", a.MemberID), cmp.Or(a.Version, m.Version)
	switch {
	case a.Learner:
		m.Role = string(v1beta2.MemberLearner)
	case a.Leader == a.MemberID && a.Leader != 0:
		m.Role = "Leader"
	case a.Leader != 0:
		m.Role = string(v1beta2.MemberVoter)
	}
}

// podState is a Pod's state in a word, the way kubectl get shows it.
func podState(p *corev1.Pod) string {
	if p.DeletionTimestamp != nil {
		return "Terminating"
	}
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if w := s.State.Waiting; w != nil && w.Reason != "" && w.Reason != "PodInitializing" {
			return w.Reason
		}
	}
	if p.Status.Phase == corev1.PodRunning && !kube.IsReady(p) {
		return "NotReady"
	}
	return string(p.Status.Phase)
}

// MemberTable shows members.
func MemberTable(members []Member) *Table {
	t := &Table{Columns: []string{"Member", "Role", "Version", "Pod", "Node", "Revision", "Raft lag", "DB size", "In use", "Quota", "+ID", "+Term", "+Restarts"}}
	for _, m := range members {
		row := []string{m.Name, m.Role, m.Version, m.Pod, m.Node, "", "", "", "", "", m.ID, "", fmt.Sprint(m.Restarts)}
		if m.Unmanaged {
			row[1] += " (unmanaged)"
		}
		if e := m.Etcd; e != nil {
			row[5], row[6], row[7], row[8], row[11] = fmt.Sprint(e.Revision), fmt.Sprint(e.RaftLag), Bytes(e.DBSize), Bytes(e.InUse), fmt.Sprint(e.Term)
			if e.Quota > 0 {
				row[9] = fmt.Sprintf("%d%% of %s", e.DBSize*100/e.Quota, Bytes(e.Quota))
			}
		}
		t.Add(row...)
	}
	return t
}
