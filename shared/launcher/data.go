package launcher

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// setAsideSuffix names, beside the data dir, the folder that remnants without a
// write-ahead log are moved to.
const setAsideSuffix = ".without-wal"

// hasRemnants tells whether dataDir holds a member folder with more in it than whose it is:
// without a log, the rest of a start that was cut short, or a database that lost its log.
func hasRemnants(dataDir string) (bool, error) {
	entries, err := os.ReadDir(filepath.Join(dataDir, "member"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() != ownerFile }), err
}

// setRemnantsAside moves dataDir/member away, so that etcd starts on an empty
// folder. It must: etcd opens a database that it finds there, log or no log,
// and believes its consistent index, so that it would skip the entries of the
// cluster that it now joins up to that index.
//
// A database that lost its log may be the last copy of somebody's data, so it is
// moved, not deleted; but a start that fails again and again must not fill the
// volume. So one folder is kept: that with the larger database. (The rest of a
// start that was cut short holds a database of some ten kilobytes.)
func setRemnantsAside(dataDir string) (kept string, err error) {
	from := filepath.Join(dataDir, "member")
	kept = filepath.Clean(dataDir) + setAsideSuffix
	if _, err := os.Lstat(kept); err == nil && dbSize(kept) >= dbSize(from) {
		if err := os.RemoveAll(from); err != nil {
			return "", fmt.Errorf("remove remnants: %w", err)
		}
		return kept, syncDir(dataDir)
	}
	if err := os.RemoveAll(kept); err != nil {
		return "", fmt.Errorf("make room for remnants: %w", err)
	}
	if err := os.Rename(from, kept); err != nil {
		return "", fmt.Errorf("set remnants aside: %w", err)
	}
	if err := syncDir(filepath.Dir(kept)); err != nil {
		return "", err
	}
	return kept, syncDir(dataDir)
}

// dbSize is the size of the database in a member folder, 0 if it has none.
func dbSize(member string) int64 {
	info, err := os.Stat(filepath.Join(member, "snap", "db"))
	if err != nil {
		return 0
	}
	return info.Size()
}

// readUsed returns the attempt of the last permit used, 0 when there is no file.
// A file that is there and cannot be understood is an error: taking it for 0
// would let a used permit start etcd again.
func readUsed(file string) (int64, error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the last attempt used: %w", err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("read the last attempt used: %s holds %q, want a number", file, b)
	}
	return n, nil
}

// writeUsed records attempt durably. After it returns, no launcher of this Pod
// uses that attempt again.
func writeUsed(file string, attempt int64) error {
	return writeAtomically(file, 0o644, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%d\n", attempt)
		return err
	})
}

// readStartPermit reads the downward API file: absent and empty are no permit.
func readStartPermit(file string) (*StartPermit, error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the start permit: %w", err)
	}
	return ParseStartPermit(b)
}
