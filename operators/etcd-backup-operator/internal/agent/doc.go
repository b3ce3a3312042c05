// Package agent is what runs in the Job of a backup: the program etcd-backup-agent. It reads a
// task.Task from its environment, streams one snapshot from etcd to where it is to lie,
// and writes a task.Result to its termination message. It asks nothing of Kubernetes.
//
// # From etcd to the store
//
// All endpoints are asked for their status at once. Those that are dead are passed
// over; those that answer must be of one cluster. The member with the highest revision
// is the source, a follower before a leader, never a learner. Its stream passes a few
// buffers on its way: verified (package snapshot), compressed if asked for, and stored
// (package objectstore, or a file). A stream that is short or damaged ends in an
// error, and so does whatever would store it: nothing that looks like a backup is left.
// When all is stored, and only then, older backups are deleted (package retention).
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
// and the garbage collector is told to run early.
package agent
