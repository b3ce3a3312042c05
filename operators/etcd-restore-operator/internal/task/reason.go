package task

import "github.com/etcd-operators/etcd-operators/shared/agent"

// The reasons of a Failure that the agent finds by itself. Those of the store are in
// package objectstore, and those of every agent in package agent.
const (
	// ReasonSnapshotNotFound says that nothing lies at the place.
	ReasonSnapshotNotFound = "SnapshotNotFound"
	// ReasonCorruptSnapshot says that what lies there is damaged, or cut short, or not a
	// snapshot at all.
	ReasonCorruptSnapshot = agent.ReasonCorruptSnapshot
	// ReasonNoHash says that the file ends without a digest, and skipHashCheck is not
	// set.
	ReasonNoHash = "NoHash"
	// ReasonEmptySnapshot says that the snapshot holds no key and no revision.
	ReasonEmptySnapshot = agent.ReasonEmptySnapshot
	// ReasonWrongCluster says that the snapshot is of another cluster than was asked
	// for, or that nothing says which it is of.
	ReasonWrongCluster = "WrongCluster"
	// ReasonUnknownVersion says that the data is of an etcd that this agent can't
	// restore.
	ReasonUnknownVersion = agent.ReasonUnknownVersion
	// ReasonChanged says that another snapshot lies there than the one that was checked.
	ReasonChanged = "SnapshotChanged"
	// ReasonDataDirTaken says that the seed's volume holds data that is not this
	// restore's.
	ReasonDataDirTaken = agent.ReasonDataDirTaken
)
