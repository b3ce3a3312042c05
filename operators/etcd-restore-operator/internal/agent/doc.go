// Package agent is what runs in the Pods of a restore: the program etcd-restore-agent. It
// reads a task.Task from its environment, verifies a snapshot or makes the seed's data dir
// of it, and writes a task.Result to its termination message. It asks nothing of
// Kubernetes, and serves no data of the snapshot: all that it serves is how
// many bytes it has fetched.
//
// # Verifying
//
// What is stored is fetched once, unpacked on the way if it is packed, and its digests are
// computed meanwhile. A file on a volume that isn't packed is not copied: it is read where
// it lies, and refused if it was written to meanwhile. Then the database is checked page by
// page (package rebuild). If authentication is enabled in it, the credentials that
// etcd-operator will show are compared with its users.
//
// With Task.StartEtcd it goes on: it rebuilds the database as a restore does, in its scratch
// space, starts etcd on it, and compares the revision, the number of keys and the HashKV that
// etcd tells with those of the file; then it writes a key. It runs in etcd's image for that, to
// which an init container has copied it (agent.Install). The Pod alone can reach that etcd,
// and authentication is disabled in this copy, since the agent has nobody's password.
//
// # Restoring
//
// Where a verification came before, only what that has found is restored: the same object
// by its ETag, the same size and sha256. Otherwise the snapshot is verified while it is
// restored, and fetched once. It is copied to the volume of the data dir while the digest is
// computed, and that copy becomes the database. All is made in a folder beside the data dir,
// while the members that the seed replaces may still serve.
//
// As of a revision (Task.Revision), what came later is cut away first (package rebuild), and
// what is left is checked once more. Under a prefix, the objects' metadata tells which of them
// hold the revision.
//
// The seed's launcher awaits the start permit. Then the folder becomes the data dir; a
// marker beside it, written last, says that the data dir is complete (package datadir). The
// agent may be killed at any line: what is half-done is removed and begun again, and what is
// prepared is kept. With the marker, or without a permit, it does nothing at all, whenever it
// is started: the data is etcd's from then on.
//
// # When something breaks
//
// A broken transfer is taken up where it was; the whole is tried again a few times, and
// after that by another container. What only a user can correct ends it at once
// (agent.ExitPermanent).
//
// # Memory
//
// Transfers pass a few buffers; the database is mapped, so that its pages are the
// kernel's to drop.
package agent
