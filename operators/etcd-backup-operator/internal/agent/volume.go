package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/sidecar"
)

const (
	// copyBuffer is how much is written at a time.
	copyBuffer = 1 << 20
	// temporaryPrefix begins the names of temporary files and directories.
	temporaryPrefix = ".etcd-backup-"
	// idle is how long a temporary file of the same EtcdBackup, but of another time,
	// was not written to when it is taken for one of a Job that was killed.
	idle = time.Hour
	// fileMode and dirMode are for the Pod's user and group alone: a snapshot holds
	// secrets.
	fileMode, dirMode = 0o640, 0o770
)

// volume stores into a mounted PersistentVolumeClaim. Nothing above the mount can be
// reached, by .. or by a symbolic link; and nothing is written but below a directory that
// the operator has made (see claim), nor replaced but what it has written.
type volume struct {
	*job
	root *os.Root
	// file is the path below the mount, clean and with slashes.
	file string
}

func openVolume(j *job) (*volume, error) {
	root, file, err := runner.OpenVolume(j.task.PVC)
	if err != nil {
		return nil, err
	}
	if slices.Contains(strings.Split(file, "/"), ownDir) {
		return nil, errors.Join(root.Close(), runner.Refuse(agent.ReasonInvalidPath, "spec.pvc.path %q leads through %s, which is reserved for the operator's records: choose another path", j.task.PVC.Path, ownDir))
	}
	return &volume{job: j, root: root, file: file}, nil
}

func (v *volume) close()                      { _ = v.root.Close() } // all is synced
func (v *volume) path() string                { return v.file }
func (v *volume) location(name string) string { return v.task.PVC.Location(name) }

// mark is what the names of temporary files of this EtcdBackup begin with; stamp, those
// of this very backup.
func (v *volume) mark() string  { return temporaryPrefix + v.task.UID + "-" }
func (v *volume) stamp() string { return fmt.Sprintf("%s%d-", v.mark(), v.task.Time.Unix()) }

// prepare makes the folder, and removes temporary files of attempts that were killed.
func (v *volume) prepare(context.Context) error {
	dir := path.Dir(v.file)
	if err := v.claim(dir); err != nil {
		return err
	}
	if err := v.checkAbsent(); err != nil {
		return err
	}
	names, err := v.names(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, v.mark()) || !v.left(path.Join(dir, name)) {
			continue
		}
		if err := v.root.Remove(path.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		v.log.Info("removed a file of an earlier attempt", "file", path.Join(dir, name))
	}
	return nil
}

// left reports whether nobody writes to a temporary file any more: one Pod of a Job runs
// at a time, and this one has none yet.
func (v *volume) left(name string) bool {
	if strings.HasPrefix(path.Base(name), v.stamp()) {
		return true
	}
	info, err := v.root.Lstat(name)
	return err == nil && time.Since(info.ModTime()) > idle
}

// checkAbsent refuses a path that is taken and must not be replaced.
func (v *volume) checkAbsent() error {
	if v.task.Overwrite || v.task.Repeated {
		return nil
	}
	return v.absent(v.file)
}

func (v *volume) absent(name string) error {
	_, err := v.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return v.exists()
}

func (v *volume) exists() error {
	return runner.Refuse(v1beta2.BackupReasonAlreadyExists, "file %s exists already, and spec.overwrite is false: choose another path, or remove the file", v.file)
}

// put writes a temporary file in the same folder and renames it when all of it is on
// the disk. A crash at any line leaves either what was there or the whole new file
// under the name.
func (v *volume) put(_ context.Context, name string, r io.Reader, metadata map[string]string, replace bool) error {
	temporary := path.Join(path.Dir(name), v.stamp()+rand.Text()[:8])
	f, err := v.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(onlyWriter{f}, r, make([]byte, copyBuffer))
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = v.describeAndPublish(temporary, name, metadata, replace)
	}
	if err != nil {
		return errors.Join(err, v.discard(temporary))
	}
	return v.syncFolders(path.Dir(name))
}

// onlyWriter keeps io.CopyBuffer to its buffer.
type onlyWriter struct{ io.Writer }

// describeAndPublish gives a complete file its name, and describes it in its sidecar. A
// crash in between leaves entries for both what was there and the new file: which of them
// is true follows from the file itself (see package sidecar).
func (v *volume) describeAndPublish(temporary, name string, metadata map[string]string, replace bool) error {
	is, err := sidecar.FingerprintOf(v.root, temporary)
	if err != nil {
		return err
	}
	own := sidecar.Entry{Fingerprint: is, Metadata: metadata}
	both := []sidecar.Entry{own}
	if was, err := sidecar.Read(v.root, name); err == nil && was != nil {
		both = append(both, *was)
	}
	if err := v.writeSidecar(name, both); err != nil {
		return err
	}
	if err := v.publish(temporary, name, replace); err != nil {
		return err
	}
	return v.writeSidecar(name, []sidecar.Entry{own})
}

// publish gives a complete file its name.
func (v *volume) publish(temporary, name string, replace bool) error {
	if replace {
		return v.root.Rename(temporary, name)
	}
	// A link, unlike a rename, never replaces.
	err := v.root.Link(temporary, name)
	switch {
	case errors.Is(err, fs.ErrExist):
		return v.exists()
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.ENOTSUP), errors.Is(err, syscall.ENOSYS):
		// No links here, as on CIFS: look and rename, which somebody quick can slip
		// between.
		if err := v.absent(name); err != nil {
			return err
		}
		return v.root.Rename(temporary, name)
	case err != nil:
		return err
	}
	return v.root.Remove(temporary)
}

func (v *volume) discard(temporary string) error {
	if err := v.root.Remove(temporary); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// syncFolders makes names outlive a crash: that of the file, and of folders that were
// made for it.
func (v *volume) syncFolders(dir string) error {
	for {
		f, err := v.root.Open(dir)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
		if dir == "." {
			return nil
		}
		dir = path.Dir(dir)
	}
}

// clock has no other machine's to offer.
func (v *volume) clock(context.Context, string) (time.Time, error) { return time.Time{}, nil }

// describe has nothing to add.
func (v *volume) describe(context.Context, string, map[string]string) {}

func (v *volume) read(_ context.Context, name string) (io.ReadCloser, error) {
	return v.root.Open(name)
}

func (v *volume) list(_ context.Context, prefix string) ([]string, error) {
	dir := path.Dir(prefix)
	names, err := v.names(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []string
	for _, name := range names {
		if whole := path.Join(dir, name); strings.HasPrefix(whole, prefix) {
			found = append(found, whole)
		}
	}
	return found, nil
}

func (v *volume) names(dir string) ([]string, error) {
	f, err := v.root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return f.Readdirnames(-1)
}

func (v *volume) remove(_ context.Context, names []string) (deleted int, err error) {
	for _, name := range names {
		// The file first: a description without a file harms nobody.
		for _, file := range []string{name, sidecar.Name(name)} {
			if err := v.root.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return deleted, err
			}
		}
		deleted++
	}
	if deleted == 0 {
		return 0, nil
	}
	return deleted, v.syncFolders(path.Dir(v.file))
}
