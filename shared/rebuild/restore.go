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
)

// Seed is the one member of the new cluster.
type Seed struct {
	Name, PeerURL, Token string
	// Revision is where the cluster begins; what is older counts as compacted.
	Revision int64
}

// Restore makes the data dir of the seed, which must not exist, of a database file that
// was inspected before, and whose content was compared since. When it returns nil, all of
// it is on the disk. It can't be stopped: when ctx ends, Restore returns, and the process
// is to end, too.
func Restore(ctx context.Context, log *slog.Logger, file *os.File, dataDir string, seed Seed) error {
	last, err := LastRevision(ctx, file)
	if err != nil {
		return err
	}
	if seed.Revision <= last {
		return runner.Refuse(agent.ReasonInvalidTask, "the cluster is to begin at revision %d, and the snapshot is at %d already", seed.Revision, last)
	}
	config := snapshot.RestoreConfig{
		// The very file that was checked, whatever has its name by now.
		SnapshotPath:        fmt.Sprintf("/proc/self/fd/%d", file.Fd()),
		Name:                seed.Name,
		OutputDataDir:       dataDir,
		PeerURLs:            []string{seed.PeerURL},
		InitialCluster:      seed.Name + "=" + seed.PeerURL,
		InitialClusterToken: seed.Token,
		SkipHashCheck:       true, // it was checked already, and may have none
		RevisionBump:        uint64(seed.Revision - last),
		MarkCompacted:       true,
	}
	if err := restoreApart(ctx, log, config); err != nil {
		return fmt.Errorf("make the data dir: %w", err)
	}
	return syncAll(dataDir)
}

// restoreApart runs etcdutl in a goroutine of its own, since it ends the program where a
// write fails: that goroutine ends instead, or another one that etcdutl has started.
func restoreApart(ctx context.Context, log *slog.Logger, config snapshot.RestoreConfig) error {
	done := make(chan error, 1)
	logger := zap.New(&core{log: log}, zap.WithFatalHook(fatal(done)), zap.WithPanicHook(fatal(done)))
	go func() {
		defer func() {
			if p := recover(); p != nil {
				report(done, fmt.Errorf("panic: %v", p))
			}
		}()
		report(done, snapshot.NewV3(logger).Restore(config))
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
		return Sync(path)
	})
}

// Sync puts a file, or the names in a folder, on the disk.
func Sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
