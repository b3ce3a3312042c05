package rebuild

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"

	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/datadir"
)

// Seed is the one member of the new cluster.
type Seed struct {
	Name, PeerURL, Token string
	// Revision is where the cluster begins; what is older counts as compacted.
	Revision int64
}

// Rebuilt is what Restore has changed in a database beside its members and its revision.
type Rebuilt struct {
	// ClearedAlarms are the kinds of the alarms that were raised when the snapshot was
	// taken, such as NOSPACE, each once, and that are raised no longer.
	ClearedAlarms []string
}

// Restore makes the data dir of the seed, which must not exist, of a database file that
// was inspected before. The file is opened for reading and writing, has its own name, and
// lies in the volume of the data dir: it is moved into it, digest removed, so that the
// volume never holds the database twice. On success all of the data dir is on the disk.
// After a failure the file is of no use any more.
//
// etcdutl makes the data dir of a small database, and what it has written there is carried
// over into the large one. Restore can't be stopped: when ctx ends, it returns, and the
// process is to end, too.
func Restore(ctx context.Context, log *slog.Logger, file *os.File, dataDir string, seed Seed) (Rebuilt, error) {
	var done Rebuilt
	last, err := LastRevision(ctx, file)
	if err != nil {
		return done, err
	}
	if seed.Revision <= last {
		return done, runner.Refuse(agent.ReasonInvalidTask, "the restored cluster would begin at revision %d, and the snapshot has revision %d already", seed.Revision, last)
	}
	if err := checkName(file); err != nil {
		return done, err
	}
	size, err := databaseSize(file)
	if err != nil {
		return done, err
	}
	standIn := dataDir + ".stand-in"
	if err := makeStandIn(standIn, last); err != nil {
		return done, fmt.Errorf("make a small database: %w", err)
	}
	config := snapshot.RestoreConfig{
		SnapshotPath:        standIn,
		Name:                seed.Name,
		OutputDataDir:       dataDir,
		PeerURLs:            []string{seed.PeerURL},
		InitialCluster:      seed.Name + "=" + seed.PeerURL,
		InitialClusterToken: seed.Token,
		SkipHashCheck:       true, // we have just made it
		RevisionBump:        uint64(seed.Revision - last),
		MarkCompacted:       true,
	}
	err = apart(ctx, log, func(log *zap.Logger) error {
		if err := snapshot.NewV3(log).Restore(config); err != nil {
			return err
		}
		return exchange(file, size, last, databaseIn(dataDir), &done)
	})
	if err != nil {
		return Rebuilt{}, fmt.Errorf("make the data dir: %w", err)
	}
	return done, errors.Join(os.Remove(standIn), syncAll(dataDir))
}

// databaseIn is where etcd has its database in a data dir.
func databaseIn(dataDir string) string { return filepath.Join(dataDir, "member", "snap", "db") }

// checkName makes sure that what has the file's name is the very file that was checked.
func checkName(file *os.File) error {
	opened, err := file.Stat()
	if err != nil {
		return err
	}
	named, err := os.Lstat(file.Name())
	if err != nil {
		return err
	}
	if !os.SameFile(opened, named) {
		return fmt.Errorf("%s was replaced while it was checked", file.Name())
	}
	return nil
}

// databaseSize is the size of a database in bytes, without the digest.
func databaseSize(file *os.File) (int64, error) {
	d, err := open(file)
	if err != nil {
		return 0, err
	}
	defer d.close()
	return d.size(), nil
}

// exchange puts a database of that size, at that revision, in the place of the small one
// that etcdutl has made a member's, with all that makes it a member's.
func exchange(file *os.File, size, last int64, small string, done *Rebuilt) (err error) {
	defer faults(&err)()
	written, err := readWritten(small, last)
	if err != nil {
		return fmt.Errorf("read what etcdutl has written: %w", err)
	}
	if err := file.Truncate(size); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), small); err != nil {
		return err
	}
	return carryOver(small, written, done)
}

// apart runs etcdutl in a goroutine of its own, since it ends the program where a
// write fails: that goroutine ends instead, or another one that etcdutl has started.
func apart(ctx context.Context, log *slog.Logger, work func(*zap.Logger) error) error {
	done := make(chan error, 1)
	logger := zap.New(&core{log: log}, zap.WithFatalHook(fatal(done)), zap.WithPanicHook(fatal(done)))
	go func() {
		defer func() {
			if p := recover(); p != nil {
				report(done, fmt.Errorf("panic: %v", p))
			}
		}()
		report(done, work(logger))
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// report tells how it ended, unless that was told before.
func report(done chan<- error, err error) {
	select {
	case done <- err:
	default:
	}
}

// syncAll puts a folder and all that is in it on the disk.
func syncAll(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return datadir.Sync(path)
	})
}
