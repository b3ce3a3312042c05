// Package agent is what runs in the Pods of a restore: the program etcd-restore-agent. It
// reads a task.Task from its environment, verifies a snapshot or makes the seed's data dir
// of it, and writes a task.Result to its termination message. It asks nothing of
// Kubernetes, and nobody can get data of the snapshot from it: all that it serves is how
// many bytes it has fetched.
//
// # Verifying
//
// What is stored is fetched once, unpacked on the way if it is packed, and its digests are
// computed meanwhile. A file on a volume that isn't packed is not copied: it is read where
// it lies. Then the database is checked page by page (package rebuild).
//
// # Restoring
//
// Only what a verification has found is restored: the same object by its ETag, the same
// size and sha256. All is made in a folder beside the data dir, which is renamed when it
// is on the disk; a marker beside it, written last, says that the data dir is complete.
// The agent may be killed at any line: what is half-done is removed and begun again. With
// the marker, or without leave, it does nothing at all, whenever it is started: the data
// is etcd's from then on.
//
// # When something breaks
//
// A broken transfer is taken up where it was; the whole is tried again a few times, and
// after that by another container. What only a person can mend ends it at once
// (agent.ExitPermanent).
//
// # Memory
//
// Transfers pass a few buffers; the database is mapped, so that its pages are the
// kernel's to drop.
package agent
