package rebuild

import (
	"os"
	"syscall"

	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
)

// Slack is what etcd needs beside its database, in bytes: 160 MiB, for two segments of its
// log of 64 MB each, which are made at once, and for what is written at first. It is also
// enough for what CutAt makes a database grow by: some 10 MiB with values of up to 1.5 MiB,
// etcd's default limit. The restore operator refuses volumes without as much before it
// touches the cluster.
const Slack = 160 << 20

// ExtractSlack is what the file that Extract makes can have beyond the size of the database, in
// bytes: bbolt enlarges a file by as much at a time.
const ExtractSlack = 16 << 20

// CheckSpace refuses, before anything is fetched, what does not fit on a folder's volume: a
// file, and what is to be beside it. A data dir takes its database, which is the file that
// was fetched, and Slack.
func CheckSpace(dir string, file, beside int64) error {
	free, err := freeAt(dir)
	need := file + beside
	if err != nil || need <= free {
		return err
	}
	return runner.Refuse(agent.ReasonNoSpace, "the volume at %s has %d MiB free, and %d MiB are needed (%d MiB for the database, and %d MiB beside it): make it larger, by a higher storage request", dir, free>>20, need>>20, file>>20, beside>>20)
}

// CheckSpaceBeside refuses what does not fit beside a database that is on a folder's volume
// already.
func CheckSpaceBeside(dir string, beside int64) error {
	free, err := freeAt(dir)
	if err != nil || beside <= free {
		return err
	}
	return runner.Refuse(agent.ReasonNoSpace, "the volume at %s has %d MiB free beside the database, and %d MiB are needed there: make it larger, by a higher storage request", dir, free>>20, beside>>20)
}

// freeAt is how many bytes the volume of a folder has left.
func freeAt(dir string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return int64(s.Bavail) * s.Bsize, nil
}
