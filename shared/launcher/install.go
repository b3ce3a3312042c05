package launcher

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Install copies the running executable to dest, mode 0555, all or nothing. It
// is harmless to repeat, also while the copy at dest runs: init containers run
// again whenever a Pod's sandbox is rebuilt.
func Install(dest string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("install: %w", err)
	}
	return InstallFile(self, dest)
}

// InstallFile copies a file likewise.
func InstallFile(path, dest string) error {
	src, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("install: %w", err)
	}
	defer func() { _ = src.Close() }() // only read
	return writeAtomically(dest, 0o555, func(w io.Writer) error {
		_, err := io.Copy(w, src)
		return err
	})
}

// writeAtomically writes a file beside path, makes it durable, and renames it
// into place, then makes the rename durable: after a crash there is the old file
// or the new one.
func writeAtomically(path string, mode os.FileMode, write func(io.Writer) error) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil { // what went wrong first is what is told
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if err := write(f); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := f.Chmod(mode); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // only read
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}
