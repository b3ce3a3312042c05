package task

import "github.com/etcd-operators/etcd-operators/api/v1beta2"

// The reasons of a Failure that the agent finds by itself, as package v1beta2 explains them.
// Those of the store are in package objectstore, and those of every agent in package agent.
const (
	ReasonSnapshotNotFound  = v1beta2.RestoreReasonSnapshotNotFound
	ReasonCorruptSnapshot   = v1beta2.ReasonCorruptSnapshot
	ReasonNoHash            = v1beta2.RestoreReasonNoHash
	ReasonEmptySnapshot     = v1beta2.ReasonEmptySnapshot
	ReasonRootSecretMissing = v1beta2.RestoreReasonRootSecretMissing
	ReasonRootSecretInvalid = v1beta2.RestoreReasonRootSecretInvalid
	ReasonWrongCluster      = v1beta2.RestoreReasonWrongCluster
	ReasonAmbiguousPrefix   = v1beta2.RestoreReasonAmbiguousPrefix
	ReasonSnapshotTooOld    = v1beta2.ReasonSnapshotTooOld
	ReasonUnknownVersion    = v1beta2.ReasonUnknownVersion
	ReasonChanged           = v1beta2.RestoreReasonSnapshotChanged
	ReasonRevisionTooHigh   = v1beta2.RestoreReasonRevisionTooHigh
	ReasonEtcdNotServing    = v1beta2.RestoreReasonEtcdNotServing
	ReasonServedDataDiffers = v1beta2.RestoreReasonServedDataDiffers
	ReasonHashMismatch      = v1beta2.RestoreReasonHashMismatch
	ReasonRevisionNotHeld   = v1beta2.RestoreReasonRevisionNotHeld
	ReasonTimeNotHeld       = v1beta2.RestoreReasonTimeNotHeld
	ReasonArchiveUnusable   = v1beta2.RestoreReasonArchiveUnusable
	ReasonClusterAmbiguous  = v1beta2.RestoreReasonClusterAmbiguous
	ReasonDataDirTaken      = v1beta2.ReasonDataDirTaken
)
