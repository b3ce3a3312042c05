package observe

import (
	"net"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/launcher"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// Endpoint is where a member is asked: at its Pod's own address, which needs no
// DNS record.
func Endpoint(name, ip string) etcdclient.Endpoint {
	return etcdclient.Endpoint{
		Name: name,
		Addr: net.JoinHostPort(ip, strconv.Itoa(member.ClientPort)),
	}
}

// podOf is what the planner needs of a Pod, but for its address, node and answer.
func podOf(p *corev1.Pod) plan.Pod {
	out := plan.Pod{
		Name:     p.Name,
		UID:      string(p.UID),
		Role:     plan.Role(p.Labels[v1beta2.LabelRole]),
		Created:  p.CreationTimestamp.Time,
		Finished: p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded,
		IP:       p.Status.PodIP,
		Node:     p.Spec.NodeName,
		Trouble:  trouble(p),
	}
	if p.DeletionTimestamp != nil {
		// The API server sets it to the time by which the Pod was to be gone.
		out.DeletingSince = p.DeletionTimestamp.Time
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			out.Unschedulable = c.Message
		}
	}
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == p.Name {
			out.Persistent = true
		}
	}
	for _, c := range p.Spec.Containers {
		if c.Name != member.ContainerEtcd {
			continue
		}
		_, tag, _ := strings.Cut(c.Image[strings.LastIndex(c.Image, "/")+1:], ":")
		out.Version = strings.TrimPrefix(tag, "v")
		for _, e := range c.Env {
			if e.Name == member.EnvMaxLearners {
				out.Learners, _ = strconv.Atoi(e.Value) // what is no number counts as none
			}
		}
	}
	out.Grant = grantOf(p)
	return out
}

// grantOf reads the leave to start from the Pod. One that can't be read is none:
// the launcher can't use it either.
func grantOf(p *corev1.Pod) *plan.Grant {
	g, err := launcher.ParseGrant([]byte(p.Annotations[v1beta2.AnnotationStart]))
	if err != nil || g == nil {
		return nil
	}
	out := &plan.Grant{Attempt: int(g.Attempt), New: g.State != launcher.StateExisting, Token: g.Token}
	for entry := range strings.SplitSeq(g.InitialCluster, ",") {
		name, _, _ := strings.Cut(entry, "=")
		out.Members = append(out.Members, name)
	}
	slices.Sort(out.Members)
	return out
}

// SameGrant reports whether a Pod carries the grant that it was observed with.
func SameGrant(p *corev1.Pod, seen *plan.Pod) bool {
	now := grantOf(p)
	if now == nil || seen.Grant == nil {
		return now == nil && seen.Grant == nil
	}
	return now.Attempt == seen.Grant.Attempt
}

// waitingIsTrouble are the reasons for which a container waits that do not pass by
// themselves within moments.
var waitingIsTrouble = map[string]bool{
	"CrashLoopBackOff": true, "ImagePullBackOff": true, "ErrImagePull": true, "ErrImageNeverPull": true, "InvalidImageName": true,
	"CreateContainerConfigError": true, "CreateContainerError": true, "RunContainerError": true,
}

// trouble says why the Pod's containers do not run.
func trouble(p *corev1.Pod) string {
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if w := s.State.Waiting; w != nil && waitingIsTrouble[w.Reason] {
			return strings.TrimSuffix(w.Reason+": "+w.Message, ": ")
		}
	}
	return ""
}

// answerOf is what the planner needs of a member's answer.
func answerOf(a etcdclient.Answer) plan.Answer {
	out := plan.Answer{
		Reached:   a.Reached,
		ClusterID: a.ClusterID,
		MemberID:  a.MemberID,
		Leader:    a.Leader,
		Term:      a.Term,
		Applied:   a.AppliedIndex,
		Revision:  a.Revision,
		Learner:   a.Learner,
		Version:   a.Version,
		Errors:    a.Errors,
		Read:      a.Read && len(a.Members) > 0,
		Members:   Members(a.Members),
	}
	if !out.Read {
		out.Members = Members(a.LocalMembers)
	}
	if a.Launcher != nil {
		out.Waiting, out.Attempt = true, int(a.Launcher.Attempt)
	}
	return out
}

// Members are the entries of a member list as the planner sees them, sorted by id.
func Members(list []etcdclient.Member) []plan.Member {
	out := make([]plan.Member, 0, len(list))
	for _, m := range list {
		pm := plan.Member{ID: m.ID, Name: m.Name, Learner: m.Learner, Started: m.Started}
		if len(m.PeerURLs) > 0 {
			pm.Name = member.NameFromURL(m.PeerURLs[0])
		}
		out = append(out, pm)
	}
	slices.SortFunc(out, func(a, b plan.Member) int {
		switch {
		case a.ID < b.ID:
			return -1
		case a.ID > b.ID:
			return 1
		}
		return 0
	})
	return out
}
