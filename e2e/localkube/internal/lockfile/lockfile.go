// Package lockfile keeps two processes from changing the same thing at once, with flock(2): the kernel lets go of
// the lock when its holder ends, however it ends.
package lockfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// poll is how often a held lock is asked for again.
const poll = 200 * time.Millisecond

// Lock is a held lock.
type Lock struct{ file *os.File }

// Acquire takes the lock at path for what who names, waiting for another holder until ctx ends.
// waiting is called once, with the other holder's name, if there is one.
func Acquire(ctx context.Context, path, who string, waiting func(holder string)) (*Lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := take(ctx, file, who, waiting); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Lock{file: file}, nil
}

func take(ctx context.Context, file *os.File, who string, waiting func(holder string)) error {
	for told := false; ; {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("locking %s: %w", file.Name(), err)
		}
		holder := readHolder(file.Name())
		if !told {
			waiting(holder)
			told = true
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is held by %s: try again when it is done: %w", file.Name(), holder, context.Cause(ctx))
		case <-time.After(poll):
		}
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt(fmt.Appendf(nil, "%s (process %d)", who, os.Getpid()), 0)
	return err
}

// Release lets go of the lock. The file stays: removing it would let two others lock two different files.
func (l *Lock) Release() {
	_ = l.file.Truncate(0)
	_ = l.file.Close()
}

func readHolder(path string) string {
	data, err := os.ReadFile(path)
	if err != nil || len(data) == 0 {
		return "another process"
	}
	return strings.TrimSpace(string(data))
}
