// Package objectstore is what backups and restores ask of an object store: a [Store]. S3
// and the stores that speak its protocol are in s3, and beside it are the others.
//
// [Store.Put] streams: an object of any size passes through a few buffers, is complete or
// isn't there, and replaces what lies at its key only when it is complete. [Store.Get]
// reads one, and goes on where it was when the connection breaks. No transfer hangs: one
// that makes no progress for a while is cut and tried again.
//
// What the store or the network refuse comes as an [*Error] with a [Reason], in words
// for the person who can mend it; errors.Is takes the reasons as targets.
package objectstore
