package observe

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/lastwords"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/survivor"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/launcher"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// Endpoint is where a member is asked: at its Pod's own address, which needs no
// DNS record. Its certificate is for its name all the same.
func Endpoint(c *v1beta2.EtcdCluster, name, ip string) etcdclient.Endpoint {
	return etcdclient.Endpoint{
		Name:       name,
		Addr:       net.JoinHostPort(ip, strconv.Itoa(member.ClientPort)),
		ServerName: member.Host(c, name),
	}
}

// PodOf returns what the planner needs of a Pod of a cluster, except whether it is published, its
// node and its member's answer.
func PodOf(c *v1beta2.EtcdCluster, p *corev1.Pod) facts.Pod {
	out := podOf(p)
	out.StartPermit = permitOf(c, p)
	return out
}

// podOf is like PodOf, but omits the start permit.
func podOf(p *corev1.Pod) facts.Pod {
	out := facts.Pod{
		Name:     p.Name,
		UID:      string(p.UID),
		Role:     facts.Role(p.Labels[v1beta2.LabelRole]),
		Created:  p.CreationTimestamp.Time,
		Finished: p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded,
		IP:       p.Status.PodIP,
		Node:     p.Spec.NodeName,
		Template: p.Annotations[v1beta2.AnnotationTemplate],

		UnreadySince: p.CreationTimestamp.Time,
	}
	if p.DeletionTimestamp != nil {
		// The API server sets it to the time by which the Pod was to be gone.
		out.DeletingSince = p.DeletionTimestamp.Time
	}
	if w, image := troubled(p); w != nil {
		out.Trouble, out.ImageUnavailable = conditiontext.Clip(strings.TrimSuffix(w.Reason+": "+w.Message, ": ")), image
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			out.Unschedulable = conditiontext.Clip(c.Message)
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
			switch e.Name {
			case member.EnvMaxLearners: // a value that is not a number counts as unset
				out.Learners, _ = strconv.Atoi(e.Value)
			case member.EnvSnapshotCount:
				out.SnapshotCount = snapshotCount(e)
			}
		}
	}
	out.From = changedFrom(p)
	out.Defragmented.Since, out.Defragmented.Before, out.Defragmented.Done = member.Defragmented(p)
	readExits(p, &out)
	out.ProvenRestarts, out.ProvenImage = proven(p)
	// What can't be read is long ago.
	out.RoleSince, _ = time.Parse(roleSinceLayout, p.Annotations[v1beta2.AnnotationRoleSince])
	for _, c := range p.Status.Conditions {
		switch {
		case c.Type != corev1.PodReady:
		case c.Status == corev1.ConditionTrue:
			out.ReadySince, out.UnreadySince = c.LastTransitionTime.Time, time.Time{}
		default:
			out.UnreadySince = c.LastTransitionTime.Time
		}
	}
	out.Reseed, out.SurvivorPermit = survivor.Token(p), p.Annotations[v1beta2.AnnotationSurvivorPermit] != ""
	if out.Trouble != "" {
		if why := survivor.Trouble(p); why != "" {
			out.Trouble = why
		}
	}
	return out
}

// snapshotCount returns the value of ETCD_SNAPSHOT_COUNT. It returns facts.UnknownCount if the value comes from
// another object, or is a number in a form that only etcd parses. etcd treats an empty value as unset.
func snapshotCount(e corev1.EnvVar) int {
	if e.ValueFrom == nil && e.Value == "" {
		return 0
	}
	n, err := strconv.Atoi(e.Value)
	if err != nil || n < 0 {
		return facts.UnknownCount
	}
	return n
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

// ChangedFrom returns an annotation's value. It records that a Pod's image is changed while its etcd container
// runs a version.
func ChangedFrom(p *corev1.Pod, version string) string { return version + " " + ContainerID(p) }

// changedFrom is the version that the etcd container runs while the Pod's image was
// changed and the container has not been restarted since.
func changedFrom(p *corev1.Pod) string {
	from, id, _ := strings.Cut(p.Annotations[v1beta2.AnnotationChangedFrom], " ")
	if from == "" || id != ContainerID(p) {
		return ""
	}
	return from
}

// inconsistent is in the last words of an etcd (3.5 to 3.7) whose check at its start finds that
// its data differs from that of another member.
const inconsistent = "found data inconsistency with peers"

// readExits reads how the etcd container fares.
func readExits(p *corev1.Pod, out *facts.Pod) {
	for _, s := range p.Status.ContainerStatuses {
		if s.Name != member.ContainerEtcd {
			continue
		}
		out.Restarts = int(s.RestartCount)
		last := s.LastTerminationState.Terminated
		if s.State.Terminated != nil {
			last = s.State.Terminated
		}
		if last != nil {
			out.LastExit = facts.Exit{Code: int(last.ExitCode), Reason: last.Reason, Damage: lastwords.Damage(last.Message), Words: lastwords.Last(last.Message)}
			out.Inconsistent = strings.Contains(last.Message, inconsistent)
		}
		if s.State.Running != nil {
			out.RunningSince = s.State.Running.StartedAt.Time
		}
		if w := s.State.Waiting; w != nil {
			out.Looping = w.Reason == "CrashLoopBackOff"
			out.Creating = p.Spec.NodeName != "" && (w.Reason == "ContainerCreating" || w.Reason == "PodInitializing")
		}
	}
}

// Proven writes down that a member serves in a Pod.
func Proven(p *facts.Pod) string {
	return fmt.Sprintf("%d %s:v%s", p.Restarts, p.Repository, p.Version)
}

// roleSinceLayout is the format of the annotation role-since. It can be parsed without a fraction as well.
const roleSinceLayout = time.RFC3339Nano

// RoleSince returns the value of the annotation that records when a Pod got its role.
func RoleSince(at time.Time) string { return at.UTC().Format(roleSinceLayout) }

// proven reads that; what can't be read is none.
func proven(p *corev1.Pod) (restarts int, image string) {
	n, image, _ := strings.Cut(p.Annotations[v1beta2.AnnotationProven], " ")
	restarts, err := strconv.Atoi(n)
	if err != nil {
		return 0, ""
	}
	return restarts, image
}

// SamePod reports whether a Pod, read live, is as it was observed in what decides
// whether a member may be restarted.
func SamePod(p *corev1.Pod, seen *facts.Pod) bool {
	now := podOf(p)
	return now.Name == seen.Name && now.UID == seen.UID && now.Role == seen.Role && now.Version == seen.Version && now.Repository == seen.Repository &&
		now.From == seen.From && now.DeletingSince.IsZero() == seen.DeletingSince.IsZero() && now.UnreadySince.IsZero() == seen.UnreadySince.IsZero()
}

// HasComeBack reports whether a Pod, read live, is ready or has found a node, and was not,
// or had not, when it was observed.
func HasComeBack(p *corev1.Pod, seen *facts.Pod) bool {
	now := podOf(p)
	return (now.UnreadySince.IsZero() && !seen.UnreadySince.IsZero()) || (now.Node != "" && seen.Node == "")
}

// permitOf returns a Pod's start permit, except After and CatchUp, which no rule reads. It returns nil if the
// permit cannot be parsed: the launcher cannot use it either.
func permitOf(c *v1beta2.EtcdCluster, p *corev1.Pod) *facts.StartPermit {
	g, err := launcher.ParseStartPermit([]byte(p.Annotations[v1beta2.AnnotationStartPermit]))
	if err != nil || g == nil {
		return nil
	}
	out := &facts.StartPermit{Attempt: int(g.Attempt), New: g.State != launcher.StateExisting, Token: g.Token}
	urls := map[string][]string{}
	for entry := range strings.SplitSeq(g.InitialCluster, ",") {
		name, url, _ := strings.Cut(entry, "=")
		urls[name] = append(urls[name], url)
	}
	out.Members = slices.Sorted(maps.Keys(urls))
	for _, name := range out.Members {
		if at := joined(urls[name]); at != member.PeerURL(c, name) {
			out.Elsewhere = append(out.Elsewhere, facts.PeerURLs{Name: name, At: at})
		}
	}
	return out
}

// SameStartPermit reports whether a Pod carries the start permit that it was observed with.
func SameStartPermit(c *v1beta2.EtcdCluster, p *corev1.Pod, seen *facts.Pod) bool {
	return reflect.DeepEqual(permitOf(c, p), seen.StartPermit)
}

// What a container waits for that does not pass by itself within moments.
const (
	forImage = iota + 1
	forStart
)

// waitingIsTrouble are the kubelet's reasons for such a wait.
var waitingIsTrouble = map[string]int{
	"ImagePullBackOff": forImage, "ErrImagePull": forImage, "ErrImageNeverPull": forImage, "InvalidImageName": forImage,
	"CrashLoopBackOff": forStart, "CreateContainerConfigError": forStart, "CreateContainerError": forStart, "RunContainerError": forStart,
}

// troubled returns the waiting state that keeps etcd from running, or nil if etcd runs or soon will. The state
// belongs to etcd's container, or to an init container that must end or start first. Other containers of the
// Pod, for example an injected sidecar, do not affect etcd. image is true if the container waits for an image
// that the operator chose.
func troubled(p *corev1.Pod) (w *corev1.ContainerStateWaiting, image bool) {
	var etcd corev1.ContainerState
	for _, s := range p.Status.ContainerStatuses {
		if s.Name == member.ContainerEtcd {
			etcd = s.State
		}
	}
	isTrouble := func(w *corev1.ContainerStateWaiting) bool { return w != nil && waitingIsTrouble[w.Reason] != 0 }
	switch {
	case etcd.Running != nil || etcd.Terminated != nil:
		return nil, false
	case isTrouble(etcd.Waiting):
		return etcd.Waiting, waitingIsTrouble[etcd.Waiting.Reason] == forImage
	case etcd.Waiting != nil && etcd.Waiting.Reason != "PodInitializing":
		return nil, false
	}
	isRestores := p.Annotations[v1beta2.AnnotationRestore] != "" // the restore's agent runs its operator's image
	for _, s := range p.Status.InitContainerStatuses {
		if w := s.State.Waiting; isTrouble(w) {
			isChosen := s.Name == member.ContainerLauncher || s.Name == survivor.Container || isRestores
			return w, waitingIsTrouble[w.Reason] == forImage && isChosen
		}
	}
	return nil, false
}

// answerOf is what the planner needs of a member's answer.
func answerOf(c *v1beta2.EtcdCluster, a etcdclient.Answer) facts.Answer {
	out := facts.Answer{
		Reached:   a.Reached,
		Trouble:   conditiontext.Clip(a.Trouble),
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
		Alarms:    alarmsOf(a.Alarms),

		DBSize: a.DBSize, DBSizeInUse: a.DBSizeInUse, Quota: a.Quota,

		Read:    a.Read && (len(a.Members) > 0 || a.Refused != ""),
		Members: Members(c, a.Members),

		ClusterVersion: a.ClusterVersion,
		Refused:        facts.Refusal(a.Refused),
		RefusedBecause: a.RefusedBecause,
		NeedsLogin:     a.NeedsLogin,
		StorageVersion: a.StorageVersion,
		Downgrade:      a.Downgrade,
	}
	if !out.Read {
		out.Members = Members(c, a.LocalMembers)
	}
	return out
}

// stranger says whose etcd answered at a Pod's address if it was not the Pod's: by its name
// in its own member list, which a learner does not tell. An address may be another Pod's by
// now, and what is known of one member's log is not to be taken for another's.
func stranger(a etcdclient.Answer, p *corev1.Pod) string {
	for _, m := range slices.Concat(a.Members, a.LocalMembers) {
		if a.Reached && m.ID == a.MemberID && m.Name != "" && m.Name != p.Name {
			return fmt.Sprintf("etcd of another member answers at its address %s: that of %.253s", p.Status.PodIP, m.Name)
		}
	}
	return ""
}

// launcherAnswer is what the planner needs of what a launcher said that was asked at a Pod's
// address. An address may be another Pod's by now: who says that he is not this Pod's is not
// believed. Launchers of earlier releases do not say.
func launcherAnswer(s *launcher.State, p *corev1.Pod, clusterUID string) facts.Answer {
	whose := launcher.Identity{PodUID: string(p.UID), Member: p.Name, ClusterUID: clusterUID}
	identified := s.Identity != launcher.Identity{}
	switch {
	case identified && s.Identity != whose:
		return facts.Answer{Blocked: fmt.Sprintf("the launcher of another Pod answers at its address %s: that of member %.253s, Pod uid %.64s, EtcdCluster uid %.64s",
			p.Status.PodIP, s.Member, s.PodUID, s.ClusterUID)}
	case s.State == launcher.Refusing:
		return facts.Answer{Refusing: identified, Blocked: fmt.Sprintf("its launcher does not start etcd: %.500s; give the member its own volume back, or delete Pod %s and its PVC to have it replaced",
			s.Message, p.Name)}
	}
	return facts.Answer{
		Waiting: true, Attempt: int(s.Attempt),
		Identified: identified, Waited: time.Duration(s.WaitedSeconds * float64(time.Second)),
	}
}

func alarmsOf(list []etcdclient.Alarm) []facts.Alarm {
	var out []facts.Alarm
	for _, a := range list {
		out = append(out, facts.Alarm{MemberID: a.MemberID, Kind: facts.AlarmKind(a.Kind)})
	}
	return out
}

// Members are the entries of a member list as the planner sees them, sorted by id, each
// with a name of its own.
func Members(c *v1beta2.EtcdCluster, list []etcdclient.Member) []facts.Member {
	out := make([]facts.Member, 0, len(list))
	for _, m := range list {
		out = append(out, memberOf(c, m))
	}
	slices.SortFunc(out, func(a, b facts.Member) int { return cmp.Compare(a.ID, b.ID) })
	// Of two that have published one name, the one at that name's peer URL has it. Which
	// of two others the Pod is nobody can tell.
	published := slices.Clone(out)
	for i, m := range published {
		another := slices.ContainsFunc(published, func(o facts.Member) bool { return o.ID != m.ID && o.Name == m.Name })
		if another && m.At != "" {
			out[i].Name, out[i].Foreign = fmt.Sprintf("%s-%016x", m.Name, m.ID), true
		}
	}
	return out
}

// memberOf is one entry of a member list. etcd keeps the name under which a member has
// published itself with its id: a peer URL that a person has changed does not make it
// another's. An entry that has not started has only its peer URL to tell.
func memberOf(c *v1beta2.EtcdCluster, m etcdclient.Member) facts.Member {
	out := facts.Member{ID: m.ID, Name: m.Name, Learner: m.Learner, Started: m.Started}
	if out.Name == "" && len(m.PeerURLs) == 1 {
		out.Name = member.NameFromURL(m.PeerURLs[0])
	}
	if strings.Trim(out.Name, nameAlphabet) != "" || len(out.Name) > conditiontext.MaxText {
		out.Name = ""
	}
	at := len(m.PeerURLs) == 1 && member.IsPeerURL(c, out.Name, m.PeerURLs[0])
	if out.Name == "" || (m.Name == "" && !at) {
		out.Name = fmt.Sprintf("%016x", m.ID)
	}
	// Who serves where only the cluster's own Pods are published is its own, such as a seed
	// that another release has named.
	out.Foreign = !member.IsName(c.Name, out.Name) && (!at || !m.Started)
	if out.Foreign || !at {
		out.At = joined(m.PeerURLs)
	}
	return out
}

// nameAlphabet lists the characters in the names of members. A member that published another name is identified
// by its id, because a start permit cannot contain a name with "=" or ",".
const nameAlphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._"

// joined returns peer URLs as one string, in the order that a start permit uses.
func joined(urls []string) string {
	return strings.Join(slices.Sorted(strings.SplitSeq(strings.Join(urls, ","), ",")), ",")
}
