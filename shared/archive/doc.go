// Package archive records the changes of a cluster after a snapshot, and reads them back, so
// that package rebuild can restore what no snapshot holds. It knows etcd's API and streams; it
// knows no store and no Kubernetes.
//
// # Segments
//
// A [Segment] holds all changes of some revisions, one after the other, and none of a part of
// a transaction. It is zstd, and in that records of a kind, a length and a content:
//
//   - first the header: cluster id, timeline, first revision, and the lineage that it follows;
//   - changes: the key of etcd's history (main and sub revision, and a t for a deletion) and
//     the value, just as etcd has them in its database;
//   - marks: at this time the cluster was at this revision;
//   - hashes: what a member told of its HashKV at a revision;
//   - times: when the clock of the recorders went forward, and at which revisions, so far;
//   - what later releases add, which others pass over;
//   - last the footer: the last revision with its lineage, and the sha256 of all that came before.
//
// Every revision of etcd changes at least one key, so that a segment without a revision in the
// middle is known to be wrong, and so is one that does not begin where the one before has ended.
//
// # Lineage and timelines
//
// Volumes that were rolled back or cloned keep the cluster id, and write the same revisions again
// with other content. So each segment names the [Lineage] that it follows and the one that it ends
// with: a digest of all changes before, revision by revision. A recording that cannot go on where
// the archive ends begins a new timeline after a new snapshot.
//
// # Times
//
// The clock of marks is that of the recorder, and may be put back. Each segment repeats the [Times]
// of its timeline: in each [Stretch] the clock went forward. [At] refuses a time that came more than
// once.
//
// # Recording
//
// A [Recorder] watches all keys at a member. etcd sends the changes of a transaction in the
// order of their sub revisions, and a large one in fragments. A segment goes through a file, so
// that memory does not grow with it. Two recorders of a cluster write the same changes. A recorder
// first compares what the member has of the revision that it goes on from.
//
// # Reading
//
// [Chain] picks the segments that lead from a snapshot's revision to another, and refuses a gap and
// two histories. [Changes] reads them one after the other, in bounded memory, and refuses a snapshot
// of another history.
package archive
