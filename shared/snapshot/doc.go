// Package snapshot handles the stream in which etcd sends its database
// (Maintenance.Snapshot): the file of bbolt, followed by the sha256 of it that the
// server makes while it reads. `etcdutl snapshot restore` takes just that as a file.
//
// [Reader] checks the digest while the stream passes, at no further read: a stream
// that is short or damaged ends in an error, never in io.EOF, so that whatever
// copies it until io.EOF fails with it and stores nothing. [Compress] and
// [Decompress] are streams, too: what they need of memory does not depend on the
// size of the database.
package snapshot
