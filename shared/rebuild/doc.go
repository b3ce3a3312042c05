// Package rebuild checks snapshots of etcd and makes data dirs of them. It knows files
// only: no store, no network, no Kubernetes.
//
// # Checking
//
// [Inspect] reads a database file by itself, page by page, and trusts nothing in it: that
// every page lies in the file and is used once, that all keys are in order, that the
// bucket of keys holds revisions and what etcd writes for them. bbolt would panic, loop or
// crash the process on what isn't so. The format is bbolt's
// (https://github.com/etcd-io/bbolt, internal/common), which has not changed since 2013.
// The file is mapped: its pages are the kernel's to drop, and the memory of the process
// stays small, however large the file. That its sha256 is right is package snapshot's to
// say, while the file is fetched.
//
// # An earlier revision
//
// A snapshot holds all of history since the last compaction. [CutAt] takes away what is
// later than a revision, in place, before Restore makes a data dir of the rest.
//
// # A later revision
//
// [Append] adds what was recorded of the changes after a snapshot (package archive), which are
// records of the same kind.
//
// # Some keys
//
// [Extract] makes a smaller database, of the keys under some prefixes.
//
// # Restoring
//
// [Restore] makes a data dir of one member by etcd's own etcdutl, of the newest minor:
// its data dirs start on the snapshot's own minor and the next, of all that we support
// (which the tests try). etcdutl copies the database that it is given, so it is given a small
// one; the snapshot is moved to the place of that, and gets what etcdutl has written there.
// So a volume needs room for the database and [Slack]. Alarms are of the cluster that the
// snapshot was taken of, and are cleared. Revisions go on far beyond the snapshot's, and all that is older
// counts as compacted, so that nobody who watched before sees time run backwards.
package rebuild
