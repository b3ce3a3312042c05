// Package snapshotcheck looks at what a backup has left behind, with none of the product's
// own code: it speaks to an S3 store by AWS' SDK, or reads the files of a volume, opens
// a snapshot with etcdutl's library, which checks its digest and its integrity and
// restores it, and tells which of a writer's keys are in it.
//
// It runs in a Pod beside the store or on the volume, and is asked by HTTP; see
// [Inspector.Handler].
package snapshotcheck
