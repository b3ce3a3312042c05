package facts

import (
	"cmp"
	"fmt"
	"time"
)

// Defragmented tells of a member's last defragmentation.
type Defragmented struct {
	// Since is when it was asked for; zero if it never was.
	Since time.Time
	// Before is the size of the database then, in bytes.
	Before int64
	// Done is true when the member has answered that it has ended.
	Done bool
}

// Role is the value of the label etcd_role of a Pod: what the operator last said
// that the Pod is. Only a voter is selected by the client Service and the
// PodDisruptionBudget.
type Role string

const (
	// Seed is the first member, until its cluster id is latched.
	Seed Role = "seed"
	// Joiner is a Pod that waits to become a member, or whose member has not
	// started yet.
	Joiner Role = "joiner"
	// Returning is a Pod recreated for a member's volume.
	Returning Role = "returning"
	// Learner is a started member without a vote.
	Learner Role = "learner"
	// Voter is a member that may serve clients.
	Voter Role = "voter"
	// Leaving is a member that is about to be removed, or has been.
	Leaving Role = "leaving"
	// Restarting is a voter whose container is about to be restarted with another
	// image, or is being restarted, or whose Pod is about to be recreated.
	Restarting Role = "restarting"
	// Defragmenting is a voter that is about to be defragmented, or is being
	// defragmented.
	Defragmenting Role = "defragmenting"
	// Survivor is a member of a cluster whose majority is lost, while the cluster begins
	// anew with a survivor's data.
	Survivor Role = "survivor"
)

// Pod is what Plan needs of a member's Pod.
type Pod struct {
	// Name is also the name of the member and of its claim.
	Name string
	UID  string
	Role Role
	// RoleSince is when it got its role; zero if it was made with it.
	RoleSince time.Time
	// Created is a time of the API server. Seen is when the operator first saw the Pod. A loss counts from the
	// later time (see ExistsSince).
	Created, Seen time.Time
	// UnreadyDated is since when the Pod is not ready by its kubelet's clock; UnreadySince is by the
	// operator's.
	UnreadyDated time.Time
	// DeletingSince is the time of the request to delete it; zero if there is none.
	DeletingSince time.Time
	// Finished is true when the Pod has failed or succeeded: it never runs again.
	Finished bool
	// IP is the Pod's address; empty while it has none.
	IP string
	// Node is empty while the Pod is not scheduled; Unschedulable then says why,
	// once the scheduler has tried.
	Node          string
	Unschedulable string
	// Trouble is the reason why etcd's container, or an init container before it, does not run, for example
	// "ImagePullBackOff: …". It is empty if etcd runs.
	Trouble string
	// ImageUnavailable is true while etcd's container, or an init container of the operator, waits for its
	// image.
	ImageUnavailable bool
	// Restarts is how often the etcd container has been restarted in this Pod, and
	// LastExit how it ended last; zero if it has not. Looping is true while the kubelet
	// waits longer and longer before it starts it again. RunningSince is since when it
	// runs; zero if it does not.
	Restarts int
	LastExit Exit
	// Inconsistent is true if etcd ended last because its data differs from that of another
	// member (spec.etcd.initialCorruptCheck). Either of them may be the one that is wrong.
	Inconsistent bool
	Looping      bool
	RunningSince time.Time
	// ProvenRestarts and ProvenImage are what Restarts and the image were when the
	// member was last seen to serve in this Pod; 0 and empty if it never was.
	ProvenRestarts int
	ProvenImage    string
	// Creating is true while the kubelet makes the Pod's containers: it pulls their
	// images, and mounts their volumes.
	Creating bool
	// NodeLostSince is since when the Pod's node is not ready; zero while it is ready, when
	// it is gone (Kubernetes then deletes the Pod), or when nodes cannot be read.
	NodeLostSince time.Time
	// Cordoned is true when nothing more is scheduled to the Pod's node: it is to be
	// emptied. False when nodes cannot be read.
	Cordoned bool
	// Addressed is true when the headless Service publishes the Pod's address
	// under the member's name, so that looking it up finds it.
	Addressed bool
	// Persistent is true when the Pod keeps its data on a claim.
	Persistent bool
	// Template is what Cluster.Template was when the Pod was made; empty if it does not
	// tell.
	Template string
	// Version is that of the etcd image that the operator asked for, Repository that
	// image without its tag.
	Version, Repository string
	// From is the version that the etcd container runs, or ran last, while the Pod's
	// image was changed and the container has not been restarted since; empty
	// otherwise.
	From string
	// UnreadySince is since when the Pod is not ready; zero while it is. ReadySince is
	// since when it is; zero if that is not known.
	UnreadySince, ReadySince time.Time
	// Routed is true while the client Service sends new clients to the Pod.
	Routed bool
	// Defragmented tells of the last time that the member was defragmented; zero if it
	// was not.
	Defragmented Defragmented
	// Learners is the ETCD_MAX_LEARNERS that the Pod's etcd runs with; 0 if none
	// is set.
	Learners int
	// SnapshotCount is the ETCD_SNAPSHOT_COUNT of the Pod's etcd. It is 0 if unset, and UnknownCount if it
	// cannot be read.
	SnapshotCount int
	// StartPermit is the permit to start that is written on the Pod; nil if there is none.
	StartPermit *StartPermit
	// Reseed is the token of the recovery whose seed the Pod was made as; empty if it
	// was not. SurvivorPermit is true while its init container may make the data dir.
	Reseed         string
	SurvivorPermit bool
	// Answer is what the member said of itself.
	Answer Answer
}

// UnknownCount is a SnapshotCount that cannot be read: it might be any number.
const UnknownCount = -1

// ExistsSince returns the later of two times: when the API server created the Pod, and when the operator first
// saw it. So no loss counts from before the operator saw the Pod.
func (p *Pod) ExistsSince() time.Time {
	if p.Seen.After(p.Created) {
		return p.Seen
	}
	return p.Created
}

// StartPermit is the one-shot permit to start etcd without data (S2). The launcher in
// the Pod uses a start permit only if its Attempt is higher than the last that it used.
type StartPermit struct {
	Attempt int
	// New is true for a seed, which begins a cluster (whatever with), and false for a
	// member that joins one.
	New bool
	// Members are the names in etcd's initial cluster, sorted.
	Members []string
	// Elsewhere are those of Members that have other peer URLs than the operator gives.
	Elsewhere []PeerURLs
	// After are members that the launcher lets serve first; a matter of time, not of
	// safety.
	After []string
	// CatchUp starts etcd once only to catch up, and then again to serve; a matter of
	// time as well.
	CatchUp bool
	// Token is the bootstrap token; set when New.
	Token string
}

// Exit is how a container ended.
type Exit struct {
	// Code is its exit code, Reason the kubelet's word for it, such as "Error" or
	// "OOMKilled".
	Code   int
	Reason string
	// Damage says what is wrong with the data, if the end of the container's log is one of
	// those that etcd is known to end with on damaged data; empty if it is not. Words are
	// its last words, in one short line.
	Damage, Words string
}

// ServesUnseen reports whether a Pod serves linearizable reads to those whom etcd knows,
// and so is a voter of a cluster with a quorum.
func (p *Pod) ServesUnseen() bool { return p.Answer.Refused != "" && p.Answer.Read }

// isOwnFailure reports whether a process ended by itself, with an error. One that was killed, by a
// signal or for want of memory, says nothing of its data.
func (e Exit) isOwnFailure() bool {
	return e.Reason != "OOMKilled" && e.Code > 0 && e.Code < 128
}

// lastWords are those of a process, as they continue a sentence about its end.
func (e Exit) lastWords() string {
	switch {
	case e.Damage != "":
		return ": " + e.Damage
	case e.Words != "":
		return fmt.Sprintf(": it said %q", e.Words)
	}
	return ""
}

// image is the image that the operator asked for.
func (p *Pod) image() string { return p.Repository + ":v" + p.Version }

// IsReady reports whether a Pod serves linearizable reads, as far as Kubernetes says.
func (p *Pod) IsReady() bool {
	return p.UnreadySince.IsZero() && !p.ReadySince.IsZero() && p.DeletingSince.IsZero() && p.NodeLostSince.IsZero() && !p.Finished && p.IP != ""
}

// IsRestarting reports whether a member's container is about to be restarted, or has
// not been yet.
func (p *Pod) IsRestarting() bool { return p.Role == Restarting || p.From != "" }

// Runs is the version that a Pod's etcd runs, or ran last.
func (p *Pod) Runs() string { return cmp.Or(p.From, p.Version) }

// CanUsePermit reports whether the Pod's launcher has a start permit that it may still use.
func (p *Pod) CanUsePermit() bool {
	return p.StartPermit != nil && (!p.Answer.Waiting || p.StartPermit.Attempt > p.Answer.Attempt)
}

// IsEmpty reports whether it is certain that a Pod has no data: its own launcher says so,
// and has looked more than once.
func (p *Pod) IsEmpty() bool {
	return p.Answer.Waiting && p.Answer.Identified && p.Answer.Waited >= EmptyFor
}

// CanJoin reports whether the Pod's launcher waits and its address is published:
// the moment from which its member may be added.
func (p *Pod) CanJoin() bool { return p.Answer.Waiting && p.Addressed }
