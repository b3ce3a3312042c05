package action

import (
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// DeleteClaim deletes a PVC that no longer belongs to a member, by uid, and only
// if a linearizable member list still equals Members, a live read finds no Pod of its
// name, and another that it is still the cluster's (S7, S11).
type DeleteClaim struct {
	Name, UID string
	Members   []facts.Member
}

// GrowClaim lets a member's claim ask for more storage, by uid, and only if it still asks
// for From bytes and no other of the cluster's is still growing (S6, S11). Nothing is done
// to etcd; what the API server refuses is noted on the claim.
type GrowClaim struct {
	Name, UID  string
	From, Size int64
}

// KeepClaims brings claims to the form in which the EtcdCluster's policy has them: with
// Retain without an owner reference, so that nothing deletes them with it, and else with
// one. Those that stay tell in Version which etcd they need; empty if they don't. With
// Recovered they are no longer marked as made for a recovery. By uid, and only if each, read
// live, is still the cluster's (S7, S10, S12, S13).
type KeepClaims struct {
	Claims            []ClaimRef
	Retain, Recovered bool
	Version           string
}

// TakeClaims makes claims that an earlier EtcdCluster of the uid From has left this one's,
// by uid, and only those that, read live, are still From's and nobody's else. Nothing is
// made or deleted: what is on them is seen when all are taken (S1, S7).
type TakeClaims struct {
	From   string
	Claims []ClaimRef
}

// ClaimRef names one claim, by uid.
type ClaimRef struct{ Name, UID string }

func (a DeleteClaim) traits() traits { return traits{kind: "DeleteClaim", object: a.Name} }

func (a GrowClaim) traits() traits { return traits{kind: "GrowClaim", object: a.Name} }

func (KeepClaims) traits() traits { return traits{kind: "KeepClaims"} }

func (TakeClaims) traits() traits { return traits{kind: "TakeClaims", step: true} }
