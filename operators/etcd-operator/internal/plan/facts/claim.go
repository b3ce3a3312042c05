package facts

import (
	"time"
)

// Claim is what Plan needs of a member's PersistentVolumeClaim.
type Claim struct {
	Name     string
	UID      string
	Deleting bool
	// Created is when it was made.
	Created time.Time
	// Reseed is the token of the recovery whose seed it was made for; empty if it was
	// not, or once nothing is left of the cluster before that.
	Reseed string
	// Node is where its volume was made for a Pod; empty if nobody has noted that.
	Node string
	// Lost is true when its PersistentVolume is gone (phase Lost).
	Lost bool
	// Retained is true when it is not deleted with the EtcdCluster. Version is then what
	// is noted on it: the version that runs, or that members move to.
	Retained bool
	Version  string
	// Requested and Capacity are the bytes that it asks for and that it has; Capacity is
	// 0 while it has no volume.
	Requested, Capacity int64
	// Resizing are the words of its conditions on its growth; empty if there are none.
	Resizing string
	// Class is its storage class, and Expansion whether that lets volumes grow.
	Class     string
	Expansion Expansion
	// RefusedSize is the size to which the API server has last refused to let it grow, at
	// RefusedAt and with the words of Refusal; 0 if it has not.
	RefusedSize int64
	RefusedAt   time.Time
	Refusal     string
}

// Expansion is whether a storage class lets volumes grow.
type Expansion int

const (
	// ExpansionUnknown is that of a class that cannot be read, or is gone.
	ExpansionUnknown Expansion = iota
	// ExpansionAllowed is that of a class with allowVolumeExpansion.
	ExpansionAllowed
	// ExpansionRefused is that of a class without, and of a claim without a class.
	ExpansionRefused
)

// Retained is what Plan needs of a PersistentVolumeClaim that an earlier EtcdCluster has
// left.
type Retained struct {
	Name, UID string
	// Owner is the uid of that EtcdCluster.
	Owner    string
	Deleting bool
	// Version is what is noted of the etcd that ran on it; empty if nothing is.
	Version string
	// Reseed is true when it was made for the seed of a recovery that was not complete yet (S13).
	Reseed bool
}
