package agent

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/sidecar"
)

// A volume belongs to whoever claimed it, and whoever may create EtcdBackups is not to
// write to the directories of other programs. So the operator writes only below
// directories that it has made, which it marks with a directory ownDir. In it lies, for
// each snapshot and under the snapshot's name, a file that describes it, as the
// metadata of an object does in S3.

const (
	// ownDir marks a directory as the operator's.
	ownDir = sidecar.Dir
	// lostAndFound is in the root of every new volume with ext4.
	lostAndFound = "lost+found"
)

// claim makes sure that a directory is the operator's: it or one above it is marked, or
// does not exist and is made, or it is the root of a volume on which nothing else is.
func (v *volume) claim(dir string) error {
	at := "."
	for _, next := range append(strings.Split(dir, "/"), ".") {
		owned, err := v.isDir(path.Join(at, ownDir))
		if err != nil {
			return err
		}
		if owned {
			return v.makeBelow(dir)
		}
		at = path.Join(at, next)
		there, err := v.isDir(at)
		if err == nil && !there {
			err = v.makeOwned(at)
		}
		if err != nil {
			return err
		}
	}
	free, err := v.isFreeRoot(dir)
	if err != nil {
		return err
	}
	if free {
		return v.makeBelow(dir)
	}
	return runner.Refuse(v1beta2.BackupReasonForeignFile, "directory %q of the volume was not made by a backup operator, and might be another program's: choose a pvc.path in a directory that does not exist yet, such as %s; or, if it is meant for backups, create the directory %s in it, writable for the backup's Pod (fsGroup 65532)",
		dir, path.Join(dir, "etcd-backups", path.Base(v.file)), ownDir)
}

// isDir reports whether there is a directory of that name; err, that there is something else.
func (v *volume) isDir(name string) (bool, error) {
	info, err := v.root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !info.IsDir() {
		return false, &fs.PathError{Op: "mkdir", Path: name, Err: fs.ErrExist}
	}
	return true, nil
}

// isFreeRoot reports whether dir is the root of a volume on which nothing is but what backup
// operators have made.
func (v *volume) isFreeRoot(dir string) (bool, error) {
	if dir != "." {
		return false, nil
	}
	names, err := v.names(dir)
	for _, name := range names {
		if name == lostAndFound || strings.HasPrefix(name, temporaryPrefix) {
			continue
		}
		if !v.isMarked(name) {
			return false, nil
		}
	}
	return err == nil, err
}

// isMarked reports whether a directory has the mark, as far as can be seen.
func (v *volume) isMarked(dir string) bool {
	mark, err := v.root.Stat(path.Join(dir, ownDir))
	return err == nil && mark.IsDir()
}

// makeOwned makes a directory with its mark. A crash leaves it marked or not at all.
func (v *volume) makeOwned(dir string) error {
	temporary := path.Join(path.Dir(dir), v.stamp()+rand.Text()[:8])
	if err := v.root.MkdirAll(path.Join(temporary, ownDir), dirMode); err != nil {
		return err
	}
	err := v.root.Rename(temporary, dir)
	if err == nil {
		return v.syncFolders(path.Dir(dir))
	}
	err = errors.Join(err, v.root.RemoveAll(temporary))
	if owned, wrong := v.isDir(path.Join(dir, ownDir)); wrong == nil && owned {
		return nil // another backup was quicker
	}
	return err
}

// makeBelow makes what is missing of a directory that is the operator's.
func (v *volume) makeBelow(dir string) error {
	return v.root.MkdirAll(path.Join(dir, ownDir), dirMode)
}

// writeSidecar replaces the sidecar of a file at once.
func (v *volume) writeSidecar(name string, all []sidecar.Entry) error {
	content, err := json.Marshal(all)
	if err != nil {
		return err
	}
	// Beside the snapshots, where prepare finds what a crash leaves.
	temporary := path.Join(path.Dir(name), v.stamp()+rand.Text()[:8])
	f, err := v.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = v.root.Rename(temporary, sidecar.Name(name))
	}
	if err != nil {
		return errors.Join(err, v.discard(temporary))
	}
	return nil
}

// look returns what lies under a name, by its sidecar.
func (v *volume) look(_ context.Context, name string) (found, error) {
	info, err := v.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return found{}, nil
	}
	if err != nil {
		return found{}, err
	}
	if !info.Mode().IsRegular() {
		return found{there: true, foreign: true}, nil
	}
	is, err := sidecar.Read(v.root, name)
	if err != nil {
		return found{}, err
	}
	if is == nil {
		return found{there: true, foreign: true}, nil
	}
	return found{there: true, metadata: is.Metadata}, nil
}
