package action

import (
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// RevokeSurvivorPermit revokes the permit of a survivor's seed to make its data dir, by uid: a
// disk that it loses from then on has lost its data (S2).
type RevokeSurvivorPermit struct{ Name, UID string }

// DropSeed deletes a survivor's seed that was never adopted: its Pod, by uid, or, when
// there is none, its claim. It is carried out only if that, read live, was made for a
// recovery of Token, and the EtcdCluster has not begun with that token: no member's data
// is touched (S7).
type DropSeed struct{ Name, PodUID, ClaimUID, Token string }

// CreatePods makes Pods, each with its claim where members are persistent. All of
// them are made side by side: a Pod without a StartPermit does no harm.
// It is carried out only if a live list of the cluster's Pods has the same names
// as Observation.Pods (S11). One that returns is made only if its claim, read live, is
// still the cluster's.
type CreatePods struct{ Pods []NewPod }

// NewPod is one of the Pods to create.
type NewPod struct {
	Name string
	Role facts.Role
	// Version is what it is to run.
	Version string
	// StartPermit is written on the Pod from its beginning; nil for none.
	StartPermit *facts.StartPermit
	// Recovery is what a survivor's seed is made by; nil for every other Pod.
	Recovery *facts.Recovery
}

// SetRoles sets the label etcd_role of Pods.
type SetRoles struct{ Roles []PodRole }

// PodRole is the role of one Pod, by uid.
type PodRole struct {
	Name, UID string
	Role      facts.Role
}

// GrantStartPermit writes a StartPermit on a Pod, by uid, so that its launcher starts etcd (S2).
type GrantStartPermit struct {
	Name, UID   string
	StartPermit facts.StartPermit
}

// RevokeStartPermits takes StartPermits away from Pods whose members have started (S2).
type RevokeStartPermits struct{ Pods []PodRef }

// PodRef names one Pod, by uid.
type PodRef struct{ Name, UID string }

// ChangeImage gives the etcd container of a Pod another image, in place: its kubelet
// ends the container and starts it anew in the same Pod, on the same data. It is
// carried out only if the cluster's Pods, read live, are as they were observed: the
// same names, uids, roles and images, none of them terminating (S6, S11).
type ChangeImage struct {
	Name, UID           string
	Repository, Version string
}

// RecreatePod deletes the Pod of a member that serves, by uid and with grace, so that it is
// recreated on its volume as the spec says now (S7). It is carried out only if the
// cluster's Pods, read live, are as they were observed, none of them terminating, and the
// volume is still the member's (S6, S11).
type RecreatePod struct{ Name, UID string }

// DeletePod deletes one Pod, by uid and with grace, never by force: of a member
// only to recreate it on its volume (S7). With Members set the Pod is no
// member's, and it is deleted only if a linearizable member list still equals them.
type DeletePod struct {
	Name, UID string
	Members   []facts.Member
}

func (a RevokeSurvivorPermit) traits() traits {
	return traits{kind: "RevokeSurvivorPermit", object: a.Name, step: true}
}

func (a DropSeed) traits() traits { return traits{kind: "DropSeed", object: a.Name} }

func (CreatePods) traits() traits { return traits{kind: "CreatePods"} }

func (SetRoles) traits() traits { return traits{kind: "SetRoles", step: true} }

func (a GrantStartPermit) traits() traits {
	return traits{kind: "GrantStartPermit", object: a.Name, step: true}
}

func (RevokeStartPermits) traits() traits { return traits{kind: "RevokeStartPermits", step: true} }

func (a ChangeImage) traits() traits { return traits{kind: "ChangeImage", object: a.Name} }

func (a RecreatePod) traits() traits { return traits{kind: "RecreatePod", object: a.Name} }

func (a DeletePod) traits() traits { return traits{kind: "DeletePod", object: a.Name} }
