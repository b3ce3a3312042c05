package observe

import (
	"cmp"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/survivor"
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

		UnreadySince: p.CreationTimestamp.Time,
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
		out.Repository, out.Version = splitImage(cmp.Or(p.Annotations[v1beta2.AnnotationImage], c.Image))
		for _, e := range c.Env {
			switch e.Name { // what is no number counts as none
			case member.EnvMaxLearners:
				out.Learners, _ = strconv.Atoi(e.Value)
			case member.EnvSnapshotCount:
				out.SnapshotCount, _ = strconv.Atoi(e.Value)
			}
		}
	}
	out.From = changedFrom(p)
	// What can't be read is long ago.
	out.RoleSince, _ = time.Parse(time.RFC3339, p.Annotations[v1beta2.AnnotationRoleSince])
	for _, c := range p.Status.Conditions {
		switch {
		case c.Type != corev1.PodReady:
		case c.Status == corev1.ConditionTrue:
			out.ReadySince, out.UnreadySince = c.LastTransitionTime.Time, time.Time{}
		default:
			out.UnreadySince = c.LastTransitionTime.Time
		}
	}
	out.Grant = grantOf(p)
	out.Reseed, out.Leave = survivor.Token(p), p.Annotations[v1beta2.AnnotationSurvivorLeave] != ""
	if out.Trouble != "" {
		if why := survivor.Trouble(p); why != "" {
			out.Trouble = why
		}
	}
	return out
}

// splitImage takes an image apart: what is before its tag, and the version that the tag
// names.
func splitImage(image string) (repository, version string) {
	i := strings.LastIndex(image, ":")
	if i < strings.LastIndex(image, "/") || i < 0 {
		return image, ""
	}
	return image[:i], strings.TrimPrefix(image[i+1:], "v")
}

// ContainerID is the id of the etcd container that runs in a Pod, or ran last; empty if
// none has yet.
func ContainerID(p *corev1.Pod) string {
	for _, s := range p.Status.ContainerStatuses {
		if s.Name == member.ContainerEtcd {
			return s.ContainerID
		}
	}
	return ""
}

// changedFrom is the version that the etcd container runs while the Pod's image was
// changed and the container has not been restarted since.
func changedFrom(p *corev1.Pod) string {
	from, id, _ := strings.Cut(p.Annotations[v1beta2.AnnotationChangedFrom], " ")
	if from == "" || id != ContainerID(p) {
		return ""
	}
	return from
}

// SamePod reports whether a Pod, read live, is as it was observed in what decides
// whether a member may be restarted.
func SamePod(p *corev1.Pod, seen *plan.Pod) bool {
	now := podOf(p)
	return now.Name == seen.Name && now.UID == seen.UID && now.Role == seen.Role && now.Version == seen.Version && now.Repository == seen.Repository &&
		now.From == seen.From && now.DeletingSince.IsZero() == seen.DeletingSince.IsZero() && now.UnreadySince.IsZero() == seen.UnreadySince.IsZero()
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
		Committed: a.RaftIndex,
		Applied:   a.AppliedIndex,
		Revision:  a.Revision,
		Learner:   a.Learner,
		Version:   a.Version,
		Errors:    a.Errors,
		Read:      a.Read && len(a.Members) > 0,
		Members:   Members(a.Members),

		ClusterVersion: a.ClusterVersion,
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
