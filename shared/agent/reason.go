package agent

import "github.com/etcd-operators/etcd-operators/api/v1beta2"

// The reasons of a Failure that every agent may give, beside those of package objectstore.
// Package v1beta2 explains them.
const (
	ReasonInvalidTask          = v1beta2.ReasonInvalidTask
	ReasonInvalidPath          = v1beta2.ReasonInvalidPath
	ReasonStalled              = v1beta2.ReasonStalled
	ReasonNoSpace              = v1beta2.ReasonNoSpace
	ReasonScratchSpaceExceeded = v1beta2.ReasonScratchSpaceExceeded
	ReasonAccessDenied         = v1beta2.ReasonAccessDenied
	ReasonVolumeUnavailable    = v1beta2.ReasonVolumeUnavailable
	ReasonTimedOut             = v1beta2.ReasonTimedOut
	ReasonInterrupted          = v1beta2.ReasonInterrupted
	ReasonCorruptSnapshot      = v1beta2.ReasonCorruptSnapshot
	ReasonEmptySnapshot        = v1beta2.ReasonEmptySnapshot
	ReasonSnapshotTooOld       = v1beta2.ReasonSnapshotTooOld
	ReasonUnknownVersion       = v1beta2.ReasonUnknownVersion
	ReasonDataDirTaken         = v1beta2.ReasonDataDirTaken
	ReasonInternal             = v1beta2.ReasonInternalError
)
