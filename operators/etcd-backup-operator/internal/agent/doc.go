// Package agent is what runs in the Job of a backup: the program etcd-backup-agent. It reads a
// task.Task from its environment, streams one snapshot from etcd to where it is to lie,
// and writes a task.Result to its termination message. It asks nothing of Kubernetes.
//
// # From etcd to the store
//
// All endpoints are asked at once for their status, and for a linearizable read, which
// proves that a quorum stands behind a member and that it is up to date. Those that are dead
// are passed over; those that answer must be of one cluster. Of the healthy members with a
// quorum, the one with the highest revision is the source, a follower before a leader, never
// a learner. Where there is none, any is better than no backup, but the name of the snapshot
// is marked, and it replaces nothing (see health). Its stream passes a few
// buffers on its way: verified (package snapshot), compressed if asked for, and stored
// (package objectstore, or a file). A stream that is short or damaged ends in an
// error, and so does whatever would store it: nothing that looks like a backup is left.
// The metadata tells which revisions it holds (see oldestRevision). When all is stored, and
// only then, older backups are deleted (package retention). A backup is replaced or deleted
// only if its metadata names the same cluster (see permitted).
//
// # When something breaks
//
// A broken request to the store is tried again by itself, and its part only. When the
// member breaks, or the store for longer, the whole is tried again, from another
// member if there is one; see [attempts]. What only a person can mend ends the Job at
// once (agent.ExitPermanent); after anything else Kubernetes starts another Pod. There is
// no deadline by default, but no step may go without progress for long.
//
// # Memory
//
// The process needs less than 64 MiB, whatever the size of the database: the buffers
// of the upload are the largest of it, the windows of the connection to etcd are fixed,
// and the garbage collector runs early.
package agent
